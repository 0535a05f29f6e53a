"""Does a variable of the environment turn off what the program needs: the compiler of PTX, or the network interface of NCCL?

Sources: CUDA C++ Programming Guide, "CUDA Environment Variables" (CUDA_FORCE_PTX_JIT, CUDA_DISABLE_PTX_JIT); NCCL, Environment Variables,
NCCL_SOCKET_IFNAME: a list of prefixes, ``=`` for exact names, ``^`` for those to leave out.
"""

from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Group, healthy, warning
from cuvet.doctor.probes import gpu_architectures
from cuvet.image import compatibility
from cuvet.image.compatibility import ptx_compiles

TITLE = "variables of CUDA and NCCL"
GROUP: Group = "frameworks"

_FORCE, _INTERFACE = "CUDA_FORCE_PTX_JIT", "NCCL_SOCKET_IFNAME"
LOOKED_AT = (_FORCE, _INTERFACE, "/sys/class/net")


def probe(machine: Machine) -> Conclusions:
    problems = [*_force_jit(machine), *_interface(machine)]
    yield from problems
    if not problems:
        yield healthy("no variable turns off what is needed here")


def _force_jit(machine: Machine) -> Conclusions:
    if machine.environ.get(_FORCE) != "1":
        return
    gpus = sorted({each.compute_capability for each in machine.state.cuda.devices if each.compute_capability})
    for who, path, entries in gpu_architectures.with_code(machine):
        texts = [compatibility.target(entry.arch) for entry in entries if entry.kind == "ptx"]
        lacking = [f"sm_{a}{b}" for a, b in gpus if not any(ptx_compiles(each, 10 * a + b) for each in texts)]
        if lacking:
            yield warning(
                cause="jit-disabled",
                verdict=f"{_FORCE}=1 makes the driver ignore machine code, and {who} has no PTX for {', '.join(lacking)}",
                evidence=(f"{_FORCE}=1", f"{path}: PTX for {', '.join(map(str, texts)) or 'no GPU'}"),
                fix=f"unset {_FORCE}",
            )


def _interface(machine: Machine) -> Conclusions:
    value, there = machine.environ.get(_INTERFACE, ""), machine.names("/sys/class/net")
    wanted = value.removeprefix("=").split(",")
    if not value or value.startswith("^") or not there:
        return
    named = (name.partition(":")[0] for name in wanted)
    if any(each == name if value.startswith("=") else each.startswith(name) for name in named for each in there):
        return
    yield warning(
        cause="nccl-network",
        verdict=f"{_INTERFACE} names {value}, and there is no such network interface: NCCL finds none",
        evidence=(f"{_INTERFACE}={value}", f"/sys/class/net: {', '.join(there)}"),
        fix=f"unset {_INTERFACE}, or name one of {', '.join(name for name in there if name != 'lo')}",
    )
