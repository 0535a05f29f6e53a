"""Answers runtime calls."""

from collections.abc import Callable
from functools import cache
from types import ModuleType

from cuvet.catalog import runtime as catalog
from cuvet.device.invocation import BadAddress, Refused, tell, write_word
from cuvet.device.process import Thread
from cuvet.device.protocol import ProtocolError, Registration, Request, Steps
from cuvet.device.runtime import array, copy, device, forward, graph, launch, memory
from cuvet.device.runtime.call import INVALID_VALUE, RuntimeCall, error
from cuvet.device.runtime.registration import Registry

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


def answer(thread: Thread, request: Request) -> Steps[int]:
    """Answer one runtime call: the cudaError_t."""
    if request.entry_point >= len(catalog().entry_points):
        return (yield from _register(thread, request))
    entry_point = catalog().entry_points[request.entry_point]
    if request.signature >= len(entry_point.signatures):
        raise ProtocolError(f"{entry_point.name} has no signature {request.signature}")
    if len(request.words) != len(entry_point.signatures[request.signature].parameters):
        raise ProtocolError(f"a call of {entry_point.name} has {len(request.words)} words")
    if not _is_known(request.major):
        raise ProtocolError(f"there is no runtime of version {request.major}")
    call = RuntimeCall.of(thread, request, entry_point)
    handler = HANDLERS.get(entry_point.name) or forward.handler(entry_point.name)
    if handler is None:
        yield from tell(thread.process, f"{entry_point.name} is not emulated: it returns cudaErrorNotSupported")
        status = error("cudaErrorNotSupported")
    else:
        try:
            yield from _ask_for_context(call)
            status = (yield from handler(call)) or 0
        except Refused as refused:
            status = refused.status
        except BadAddress:
            status = INVALID_VALUE
    if status and entry_point.name not in ("cudaGetLastError", "cudaPeekAtLastError"):
        thread.error = status
    return status


@cache
def _is_known(major: int) -> bool:
    return any(version.startswith(f"{major}.") for version in catalog().versions)


def _ask_for_context(call: RuntimeCall) -> Steps[None]:
    """In a host function the runtime's first question is refused."""
    if call.thread.host_functions and call.entry_point.name not in _ASKS_FOR_NO_CONTEXT:
        yield from call.ask("cuCtxGetCurrent")


def _register(thread: Thread, request: Request) -> Steps[int]:
    process = thread.process
    if process.registry is None:
        process.registry = Registry()
    if len(request.words) != 4 or not process.registry.register(request.entry_point, request.words):
        raise ProtocolError(f"there is no runtime entry point {request.entry_point}")
    if request.entry_point == Registration.MANAGED_VARIABLE:
        pointer, size = request.words[1], request.words[3]
        address = yield from process.host_memory.allocate(size)
        process.registry.variables[pointer].handle = address
        yield from write_word(pointer, address)
    return 0
