"""Entry points that a file calls although CUDA has them no longer, or with arguments that they do not take."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from cuvet.findings import Finding
from cuvet.rules.source.device_memory_on_host import SourceDeviceMemoryOnHost
from cuvet.rules.source.removed_entry_point import SourceRemovedEntryPoint
from cuvet.rules.source.wrong_argument_count import SourceWrongArgumentCount
from cuvet.source.languages.cpp_text import is_declared_at
from cuvet.source.result import Options
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.parsing import Node, Source
from cuvet.source.textual.spellings import arguments, removed
from cuvet.source.textual.written import Body, positions

_CONDITIONAL = frozenset(
    "preproc_if preproc_elif preproc_else preproc_elifdef preproc_def preproc_function_def preproc_arg".split()
)
_MACRO = re.compile(rb"\b(?!NULL\b)_*[A-Z][A-Z0-9_]{2,}\b|\.\.\.")


def removed_names(root: Node, source: Source, options: Options) -> Iterator[Finding]:
    """Calls of functions that releases have removed."""
    for name in sorted(source.cuda_words[0]):
        gone = removed(name, options.cuda)
        if not gone or _declared_here(name, source):
            continue
        offset = next((each for each in _calls(name, root, source) if not guarded(root, each, source)), -1)
        if offset >= 0:
            instead = f"; {gone[1]} does this today" if gone[1] else ""
            at = frame(source, offset, offset + len(name), "")
            yield finding(SourceRemovedEntryPoint, f"it was removed in CUDA {gone[0]}{instead}", site(name, at))


def argument_counts(body: Body, root: Node, options: Options) -> Iterator[Finding]:
    """Calls with more or fewer arguments than the function takes."""
    for call in body.calls:
        allowed = arguments(call.name, options.cuda)
        if allowed is None or allowed[0] <= len(call.arguments) <= allowed[1] or _is_in_namespace(call.node):
            continue
        listed = call.node.child_by_field_name("arguments")
        if (
            listed is None
            or listed.has_error
            or _MACRO.search(body.source.code, listed.start_byte, listed.end_byte)
            or guarded(root, call.start, body.source)
        ):
            continue
        if _declared_here(call.name, body.source):
            continue
        fewest, most = allowed
        takes = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        given = "1 argument" if len(call.arguments) == 1 else f"{len(call.arguments)} arguments"
        message = f"{call.name} is given {given}, and takes {takes}"
        yield body.finding(SourceWrongArgumentCount, call.node, message, api=call.name)


def _is_in_namespace(call: Node) -> bool:
    """Whether the function is called as somebody's, ``memory::cudaMallocAsync``: CUDA's have no namespace."""
    function = call.child_by_field_name("function")
    return (
        function is not None
        and function.type == "qualified_identifier"
        and function.child_by_field_name("scope") is not None
    )


OF_CUDAS_OWN = frozenset({SourceRemovedEntryPoint.name, SourceWrongArgumentCount.name, SourceDeviceMemoryOnHost.name})
"""Rules about calls that are not wrong if the program has a function of that name itself: its memory may be the host's too."""
_DECLARES = re.compile(
    rb"(?:\b(?:cudaError_t|CUresult|void|int|bool|auto)\s+\**|\bchar\s*\*+|^[ \t]*#[ \t]*define\s+)\s*(cu(?:da)?[A-Z]\w*)\s*\(",
    re.M,
)
"""With a type that CUDA's functions return."""
_HAS_PARAMETER = re.compile(
    rb"\b(cu(?:da)?[A-Z]\w*)\s*\(\s*(?:const\s+)?[A-Za-z_][\w:]*\s+[*&]*\s*[A-Za-z_]\w*\s*[,)=]"
)
_TYPE_BEFORE = re.compile(rb"\b(?!(?:return|else|throw|case|do|new|not)\b)[A-Za-z_]\w*[\s*&]+\Z")


def declared(source: Source) -> set[str]:
    """Functions and macros named like CUDA's that the file declares."""
    found = [match[1] for match in _DECLARES.finditer(source.code)]
    for match in _HAS_PARAMETER.finditer(source.code):
        if _TYPE_BEFORE.search(source.code, max(match.start() - 100, 0), match.start()):
            found.append(match[1])
    return {name.decode() for name in found}


class _Looked:
    """What is looked up in a file once, however often it is asked."""

    def __init__(self) -> None:
        self.declared: dict[str, bool] = {}
        self.conditional: list[tuple[int, int]] | None = None


_LOOKED: WeakKeyDictionary[Source, _Looked] = WeakKeyDictionary()


def _declared_here(name: str, source: Source) -> bool:
    """Whether the file declares, defines or imports something of that name: then the name is the program's own."""
    declared = _LOOKED.setdefault(source, _Looked()).declared
    if name not in declared:
        declared[name] = _is_declared(name, source)
    return declared[name]


def _is_declared(name: str, source: Source) -> bool:
    word = re.escape(name.encode())
    if re.search(rb"#\s*define\s+" + word + rb"\b|\busing\s[^;]{0,300}?\b" + word + rb"\b", source.code):
        return True
    called = re.compile(rb"\b" + word + rb"\s*\(")
    return any(is_declared_at(match.start(), source.code) for match in called.finditer(source.code))


def guarded(root: Node, offset: int, source: Source) -> bool:
    """Whether the place is compiled under a condition, other than the one around a whole header."""
    looked = _LOOKED.setdefault(source, _Looked())
    if looked.conditional is None:
        looked.conditional = list(_conditional(root, source))
    at = bisect_right(looked.conditional, (offset, len(source.text)))
    return at > 0 and offset < looked.conditional[at - 1][1]


def _conditional(root: Node, source: Source) -> Iterator[tuple[int, int]]:
    """Start and end of the parts of a file that are compiled under a condition, and of macros, in their order."""
    waiting = [(root, False)]
    while waiting:
        node, nested = waiting.pop()
        if node.type in _CONDITIONAL or (
            node.type == "preproc_ifdef" and (nested or not _is_include_guard(node, source))
        ):
            yield node.start_byte, node.end_byte
            continue
        nested = node.type != "translation_unit"
        inner = [each for each in node.children if source.text.find(b"#", each.start_byte, each.end_byte) >= 0]
        waiting += ((each, nested) for each in reversed(inner))


def _is_include_guard(node: Node, source: Source) -> bool:
    return source.text[node.end_byte :].strip() == b"" or node.end_byte - node.start_byte > 0.8 * len(source.text)


def _calls(name: str, root: Node, source: Source) -> Iterator[int]:
    """Offsets of the calls of a function that is nobody's."""
    for offset in positions(source.text, name.encode()):
        if is_call(root, offset, source):
            yield offset


def is_call(root: Node, offset: int, source: Source) -> bool:
    """Whether the name that stands there is called, as a function that is nobody's."""
    if source.text[offset - 1 : offset] in (b".", b">", b":"):
        return False
    node = root.descendant_for_byte_range(offset, offset + 1)
    while node is not None and node.type in ("identifier", "template_function"):
        call = node.parent
        if call is not None and call.type == "call_expression" and call.child_by_field_name("function") == node:
            return True
        node = node.parent
    return False
