"""How much memory the emulated device has, which is memory of this host."""

import re

from cuvet.device.facts import TOTAL_MEMORY
from cuvet.doctor.machine import Machine
from cuvet.doctor.probes import cgroup_memory

_SHARE = 2
"""The program needs memory too: as much as it has on the device, if it keeps what it copies there."""
_GIB, _MIB = 1 << 30, 1 << 20


def for_device(machine: Machine) -> int:
    """Bytes of a device that the host can back: half of what is available, or of what a cgroup leaves; whole GiB, if there is one.
    Never more than the GPU has that is emulated, nor less than 64 MiB."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", machine.read_text("/proc/meminfo") or "", re.MULTILINE)
    left = [limit.headroom_bytes for limit in cgroup_memory.limits(machine)]
    size = min([*left, int(found[1]) << 10] if found else [*left, TOTAL_MEMORY]) // _SHARE
    size -= size % (_GIB if size >= _GIB else _MIB)
    return min(max(size, 64 * _MIB), TOTAL_MEMORY)
