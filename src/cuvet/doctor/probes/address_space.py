"""Is the address space limited (ulimit -v), though CUDA reserves far more than it uses?"""

import re

from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, healthy, unknown

TITLE = "limit on the address space"
GROUP: Group = "memory"

_LIMITS = "/proc/self/limits"
LOOKED_AT = (_LIMITS, "cuInit")
_OUT_OF_MEMORY = 2


def probe(machine: Machine) -> Conclusions:
    text = machine.read_text(_LIMITS)
    found = re.search(r"^Max address space\s+(\d+)", text or "", re.MULTILINE)
    if text is None:
        yield unknown(f"{_LIMITS} cannot be read")
    elif not found:
        yield healthy("the address space is not limited")
    else:
        failed = machine.state.cuda.status == _OUT_OF_MEMORY
        yield Conclusion(
            severity="error" if failed else "note",
            cause="address-space-limit",
            verdict=f"the address space is limited to {int(found[1]) >> 30} GiB"
            + (": cuInit returned CUDA_ERROR_OUT_OF_MEMORY (2)" if failed else ", and CUDA reserves more than it uses"),
            evidence=(f"{_LIMITS}: {found[0]} bytes",),
            fix="ulimit -v unlimited; in batch systems ask for more virtual memory (SGE: h_vmem), or limit the memory by cgroup",
        )
