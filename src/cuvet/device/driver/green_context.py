"""Green contexts: some of a device's multiprocessors. What kernels would run on them is of no account: none is run."""

from __future__ import annotations

from cuvet.catalog import Kind
from cuvet.catalog import driver as catalog
from cuvet.device import facts, status
from cuvet.device.driver.device import context_made
from cuvet.device.driver.stream import created
from cuvet.device.invocation import Invocation, read, write, write_word
from cuvet.device.protocol import Steps

_MULTIPROCESSORS = 1
_SMALLEST_PART = 8
"""Of devices of compute capability 9.0; parts are multiples of it (CUDA Driver API, Green Contexts)."""


def cuDeviceGetDevResource(call: Invocation) -> Steps[int]:
    return (yield from _give_multiprocessors(call))


def cuGreenCtxGetDevResource(call: Invocation) -> Steps[int]:
    return (yield from _give_multiprocessors(call))


def _give_multiprocessors(call: Invocation) -> Steps[int]:
    if call["type"] != _MULTIPROCESSORS:
        return status.NOT_SUPPORTED
    yield from write(call["resource"], _resource(facts.named("MULTIPROCESSOR_COUNT")))
    return status.SUCCESS


def _resource(multiprocessors: int) -> bytes:
    described, data = catalog(), bytearray(catalog().struct("CUdevResource").bytes)
    for path, value in (("type", _MULTIPROCESSORS), ("sm.smCount", multiprocessors)):
        offset, size, _ = described.field("CUdevResource", path)
        data[offset : offset + size] = value.to_bytes(size, "little")
    return bytes(data)


def cuDevSmResourceSplitByCount(call: Invocation) -> Steps[int]:
    whole = call.member("input", "sm.smCount")
    size = max(_SMALLEST_PART, -(-call["minCount"] // _SMALLEST_PART) * _SMALLEST_PART)
    wanted = int.from_bytes((yield from read(call["nbGroups"], 4)), "little")
    groups = min(wanted, whole // size) if call["result"] else whole // size
    if call["result"]:
        yield from write(call["result"], _resource(size) * groups)
    if call["remainder"]:
        yield from write(call["remainder"], _resource(whole - groups * size))
    yield from write_word(call["nbGroups"], groups, 4)
    return status.SUCCESS


def cuDevResourceGenerateDesc(call: Invocation) -> int:
    """What it describes is not looked at again."""
    call.give("phDesc", call["resources"])
    return status.SUCCESS if call["resources"] and call["nbResources"] else status.INVALID_VALUE


def cuGreenCtxCreate(call: Invocation) -> Steps[int]:
    yield from context_made(call)
    call.issue("phCtx", Kind.GREEN_CONTEXT)
    return status.SUCCESS if call["desc"] else status.INVALID_VALUE


def cuGreenCtxDestroy(call: Invocation) -> int:
    call.process.attributes.pop(("context of green context", call["hCtx"], 0), None)
    return status.SUCCESS


def cuCtxFromGreenCtx(call: Invocation) -> int:
    key = ("context of green context", call["hCtx"], 0)
    attributes = call.process.attributes
    if key not in attributes:
        attributes[key] = call.process.handles.issue(Kind.CONTEXT)
    call.give("pContext", attributes[key])
    return status.SUCCESS


def cuGreenCtxStreamCreate(call: Invocation) -> int:
    return created(call, call["flags"], call.signed("priority"))


def cuStreamGetGreenCtx(call: Invocation) -> int:
    stream = call.model.find(Kind.STREAM, call["hStream"])
    green = stream.parent if stream is not None else None
    call.give("phCtx", green.handle if green is not None and green.kind is Kind.GREEN_CONTEXT else 0)
    return status.SUCCESS


def cuGreenCtxGetId(call: Invocation) -> int:
    green = call.model.find(Kind.GREEN_CONTEXT, call["greenCtx"])
    call.give("greenCtxId", green.number if green is not None else 0)
    return status.SUCCESS


def cuGreenCtxRecordEvent(call: Invocation) -> int:
    return status.SUCCESS


def cuGreenCtxWaitEvent(call: Invocation) -> int:
    return status.SUCCESS
