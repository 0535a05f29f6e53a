"""Addresses of pointers that are given where the memory is meant that they point to."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.address_of_pointer import SourceAddressOfPointer
from cuvet.source.syntax.parsing import text_of
from cuvet.source.textual.written import Body

_REGISTERS = frozenset({"cudaHostRegister", "cuMemHostRegister"})
_ENDS = frozenset(
    {"cudaHostUnregister", "cuMemHostUnregister", "cudaFree", "cudaFreeAsync", "cudaFreeHost", "cuMemFreeHost"}
)
_FILLS = frozenset({"cudaMemset", "cudaMemsetAsync"})
_ADDRESS = re.compile(r"(?:\([\w\s*]+\)\s*)?&\s*([A-Za-z_]\w*)")


def of_pointers(body: Body) -> Iterator[Finding]:
    """Pointers whose own address is registered, unregistered, freed or set to a value."""
    for call in body.calls:
        if call.name not in _REGISTERS | _ENDS | _FILLS or not call.arguments:
            continue
        address = _ADDRESS.fullmatch(text_of(call.arguments[0]))
        if address is None or not _is_pointer(address[1], body):
            continue
        if any(_is_size_of(address[1], text_of(each)) for each in call.arguments[1:]):
            continue
        message = (
            f"{call.name} is given the address of the pointer `{address[1]}`, and not the memory that it points to"
        )
        yield body.finding(SourceAddressOfPointer, call.arguments[0], message, api=call.name)


def _is_size_of(name: str, size: str) -> bool:
    """Whether the size is that of a pointer."""
    return re.search(rf"\bsizeof\s*\(?\s*(?:{name}\b|[\w:\s]+\*)", size) is not None


def _is_pointer(name: str, body: Body) -> bool:
    """Whether the function declares the name as a pointer, or sets it to a variable that it declares as one."""
    declared = _declared(name, body)
    if declared:
        return declared == {"pointer_declarator"}
    return any(_declared(value, body) == {"pointer_declarator"} for value in _values(name, body))


def _declared(name: str, body: Body) -> set[str]:
    """Kinds of the declarators of the name in the function."""
    return {each.declarator for each in body.declarations(name)} - {"function_declarator"}


def _values(name: str, body: Body) -> Iterator[str]:
    for node, parent in body.identifiers(name):
        if parent.type == "assignment_expression" and parent.child_by_field_name("left") == node:
            right = parent.child_by_field_name("right")
            if right is not None and right.type == "identifier":
                yield text_of(right)
