"""Is there room in /dev/shm for NCCL and for the workers of a DataLoader?

Sources: NCCL, Troubleshooting, "Shared memory" (Docker gives 64 MB); https://github.com/NVIDIA/nccl/issues/342 (segments of 9.6 MB).
"""

import os

from cuvet.doctor import driver
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Group, healthy, note, unknown, warning

TITLE = "/dev/shm"
GROUP: Group = "memory"

_PLACE = "/dev/shm"
LOOKED_AT = (_PLACE, "/proc/self/mounts")
_MIB = 1 << 20
_DOCKERS = 64 * _MIB
_LITTLE = 32 * _MIB
_MOST_NAMED = 5


def probe(machine: Machine) -> Conclusions:
    room = machine.room(_PLACE)
    if room is None:
        yield unknown("no tmpfs with a size of its own is mounted there")
        return
    size, free = room
    evidence = (f"{_PLACE}: {free // _MIB} of {size // _MIB} MiB free",)
    several = len(driver.visible_gpus(machine)) > 1
    if free < _LITTLE and free < size // 10:
        yield warning(
            cause="nccl-shared-memory-too-small",
            verdict=f"{_PLACE} is full: NCCL and the workers of a DataLoader find no room there",
            evidence=(*evidence, *_largest(machine)),
            fix=f"remove what ended programs have left: ls -l {_PLACE} (fuser {_PLACE}/* shows who uses it)",
        )
    elif size <= _DOCKERS:
        yield (warning if several else note)(
            cause="nccl-shared-memory-too-small",
            verdict=f"{_PLACE} has {size // _MIB} MiB: too little for NCCL between GPUs, and for DataLoaders with workers",
            evidence=evidence,
            fix="docker run --ipc=host … or --shm-size=8g; Kubernetes: an emptyDir of medium Memory mounted there",
        )
    else:
        yield healthy(evidence[0])


def _largest(machine: Machine) -> tuple[str, ...]:
    sizes = {path: machine.stat(path).st_size for path in machine.glob(f"{_PLACE}/*") if machine.is_file(path)}
    largest = sorted(sizes, key=lambda path: -sizes[path])[:_MOST_NAMED]
    return tuple(f"{path}: {sizes[path] // _MIB} MiB" for path in largest if os.path.basename(path))
