"""How much host memory may the program pin before its cgroup kills it?

Sources: Linux kernel documentation, "Control Group v2" (memory.max, memory.current, memory.stat) and "Memory Resource Controller" (v1).
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, healthy, unknown

TITLE = "cgroup limit on memory"
GROUP: Group = "memory"

GIB = 1 << 30
_CGROUP = "/proc/self/cgroup"
LOOKED_AT = (_CGROUP, "memory.max", "memory.current", "memory.stat", "/proc/meminfo")


@dataclass(frozen=True)
class Limit:
    """``headroom_bytes``: what is left under the limit when the page cache is dropped."""

    path: str
    limit_bytes: int
    headroom_bytes: int


def probe(machine: Machine) -> Conclusions:
    total = re.search(r"^MemTotal:\s+(\d+) kB", machine.read_text("/proc/meminfo") or "", re.MULTILINE)
    if machine.read_text(_CGROUP) is None or not total:
        yield unknown(f"{_CGROUP if total else '/proc/meminfo'} cannot be read")
        return
    total_bytes = int(total[1]) << 10
    limit = min(limits(machine), key=lambda each: each.headroom_bytes, default=None)
    if limit is None or limit.limit_bytes >= total_bytes:
        yield healthy("no limit below the machine's memory")
        return
    left, allowed = _gib(limit.headroom_bytes), _gib(limit.limit_bytes)
    little = limit.headroom_bytes < min(GIB, limit.limit_bytes // 4)
    yield Conclusion(
        severity="warning" if little else "note",
        cause="cgroup-memory-limit",
        verdict=f"the cgroup leaves {left} of its {allowed}: pinning more gets the program killed"
        if little
        else f"pinned memory counts against the cgroup's {allowed}, not the {_gib(total_bytes)} of /proc/meminfo",
        evidence=(
            f"{limit.path}: {limit.limit_bytes} bytes, {limit.headroom_bytes} of them free or page cache",
            f"/proc/meminfo: MemTotal {total_bytes} bytes",
        ),
        fix="give the container or the service more memory (docker run --memory, systemd MemoryMax), or pin less",
    )


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"


def limits(machine: Machine) -> Iterator[Limit]:
    """Of the process's cgroup and of those that it is in."""
    for line in (machine.read_text(_CGROUP) or "").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            yield from _walk(machine, "/sys/fs/cgroup", path, "memory.max", "memory.current", "")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
            yield from _walk(machine, "/sys/fs/cgroup/memory", path, *names, "total_")


def _walk(machine: Machine, mount: str, path: str, maximum: str, current: str, prefix: str) -> Iterator[Limit]:
    parts = [part for part in path.split("/") if part not in ("", "..")]
    for depth in range(len(parts), -1, -1):
        directory = os.path.join(mount, *parts[:depth])
        limit, used = (_number(machine, f"{directory}/{name}") for name in (maximum, current))
        if limit is None or used is None:
            continue
        statistics = machine.read_text(f"{directory}/memory.stat") or ""
        cache = re.findall(rf"^{prefix}(?:active|inactive)_file (\d+)", statistics, re.MULTILINE)
        held = used - sum(map(int, cache))
        yield Limit(f"{directory}/{maximum}", limit, max(0, limit - held))


def _number(machine: Machine, path: str) -> int | None:
    text = (machine.read_text(path) or "").strip()
    return int(text) if text.isdecimal() else None
