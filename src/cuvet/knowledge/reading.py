"""Reads the causes in ``causes/*.txt`` and the meanings of enumerators in ``meanings/*.txt``.

A cause begins with ``## id: title``; its fields follow (``cuvet.fields``). One that a rule finds has the rule's name as id, no title and no
text of its own::

    ## driver-nouveau: The GPU is driven by nouveau, which CUDA cannot use
    why: Only one kernel driver can be bound to a GPU. While nouveau is, the module nvidia cannot be.
    tell: `lspci -k -d 10de:`: Kernel driver in use: nouveau
    fix: Install the NVIDIA driver, which keeps nouveau from loading, and reboot.
    documented: The nouveau drivers must be disabled before the driver is installed (CUDA Installation Guide for Linux)
    errors: CUDA_ERROR_NO_DEVICE 10, cudaErrorInsufficientDriver 10
    calls: cuInit
    says: `driven by nouveau`
    words: `\\bnouveau\\b`, `blacklist(ed)?`
    stages: machine, run

    ## event-other-context
    errors: CUDA_ERROR_INVALID_HANDLE 55
    belief: The event was destroyed: using a destroyed event crashes, it does not return 400.
    cases: event_stream_device_mismatch

A meaning begins with ``## ENUMERATOR: text``; ``says`` is what the reference says of it, which the file names before the first. A name of
the runtime has the meaning of the driver's name for the same error::

    reference: cuSOLVER, cusolverStatus_t

    ## CUSOLVER_STATUS_ALLOC_FAILED: An allocation inside cuSOLVER failed: there is too little memory left.
    says: usually a cudaMalloc that failed; free memory before the call

``tell``, ``belief`` and the kinds of evidence (``cuvet.rules.evidence``) may stand several times. What the fields mean stands in
``cuvet.knowledge.cause``. Before the first section a field gives a value a name, in capitals, for which ``{NAME}`` stands below; lines
that begin with ``# `` are comments.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from cuvet.fields import TextError, fields
from cuvet.findings import Evidence
from cuvet.knowledge.cause import Cause, Meaning, RuleCause, Signs, Tell
from cuvet.knowledge.facts_of_text import FACTS, fact_named
from cuvet.knowledge.situation import PLATFORMS, STAGES
from cuvet.rules.evidence import KINDS, documented, evidence

FOLDER = Path(__file__).parent

_OWN = ("why", "fix", *KINDS)
"""What a rule says itself."""
_SIGNS = ("errors", "calls", "only_calls", "says", "words", "against", "stages", "platforms")
_CAUSE = ("tell", *_SIGNS, "belief", "cases", *_OWN)
_MEANING = ("says", "belief", *KINDS)
_TELL = re.compile(r"`([^`]+)`: (.+)")
_DESCRIBED = "the enumerator's description"

Field = tuple[str, str]
T = TypeVar("T")


def causes_in(file: Path) -> tuple[Cause | RuleCause, ...]:
    """The causes of a file, in order. TextError if it cannot be read: file, cause, and what is wrong."""
    return tuple(_sections(file, _cause))


@cache
def meanings_of(api: str) -> dict[str, Meaning]:
    """Enumerator of an API to its meaning; empty if no text has them. TextError if it cannot be read."""
    file = FOLDER / "meanings" / f"{api}.txt"
    return dict(_sections(file, _meaning)) if file.exists() else {}


def _sections(file: Path, read: Callable[[str, str, list[Field], dict[str, str]], T]) -> Iterator[T]:
    """What ``read`` makes of each section: of its name, its text, its fields, and the names before the first."""
    head, *parts = re.split(r"^## +", file.read_text(encoding="utf-8"), flags=re.M)
    place = where = f"{FOLDER.name}/{file.parent.name}/{file.name}"
    try:
        names = {"KNOWN_RELEASES": _listed(_bad_releases()), **dict(fields(re.sub(r"^# .*\n", "", head, flags=re.M)))}
        for part in parts:
            first, *rest = re.split(r"\n+(?=\S)", part, maxsplit=1)
            name, _, text = " ".join(first.split()).partition(": ")
            place = f"{where}, {name}"
            yield read(name, text, [(name, _filled(value, names)) for name, value in fields("".join(rest))], names)
    except ValueError as error:
        raise TextError(f"{place}: {error}") from None


def _filled(value: str, names: dict[str, str]) -> str:
    """With what the names stand for; a value may contain names itself."""
    for name in re.findall(r"\{([A-Z]\w*)\}", value):
        if name not in names:
            raise ValueError(f"{{{name}}} is not defined before the first section")
        value = value.replace(f"{{{name}}}", _filled(names[name], names))
    return value


def _cause(id: str, title: str, found: list[Field], names: dict[str, str]) -> Cause | RuleCause:
    _allow(found, _CAUSE if title else [name for name in _CAUSE if name not in _OWN])
    signs = _signs(found, () if title else ("run",))
    tell, beliefs, cases = tuple(map(_tell, _values(found, "tell"))), _values(found, "belief"), _items(found, "cases")
    if not title:
        return RuleCause(id=id, tell=tell, signs=signs, beliefs=beliefs, cases=cases)
    return Cause(
        id=id,
        title=title,
        why=_only(found, "why"),
        tell=tell,
        fix=_only(found, "fix"),
        evidence=_evidence(found),
        signs=signs,
        beliefs=beliefs,
        cases=cases,
    )


def _signs(found: list[Field], stages: tuple[str, ...]) -> Signs:
    """``stages``: where the cause is seen, if it does not say so."""
    only = _items(found, "only_calls")
    return Signs(
        errors=dict(map(_weight, _items(found, "errors"))),
        calls=only or _items(found, "calls"),
        words=_expressions(found, "words"),
        says=_expressions(found, "says"),
        against=_expressions(found, "against"),
        only_calls=bool(only),
        stages=_known(_items(found, "stages"), STAGES) or stages,
        platforms=_known(_items(found, "platforms"), PLATFORMS),
    )


def _expressions(found: list[Field], wanted: str) -> tuple[str, ...]:
    words = tuple(word for value in _values(found, wanted) for word in _words(value))
    _known(tuple(filter(None, map(fact_named, words))), tuple(FACTS))
    return words


def _known(items: tuple[str, ...], known: Sequence[str]) -> tuple[str, ...]:
    if other := [item for item in items if item not in known]:
        raise ValueError(f"`{other[0]}` is none of {', '.join(known)}")
    return items


def _meaning(name: str, text: str, found: list[Field], names: dict[str, str]) -> tuple[str, Meaning]:
    """Without a word of a document, the text is what the reference describes."""
    _allow(found, _MEANING)
    evidence = _evidence(found)
    says = _values(found, "says") or (() if any(one.kind == "documented" for one in evidence) else (_DESCRIBED,))
    said = tuple(documented(each, names["reference"]) for each in says)
    return name, Meaning(text=text, evidence=(*said, *evidence), beliefs=_values(found, "belief"))


def _allow(found: list[Field], allowed: Sequence[str]) -> None:
    if other := [name for name, _ in found if name not in allowed]:
        raise ValueError(f"`{other[0]}` is none of the fields {', '.join(allowed)}")


def _evidence(found: list[Field]) -> tuple[Evidence, ...]:
    return tuple(evidence(name, value) for name, value in found if name in KINDS)


def _values(found: list[Field], wanted: str) -> tuple[str, ...]:
    return tuple(value for name, value in found if name == wanted)


def _items(found: list[Field], wanted: str) -> tuple[str, ...]:
    return tuple(item for value in _values(found, wanted) for item in value.split(", "))


def _only(found: list[Field], wanted: str) -> str:
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
    known = json.loads((FOLDER / "known_releases.json").read_bytes())["releases"]
    for release in known:
        for version in release["versions"]:
            yield rf"{re.escape(release['distribution'])}[\s=:_v-]{{0,4}}{_version(version)}(?![\d.])"


def _version(version: str) -> str:
    """The version; a zero at its end may be left out."""
    return rf"{re.escape(version[:-2])}(\.0)?" if version.endswith(".0") else re.escape(version)
