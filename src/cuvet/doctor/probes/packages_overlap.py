"""Are two packages installed that own one module, such as onnxruntime and onnxruntime-gpu? The one installed last has won."""

import os
import re

from cuvet.doctor import cudnn, python
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Group, healthy, warning
from cuvet.doctor.python import Distribution

TITLE = "packages that own the same module"
GROUP: Group = "frameworks"

LOOKED_AT = ("RECORD of the packages of ONNX Runtime, CuPy and TensorFlow",)
_FAMILIES = (r"onnxruntime(-gpu|-cuda\d+)?", r"cupy(-cuda\w+)?", r"tensorflow(-gpu|-cpu)?")


def probe(machine: Machine) -> Conclusions:
    found = False
    for family in _FAMILIES:
        packages = [each for name, each in python.distributions(machine).items() if re.fullmatch(family, name)]
        shared = _shared(machine, packages) if len(packages) > 1 else ()
        if shared:
            found = True
            names = " and ".join(f"{each.name} {each.version}" for each in packages)
            without = any(each.name in ("onnxruntime", "tensorflow-cpu") for each in packages)
            keep = next((each for each in packages if each.name.endswith("-gpu")), packages[-1])
            yield warning(
                cause="framework-cpu-only" if without else "toolkit-mixed-packages",
                verdict=f"{names} own the same {len(shared)} files: the one installed last has overwritten the other's",
                evidence=tuple(f"{path}: in the RECORD of both" for path in shared[:2]),
                fix=cudnn.pip(machine, f"uninstall -y {' '.join(each.name for each in packages)}")
                + f", then: {cudnn.pip(machine, f'install {keep.name}=={keep.version}')}",
            )
    if not found:
        yield healthy("no two packages own one framework's module")


def _shared(machine: Machine, packages: list[Distribution]) -> tuple[str, ...]:
    recorded = [
        {file.path for file in python.recorded(machine, each) or () if ".so" in os.path.basename(file.path)}
        for each in packages
    ]
    return tuple(sorted(set.intersection(*recorded)))
