"""Does the loader find every library that the program, a framework or the driver needs, and is what it finds a library?

Source: ld.so(8) of the Linux man-pages. The loader takes the first file of the name, and fails if that is no ELF file.
"""

import os
import re
from collections.abc import Iterator

from cuvet.doctor import cudnn, driver, elf, frameworks, loader, python
from cuvet.doctor.loader import Loaded
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy
from cuvet.sonames import DRIVER

TITLE = "libraries that the loader needs"
GROUP: Group = "libraries"

LOOKED_AT = (
    "DT_NEEDED of the program, of the frameworks' libraries and of libcuda",
    "the loader's path, Python packages",
)
_OF_CUDA = re.compile(r"lib(cu|nv|nccl|nvidia-)\S*\.so\b")
_OTHER_PROBES = re.compile(rf"libcudnn|{re.escape(DRIVER)}|libnvidia-ml\.so")


def probe(machine: Machine) -> Conclusions:
    problems = {each.verdict: each for each in (*_of_driver(machine), *_of_program(machine), *_of_frameworks(machine))}
    yield from problems.values()
    if not problems:
        yield healthy("the loader finds every library that is needed")


def _of_driver(machine: Machine) -> Conclusions:
    for library in driver.libcudas(machine)[:1]:
        for soname, _ in loader.closure(machine, library.path).missing:
            yield error(
                cause="container-lacks-driver-library",
                verdict=f"{library.path} needs {soname}, which the loader does not find",
                evidence=(f"{library.real} ({library.why}): needs {soname}", f"{soname}: not on the loader's path"),
                fix=f"put {soname} of the same driver beside libcuda (in a container: map it from the host)",
            )
        yield from _no_libraries(machine, [Loaded(DRIVER, library, "a CUDA program")])


def _of_program(machine: Machine) -> Conclusions:
    read = elf.read(machine, machine.program) if machine.program and not machine.python else None
    if not machine.program or not read or read.machine != loader.NATIVE or "ld-linux" not in (read.interpreter or ""):
        return  # its loader has other rules: musl's, or one of 32 bits
    closure = loader.closure(machine, machine.program)
    for soname, needed_by in closure.missing:
        if not _OTHER_PROBES.match(soname):
            yield _missing(machine, soname, needed_by, machine.program)
    yield from _no_libraries(machine, closure.loaded)


def _of_frameworks(machine: Machine) -> Conclusions:
    """Only libraries of CUDA, and only those that are in no package either: frameworks preload those themselves."""
    for framework in frameworks.installed(machine):
        for path in framework.libraries:
            closure = loader.closure(machine, path)
            for soname, needed_by in closure.missing:
                if _OF_CUDA.match(soname) and not _OTHER_PROBES.match(soname) and not python.copies(machine, soname):
                    yield _missing(machine, soname, needed_by, framework.title)
            yield from _no_libraries(machine, [each for each in closure.loaded if _OF_CUDA.match(each.soname)])


def _missing(machine: Machine, soname: str, needed_by: str, who: str) -> Conclusion:
    elsewhere = _elsewhere(machine, soname)
    return error(
        cause="cuda-library-not-on-loader-path",
        verdict=f"{who} does not load: {soname} is "
        + (f"in {os.path.dirname(elsewhere[0])}, where the loader does not look" if elsewhere else "not there"),
        evidence=(f"{needed_by}: needs {soname}", *(f"{path}: not on the loader's path" for path in elsewhere)),
        fix=f"export LD_LIBRARY_PATH={os.path.dirname(elsewhere[0])}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
        if elsewhere
        else _how_to_install(machine, soname, who),
    )


def _elsewhere(machine: Machine, soname: str) -> list[str]:
    places = ("/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib", "/opt/*/lib64", "/usr/local/lib")
    found = (path for place in places for path in machine.glob(os.path.join(place, soname)) if machine.is_file(path))
    return list({machine.realpath(path): path for path in found}.values())


def _how_to_install(machine: Machine, soname: str, who: str) -> str:
    stem = soname.partition(".")[0].removeprefix("lib").lower().removesuffix("lt" if "cublas" in soname else "\0")
    framework = next((each for each in frameworks.installed(machine) if each.title == who), None)
    for each in frameworks.requirements(framework) if framework else ():
        if stem in each.name.replace("-", ""):
            return cudnn.pip(machine, f"install '{each.text.replace(' ', '')}'")
    return f"install the package with {soname}, or build {who} with the toolkit that is installed"


def _no_libraries(machine: Machine, loaded: Iterator[Loaded] | list[Loaded] | tuple[Loaded, ...]) -> Conclusions:
    for each in loaded:
        what = _why_no_library(machine, each.copy.path)
        if what:
            in_image = driver.is_container(machine) and each.soname == DRIVER
            yield error(
                cause="image-contains-driver-files" if in_image else "shared-object-not-loaded",
                verdict=f"the loader takes {each.copy.path} for {each.soname}, and it is {what}",
                evidence=(f"{each.copy.real} ({each.copy.why}): {what}", f"{each.needed_by} needs {each.soname}"),
                fix="remove the file from the image: it was built while the driver's files were mounted"
                if in_image
                else f"put the library there again, or {driver.how_to_unlist(machine, each.copy)}",
            )


def _why_no_library(machine: Machine, path: str) -> str:
    """Empty if it is an ELF file, or cannot be read."""
    size = machine.stat(path).st_size
    if not size:
        return "empty"
    with machine.open(path) as file:
        head = file.read(64)
    if head.startswith(b"\x7fELF"):
        return ""
    if head.startswith(b"version https://git-lfs"):
        return "a pointer of Git LFS, not a library"
    return f"no ELF file ({size} bytes)"
