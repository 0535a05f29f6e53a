"""Does cuDNN find the libraries that it needs itself: zlib, cuBLAS, NVRTC?

Source: NVIDIA cuDNN, "Building and Running a cuDNN Dependent Program": libz is needed when it is loaded, libcublasLt and libnvrtc when
certain engines run (https://docs.nvidia.com/deeplearning/cudnn/backend/latest/installation/build-run-cudnn.html).
"""

import re

from cuvet.doctor import cudnn, elf, loader, python
from cuvet.doctor.cudnn import Set
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, Severity, healthy

TITLE = "what cuDNN itself needs"
GROUP: Group = "libraries"

LOOKED_AT = ("DT_NEEDED of libcudnn*.so", "libcublasLt.so and libnvrtc.so on the loader's path and in Python packages")
_NVRTC_SONAMES = {11: "libnvrtc.so.11.2", 12: "libnvrtc.so.12", 13: "libnvrtc.so.13"}


def probe(machine: Machine) -> Conclusions:
    sets = [each for each in cudnn.sets(machine) if each.found()]
    problems = [problem for each in sets for problem in _problems(machine, each)]
    yield from problems
    if not problems:
        yield healthy("cuDNN finds what it needs" if sets else "nothing here loads cuDNN")


def _problems(machine: Machine, loaded: Set) -> Conclusions:
    needed = _needed_and_missing(machine, loaded)
    for soname, by in needed.items():
        fix = (
            "sudo apt-get install zlib1g (Fedora: zlib)"
            if soname == "libz.so.1"
            else f"install the package with {soname}"
        )
        yield _conclusion(machine, loaded, "error", soname, f"{by} needs it to be loaded", fix)
    cuda = _cuda_major(machine, loaded)
    if cuda is None:
        return
    soname = f"libcublasLt.so.{cuda}"
    if not _is_there(machine, loaded, soname):
        fix = _how_to_install(machine, "cublas", cuda)
        yield _conclusion(
            machine, loaded, "warning", soname, "cuDNN opens it for matrix products, convolutions and RNNs", fix
        )
    yield from _nvrtc(machine, loaded, cuda)


def _nvrtc(machine: Machine, loaded: Set, cuda: int) -> Conclusions:
    soname = _NVRTC_SONAMES.get(cuda)
    if soname and not _is_there(machine, loaded, soname) and not _is_there(machine, loaded, "libnvrtc.so"):
        fix = _how_to_install(machine, "cuda-nvrtc", cuda)
        yield _conclusion(machine, loaded, "warning", soname, "cuDNN's runtime-compiled engines open it", fix)
    elif loaded.user.major == 8 and not _is_there(machine, loaded, "libnvrtc.so"):
        reason = "cuDNN 8 opens NVRTC by its name without a version, for runtime fusion only"
        fix = "link libnvrtc.so to the versioned file, in a directory of the loader's path"
        yield _conclusion(machine, loaded, "note", "libnvrtc.so", reason, fix)


def _needed_and_missing(machine: Machine, loaded: Set) -> dict[str, str]:
    """Soname to the path of the file that needs it."""
    missing: dict[str, str] = {}
    for copy in (loaded.shim, *loaded.found()):
        read = elf.read(machine, copy.path)
        for soname in read.needed if read else ():
            if soname.startswith(("libcudnn", "libcublas")):
                continue
            if loader.first(machine, soname, (copy.path, loaded.shim.path, *loaded.user.requesters)) is None:
                missing.setdefault(soname, copy.path)
    return missing


def _is_there(machine: Machine, loaded: Set, soname: str) -> bool:
    """The loader finds it for any of cuDNN's libraries or for who uses cuDNN, or a Python package has it."""
    askers = [(copy.path, loaded.shim.path, *loaded.user.requesters) for copy in (*loaded.found(), loaded.shim)]
    return any(loader.first(machine, soname, chain) for chain in (*askers, loaded.user.requesters)) or bool(
        python.copies(machine, soname)
    )


def _cuda_major(machine: Machine, loaded: Set) -> int | None:
    """Of the package's name (nvidia-cudnn-cu12), or else of the framework's build; None if neither tells."""
    packages = cudnn.owners(machine, loaded.found()[0].real)
    if len(packages) == 1:
        return int(packages[0].name.rpartition("cu")[2])
    if loaded.user.framework and loaded.user.framework.cuda:
        return loaded.user.framework.cuda[0]
    needed = [each.soname for path in loaded.user.requesters[:1] for each in loader.closure(machine, path).loaded]
    found = (re.match(r"lib(?:cudart|cublas)\.so\.(\d\d)", soname) for soname in needed)
    return next((int(match[1]) for match in found if match), None)


def _how_to_install(machine: Machine, library: str, cuda: int) -> str:
    if python.interpreter(machine) is None:
        return f"install the library from the CUDA {cuda} toolkit, in a directory of the loader's path"
    return cudnn.pip(
        machine, f"install 'nvidia-{library}=={cuda}.*'" if cuda >= 13 else f"install nvidia-{library}-cu{cuda}"
    )


def _conclusion(machine: Machine, loaded: Set, severity: Severity, soname: str, reason: str, fix: str) -> Conclusion:
    return Conclusion(
        severity=severity,
        cause="cudnn-dependency-missing",
        verdict=f"the cuDNN of {loaded.user.name} needs {soname}, which the loader does not find",
        evidence=(cudnn.describe(machine, loaded.shim), f"{soname}: {reason}"),
        fix=fix,
    )
