"""Handles for other processes. They can be got, but memory and events of the emulated device are not shared between processes."""

import struct

from cuvet.device import status
from cuvet.device.invocation import Invocation, write
from cuvet.device.protocol import Steps

_HANDLE_BYTES = 64


def _opaque(call: Invocation, word: int) -> Steps[int]:
    yield from write(call["pHandle"], struct.pack("<QQ", call.process.pid, word).ljust(_HANDLE_BYTES, b"\0"))
    return status.SUCCESS


def cuIpcGetMemHandle(call: Invocation) -> Steps[int]:
    memory = call.model.allocation_at(call["dptr"])
    if memory is None or not memory.alive:
        return status.INVALID_VALUE
    return (yield from _opaque(call, memory.handle))


def cuIpcGetEventHandle(call: Invocation) -> Steps[int]:
    return (yield from _opaque(call, call["event"]))
