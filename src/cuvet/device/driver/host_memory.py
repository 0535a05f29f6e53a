"""Pinned host memory: allocated by the driver, or the program's own and registered."""

from pathlib import Path

from cuvet.device import status
from cuvet.device.driver.memory import allocate, free
from cuvet.device.invocation import Invocation, Refused, read
from cuvet.device.protocol import Steps
from cuvet.rules.mappings import first_hole, mappings, touching
from cuvet.rules.registrations import TOO_LARGE

_DEVICE_MAP = 2
_REGISTRATION_FLAGS = 0xF  # PORTABLE, DEVICEMAP, IOMEMORY, READ_ONLY
_IO_MEMORY, _READ_ONLY = 4, 8


def cuMemHostAlloc(call: Invocation) -> Steps[int]:
    result = yield from allocate(call, "pp", call["bytesize"], pinned=True)
    address = call.outputs.get(call.entry_point.index["pp"], 0)
    call.process.attributes["host flags", address, 0] = call["Flags"] | _DEVICE_MAP
    return result


def cuMemAllocHost(call: Invocation) -> Steps[int]:
    result = yield from allocate(call, "pp", call["bytesize"], pinned=True)
    call.process.attributes["host flags", call.outputs.get(call.entry_point.index["pp"], 0), 0] = _DEVICE_MAP
    return result


def cuMemFreeHost(call: Invocation) -> Steps[int]:
    if not call["p"]:
        return status.SUCCESS
    call.process.timeline.finish()
    return status.SUCCESS if (yield from free(call, call["p"])) else status.INVALID_VALUE


def cuMemHostRegister(call: Invocation) -> Steps[None]:
    address, size, flags = call["p"], call["bytesize"], call["Flags"]
    if not address or not size or flags & ~_REGISTRATION_FLAGS or flags & _IO_MEMORY:
        raise Refused(status.INVALID_VALUE)
    if address + size > 1 << 64:
        raise Refused(status.INVALID_VALUE)
    if size >= TOO_LARGE:
        raise Refused(status.OUT_OF_MEMORY)
    if not _can_be_pinned(call.process.pid, address, size, bool(flags & _READ_ONLY)):
        raise Refused(status.INVALID_VALUE)
    yield from read(address + size - 1, 1)
    call.process.attributes["host flags", address, 0] = (flags & ~_READ_ONLY) | _DEVICE_MAP


def _can_be_pinned(pid: int, address: int, size: int, read_only: bool) -> bool:
    """Whether every page is mapped, and may be written; a file's shared pages only for reading, while shared memory is as good as
    private (measured: register_file_mmap, register_readonly_mmap, register_rodata, register_unmapped,
    register_past_mapping, register_prot_none, register_shm, register_memfd, register_anonymous_shared)."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return True
    end = address + size
    found = touching(mappings(tuple(lines)), address, end)
    if first_hole(found, address, end) is not None:
        return False
    return all(each.readable and (read_only or (each.writable and not (each.shared and each.file))) for each in found)


def cuMemHostUnregister(call: Invocation) -> int:
    return status.SUCCESS if call["p"] else status.INVALID_VALUE


def cuMemHostGetDevicePointer(call: Invocation) -> None:
    call.give("pdptr", call["p"])


def cuMemHostGetFlags(call: Invocation) -> None:
    memory = call.model.host_memory_at(call["p"])
    call.give("pFlags", call.process.attributes.get(("host flags", memory.handle if memory else 0, 0), 0))
