"""Owners of memory in Python that are gone when their address is used, and functions of ctypes that are gone when CUDA calls them."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.not_kept_alive import SourceNotKeptAlive
from cuvet.source.calls import called_back
from cuvet.source.languages.python_names import Names
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, field_text, text_of
from cuvet.source.textual.bounds import first
from cuvet.source.textual.python_text import GPU, Place, call_at, called, finding_at, value_of

_FILLED = "zeros ones empty full zeros_like empty_like ones_like arange array"
_OWNERS = {
    **{f"pycuda.driver.{name}": "" for name in ("mem_alloc", "to_device")},
    **{f"pycuda.gpuarray.{name}": ".gpudata" for name in ("to_gpu", "zeros", "empty", "arange")},
    **{f"cupy.{name}": ".data.ptr" for name in _FILLED.split()},
    **{
        f"torch.{name}": ".data_ptr()"
        for name in ("zeros", "ones", "empty", "full", "rand", "randn", "arange", "tensor")
    },
}
"""Functions that make an owner of memory of the GPU, each with what stands behind it for the address."""
_MAKES = re.compile(
    rb"\b(?:mem_alloc|to_device|to_gpu|%s|rand|randn|tensor)[ \t]*\(" % b"|".join(_FILLED.encode().split())
)
_ADDRESS = re.compile(
    rb"\)\.(?:data\.ptr\b|data_ptr\(\)|gpudata\b)|\b(?:int|u?intp|u?int64)\([\w.]{0,80}\b(?:mem_alloc|to_device)\b"
)
_NUMBERS = frozenset({"int", "numpy.intp", "numpy.uintp", "numpy.uint64", "numpy.int64"})
_CARRY = frozenset(
    {
        "parenthesized_expression",
        "binary_operator",
        "list",
        "tuple",
        "expression_list",
        "list_comprehension",
        "pair",
        "dictionary",
    }
)
"""What holds the address of which it is made."""
_INTO = re.compile(r"(?:np|numpy|ctypes)\.\w+|c_void_p|list|tuple|int")
_CALLBACK = re.compile(rb"\b(?:cuda|cu)(?:LaunchHostFunc|StreamAddCallback)[ \t]*\(")
_FUNCTION_TYPE = re.compile(r"(?:\w+\.)?(?:CFUNCTYPE|WINFUNCTYPE|PYFUNCTYPE)\(.*\)", re.S)


def keeps_addresses(text: bytes) -> bool:
    """Whether a file may keep addresses of the GPU's memory, or have CUDA call functions."""
    if any(name in text for name in (b"pycuda", b"cupy", b"torch")) and _ADDRESS.search(text):
        return True
    return b"FUNCTYPE" in text and _CALLBACK.search(text) is not None


def kept_findings(root: Node, source: Source) -> Iterator[Finding]:
    """Each address of an owner that nothing keeps, and each function that is made for the call which gives it to CUDA."""
    names = Names(source.text)
    for match in first(_MAKES.finditer(source.text)):
        call = call_at(root, match.end() - 1)
        kept = _kept_address(call, names) if call is not None else None
        if call is not None and kept is not None:
            message = "the address is kept, and the object that owns the memory is gone"
            path = (Place(kept, "the address is kept here"),)
            yield finding_at(SourceNotKeptAlive, call, message, source, path)
    for match in first(_CALLBACK.finditer(source.text)):
        call = call_at(root, match.end() - 1)
        function = _made_for_call(call, names, root) if call is not None else None
        if call is not None and function is not None:
            message = "the function of ctypes is made for this call, and nothing keeps it until CUDA calls it"
            yield finding_at(SourceNotKeptAlive, call, message, source, (Place(function, "it is made here"),))


def _kept_address(call: Node, names: Names) -> Node | None:
    """The statement that keeps the address of what the call makes; None if the call makes no owner, or its owner or nothing is kept."""
    name = called(call, names)
    behind = _OWNERS.get(name)
    if behind is None or (name.startswith("torch.") and not _is_of_gpu(call)):
        return None
    owner = call
    while (
        owner.parent is not None
        and owner.parent.type in ("attribute", "call")
        and owner.parent.start_byte == call.start_byte
    ):
        owner = owner.parent
    if text_of(owner)[call.end_byte - call.start_byte :] != behind:
        return None
    if name.startswith("pycuda."):
        number = enclosing(owner.parent, "call") if owner.parent is not None else None
        if number is None or arguments_of(number) != [owner] or not _is_number(number, names):
            return None
        owner = number
    return _keeper(owner)


def _is_number(call: Node, names: Names) -> bool:
    function = field_text(call, "function")
    return function == "int" or names.full(function) in _NUMBERS


def _is_of_gpu(call: Node) -> bool:
    return any(
        field_text(each, "name") == "device" and GPU.fullmatch(field_text(each, "value")) for each in arguments_of(call)
    )


def _keeper(address: Node) -> Node | None:
    """The assignment, return or ``append`` that the address ends up in."""
    node = address
    while node.parent is not None:
        around = node.parent
        if around.type in ("assignment", "return_statement"):
            return around if around.child_by_field_name("left") != node else None
        if around.type == "argument_list" and around.parent is not None:
            function = field_text(around.parent, "function")
            if function.endswith(".append"):
                return around.parent
            if not _INTO.fullmatch(function):
                return None
            around = around.parent
        elif around.type not in _CARRY:
            return None
        node = around
    return None


def _made_for_call(call: Node, names: Names, root: Node) -> Node | None:
    """The argument that is a new function of ctypes."""
    at = called_back(field_text(call, "function").rpartition(".")[2])
    api, given = names.api(field_text(call, "function")), arguments_of(call)
    if api is None or api.style != "ctypes" or at is None or len(given) <= at or given[at].type != "call":
        return None
    function = field_text(given[at], "function")
    made = value_of(function, call, root)
    kind = text_of(made) if made is not None else function
    return given[at] if _FUNCTION_TYPE.fullmatch(kind) else None
