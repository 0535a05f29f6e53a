"""Is the address space limited (ulimit -v), though CUDA reserves far more than it uses?"""

import re

from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, healthy, unknown

TITLE = "limit on the address space"
GROUP: Group = "memory"

_LIMITS = "/proc/self/limits"
LOOKED_AT = (_LIMITS, "cuInit")
OUT_OF_MEMORY = 2


def limit(machine: Machine) -> int | None:
    """Bytes; None if there is no limit."""
    found = re.search(r"^Max address space\s+(\d+)", machine.read_text(_LIMITS) or "", re.MULTILINE)
    return int(found[1]) if found else None


def probe(machine: Machine) -> Conclusions:
    most = limit(machine)
    if machine.read_text(_LIMITS) is None:
        yield unknown(f"{_LIMITS} cannot be read")
    elif most is None:
        yield healthy("the address space is not limited")
    else:
        failed = machine.state.cuda.status == OUT_OF_MEMORY
        yield Conclusion(
            severity="error" if failed else "note",
            cause="address-space-limit",
            verdict=f"the address space is limited to {most >> 30} GiB"
            + (": cuInit returned CUDA_ERROROUT_OF_MEMORY (2)" if failed else ", and CUDA reserves more than it uses"),
            evidence=(f"{_LIMITS}: Max address space {most} bytes",),
            fix="ulimit -v unlimited; in batch systems ask for more virtual memory (SGE: h_vmem), or limit the memory by cgroup",
        )
