"""Handles for other processes. They can be got, but memory and events of the emulated device are not shared between processes."""

import struct

from cuvet.catalog import results as status
from cuvet.device.invocation import Invocation, Refused, write
from cuvet.device.protocol import Steps

_HANDLE_BYTES = 64


def _opaque(call: Invocation, word: int) -> Steps[None]:
    yield from write(call["pHandle"], struct.pack("<QQ", call.process.pid, word).ljust(_HANDLE_BYTES, b"\0"))


def cuIpcGetMemHandle(call: Invocation) -> Steps[None]:
    memory = call.model.allocation_at(call["dptr"])
    if memory is None or not memory.alive:
        raise Refused(status.INVALID_VALUE)
    return _opaque(call, memory.handle)


def cuIpcGetEventHandle(call: Invocation) -> Steps[None]:
    return _opaque(call, call["event"])
