"""Defines what a probe is, and runs all probes.

A probe is a module in ``probes/``, whose file has its name, with ``TITLE`` (what it looks for, one line), ``GROUP`` (its place in the
report), ``LOOKED_AT`` (paths, variables and functions) unless all conclusions name their own, and ``probe(machine)``, which yields at
least one ``Conclusion``. It looks at the machine only through ``Machine``, changes nothing, and does not catch ``OSError``, which
then becomes the conclusion that it could not look.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Literal, NamedTuple

import msgspec

from cuvet.doctor import probes
from cuvet.doctor.machine import Machine
from cuvet.printable import readable

Severity = Literal["error", "warning", "note", "healthy", "unknown"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note", "unknown", "healthy")

Group = Literal["driver", "devices", "libraries", "frameworks", "memory"]
GROUPS: tuple[Group, ...] = ("driver", "devices", "libraries", "frameworks", "memory")
"""In the order of a report: an earlier group's problem explains a later one's."""


class Conclusion(msgspec.Struct, frozen=True, kw_only=True):
    """What a probe concludes.

    ``cause``: id of a cause in ``knowledge/causes``; None unless ``severity`` is error, warning or note. ``verdict``: one line that
    stands alone. ``looked_at``: paths, variables and functions. ``evidence``: what was found there, one line each, with its path.
    ``fix``: the command that fixes it, or a sentence.
    """

    severity: Severity
    verdict: str
    cause: str | None = None
    looked_at: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    fix: str = ""


Conclusions = Iterator[Conclusion]
"""What a probe yields."""


def healthy(verdict: str, *looked_at: str, evidence: tuple[str, ...] = ()) -> Conclusion:
    return Conclusion(severity="healthy", verdict=verdict, looked_at=looked_at, evidence=evidence)


def unknown(verdict: str, *looked_at: str) -> Conclusion:
    """The probe could not look; ``verdict`` says why."""
    return Conclusion(severity="unknown", verdict=verdict, looked_at=looked_at)


error, warning, note = (partial(Conclusion, severity=each) for each in SEVERITIES[:3])


class Probe(NamedTuple):
    """A module of ``probes/``. ``name``: ``driver-stub`` of driver_stub.py."""

    name: str
    title: str
    group: Group
    looked_at: tuple[str, ...]
    probe: Callable[[Machine], Conclusions]


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """A probe's name and title, and what it concluded."""

    probe: str
    title: str
    conclusions: tuple[Conclusion, ...]


@cache
def all_probes() -> tuple[Probe, ...]:
    """Those in ``probes/``, by group, then by name."""
    found = (_probe(module.name) for module in pkgutil.iter_modules(probes.__path__))
    return tuple(sorted(found, key=lambda probe: (GROUPS.index(probe.group), probe.name)))


def _probe(name: str) -> Probe:
    module = importlib.import_module(f"{probes.__name__}.{name}")
    looked_at = getattr(module, "LOOKED_AT", ())
    return Probe(name.replace("_", "-"), module.TITLE, module.GROUP, looked_at, module.probe)


def examine(machine: Machine) -> tuple[Examination, ...]:
    """What every probe concludes about the machine."""
    return tuple(Examination(probe=p.name, title=p.title, conclusions=ask(p, machine)) for p in all_probes())


def ask(probe: Probe, machine: Machine) -> tuple[Conclusion, ...]:
    """What one probe concludes."""
    found: list[Conclusion] = []
    try:
        for conclusion in probe.probe(machine):
            found.append(_readable(conclusion, probe.looked_at))
    except OSError as error:
        reason = f"cannot look: {error.filename or probe.title}: {error.strerror or error}"
        found.append(_readable(unknown(reason)))
    return tuple(found)


def _readable(conclusion: Conclusion, looked_at: tuple[str, ...] = ()) -> Conclusion:
    """With where it looked, which is ``looked_at`` unless it says so itself, and its texts in characters that JSON has: bytes of names and
    variables that are no UTF-8 as ``\\udcff``."""
    return msgspec.structs.replace(
        conclusion,
        verdict=readable(conclusion.verdict),
        looked_at=tuple(map(readable, conclusion.looked_at or looked_at)),
        evidence=tuple(map(readable, conclusion.evidence)),
        fix=readable(conclusion.fix),
    )
