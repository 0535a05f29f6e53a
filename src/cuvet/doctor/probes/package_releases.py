"""Were the installed packages made for each other: PyTorch, its extensions and NVIDIA's packages; JAX and its plugins?"""

import os
import re
from collections.abc import Iterator

from cuvet.doctor import cudnn, frameworks, python
from cuvet.doctor.frameworks import Framework, numbers, text
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, healthy, warning
from cuvet.doctor.python import Distribution

TITLE = "releases of packages that belong together"
GROUP: Group = "frameworks"

LOOKED_AT = ("Requires-Dist and versions of the installed packages", "bitsandbytes/libbitsandbytes_cuda*.so")
_COMPARED = 3
"""Numbers of a version: the fourth is that of a build."""


def probe(machine: Machine) -> Conclusions:
    problems = [*_older_than_required(machine), *_beside_torch(machine), *_jax(machine)]
    yield from problems
    if not problems:
        yield healthy("no package here was made for another release of one that it works with")


def _older_than_required(machine: Machine) -> Conclusions:
    """NVIDIA's packages that are older than the release which a framework names; cuDNN has a probe of its own."""
    installed = python.distributions(machine)
    for framework in frameworks.installed(machine):
        for each in frameworks.requirements(framework):
            package = installed.get(each.name)
            if not package or each.extra or not each.at_least or package in cudnn.packages(machine):
                continue
            if numbers(package.version)[:_COMPARED] < each.at_least[:_COMPARED]:
                yield warning(
                    cause="nccl-older-in-front" if "nccl" in each.name else "toolkit-mixed-packages",
                    verdict=f"{framework.title} requires {each.name} {text(each.at_least)}, and {package.version} is installed",
                    evidence=(f"{package.dist_info}: {package.version}", f"{framework.title} requires {each.text}"),
                    fix=cudnn.pip(machine, f"install '{each.text.replace(' ', '')}'"),
                )


def _beside_torch(machine: Machine) -> Conclusions:
    torch = next((each for each in frameworks.installed(machine) if each.distribution.name == "torch"), None)
    for package in python.distributions(machine).values() if torch else ():
        if torch and package.name != "torch":
            yield from _for_another_torch(machine, package, torch)
            yield from _for_another_cuda(machine, package, torch)
    if torch and torch.cuda:
        yield from _bitsandbytes(machine, torch, torch.cuda)


def _for_another_torch(machine: Machine, package: Distribution, torch: Framework) -> Conclusions:
    installed = numbers(torch.distribution.version)[:2]
    for line in package.requires:
        requirement, _, marker = line.partition(";")
        found = re.fullmatch(r"\s*torch\s*\(?==\s*([\d.]+)(?:\+\S+)?\)?\s*", requirement)
        if found and "extra" not in marker and _has_code(machine, package) and numbers(found[1])[:2] != installed:
            yield warning(
                cause="extension-of-other-torch",
                verdict=f"{package.name} {package.version} is for PyTorch {found[1]}, and {torch.title} is installed",
                evidence=(f"{package.dist_info}: requires {requirement.strip()}", torch.distribution.dist_info),
                fix=cudnn.pip(machine, f"install {package.name} torch=={found[1]}"),
            )


def _has_code(machine: Machine, package: Distribution) -> bool:
    return any(".so" in os.path.basename(file.path) for file in python.recorded(machine, package) or ())


def _for_another_cuda(machine: Machine, package: Distribution, torch: Framework) -> Conclusions:
    """Packages of PyTorch's index have the CUDA in their version: 0.26.0+cu126. torchvision compares the major versions itself."""
    found = re.search(r"\+cu(\d\d)(\d)$", package.version)
    if found and torch.cuda and int(found[1]) != torch.cuda[0]:
        yield warning(
            cause="toolkit-package-of-other-release",
            verdict=f"{package.name} {package.version} was built for CUDA {found[1]}.{found[2]}, {torch.title} for CUDA {text(torch.cuda)}",
            evidence=(package.dist_info, torch.distribution.dist_info),
            fix=cudnn.pip(
                machine,
                f"install --force-reinstall --no-deps {package.name} --index-url https://download.pytorch.org/whl/",
            )
            + f"cu{torch.cuda[0]}{torch.cuda[1] if len(torch.cuda) > 1 else 0}",
        )


def _bitsandbytes(machine: Machine, torch: Framework, cuda: tuple[int, ...]) -> Conclusions:
    """It opens the library with the CUDA of PyTorch in its name (bitsandbytes/cextension.py)."""
    package = python.distributions(machine).get("bitsandbytes")
    wanted = machine.environ.get("BNB_CUDA_VERSION") or "".join(map(str, cuda))
    present = machine.glob(f"{package.site}/bitsandbytes/libbitsandbytes_cuda*.so") if package else []
    if package and present and not any(path.endswith(f"_cuda{wanted}.so") for path in present):
        yield warning(
            cause="toolkit-package-of-other-release",
            verdict=f"bitsandbytes {package.version} has no libbitsandbytes_cuda{wanted}.so for the CUDA of {torch.title}",
            evidence=tuple(present),
            fix=cudnn.pip(machine, "install --upgrade bitsandbytes"),
        )


def _jax(machine: Machine) -> Conclusions:
    installed = python.distributions(machine)
    jaxlib = installed.get("jaxlib")
    others = [each for each in _plugins(installed) if jaxlib and numbers(each.version) != numbers(jaxlib.version)]
    if jaxlib and others:
        yield _other_release(machine, jaxlib, others)


def _plugins(installed: dict[str, Distribution]) -> Iterator[Distribution]:
    yield from (each for name, each in installed.items() if re.fullmatch(r"jax-cuda\d+-(plugin|pjrt)", name))


def _other_release(machine: Machine, jaxlib: Distribution, others: list[Distribution]) -> Conclusion:
    names = " and ".join(f"{each.name} {each.version}" for each in others)
    major = re.sub(r"\D", "", others[0].name)
    return warning(
        cause="jax-plugin-of-other-release",
        verdict=f"{names} {'is' if len(others) == 1 else 'are'} of another release than jaxlib {jaxlib.version}: JAX does not use the GPU",
        evidence=(jaxlib.dist_info, *(each.dist_info for each in others)),
        fix=cudnn.pip(machine, f"install --upgrade 'jax[cuda{major}]'"),
    )
