"""Copies whose kind says that memory of the host is memory of a device."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.copy_direction import SourceCopyDirection
from cuvet.source.calls import copied_by_kind
from cuvet.source.syntax.parsing import Node, text_of
from cuvet.source.textual.declared import declared_around, told
from cuvet.source.textual.written import Body

ON_DEVICE = {"HostToDevice": (0,), "DeviceToHost": (1,), "DeviceToDevice": (0, 1)}
"""Which of ``SIDES`` are memory of a device, by the kind (cudaMemcpyKind, without what its names begin with)."""
SIDES = ("destination", "source")
_OF_VECTOR = re.compile(r"([A-Za-z_]\w*)\.data\(\)|&([A-Za-z_]\w*)\[0\]|&([A-Za-z_]\w*)\.front\(\)")
_VECTOR = re.compile(r"std::(?:vector<[\w:\s]+>|array<[\w:\s]+,\s*\w+\s*>)")
_NUMBER = re.compile(
    r"(?:const )?(?:unsigned |signed )?(?:int|float|double|bool|char|short|long|unsigned|size_t|std::size_t|u?int\d+_t)"
)
_VARIABLE = re.compile(r"&([A-Za-z_]\w*)")
_NAME = re.compile(r"[A-Za-z_]\w*")


def against_kind(body: Body) -> Iterator[Finding]:
    """Copies of a local array, vector or variable in the wrong direction."""
    for call in body.calls:
        places = copied_by_kind(call.name)
        if places is None or places[2] >= len(call.arguments):
            continue
        kind = text_of(call.arguments[places[2]])
        for side in ON_DEVICE.get(kind.removeprefix("cudaMemcpy"), ()):
            host = _on_host(call.arguments[places[side]], body)
            if host:
                message = f"the {SIDES[side]} of a copy with {kind} is {host}, which is memory of the host"
                yield body.finding(SourceCopyDirection, call.arguments[places[2]], message, api=call.name)
                break


def _on_host(given: Node, body: Body) -> str:
    """What of the host the pointer points to; empty if that is not sure."""
    place = told(given)
    vector = _OF_VECTOR.fullmatch(place)
    if vector is not None:
        name = next(filter(None, vector.groups()))
        declared = declared_around(name, given, body)
        is_vector = declared is not None and _VECTOR.fullmatch(declared.kind) and "&" not in declared.declarator
        if is_vector and declared is not None and declared.declarator != "reference_declarator":
            return f"the {'array' if 'array' in declared.kind else 'vector'} `{name}`"
        return ""
    variable = _VARIABLE.fullmatch(place)
    name = variable[1] if variable is not None else place
    declared = declared_around(name, given, body) if _NAME.fullmatch(name) else None
    if declared is None or (variable is not None and not _NUMBER.fullmatch(declared.kind)):
        return ""
    if variable is None:
        return f"the array `{name}`" if _is_local_array(declared.declarator, declared.node.parent) else ""
    return f"the variable `{name}`" if declared.declarator in ("declaration", "init_declarator") else ""


def _is_local_array(declarator: str, node: object) -> bool:
    """Not a parameter, which is a pointer."""
    around = getattr(node, "parent", None)
    return declarator == "array_declarator" and around is not None and around.type in ("declaration", "init_declarator")
