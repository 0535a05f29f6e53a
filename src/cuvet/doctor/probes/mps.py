"""Would the program run through a Multi-Process Service?"""

from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Group, healthy, note

TITLE = "Multi-Process Service"
GROUP: Group = "devices"

_VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"
_DEFAULT = "/tmp/nvidia-mps"


def probe(machine: Machine) -> Conclusions:
    directory = machine.environ.get(_VARIABLE) or _DEFAULT
    if not machine.exists(f"{directory}/control"):
        yield healthy("no MPS control daemon", _VARIABLE, f"{directory}/control")
        return
    yield note(
        cause="device-mps",
        verdict=f"there is the pipe of an MPS control daemon in {directory}: programs run as its clients",
        looked_at=(_VARIABLE, f"{directory}/control"),
        evidence=(f"{directory}/control: exists",),
        fix="if MPS is not wanted, end its daemon: echo quit | nvidia-cuda-mps-control",
    )
