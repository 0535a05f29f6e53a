"""Is a release installed that is known to be broken? The list is ``knowledge/known_releases.json``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

import cuvet
from cuvet.doctor import cudnn, frameworks, python
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, healthy
from cuvet.doctor.python import Distribution

TITLE = "releases known to be broken"
GROUP: Group = "frameworks"

LOOKED_AT = ("versions of the installed packages", "knowledge/known_releases.json")


class Fixed(msgspec.Struct):
    """``package``: start of a distribution's name; from ``version`` on the problem is gone."""

    package: str
    version: str


class Release(msgspec.Struct):
    distribution: str
    versions: list[str]
    severity: Literal["error", "warning", "note"]
    problem: str
    fix: str
    source: str
    cuda: str = ""
    unless: Fixed | None = None


class _File(msgspec.Struct):
    releases: list[Release]


@cache
def releases() -> tuple[Release, ...]:
    path = Path(cuvet.__file__).parent / "knowledge" / "known_releases.json"
    return tuple(msgspec.json.decode(path.read_bytes(), type=_File).releases)


def probe(machine: Machine) -> Conclusions:
    installed = python.distributions(machine)
    found = [(each, installed[each.distribution]) for each in releases() if _is_installed(machine, each, installed)]
    for release, distribution in found:
        yield Conclusion(
            severity=release.severity,
            cause="framework-known-bad-release",
            verdict=release.problem,
            evidence=(f"{distribution.dist_info}: {distribution.name} {distribution.version}", release.source),
            fix=cudnn.pip(machine, release.fix.format(cuda=(_cuda(machine, release) or (12,))[0])),
        )
    if not found:
        yield healthy(f"none of the {len(releases())} on the list")


def _is_installed(machine: Machine, release: Release, installed: dict[str, Distribution]) -> bool:
    distribution = installed.get(release.distribution)
    if distribution is None or distribution.version.partition("+")[0] not in release.versions:
        return False
    if release.cuda and frameworks.numbers(release.cuda) != _cuda(machine, release):
        return False
    fixed = release.unless
    return fixed is None or not any(
        name.startswith(fixed.package) and frameworks.numbers(each.version) >= frameworks.numbers(fixed.version)
        for name, each in installed.items()
    )


def _cuda(machine: Machine, release: Release) -> tuple[int, ...] | None:
    found = (each.cuda for each in frameworks.installed(machine) if each.distribution.name == release.distribution)
    return next(found, None)
