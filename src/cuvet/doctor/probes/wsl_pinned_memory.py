"""Under WSL: is pinned memory limited?"""

from cuvet.doctor import driver
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Group, healthy, note

TITLE = "pinned memory under WSL"
GROUP: Group = "memory"

_RELEASE = "/proc/sys/kernel/osrelease"


def probe(machine: Machine) -> Conclusions:
    if not driver.is_wsl(machine):
        yield healthy("not WSL", _RELEASE)
        return
    yield note(
        cause="wsl-pinned-memory-limit",
        verdict="this is WSL, where pinned host memory is limited: an out of memory error may mean the host's, though the GPU is free",
        looked_at=(_RELEASE,),
        evidence=(f"{_RELEASE}: {(machine.read_text(_RELEASE) or '').strip()}",),
        fix="pin less (PyTorch: pin_memory=False), or give WSL more memory: memory= in %UserProfile%\\.wslconfig, then wsl --shutdown",
    )
