"""Green contexts: some of a device's multiprocessors. What kernels would run on them is of no account: none is run."""

from collections.abc import Callable
from functools import partial

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.device import facts
from cuvet.device.driver.device import context_made
from cuvet.device.driver.stream import cuStreamCreateWithPriority
from cuvet.device.invocation import Invocation, gives, read, read_words, require, waits, write, write_word
from cuvet.device.protocol import Steps

_MULTIPROCESSORS = 1
_ALIGNMENT = 8
"""Of the sizes of parts, and the smallest, on devices of compute capability 9.0 (CUDA Driver API, Green Contexts)."""
_CONTEXT = "context of green context"
_MEMBERS = {"type": _MULTIPROCESSORS, "sm.minSmPartitionSize": _ALIGNMENT, "sm.smCoscheduledAlignment": _ALIGNMENT}


def _give(call: Invocation, multiprocessors: Callable[[Invocation], int]) -> Steps[None]:
    if call["type"] != _MULTIPROCESSORS:
        yield from call.not_emulated(f"{call.entry_point.name} of other resources than multiprocessors")
    yield from write(call["resource"], _resource(multiprocessors(call)))


cuDeviceGetDevResource = partial(_give, multiprocessors=lambda _: facts.named("MULTIPROCESSOR_COUNT"))
cuGreenCtxGetDevResource = partial(_give, multiprocessors=lambda call: call.get("multiprocessors", call["hCtx"]))


def _resource(multiprocessors: int) -> bytes:
    return catalog().pack("CUdevResource", {**_MEMBERS, "sm.smCount": multiprocessors})


def cuDevSmResourceSplitByCount(call: Invocation) -> Steps[None]:
    whole = call.member("input", "sm.smCount")
    size = max(1, -(-call["minCount"] // _ALIGNMENT)) * _ALIGNMENT
    (wanted,) = yield from read_words(call["nbGroups"], 1, 4)
    groups = min(wanted, whole // size) if call["result"] else whole // size
    if call["result"]:
        yield from write(call["result"], _resource(size) * groups)
    if call["remainder"]:
        yield from write(call["remainder"], _resource(whole - groups * size))
    yield from write_word(call["nbGroups"], groups, 4)


def cuDevResourceGenerateDesc(call: Invocation) -> Steps[None]:
    """The description is the number of its multiprocessors."""
    struct = catalog().struct("CUdevResource").bytes
    data = yield from read(call["resources"], struct * call["nbResources"])
    each = (data[start : start + struct] for start in range(0, len(data), struct))
    count = sum(catalog().member("CUdevResource", part, "sm.smCount") for part in each)
    require(count)
    call.give("phDesc", count)


def cuGreenCtxCreate(call: Invocation) -> Steps[None]:
    yield from context_made(call)
    require(call["desc"])
    call.set("multiprocessors", call.issue("phCtx", Kind.GREEN_CONTEXT), call["desc"])


def cuGreenCtxDestroy(call: Invocation) -> None:
    call.process.attributes.pop((_CONTEXT, call["hCtx"], 0), None)


def cuStreamGetGreenCtx(call: Invocation) -> None:
    stream = call.model.find(Kind.STREAM, call["hStream"])
    green = stream.parent if stream is not None else None
    call.give("phCtx", green.handle if green is not None and green.kind is Kind.GREEN_CONTEXT else 0)


def cuGreenCtxGetId(call: Invocation) -> None:
    green = call.model.find(Kind.GREEN_CONTEXT, call["greenCtx"])
    call.give("greenCtxId", green.number if green is not None else 0)


cuCtxFromGreenCtx = gives(pContext=lambda call: call.handle_of(_CONTEXT, call["hCtx"], Kind.CONTEXT))
cuGreenCtxStreamCreate = cuStreamCreateWithPriority
cuGreenCtxRecordEvent = cuGreenCtxWaitEvent = waits
"""What is in progress is done by then, which it may be."""
