"""Are the libraries of NVIDIA's Python packages those that pip installed? cuDNN's have a probe of their own."""

import os
from collections import Counter

from cuvet.doctor import cudnn, python
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy
from cuvet.doctor.python import Distribution

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
    """``owners``: how many packages list a path; of several, the sizes tell nothing."""
    damage = []
    for file in python.recorded(machine, package) or ():
        if ".so" not in os.path.basename(file.path) or owners[file.path] > 1:
            continue
        if not machine.is_file(file.path):
            damage.append(f"{file.path}: listed in RECORD, not there")
        elif file.size is not None and machine.stat(file.path).st_size != file.size:
            damage.append(f"{file.path}: {machine.stat(file.path).st_size} bytes, {file.size} in RECORD")
    if not damage:
        return None
    return error(
        cause="package-files-damaged",
        verdict=f"{len(damage)} of the libraries of {package.name} {package.version} are not what pip installed",
        evidence=tuple(damage),
        fix=cudnn.pip(machine, f"install --force-reinstall --no-deps {package.name}=={package.version}"),
    )
