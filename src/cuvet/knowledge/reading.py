"""Reads the causes in ``causes/*.txt``.

Each begins with a line ``## id: title``; its fields follow (``cuvet.fields``). One that a rule finds has the rule's name as id, no title
and no text of its own::

    ## driver-nouveau: The GPU is driven by nouveau, which CUDA cannot use
    why: Only one kernel driver can be bound to a GPU. While nouveau is, the module nvidia cannot be.
    tell: `lspci -k -d 10de:`: Kernel driver in use: nouveau
    fix: Install the NVIDIA driver, which keeps nouveau from loading, and reboot.
    documented: The nouveau drivers must be disabled before the driver is installed (CUDA Installation Guide for Linux)
    errors: CUDA_ERROR_NO_DEVICE 10, cudaErrorInsufficientDriver 10
    calls: cuInit
    words: `\\bnouveau\\b`, `blacklist(ed)?`

    ## event-other-context
    errors: CUDA_ERROR_INVALID_HANDLE 55
    belief: The event was destroyed: using a destroyed event crashes, it does not return 400.
    cases: event_stream_device_mismatch

``tell``, ``belief`` and the kinds of evidence (``cuvet.rules.evidence``) may stand several times. What the fields mean stands in
``cuvet.knowledge.cause``. Before the first cause a field gives a value a name, in capitals, for which ``{NAME}`` stands below; lines that
begin with ``# `` are comments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from cuvet.fields import fields
from cuvet.knowledge.cause import Cause, RuleCause, Signs, Tell
from cuvet.rules.evidence import KINDS, evidence

FOLDER = Path(__file__).parent / "causes"

_OWN = ("why", "fix", *KINDS)
"""What a rule says itself."""
_FIELDS = ("tell", "errors", "calls", "words", "belief", "cases", *_OWN)
_TELL = re.compile(r"`([^`]+)`: (.+)")


def causes_in(file: Path) -> tuple[Cause | RuleCause, ...]:
    """The causes of a file, in order. ValueError if it cannot be read: file, cause, and what is wrong."""
    head, *parts = re.split(r"^## +", file.read_text(encoding="utf-8"), flags=re.M)
    place = file.name
    try:
        names = {"KNOWN_RELEASES": _listed(_bad_releases()), **dict(fields(re.sub(r"^# .*\n", "", head, flags=re.M)))}
        causes = []
        for part in parts:
            line, _, body = part.partition("\n")
            id, _, title = line.partition(": ")
            place = f"{file.name}, {id}"
            causes.append(_cause(id, title, [(name, _filled(value, names)) for name, value in fields(body)]))
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    return tuple(causes)


def _filled(value: str, names: dict[str, str]) -> str:
    """With what the names stand for; a value may contain names itself."""
    for name in re.findall(r"\{([A-Z_]+)\}", value):
        if name not in names:
            raise ValueError(f"{{{name}}} is not defined before the first cause")
        value = value.replace(f"{{{name}}}", _filled(names[name], names))
    return value


def _cause(id: str, title: str, found: list[tuple[str, str]]) -> Cause | RuleCause:
    allowed = _FIELDS if title else [name for name in _FIELDS if name not in _OWN]
    if other := [name for name, _ in found if name not in allowed]:
        raise ValueError(f"`{other[0]}` is none of the fields {', '.join(allowed)}")
    signs = Signs(
        errors=dict(map(_weight, _items(found, "errors"))),
        calls=_items(found, "calls"),
        words=tuple(word for value in _values(found, "words") for word in _words(value)),
    )
    tell, beliefs, cases = tuple(map(_tell, _values(found, "tell"))), _values(found, "belief"), _items(found, "cases")
    if not title:
        return RuleCause(id=id, tell=tell, signs=signs, beliefs=beliefs, cases=cases)
    return Cause(
        id=id,
        title=title,
        why=_only(found, "why"),
        tell=tell,
        fix=_only(found, "fix"),
        evidence=tuple(evidence(name, value) for name, value in found if name in KINDS),
        signs=signs,
        beliefs=beliefs,
        cases=cases,
    )


def _values(found: list[tuple[str, str]], wanted: str) -> tuple[str, ...]:
    return tuple(value for name, value in found if name == wanted)


def _items(found: list[tuple[str, str]], wanted: str) -> tuple[str, ...]:
    return tuple(item for value in _values(found, wanted) for item in value.split(", "))


def _only(found: list[tuple[str, str]], wanted: str) -> str:
    values = _values(found, wanted)
    if len(values) != 1:
        raise ValueError(f"`{wanted}` stands {len(values)} times, not once")
    return values[0]


def _tell(value: str) -> Tell:
    match = _TELL.fullmatch(value)
    if match is None:
        raise ValueError(f"tell is `command`: what it shows, not {value}")
    return Tell(match[1], match[2])


def _weight(item: str) -> tuple[str, int]:
    name, _, weight = item.rpartition(" ")
    if not weight.isdecimal():
        raise ValueError(f"errors are `NAME weight`, not {item}")
    return name, int(weight)


def _words(value: str) -> list[str]:
    words = re.findall(r"`([^`]+)`", value)
    if value != _listed(words):
        raise ValueError(f"words are `expression`, `expression`, not {value}")
    return words


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _bad_releases() -> Iterator[str]:
    """The releases that are known to be broken, as people write them: ``PyTorch 1.8``, ``torch==1.8.0+cu102``."""
    known = json.loads((FOLDER.parent / "known_releases.json").read_bytes())["releases"]
    for release in known:
        for version in release["versions"]:
            yield rf"{re.escape(release['distribution'])}[\s=:_v-]{{0,4}}{_version(version)}(?![\d.])"


def _version(version: str) -> str:
    """The version; a zero at its end may be left out."""
    return rf"{re.escape(version[:-2])}(\.0)?" if version.endswith(".0") else re.escape(version)
