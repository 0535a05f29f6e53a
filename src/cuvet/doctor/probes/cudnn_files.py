"""Are the files of the nvidia-cudnn packages those that pip installed?"""

import os

from cuvet.doctor import cudnn, python
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy, unknown
from cuvet.doctor.python import Distribution

TITLE = "files of the cuDNN packages"
GROUP: Group = "libraries"


def probe(machine: Machine) -> Conclusions:
    packages = cudnn.packages(machine)
    if len({each.site for each in packages}) < len(packages):
        yield unknown("two cuDNN packages own the same files: their sizes tell nothing", *_records(packages))
        return
    for package in packages:
        yield _conclusion(machine, package)
    if not packages:
        yield healthy("no nvidia-cudnn package from PyPI", *_records(packages))


def _records(packages: tuple[Distribution, ...]) -> tuple[str, ...]:
    return tuple(os.path.join(each.dist_info, "RECORD") for each in packages) or ("site-packages",)


def _conclusion(machine: Machine, package: Distribution) -> Conclusion:
    record = os.path.join(package.dist_info, "RECORD")
    files = python.recorded(machine, package)
    if files is None:
        return healthy(f"{package.name} {package.version} has no RECORD: not installed by pip", record)
    damage = []
    for file in files:
        if ".so" not in os.path.basename(file.path):
            continue
        if not machine.is_file(file.path):
            if os.path.basename(file.path).startswith("libcudnn.so"):
                damage.append(f"{file.path}: listed in RECORD, not there")
        elif file.size is not None and machine.stat(file.path).st_size != file.size:
            damage.append(f"{file.path}: {machine.stat(file.path).st_size} bytes, {file.size} in RECORD")
    if not damage:
        return healthy(f"the libraries of {package.name} {package.version} have the sizes that pip recorded", record)
    return error(
        cause="cudnn-files-damaged",
        verdict=f"{len(damage)} of the libraries of {package.name} {package.version} are not what pip installed",
        looked_at=(record,),
        evidence=tuple(damage),
        fix=cudnn.pip(machine, f"install --force-reinstall --no-deps {package.name}=={package.version}"),
    )
