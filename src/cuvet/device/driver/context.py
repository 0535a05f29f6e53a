"""Contexts."""

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.device import facts, status
from cuvet.device.driver.device import context_made
from cuvet.device.invocation import Invocation, Refused, do_nothing
from cuvet.device.protocol import Steps
from cuvet.model import Context

_API_VERSION = 3020
_LIMITS = {
    "CU_LIMIT_STACK_SIZE": 1024,
    "CU_LIMIT_PRINTF_FIFO_SIZE": 7340032,
    "CU_LIMIT_MALLOC_HEAP_SIZE": 8388608,
    "CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH": 2,
    "CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT": 2048,
    "CU_LIMIT_MAX_L2_FETCH_GRANULARITY": 64,
    "CU_LIMIT_PERSISTING_L2_CACHE_SIZE": 0,
}


def cuCtxCreate(call: Invocation) -> Steps[None]:
    yield from context_made(call)
    handle = call.issue("pctx", Kind.CONTEXT)
    call.process.attributes["context flags", handle, 0] = call["flags"]


def cuCtxDestroy(call: Invocation) -> Steps[None]:
    if not call["ctx"]:
        raise Refused(status.INVALID_VALUE)
    yield from call.wait()


cuCtxSetCurrent = cuCtxSetSharedMemConfig = cuCtxResetPersistingL2Cache = do_nothing
cuCtxEnablePeerAccess = cuCtxDisablePeerAccess = do_nothing


def cuCtxGetCurrent(call: Invocation) -> int:
    call.give("pctx", call.model.current_handle(call.call))
    return status.SUCCESS if call["pctx"] else status.INVALID_VALUE


def cuCtxPushCurrent(call: Invocation) -> int:
    return status.SUCCESS if call["ctx"] else status.INVALID_VALUE


def cuCtxPopCurrent(call: Invocation) -> int:
    handle = call.model.current_handle(call.call)
    call.give("pctx", handle)
    return status.SUCCESS if handle else status.INVALID_CONTEXT


def _chosen(call: Invocation, parameter: str = "ctx") -> Context | None:
    """The context that the call is about: the parameter's, or the current one if that is NULL."""
    if not call[parameter]:
        return call.model.current_context(call.call)
    found = call.model.find(Kind.CONTEXT, call[parameter])
    return found if isinstance(found, Context) else None


def cuCtxGetDevice(call: Invocation) -> None:
    context = _chosen(call)
    if context is None:
        raise Refused(status.INVALID_CONTEXT)
    call.give("device", context.device or 0)


def cuCtxGetApiVersion(call: Invocation) -> int:
    call.give("version", _API_VERSION)
    context = _chosen(call)
    return status.SUCCESS if context is not None and context.alive else status.INVALID_CONTEXT


def cuCtxGetId(call: Invocation) -> None:
    context = _chosen(call)
    if context is None:
        raise Refused(status.INVALID_CONTEXT)
    call.give("ctxId", context.number)


def cuCtxGetFlags(call: Invocation) -> int:
    handle = call.model.current_handle(call.call)
    call.give("flags", call.process.attributes.get(("context flags", handle, 0), 0))
    return status.SUCCESS if handle else status.INVALID_CONTEXT


def cuCtxSetFlags(call: Invocation) -> None:
    call.process.attributes["context flags", call.model.current_handle(call.call), 0] = call["flags"]


def cuCtxSynchronize(call: Invocation) -> Steps[None]:
    yield from call.wait()


def cuCtxGetLimit(call: Invocation) -> None:
    names = catalog().enumerations["CUlimit"]
    usual = {names[name]: value for name, value in _LIMITS.items()}
    if call["limit"] not in usual:
        raise Refused(status.INVALID_VALUE)
    key = ("limit", call.model.current_handle(call.call), call["limit"])
    call.give("pvalue", call.process.attributes.get(key, usual[call["limit"]]))


def cuCtxSetLimit(call: Invocation) -> None:
    if call["limit"] not in catalog().enumerations["CUlimit"].values():
        raise Refused(status.INVALID_VALUE)
    call.process.attributes["limit", call.model.current_handle(call.call), call["limit"]] = call["value"]


def cuCtxGetCacheConfig(call: Invocation) -> None:
    context = call.model.current_handle(call.call)
    call.give("pconfig", call.process.attributes.get(("cache configuration", context, 0), 0))


def cuCtxSetCacheConfig(call: Invocation) -> None:
    call.process.attributes["cache configuration", call.model.current_handle(call.call), 0] = call["config"]


def cuCtxGetSharedMemConfig(call: Invocation) -> None:
    """Whatever was set (NVIDIA H200, driver 580.159, CUDA 13.0)."""
    call.give("pConfig", catalog().enumerations["CUsharedconfig"]["CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE"])


def cuCtxGetStreamPriorityRange(call: Invocation) -> None:
    call.give("leastPriority", facts.FACTS.stream_priority_least)
    call.give("greatestPriority", facts.FACTS.stream_priority_greatest)
