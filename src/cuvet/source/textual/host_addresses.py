"""Addresses of a function's own variables that are given to libraries where these work on memory of the device."""

import re
from collections.abc import Iterator
from functools import cache

from cuvet.catalog import Kind, Verb
from cuvet.catalog.authored.libraries.accessed import accessed
from cuvet.catalog.authored.libraries.cusolver import ON_DEVICE
from cuvet.findings import Finding
from cuvet.rules.memory.not_device_memory import MemoryNotDeviceMemory
from cuvet.source.calls import entry_point_called
from cuvet.source.syntax.parsing import enclosing, field_text, storage, text_of
from cuvet.source.textual.declared import declared_around
from cuvet.source.textual.written import Body, Written

_ADDRESS = re.compile(r"(?:\([\w\s*]+\)\s*|(?:reinterpret|static)_cast<[\w\s*]+>\(\s*)?&\s*([A-Za-z_]\w*)\s*\)?")
_IS_PLAIN = re.compile(
    r"(?:(?:unsigned|signed|long|short|int|float|double|char|bool|(?:std::)?(?:size_t|u?int\d+_t)|cu(?:Double|Float)?Complex|__half|half)\s*)+"
)
"""A type that is no class with an ``operator&`` of its own."""
_ON_DEVICE = re.compile(rb"__(?:managed|device)__")


def given_to_libraries(body: Body) -> Iterator[Finding]:
    """The first of each call."""
    for call in body.library_calls if b"HostRegister" not in body.code else ():
        for at, parameter in _device_parameters(call.name):
            name = _own_variable(call, at, body)
            if name:
                message = f"{call.name} works on memory of the device, and `{parameter}` is the address of `{name}`"
                yield body.finding(
                    MemoryNotDeviceMemory, call.arguments[at], message, api=call.name, severity="warning"
                )
                break


@cache
def _device_parameters(name: str) -> tuple[tuple[int, str], ...]:
    """The pointers to memory that the function of a library reads or writes on the device: the argument, and its name.
    None of cuRAND, whose generators of the host write to memory of the host."""
    found = entry_point_called(name)
    if found is None or found.api in ("runtime", "driver", "curand"):
        return ()
    works_on = {role.parameter for role in found.roles if role.verb is Verb.WRITES and role.kind is Kind.MEMORY}
    works_on |= {each.parameter for each in accessed(found)}
    works_on |= ON_DEVICE if name.startswith("cusolverDn") else set()
    return tuple(
        (at, each.name)
        for at, each in enumerate(found.parameters)
        if each.name in works_on and each.type.rstrip().endswith("*")
    )


def _own_variable(call: Written, at: int, body: Body) -> str:
    """The variable of the function, on its stack, whose address the argument is; empty if it is something else."""
    address = _ADDRESS.fullmatch(text_of(call.arguments[at])) if at < len(call.arguments) else None
    declared = declared_around(address[1], call.node, body) if address is not None else None
    around = enclosing(declared.node, "declaration", "parameter_declaration") if declared is not None else None
    if address is None or declared is None or around is None or around.type != "declaration" or storage(around):
        return ""
    if declared.declarator not in ("declaration", "init_declarator", "pointer_declarator"):
        return ""
    if not _IS_PLAIN.fullmatch(field_text(around, "type")):
        return ""
    return "" if _ON_DEVICE.search(around.text or b"") else address[1]
