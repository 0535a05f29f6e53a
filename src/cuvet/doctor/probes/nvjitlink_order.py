"""Would cuSPARSE and cuSOLVER get a libnvJitLink that has the functions they call?

libnvJitLink.so.12 adds functions with the CUDA version in their names (``__nvJitLinkComplete_12_4``) in every minor release, under one
soname: an older copy in front leaves them undefined (https://github.com/pytorch/pytorch/issues/134929).
"""

from cuvet.doctor import cudnn, elf, frameworks, loader, python
from cuvet.doctor.loader import Copy, Loaded
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy

TITLE = "libnvJitLink for cuSPARSE and cuSOLVER"
GROUP: Group = "libraries"

LOOKED_AT = (
    "libraries that need libnvJitLink.so",
    "libnvJitLink.so.* that the loader takes for them",
    "their dynamic symbols",
)


def probe(machine: Machine) -> Conclusions:
    needing = {
        each.needed_by: each
        for path in _roots(machine)
        for each in loader.closure(machine, path).find("libnvJitLink.so")
    }
    problems = [problem for each in needing.values() if (problem := _problem(machine, each))]
    yield from problems
    if not problems:
        evidence = tuple(f"{each.needed_by}: {each.copy.path} ({each.copy.why})" for each in needing.values())
        verdict = (
            "libnvJitLink has what its users call" if needing else "nothing here needs libnvJitLink when it is loaded"
        )
        yield healthy(verdict, evidence=evidence)


def _roots(machine: Machine) -> tuple[str, ...]:
    libraries = tuple(path for framework in frameworks.installed(machine) for path in framework.libraries)
    return libraries or ((machine.program,) if machine.program else ())


def _problem(machine: Machine, loaded: Loaded) -> Conclusion | None:
    lacking = sorted(_called(machine, loaded.needed_by) - elf.symbols(machine, loaded.copy.path, defined=True))
    if not lacking:
        return None
    newer = [copy for copy in _others(machine, loaded) if lacking[0] in elf.symbols(machine, copy.path, defined=True)]
    return error(
        cause="nvjitlink-older-in-front",
        verdict=f"{loaded.needed_by} calls {lacking[0]}, which the {loaded.soname} that the loader takes does not have",
        evidence=(
            f"{loaded.copy.path} ({loaded.copy.why}): without {', '.join(lacking[:3])}",
            *(f"{copy.path} ({copy.why}): has it, comes later" for copy in newer),
        ),
        fix=cudnn.how_to_remove(machine, loaded.copy)
        if newer
        else cudnn.pip(
            machine,
            "install --upgrade " + ("nvidia-nvjitlink-cu12" if loaded.soname.endswith("12") else "nvidia-nvjitlink"),
        ),
    )


def _others(machine: Machine, loaded: Loaded) -> tuple[Copy, ...]:
    found = (*loader.copies(machine, loaded.soname, (loaded.needed_by,)), *python.copies(machine, loaded.soname))
    return tuple({copy.real: copy for copy in found if copy.real != loaded.copy.real}.values())


def _called(machine: Machine, path: str) -> frozenset[str]:
    """The functions of libnvJitLink that the file leaves undefined, with their versioned names."""
    return frozenset(name for name in elf.symbols(machine, path, defined=False) if name.startswith("__nvJitLink"))
