"""What stands in the text between two works, as far as it may wait for one of them."""

import re
from collections.abc import Iterable

from cuvet.source.paths.trace import SourceCall
from cuvet.source.quiet import CUDA, ON_HOST, called_in, copies_quietly, is_check, is_plain, is_plain_python
from cuvet.source.syntax.parsing import Source

_MAY_WAIT = re.compile(
    r"(?m)[{}#]|\bawait\b|\bco_await\b|\bwith\b|&&|\|\||>>|<<|\)\s*\(|\]\s*\(|\bnew\b|\b[A-Z][A-Z0-9_]{3,}\b(?!\s*\()"
)
"""What may wait without a call that can be seen: the end of a block, an operator, a pointer to a function, a macro."""
_LONGEST = 2000
"""Characters between two works."""
_DECLARED = re.compile(
    r"(?:(?:const|static|constexpr|unsigned|signed|long)\s+)*(?:int|float|double|char|bool|long|short|unsigned|size_t|u?int\d+_t|dim3|"
    r"cuda\w+_t|CU\w+)\b[\s*&]*(?:const\s+)?\w+\s*(?=[=(,]|$)"
)
"""The beginning of a declaration of variables that are made and ended without a call."""
_RESULT = re.compile(r"(?:auto\s+)?\w+\s*=(?!=)\s*")
_DEREFERENCED = re.compile(r"\[|(?:^|[=(,])\s*\*")
_BEHIND = re.compile(r"\)*(?:\s*[!=]=\s*\w+(?:::\w+)?\s*\))?(?:\s*return\b[^\[;]*)?")
"""What may stand behind the first work in its statement: that it is compared, and that the function ends."""
_COPY = re.compile(r"\bcu\w*[cC]py\w*\s*\([^;]*")
_CONFIGURED = re.compile(r">>>\s*\(")
_KEYWORDS = frozenset({"if", "return"})


def nothing_waits(first: SourceCall, call: SourceCall, source: Source) -> bool:
    """Whether the text around the first work and up to the second calls nothing but what waits for nothing."""
    start = _statement_of(first, source)
    if call.written.start - start > _LONGEST:
        return False
    before, between, own = (
        source.code[begin:end].decode("utf-8", "replace")
        for begin, end in (
            (start, first.written.start),
            (first.written.end, call.written.start),
            (call.written.start, call.written.end),
        )
    )
    rest, *statements = re.split(r"[;\n]" if source.language == "python" else ";", between)
    if before.count("(") - before.count(")") != rest.count(")") - rest.count("("):
        return False
    if _MAY_WAIT.search(between) or not _are_quiet(called_in(f"{before} {rest}"), source):
        return False
    named = called_in(_CONFIGURED.sub(",", own).replace("<<<", "("))
    if not _are_quiet(
        (each for each in named if each.rpartition(".")[2] != call.written.name.partition("<")[0]), source
    ):
        return False
    if source.is_cpp and not _BEHIND.fullmatch(rest.strip()):
        return False
    return all(_is_quiet(each.strip(), source) for each in statements)


def _statement_of(call: SourceCall, source: Source) -> int:
    """Where the statement begins that makes the call; in Python its line."""
    ends = (b"\n",) if source.language == "python" else (b";", b"{", b"}")
    return max(source.code.rfind(end, 0, call.written.start) for end in ends) + 1


def _is_quiet(statement: str, source: Source) -> bool:
    """Whether a statement, or its beginning, does nothing but to call what is quiet, or to declare what is made of numbers."""
    copies = (match[0] for match in _COPY.finditer(statement))
    if not all(copies_quietly(each.partition("(")[0].strip(), each.encode()) for each in copies):
        return False
    declared = _DECLARED.match(statement) if source.language != "python" else None
    begun = declared or _RESULT.match(statement)
    value = statement[begun.end() :] if begun else statement
    called = list(called_in(value))
    if not _are_quiet(called, source):
        return False
    if declared and not called:
        return _DEREFERENCED.search(value) is None
    return not value or bool(called and value.startswith(called[0])) or source.language == "python"


def _are_quiet(names: Iterable[str], source: Source) -> bool:
    return all(_waits_for_nothing(name, source) for name in names)


def _waits_for_nothing(name: str, source: Source) -> bool:
    if CUDA.fullmatch(name.rpartition(".")[2]):
        return True
    known = is_plain_python(name) if source.language == "python" else is_plain(name) or name in ON_HOST | _KEYWORDS
    return known or is_check(name, source.code)
