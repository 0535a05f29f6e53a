"""Contexts."""

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.catalog import results as status
from cuvet.device import facts
from cuvet.device.driver.device import context_made
from cuvet.device.invocation import Invocation, Refused, do_if, do_nothing, gives, require, waits
from cuvet.device.protocol import Steps
from cuvet.model import Context

_API_VERSION = 3020
_LIMITS = {
    "STACK_SIZE": 1024,
    "PRINTF_FIFO_SIZE": 7340032,
    "MALLOC_HEAP_SIZE": 8388608,
    "DEV_RUNTIME_SYNC_DEPTH": 2,
    "DEV_RUNTIME_PENDING_LAUNCH_COUNT": 2048,
    "MAX_L2_FETCH_GRANULARITY": 64,
    "PERSISTING_L2_CACHE_SIZE": 0,
}


def cuCtxCreate(call: Invocation) -> Steps[None]:
    yield from context_made(call)
    call.set("context flags", call.issue("pctx", Kind.CONTEXT), call["flags"])


def cuCtxDestroy(call: Invocation) -> Steps[None]:
    require(call["ctx"])
    yield from call.wait()


cuCtxSetCurrent = cuCtxSetSharedMemConfig = cuCtxResetPersistingL2Cache = do_nothing
cuCtxEnablePeerAccess = cuCtxDisablePeerAccess = do_nothing
cuCtxPushCurrent = do_if("ctx")
cuCtxSynchronize = waits


def _current(call: Invocation) -> int:
    return call.model.current_handle(call.call)


def cuCtxGetCurrent(call: Invocation) -> None:
    require(call["pctx"])
    call.give("pctx", _current(call))


def cuCtxPopCurrent(call: Invocation) -> None:
    require(_current(call), status.INVALID_CONTEXT)
    call.give("pctx", _current(call))


def _chosen(call: Invocation) -> Context:
    """The context that the call is about: the parameter's, or the current one if that is NULL. Refused if there is none."""
    found = call.model.find(Kind.CONTEXT, call["ctx"]) if call["ctx"] else call.model.current_context(call.call)
    if not isinstance(found, Context):
        raise Refused(status.INVALID_CONTEXT)
    return found


cuCtxGetDevice = gives(device=lambda call: _chosen(call).device or 0)
cuCtxGetId = gives(ctxId=lambda call: _chosen(call).number)


def cuCtxGetApiVersion(call: Invocation) -> None:
    require(_chosen(call).alive, status.INVALID_CONTEXT)
    call.give("version", _API_VERSION)


def cuCtxGetFlags(call: Invocation) -> None:
    require(_current(call), status.INVALID_CONTEXT)
    call.give("flags", call.get("context flags", _current(call)))


def cuCtxSetFlags(call: Invocation) -> None:
    call.set("context flags", _current(call), call["flags"])


def cuCtxGetLimit(call: Invocation) -> None:
    usual = _LIMITS.get(catalog().enumerator("CUlimit", call["limit"], "CU_LIMIT_"))
    require(usual is not None)
    call.give("pvalue", call.get("limit", _current(call), call["limit"], usual or 0))


def cuCtxSetLimit(call: Invocation) -> None:
    require(catalog().enumerator("CUlimit", call["limit"]))
    call.set("limit", _current(call), call["value"], call["limit"])


def cuCtxSetCacheConfig(call: Invocation) -> None:
    call.set("cache configuration", _current(call), call["config"])


cuCtxGetCacheConfig = gives(pconfig=lambda call: call.get("cache configuration", _current(call)))
cuCtxGetSharedMemConfig = gives(
    pConfig=lambda _: catalog().enumerations["CUsharedconfig"]["CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE"]
)
"""Whatever was set (NVIDIA H200, driver 580.159, CUDA 13.0)."""
cuCtxGetStreamPriorityRange = gives(
    leastPriority=lambda _: facts.FACTS.stream_priority_least,
    greatestPriority=lambda _: facts.FACTS.stream_priority_greatest,
)
