"""Green contexts: some of a device's multiprocessors. What kernels would run on them is of no account: none is run."""

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.device import facts, status
from cuvet.device.driver.device import context_made
from cuvet.device.driver.stream import created
from cuvet.device.invocation import Invocation, Refused, read, tell, write, write_word
from cuvet.device.protocol import Steps

_MULTIPROCESSORS = 1
_ALIGNMENT = 8
"""Of the sizes of parts, and the smallest, on devices of compute capability 9.0 (CUDA Driver API, Green Contexts)."""
_MEMBERS = {"type": _MULTIPROCESSORS, "sm.minSmPartitionSize": _ALIGNMENT, "sm.smCoscheduledAlignment": _ALIGNMENT}


def cuDeviceGetDevResource(call: Invocation) -> Steps[int]:
    return (yield from _give(call, facts.named("MULTIPROCESSOR_COUNT")))


def cuGreenCtxGetDevResource(call: Invocation) -> Steps[int]:
    return (yield from _give(call, call.process.attributes.get(("multiprocessors", call["hCtx"], 0), 0)))


def _give(call: Invocation, multiprocessors: int) -> Steps[int]:
    if call["type"] != _MULTIPROCESSORS:
        yield from tell(
            call.process, f"{call.entry_point.name} of other resources than multiprocessors is not emulated"
        )
        return status.NOT_SUPPORTED
    yield from write(call["resource"], _resource(multiprocessors))
    return status.SUCCESS


def _resource(multiprocessors: int) -> bytes:
    data = bytearray(catalog().struct("CUdevResource").bytes)
    for path, value in (*_MEMBERS.items(), ("sm.smCount", multiprocessors)):
        offset, size, _ = catalog().field("CUdevResource", path)
        data[offset : offset + size] = value.to_bytes(size, "little")
    return bytes(data)


def cuDevSmResourceSplitByCount(call: Invocation) -> Steps[None]:
    whole = call.member("input", "sm.smCount")
    size = max(1, -(-call["minCount"] // _ALIGNMENT)) * _ALIGNMENT
    wanted = int.from_bytes((yield from read(call["nbGroups"], 4)), "little")
    groups = min(wanted, whole // size) if call["result"] else whole // size
    if call["result"]:
        yield from write(call["result"], _resource(size) * groups)
    if call["remainder"]:
        yield from write(call["remainder"], _resource(whole - groups * size))
    yield from write_word(call["nbGroups"], groups, 4)


def cuDevResourceGenerateDesc(call: Invocation) -> Steps[int]:
    """The description is the number of its multiprocessors."""
    struct = catalog().struct("CUdevResource").bytes
    offset, size, _ = catalog().field("CUdevResource", "sm.smCount")
    data = yield from read(call["resources"], struct * call["nbResources"])
    counts = [int.from_bytes(data[at : at + size], "little") for at in range(offset, len(data), struct)]
    call.give("phDesc", sum(counts))
    return status.SUCCESS if sum(counts) else status.INVALID_VALUE


def cuGreenCtxCreate(call: Invocation) -> Steps[None]:
    yield from context_made(call)
    if not call["desc"]:
        raise Refused(status.INVALID_VALUE)
    call.process.attributes["multiprocessors", call.issue("phCtx", Kind.GREEN_CONTEXT), 0] = call["desc"]


def cuGreenCtxDestroy(call: Invocation) -> None:
    call.process.attributes.pop(("context of green context", call["hCtx"], 0), None)


def cuCtxFromGreenCtx(call: Invocation) -> None:
    key = ("context of green context", call["hCtx"], 0)
    attributes = call.process.attributes
    if key not in attributes:
        attributes[key] = call.process.handles.issue(Kind.CONTEXT)
    call.give("pContext", attributes[key])


def cuGreenCtxStreamCreate(call: Invocation) -> int:
    return created(call, call["flags"], call.signed("priority"))


def cuStreamGetGreenCtx(call: Invocation) -> None:
    stream = call.model.find(Kind.STREAM, call["hStream"])
    green = stream.parent if stream is not None else None
    call.give("phCtx", green.handle if green is not None and green.kind is Kind.GREEN_CONTEXT else 0)


def cuGreenCtxGetId(call: Invocation) -> None:
    green = call.model.find(Kind.GREEN_CONTEXT, call["greenCtx"])
    call.give("greenCtxId", green.number if green is not None else 0)


def cuGreenCtxRecordEvent(call: Invocation) -> Steps[None]:
    """What is in progress is done by then, which it may be."""
    yield from call.wait()


def cuGreenCtxWaitEvent(call: Invocation) -> Steps[None]:
    yield from call.wait()
