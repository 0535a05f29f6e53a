"""Copies of C# whose kind says that a managed array is memory of a device."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.copy_direction import SourceCopyDirection
from cuvet.source.calls import copied_by_kind
from cuvet.source.paths.reporting import Reporter
from cuvet.source.program import Function
from cuvet.source.sites import finding
from cuvet.source.textual.directions import ON_DEVICE, SIDES

_FIXED = rb"\bfixed\s*\(\s*(?:[\w.]+\s*\*\s*\w+\s*=[^;(),]{1,80},\s*)?[\w.]+\s*\*\s*%s\s*=\s*(?:&\s*(\w+)\s*\[[^\]]{1,40}\]|(\w+))\s*[,)]"
_CAST = re.compile(r"\((?:void|byte|IntPtr|nint)\s*\*?\)\s*")
_NAME = re.compile(r"[A-Za-z_]\w*")


def against_kind(function: Function, reporter: Reporter) -> Iterator[Finding]:
    """Copies from or to an array that ``fixed`` pins, or that is passed itself, in the wrong direction."""
    for call in function.calls:
        places = copied_by_kind(call.name) if not call.launch else None
        if places is None or len(call.spans) <= places[2]:
            continue
        kind = reporter.source.slice(*call.spans[places[2]]).rpartition(".")[2].strip()
        for side in ON_DEVICE.get(kind.removeprefix("cudaMemcpy"), ()):
            span = call.spans[places[side]]
            array = array_at(reporter.source.slice(*span), span[0], function, reporter.source.text)
            if array:
                message = f"the {SIDES[side]} of a copy with {kind} is the array `{array}`, which is memory of the host"
                yield finding(SourceCopyDirection, message, reporter.site(call, *call.spans[places[2]]))
                break


def array_at(given: str, at: int, function: Function, text: bytes) -> str:
    """The array whose elements are passed there; empty if that is not sure."""
    name = _CAST.sub("", given.strip())
    if not _NAME.fullmatch(name):
        return ""
    if _is_array(name, function):
        return name
    pinned = list(re.finditer(_FIXED % re.escape(name.encode()), text[function.start : function.end]))
    if len(pinned) != 1 or function.start + pinned[0].start() > at:
        return ""
    array = (pinned[0][1] or pinned[0][2]).decode()
    return array if _is_array(array, function) else ""


def type_of(name: str, function: Function) -> str:
    """The type of the variable or parameter; ``""`` if it is not known."""
    kinds = [each.type for each in function.parameters if each.name == name]
    return function.locals.get(name, kinds[0] if kinds else "")


def _is_array(name: str, function: Function) -> bool:
    return type_of(name, function).rstrip("?").endswith("]")
