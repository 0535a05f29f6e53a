"""Which failures a test expects: of calls that are made inside a block of ``pytest.raises`` or ``assertRaises``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any

from cuvet.regular import read_regular

_BLOCKS = frozenset(
    {"raises", "assertRaises", "assertRaisesRegex", "assert_raises", "assert_raises_regex", "RaisesExc", "RaisesGroup"}
)
"""Functions that are given what is expected; those of pytest, unittest and numpy.testing. A test whose block raises nothing fails."""
_MOST_BYTES = 8 << 20


def is_expected(finding: dict[str, Any]) -> bool:
    """Whether the call of a finding (as JSON) returned an error, and the test expects the exception that it leads to: the call, or one that
    failed because of it, was made in such a block."""
    failed = [each for each in (finding, *finding.get("consequences", ())) if _failed(each)]
    return _failed(finding) and any(map(_is_in_block, failed))


def _failed(finding: dict[str, Any]) -> bool:
    """Whether CUDA returned an error, as it says that it does; cuvet did not answer in its place."""
    return bool(finding["status"]) and not (finding["undefined"] or finding["refused"] or finding["kept"])


def _is_in_block(finding: dict[str, Any]) -> bool:
    own = (each for each in finding["site"]["frames"] if each["language"] == "python" and not each["module"])
    return any(frame["line"] in _expecting(frame["file"]) for frame in own if frame["file"] and frame["line"])


@lru_cache(maxsize=256)
def _expecting(file: str) -> frozenset[int]:
    """The lines of a source file that are inside such blocks; none if it cannot be read."""
    try:
        tree = ast.parse(read_regular(file, _MOST_BYTES))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(chain.from_iterable(_lines(tree)))


def _lines(tree: ast.AST) -> Iterator[range]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.With, ast.AsyncWith)) and any(_expects(item.context_expr) for item in node.items):
            yield range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1)
        elif isinstance(node, ast.Call) and _expects(node) and len(node.args) > 1:  # raises(ERROR, FUNCTION, …)
            yield range(node.lineno, (node.end_lineno or 0) + 1)


def _expects(node: ast.expr) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in _BLOCKS
