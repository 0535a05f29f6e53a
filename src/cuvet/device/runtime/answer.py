"""Answers runtime calls."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from cuvet.catalog import EntryPoint
from cuvet.catalog import runtime as catalog
from cuvet.device.invocation import BadAddress, Refused, tell, write_word
from cuvet.device.process import Thread
from cuvet.device.protocol import ProtocolError, Registration, Request, Steps
from cuvet.device.runtime import array, copy, device, forward, graph, launch, memory
from cuvet.device.runtime.call import INVALID_VALUE, RuntimeCall, error

Handler = Callable[[RuntimeCall], Steps[int | None]]

_MODULES: tuple[ModuleType, ...] = (array, copy, device, graph, launch, memory)
HANDLERS: dict[str, Handler] = {
    name: handler
    for module in _MODULES
    for name, handler in vars(module).items()
    if name.startswith(("cuda", "__cuda")) and callable(handler)
}
_ASKS_FOR_NO_CONTEXT = {"cudaGetLastError", "cudaPeekAtLastError", "cudaEventQuery"}
"""In host functions all others that were measured are refused (NVIDIA H200, driver 580.159.04: the facts ``host_function_*``)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is the same in all calls of an entry point by one of its signatures. ``handler`` None: it is not emulated. ``sets_error``: a
    failure is the thread's last error. ``asks_in_host_function``: for a context, which is refused there."""

    entry_point: EntryPoint
    index: dict[str, int]
    handler: Handler | None
    sets_error: bool
    asks_in_host_function: bool


@cache
def _plan(number: int, signature: int, words: int, major: int) -> Plan:
    """ProtocolError if there is no such call."""
    if number >= len(catalog().entry_points):
        raise ProtocolError(f"there is no runtime entry point {number}")
    entry_point = catalog().entry_points[number]
    if signature >= len(entry_point.signatures):
        raise ProtocolError(f"{entry_point.name} has no signature {signature}")
    parameters = entry_point.signatures[signature].parameters
    if words != len(parameters):
        raise ProtocolError(f"a call of {entry_point.name} has {words} words")
    if not any(version.startswith(f"{major}.") for version in catalog().versions):
        raise ProtocolError(f"there is no runtime of version {major}")
    name = entry_point.name
    return Plan(
        entry_point,
        {parameter.name: at for at, parameter in enumerate(parameters)},
        HANDLERS.get(name) or forward.handler(name),
        name not in ("cudaGetLastError", "cudaPeekAtLastError"),
        name not in _ASKS_FOR_NO_CONTEXT,
    )


def answer(thread: Thread, request: Request) -> Steps[int]:
    """Answer one runtime call: the cudaError_t."""
    if request.entry_point >= Registration.BINARY:
        return (yield from _register(thread, request))
    plan = _plan(request.entry_point, request.signature, len(request.words), request.major)
    if plan.handler is None:
        yield from tell(thread.process, f"{plan.entry_point.name} is not emulated: it returns cudaErrorNotSupported")
        status = error("cudaErrorNotSupported")
    else:
        call = RuntimeCall.of(thread, request, plan.entry_point, plan.index)
        try:
            if plan.asks_in_host_function and thread.host_functions:  # the runtime's first question is refused there
                yield from call.ask("cuCtxGetCurrent")
            status = (yield from plan.handler(call)) or 0
        except Refused as refused:
            status = refused.status
        except BadAddress:
            status = INVALID_VALUE
    if status and plan.sets_error:
        thread.error = status
    return status


def _register(thread: Thread, request: Request) -> Steps[int]:
    process = thread.process
    if len(request.words) != 4 or not process.registry.register(request.entry_point, request.words):
        raise ProtocolError(f"there is no runtime entry point {request.entry_point}")
    if request.entry_point == Registration.MANAGED_VARIABLE:
        pointer, size = request.words[1], request.words[3]
        address = yield from process.host_memory.allocate(size)
        process.registry.variables[pointer].handle = address
        yield from write_word(pointer, address)
    return 0
