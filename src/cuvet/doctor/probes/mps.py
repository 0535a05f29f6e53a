"""Would the program run through a Multi-Process Service?"""

from cuvet.doctor import driver
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Group, error, healthy, note

TITLE = "Multi-Process Service"
GROUP: Group = "devices"

_VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"
_DEFAULT = "/tmp/nvidia-mps"
CONNECTION_FAILED = 805


def has_pipe(machine: Machine) -> bool:
    return machine.exists(f"{machine.environ.get(_VARIABLE) or _DEFAULT}/control")


def probe(machine: Machine) -> Conclusions:
    directory = machine.environ.get(_VARIABLE) or _DEFAULT
    if not has_pipe(machine):
        yield healthy("no MPS control daemon", _VARIABLE, f"{directory}/control")
        return
    process = (machine.read_text(f"{directory}/nvidia-cuda-mps-control.pid") or "").strip()
    gone = process.isdecimal() and not machine.exists(f"/proc/{process}") and not driver.is_container(machine)
    if machine.state.cuda.status == CONNECTION_FAILED or (gone and machine.state.cuda.status):
        yield error(
            cause="container-mps-without-host-ipc" if driver.is_container(machine) else "mps-limits",
            verdict=f"CUDA cannot connect to the MPS daemon whose pipe is in {directory}"
            + (": the daemon is gone" if gone else ""),
            looked_at=(_VARIABLE, f"{directory}/control", "cuInit"),
            evidence=(
                f"{directory}/control: exists",
                *([f"{directory}/nvidia-cuda-mps-control.pid: {process}, no such process"] if gone else []),
                f"cuInit returned {machine.state.cuda.status}",
            ),
            fix=f"rm -r {directory} (programs then run without MPS), or start the daemon: nvidia-cuda-mps-control -d",
        )
        return
    yield note(
        cause="device-mps",
        verdict=f"there is the pipe of an MPS control daemon in {directory}: programs run as its clients",
        looked_at=(_VARIABLE, f"{directory}/control"),
        evidence=(f"{directory}/control: exists",),
        fix="if MPS is not wanted, end its daemon: echo quit | nvidia-cuda-mps-control",
    )
