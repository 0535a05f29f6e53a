"""Which package imports which: semantics know nothing of how they are shown or started."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src/cuvet"
NOT_BELOW = ("analysis", "commands", "editor", "launch", "reports")
"""What shows and starts; nothing below imports it."""
BELOW = ("catalog", "conformance", "device", "doctor", "image", "knowledge", "model", "recording", "rules", "source")


def imported(file: Path) -> Iterator[str]:
    """The packages of cuvet that a file imports, in functions too."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "cuvet":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cuvet."):
            yield str(node.module).split(".")[1]


@pytest.mark.parametrize("package", BELOW)
def test_what_is_below_imports_nothing_that_shows_or_starts(package: str) -> None:
    wrong = {
        (str(file.relative_to(PACKAGE)), name)
        for file in (PACKAGE / package).rglob("*.py")
        for name in imported(file)
        if name in NOT_BELOW
    }
    assert wrong == set()


@pytest.mark.parametrize(("package", "other"), [("analysis", "reports"), ("analysis", "launch"), ("reports", "launch")])
def test_what_is_shown_is_made_without_what_shows_it(package: str, other: str) -> None:
    files = (PACKAGE / package).rglob("*.py")
    assert [file.name for file in files if other in imported(file)] == []
