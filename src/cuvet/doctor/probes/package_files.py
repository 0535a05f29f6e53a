"""Are the libraries of NVIDIA's Python packages those that pip installed? cuDNN's have a probe of their own."""

import os
from collections import Counter

from cuvet.doctor import cudnn, python
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, healthy
from cuvet.doctor.python import Distribution
from cuvet.image import elf
from cuvet.image.errors import ImageError

TITLE = "files of NVIDIA's packages"
GROUP: Group = "libraries"

LOOKED_AT = ("RECORD of every nvidia-* package", "sizes of the libraries that it lists")


def probe(machine: Machine) -> Conclusions:
    packages = [
        each
        for each in python.distributions(machine).values()
        if each.name.startswith("nvidia-") and each not in cudnn.packages(machine)
    ]
    owners = Counter(file.path for package in packages for file in python.recorded(machine, package) or ())
    problems = [each for package in packages if (each := _damaged(machine, package, owners))]
    yield from problems
    if not problems:
        yield healthy(f"the libraries of {len(packages)} packages have the sizes that pip recorded")


def _damaged(machine: Machine, package: Distribution, owners: Counter[str]) -> Conclusion | None:
    """``owners``: how many packages list a path; of several, the sizes tell nothing. Images that were made smaller lack libraries that
    nobody needs, or have them stripped: only a library that is cut is an error."""
    cut: list[str] = []
    other: list[str] = []
    for file in python.recorded(machine, package) or ():
        if ".so" not in os.path.basename(file.path) or owners[file.path] > 1:
            continue
        if not machine.is_file(file.path):
            other.append(f"{file.path}: listed in RECORD, not there")
        elif file.size is not None and (size := machine.stat(file.path).st_size) != file.size:
            (cut if _is_cut(machine, file.path, size) else other).append(
                f"{file.path}: {size} bytes, {file.size} in RECORD"
            )
    if not cut and not other:
        return None
    return Conclusion(
        severity="error" if cut else "note",
        cause="package-files-damaged",
        verdict=f"{len(cut or other)} of the libraries of {package.name} {package.version} are "
        + ("cut: the loader cannot load them" if cut else "not as pip installed them"),
        evidence=(*cut, *other),
        fix=cudnn.pip(machine, f"install --force-reinstall --no-deps {package.name}=={package.version}"),
    )


def _is_cut(machine: Machine, path: str, size: int) -> bool:
    """Whether the file ends before its ELF headers say, or is none."""
    with machine.open(path) as file:
        header = file.read(64)
    try:
        return elf.size_of(header) > size or len(header) < 64
    except ImageError:
        return True
