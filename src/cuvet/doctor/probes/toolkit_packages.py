"""Are NVIDIA's Python packages of one CUDA major version, and does no other toolkit come in front of them?"""

import os
import re
from collections.abc import Iterator

from cuvet.doctor import cudnn, driver, frameworks, loader, python
from cuvet.doctor.frameworks import Framework
from cuvet.doctor.loader import Copy, Loaded
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, healthy, warning
from cuvet.doctor.python import Distribution

TITLE = "CUDA packages of one toolkit"
GROUP: Group = "libraries"

LOOKED_AT = (
    "RECORD of every nvidia-* package",
    "Requires-Dist of the installed frameworks",
    "CUDA libraries that the loader takes for them",
)
_TOOLKIT = re.compile(r"lib(cublas|cublasLt|cudart|cusparse|cusolver|cufft|curand)\.so\.\d+")


def probe(machine: Machine) -> Conclusions:
    problems = [*_overwritten(machine), *_in_front(machine)]
    yield from problems
    if not problems:
        yield healthy("NVIDIA's Python packages do not overlap, and no older toolkit comes in front of them")


def _overwritten(machine: Machine) -> Conclusions:
    """Packages such as nvidia-cudnn-cu12 and nvidia-cudnn-cu13, whose files have the same paths: the one installed last wins."""
    groups: dict[tuple[str, str], list[Distribution]] = {}
    for package in python.distributions(machine).values():
        if match := re.fullmatch(r"(nvidia-[\w-]+?)-cu\d\d", package.name):
            groups.setdefault((package.site, match[1]), []).append(package)
    for packages in groups.values():
        shared = _shared_libraries(machine, packages) if len(packages) > 1 else ()
        if shared:
            yield _overlap(machine, packages, shared)


def _shared_libraries(machine: Machine, packages: list[Distribution]) -> tuple[str, ...]:
    recorded = [
        {file.path for file in python.recorded(machine, each) or () if ".so" in os.path.basename(file.path)}
        for each in packages
    ]
    return tuple(sorted(set.intersection(*recorded)))


def _overlap(machine: Machine, packages: list[Distribution], shared: tuple[str, ...]) -> Conclusion:
    required = {
        each.name: framework.title
        for framework in frameworks.installed(machine)
        for each in frameworks.requirements(framework)
        if not each.extra and each.name in {package.name for package in packages}
    }
    wanted = next((each for each in packages if each.name in required), packages[-1])
    others = [each.name for each in packages if each is not wanted]
    names = " and ".join(f"{each.name} {each.version}" for each in packages)
    install = cudnn.pip(machine, f"install --force-reinstall --no-deps {wanted.name}=={wanted.version}")
    return Conclusion(
        severity="error" if len(required) > 1 or _files_of(machine, wanted, shared) is False else "warning",
        cause="toolkit-mixed-packages",
        verdict=f"{names} own the same {len(shared)} libraries: the one installed last has overwritten the other's",
        evidence=(
            *(f"{path}: in the RECORD of both" for path in shared[:2]),
            *(f"{title} requires {name}" for name, title in required.items()),
        ),
        fix=f"{cudnn.pip(machine, 'uninstall -y ' + ' '.join(others))} && {install}",
    )


def _files_of(machine: Machine, package: Distribution, shared: tuple[str, ...]) -> bool | None:
    """Whether the files there have the sizes that this package recorded; None if it recorded none."""
    sizes = {
        file.path: file.size for file in python.recorded(machine, package) or () if file.path in shared and file.size
    }
    if not sizes:
        return None
    return all(machine.is_file(path) and machine.stat(path).st_size == size for path, size in sizes.items())


def _in_front(machine: Machine) -> Conclusions:
    """Libraries of another toolkit, on LD_LIBRARY_PATH, that a framework gets in place of its own packages' newer ones."""
    for framework in frameworks.installed(machine):
        older = list(_older_than_own(machine, framework))
        if older:
            yield _toolkit_in_front(machine, framework, older)


def _older_than_own(machine: Machine, framework: Framework) -> Iterator[tuple[Loaded, str]]:
    loaded = (each for path in framework.libraries for each in loader.closure(machine, path).loaded)
    for each in {one.soname: one for one in loaded}.values():
        if each.copy.why == "LD_LIBRARY_PATH" and _TOOLKIT.fullmatch(each.soname):
            own = _own_version(machine, framework, each.soname)
            version = _version_of_file(each.copy)
            if own and version and version < own:
                yield each, frameworks.text(own)


def _own_version(machine: Machine, framework: Framework, soname: str) -> tuple[int, ...] | None:
    """Of the package that the framework requires for this library, if the package's file is there."""
    stem = soname.partition(".")[0].removeprefix("lib").removesuffix("Lt")
    package = {"cudart": "nvidia-cuda-runtime"}.get(stem, f"nvidia-{stem}")
    for each in frameworks.requirements(framework):
        installed = python.distributions(machine).get(each.name)
        present = any(machine.is_file(os.path.join(path, soname)) for path in python.library_directories(machine))
        if installed and present and re.fullmatch(rf"{package}(-cu\d+)?", each.name):
            return frameworks.numbers(installed.version)
    return None


def _version_of_file(copy: Copy) -> tuple[int, ...] | None:
    found = re.search(r"\.so\.(\d+(?:\.\d+){2,})$", copy.real)
    return frameworks.numbers(found[1]) if found else None


def _toolkit_in_front(machine: Machine, framework: Framework, older: list[tuple[Loaded, str]]) -> Conclusion:
    first, own = older[0]
    return warning(
        cause="toolkit-mixed-packages",
        verdict=f"{framework.title} gets {first.soname} of an older toolkit, {first.copy.path}, in place of its own packages' {own}",
        evidence=tuple(f"{each.copy.real} ({each.copy.why}): its own package has {version}" for each, version in older),
        fix=driver.how_to_unlist(machine, first.copy),
    )
