"""Which device code runs on which GPU with which driver: NVIDIA's tables and the rules over them.

The tables are ``knowledge/cuda_releases.json`` and ``knowledge/architectures.json``, each with its sources. A GPU is its compute
capability times ten, as in ``sm_90``: 90; a version is a pair of integers, (13, 0).
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

import cuvet
from cuvet import CuvetError

Version = tuple[int, int]
Suffix = Literal["", "a", "f"]

_TARGET = re.compile(r"(?:sm|compute|lto)_(\d+)([af]?)")


class Target(NamedTuple):
    """What code was compiled for. ``suffix``: ``a`` architecture-specific, ``f`` family-specific."""

    sm: int
    suffix: Suffix = ""

    def __str__(self) -> str:
        return f"sm_{self.sm}{self.suffix}"

    @property
    def major(self) -> int:
        return self.sm // 10


class Release(NamedTuple):
    """A CUDA release. ``branch``: its driver's, 580. ``driver``: the oldest Linux driver of the release, as 580.65.06.

    ``ptx``: the newest PTX ISA version that this driver compiles. None where NVIDIA's tables do not say.
    """

    cuda: Version | None
    branch: int | None
    driver: str | None
    ptx: Version
    adds: tuple[Target, ...]


class Architecture(msgspec.Struct, frozen=True):
    """``last_toolkit`` and ``last_branch``: the last CUDA toolkits that compile for it and the last drivers that run it.
    None: they go on."""

    sm: int
    name: str
    last_toolkit: str | None
    last_branch: int | None
    tegra: bool
    first_toolkit: str | None = None
    """Where it is not the release that has the PTX target first: CUDA 12.7 was a driver without a toolkit."""


@dataclass(frozen=True, slots=True)
class Driver:
    """``text`` as the user knows it, ``580.159.04`` or ``CUDA 13.0``. ``cuda``: its CUDA release, None if it is newer than the tables."""

    text: str
    cuda: Version | None
    branch: int | None = None


class _ReleaseRow(msgspec.Struct, frozen=True):
    cuda: str | None
    branch: int | None
    driver: str | None
    ptx: str
    adds: tuple[str, ...]


class _ReleaseTable(msgspec.Struct, frozen=True):
    source: dict[str, str]
    releases: tuple[_ReleaseRow, ...]


class _ArchitectureTable(msgspec.Struct, frozen=True):
    source: dict[str, str]
    families: dict[str, tuple[int, ...]]
    architectures: tuple[Architecture, ...]


@cache
def target(text: str) -> Target:
    """``sm_90a``, ``compute_90a`` and ``lto_90a`` are all of sm_90a. CuvetError for anything else."""
    found = _TARGET.fullmatch(text)
    if found is None:
        raise CuvetError(f"{text!r} is no architecture: write it as sm_90, sm_90a or sm_100f")
    suffix: Suffix = "a" if found[2] == "a" else "f" if found[2] == "f" else ""
    return Target(int(found[1]), suffix)


def version(text: str) -> Version:
    """(8, 0) for ``8.0``."""
    major, _, minor = text.partition(".")
    return int(major), int(minor or 0)


@cache
def releases() -> tuple[Release, ...]:
    """All CUDA releases, oldest first."""
    table = msgspec.json.decode(_read("cuda_releases.json"), type=_ReleaseTable)
    return tuple(
        Release(
            version(row.cuda) if row.cuda else None,
            row.branch,
            row.driver,
            version(row.ptx),
            tuple(map(target, row.adds)),
        )
        for row in table.releases
    )


@cache
def _architectures() -> _ArchitectureTable:
    return msgspec.json.decode(_read("architectures.json"), type=_ArchitectureTable)


def _read(name: str) -> bytes:
    return (Path(cuvet.__file__).parent / "knowledge" / name).read_bytes()


def architectures() -> tuple[Architecture, ...]:
    """All GPU architectures from Fermi on, oldest first."""
    return _architectures().architectures


def architecture(gpu: int) -> Architecture | None:
    return next((each for each in architectures() if each.sm == gpu), None)


def driver_of(text: str) -> Driver:
    """The driver that is called so: ``580.159.04``, ``580``, ``r580``, or by its CUDA release, ``13.0``. CuvetError for anything else."""
    found = re.fullmatch(r"r?(\d{3})(?:\.[\d.]+)?", text, re.IGNORECASE)
    if found is None:
        return _driver_of_release(text)
    branch = int(found[1])
    known = [each for each in releases() if each.cuda and each.branch]
    older = [each.cuda for each in known if each.branch and each.branch <= branch]
    newer = branch > max(each.branch or 0 for each in known)
    return Driver(text, None if newer or not older else older[-1], branch)


def _driver_of_release(text: str) -> Driver:
    found = re.fullmatch(r"(?:CUDA ?)?(\d{1,2}\.\d)", text, re.IGNORECASE)
    if found is None:
        raise CuvetError(f"{text!r} is no driver version: write it as 580.65.06, or as its CUDA release, 13.0")
    release = version(found[1])
    return driver_of_number(1000 * release[0] + 10 * release[1])


def driver_of_number(number: int) -> Driver:
    """The driver whose cuDriverGetVersion gives ``number``: 13000 for CUDA 13.0."""
    cuda = divmod(number // 10, 100)
    newest = max(each.cuda for each in releases() if each.cuda)
    branches = [each.branch for each in releases() if each.cuda == cuda]
    return Driver(f"CUDA {cuda[0]}.{cuda[1]}", cuda if cuda <= newest else None, branches[0] if branches else None)


def newest_ptx(driver: Driver) -> Version | None:
    """The newest PTX ISA version that the driver compiles; None if the tables do not know the driver."""
    if driver.cuda is None:
        return None
    return max((each.ptx for each in releases() if each.cuda and each.cuda <= driver.cuda), default=None)


def release_of_ptx(ptx: Version) -> Release | None:
    """The first CUDA release whose driver compiles this PTX ISA version."""
    return next((each for each in releases() if each.ptx == ptx), None)


def release_of_target(of: Target) -> Release | None:
    """The first CUDA release that knows the architecture."""
    return next((each for each in releases() if of in each.adds), None)


@cache
def machine_code_runs(code: Target, gpu: int) -> bool:
    """Whether a cubin runs on a GPU.

    Of the same major version and no newer minor one; architecture-specific code on exactly its own; family-specific code
    on the members of the family that are not older. (CUDA Programming Guide 13.4, 1.3 The CUDA platform, Binary Compatibility, and
    5.1.2 Feature Set Compiler Targets.)
    """
    return gpu in family(code) if code.suffix else code.major == gpu // 10 and code.sm <= gpu


@cache
def ptx_compiles(code: Target, gpu: int) -> bool:
    """Whether PTX for a target can be compiled for a GPU: for every GPU that is not older, but architecture-specific PTX for its own
    only, and family-specific PTX within its family. (CUDA Programming Guide 13.4, PTX Compatibility; ``ptxas --help``, --gpu-name.)
    """
    return gpu in family(code) if code.suffix else code.sm <= gpu


def family(code: Target) -> tuple[int, ...]:
    """GPUs that run architecture- or family-specific code for this target; the target itself if the tables know no family."""
    return _architectures().families.get(str(code), (code.sm,))


def between_tegra(code: Target, gpu: int) -> bool:
    """Whether the rule for machine code does not hold: from or to a Tegra, if it is not the same GPU."""
    tegra = {each.sm for each in architectures() if each.tegra}
    return code.sm != gpu and (code.sm in tegra or gpu in tegra)


def first_toolkit(gpu: int) -> str | None:
    """The first CUDA toolkit that compiles for the GPU, ``11.8``; None if the tables do not say."""
    found, release = architecture(gpu), release_of_target(Target(gpu))
    if found is not None and found.first_toolkit:
        return found.first_toolkit
    return ".".join(map(str, release.cuda)) if release and release.cuda else None


def branches(gpu: int) -> tuple[int | None, int | None]:
    """The first and the last driver branch that support the GPU; None where the tables do not say, or there is no last. Tegras
    have drivers of their own."""
    found, release = architecture(gpu), release_of_target(Target(gpu))
    if found is None or found.tegra:
        return None, None
    return release.branch if release else None, found.last_branch
