"""Does the driver support the CUDA version that the program, or an installed framework, was built for?"""

from cuvet.doctor import driver, runtimes
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy, note, unknown
from cuvet.doctor.runtimes import Runtime

TITLE = "driver and CUDA versions"
GROUP: Group = "driver"

LOOKED_AT = ("cuDriverGetVersion", "libcudart of the program", "CUDA version of the installed frameworks")


def probe(machine: Machine) -> Conclusions:
    supported, found = driver.supported_cuda(machine), runtimes.find(machine)
    if supported is None:
        yield unknown("the driver does not say which CUDA it supports")
        return
    too_new = [runtime for runtime in found if runtime.cuda[0] > supported[0]]
    newer = [runtime for runtime in found if runtime.cuda[0] == supported[0] and (runtime.cuda[1] or 0) > supported[1]]
    for runtime in too_new:
        yield _too_old(machine, runtime, supported)
    for runtime in newer:
        yield _newer_minor(machine, runtime, supported)
    if not too_new and not newer:
        evidence = tuple(f"{runtime.who} {runtime.evidence}" for runtime in found)
        yield healthy(f"the driver supports CUDA {_text(supported)}", evidence=evidence)


def _text(version: tuple[int, int | None]) -> str:
    return str(version[0]) if version[1] is None else f"{version[0]}.{version[1]}"


def _evidence(machine: Machine, runtime: Runtime, supported: tuple[int, int]) -> tuple[str, ...]:
    kernel = driver.kernel_version(machine) or machine.state.nvml.driver or "of unknown version"
    return (f"driver {kernel}: supports CUDA {_text(supported)} and older", runtime.evidence)


def _too_old(machine: Machine, runtime: Runtime, supported: tuple[int, int]) -> Conclusion:
    major = runtime.cuda[0]
    minimum = driver.MINIMUM_DRIVERS.get(major)
    newer = f"a driver of at least {minimum}" if minimum else f"a driver for CUDA {major}"
    return error(
        cause="driver-too-old",
        verdict=f"the driver supports CUDA {_text(supported)}, {runtime.who} needs CUDA {_text(runtime.cuda)}",
        evidence=_evidence(machine, runtime, supported),
        fix=f"install {newer}, or a build of {runtime.who.split()[0]} for CUDA {supported[0]}",
    )


def _newer_minor(machine: Machine, runtime: Runtime, supported: tuple[int, int]) -> Conclusion:
    """Runs by minor version compatibility, except for PTX that this toolkit compiled."""
    return note(
        cause="image-ptx-too-new",
        verdict=f"{runtime.who} is of CUDA {_text(runtime.cuda)}, the driver of {_text(supported)}: it runs, but not PTX made by that CUDA",
        evidence=_evidence(machine, runtime, supported),
        fix=f"only if loading a kernel fails with 222: install a driver for CUDA {_text(runtime.cuda)}",
    )
