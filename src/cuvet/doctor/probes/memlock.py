"""How much memory may the program lock, where it needs that for RDMA?"""

import re

from cuvet.doctor import driver
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Group, healthy, note, unknown

TITLE = "limit on locked memory"
GROUP: Group = "memory"

_LIMITS = "/proc/self/limits"
_RDMA = "/sys/class/infiniband"
_LITTLE = 64 << 20


def probe(machine: Machine) -> Conclusions:
    found = re.search(r"^Max locked memory\s+(\S+)", machine.read_text(_LIMITS) or "", re.MULTILINE)
    devices = machine.names(_RDMA)
    if not found:
        yield unknown(f"{_LIMITS} does not tell the limit", _LIMITS)
    elif not devices or found[1] == "unlimited" or int(found[1]) >= _LITTLE or machine.uid == 0:
        verdict = f"locked memory: {found[1]}" + ("" if devices else ", and no RDMA device that would need it")
        yield healthy(verdict, _LIMITS, _RDMA)
    else:
        inside = driver.is_container(machine)
        yield note(
            cause="memlock-limit",
            verdict=f"a program may lock {int(found[1]) >> 10} KiB only: registering buffers with {devices[0]} fails above that",
            looked_at=(_LIMITS, _RDMA),
            evidence=(f"{_LIMITS}: Max locked memory {found[1]} bytes", f"{_RDMA}: {', '.join(devices)}"),
            fix="docker run --ulimit memlock=-1 …"
            if inside
            else "ulimit -l unlimited (for good: memlock in /etc/security/limits.conf)",
        )
