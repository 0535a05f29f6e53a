"""Has each CUDA library that the loader takes the functions that its users call?

A newer release keeps the soname and adds functions; the loader takes the first file of the name, and a function that it lacks ends the
program when it is loaded or called: https://github.com/pytorch/pytorch/issues/119072 (NCCL),
https://github.com/hcnoh/gail-pytorch/issues/5 (cuBLASLt).
"""

import re

from cuvet.doctor import cudnn, elf, frameworks, loader, python
from cuvet.doctor.loader import Copy, Loaded
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy

TITLE = "functions of the CUDA libraries"
GROUP: Group = "libraries"

LOOKED_AT = ("dynamic symbols of the CUDA libraries that the loader takes, and of the files that need them",)
_PREFIXES = {
    "libnccl": "p?nccl[A-Z]",
    "libcublasLt": "cublasLt",
    "libcublas": "cublas(?!Lt)",
    "libcusparse": "cusparse(?!Lt)",
    "libcusolver": "cusolver(?!Mg)",
    "libcufft": "cufft",
    "libcurand": "curand",
    "libcupti": "cupti",
    "libnvrtc": "nvrtc",
}
_CAUSES = {"libnccl": "nccl-older-in-front", "libcublasLt": "cublaslt-of-other-release"}


def probe(machine: Machine) -> Conclusions:
    roots = [path for framework in frameworks.installed(machine) for path in framework.libraries]
    if machine.program and not machine.python:
        roots.append(machine.program)
    problems = {each.verdict: each for path in roots for each in _problems(machine, path)}
    yield from problems.values()
    if not problems:
        yield healthy("the CUDA libraries that the loader takes have what their users call")


def _problems(machine: Machine, path: str) -> Conclusions:
    loaded = loader.closure(machine, path).loaded
    files = dict.fromkeys((path, *(each.copy.path for each in loaded)))
    for library in loaded:
        stem = library.soname.partition(".")[0]
        defined = elf.symbols(machine, library.copy.path, defined=True) if stem in _PREFIXES else frozenset[str]()
        for user in files if defined else ():
            read = elf.read(machine, user)
            if read and library.soname in read.needed:
                called = {name for name in elf.symbols(machine, user, defined=False) if re.match(_PREFIXES[stem], name)}
                if lacking := sorted(called - defined):
                    yield _lacks(machine, library, user, lacking)


def _lacks(machine: Machine, library: Loaded, user: str, lacking: list[str]) -> Conclusion:
    others = [
        copy for copy in _others(machine, library, user) if lacking[0] in elf.symbols(machine, copy.path, defined=True)
    ]
    return error(
        cause=_CAUSES.get(library.soname.partition(".")[0], "toolkit-mixed-packages"),
        verdict=f"{user} calls {lacking[0]}, which {library.copy.path} does not have",
        evidence=(
            f"{library.copy.real} ({library.copy.why}): without {', '.join(lacking[:3])}",
            *(f"{copy.path} ({copy.why}): has it, comes later" for copy in others),
        ),
        fix=cudnn.how_to_remove(machine, library.copy)
        if others
        else f"install the {library.soname} that {user} was built with",
    )


def _others(machine: Machine, library: Loaded, user: str) -> list[Copy]:
    found = (*loader.copies(machine, library.soname, (user,)), *python.copies(machine, library.soname))
    return [copy for copy in {each.real: each for each in found}.values() if copy.real != library.copy.real]
