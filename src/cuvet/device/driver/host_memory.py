"""Pinned host memory: allocated by the driver, or the program's own and registered."""

from pathlib import Path

from cuvet.catalog import results as status
from cuvet.device.driver.memory import allocate, free
from cuvet.device.invocation import Invocation, do_if, gives, read, require
from cuvet.device.protocol import Steps
from cuvet.rules.mappings import first_hole, mappings, touching
from cuvet.rules.registrations import TOO_LARGE

_DEVICE_MAP = 2
_REGISTRATION_FLAGS = 0xF  # PORTABLE, DEVICEMAP, IOMEMORY, READ_ONLY
_IO_MEMORY, _READ_ONLY = 4, 8


def _allocate(call: Invocation) -> Steps[None]:
    address = yield from allocate(call, "pp", call["bytesize"], pinned=True)
    flags = call["Flags"] if "Flags" in call.entry_point.index else 0
    call.set("host flags", address, flags | _DEVICE_MAP)


cuMemHostAlloc = cuMemAllocHost = _allocate


def cuMemFreeHost(call: Invocation) -> Steps[None]:
    if call["p"]:
        call.process.timeline.finish()
        require((yield from free(call, call["p"])))


def cuMemHostRegister(call: Invocation) -> Steps[None]:
    address, size, flags = call["p"], call["bytesize"], call["Flags"]
    require(address and size and not flags & ~_REGISTRATION_FLAGS and not flags & _IO_MEMORY)
    require(address + size <= 1 << 64)
    require(size < TOO_LARGE, status.OUT_OF_MEMORY)
    require(_can_be_pinned(call.process.pid, address, size, bool(flags & _READ_ONLY)))
    yield from read(address + size - 1, 1)
    call.set("host flags", address, (flags & ~_READ_ONLY) | _DEVICE_MAP)


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


cuMemHostUnregister = do_if("p")
cuMemHostGetDevicePointer = gives(pdptr=lambda call: call["p"])


def cuMemHostGetFlags(call: Invocation) -> None:
    memory = call.model.host_memory_at(call["p"])
    call.give("pFlags", call.get("host flags", memory.handle if memory else 0))
