"""What hardware showed: the rows of ``*.jsonl`` beside this, and where they come from, in words.

A row is a program with the status of each call, on one GPU and driver; rows of one id are the same program on several.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent
_RECORDINGS = FOLDER.parent / "generated" / "recordings.json"


class Called(msgspec.Struct, frozen=True):
    """A call and what it returned."""

    status: int | None = None
    signal: int | None = None


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A row. ``program``: None where the same program was measured again, or the row is about an image. ``varied``: other outcomes of
    repeated runs, as ((statuses, signal), times)."""

    id: str
    gpu: str
    driver: str
    toolkit: str
    date: str = ""
    program: str | None = None
    calls: tuple[Called, ...] = ()
    signal: int | None = None
    varied: tuple[tuple[tuple[tuple[int, ...], int | None], int], ...] = ()

    @property
    def outcomes(self) -> set[tuple[tuple[int | None, ...], int | None]]:
        """The statuses and the signal of each sort of run."""
        first = tuple(call.status for call in self.calls), self.signal
        return {first, *((statuses, signal) for (statuses, signal), _ in self.varied)}


class Machine(msgspec.Struct, frozen=True):
    """Where programs were recorded. ``rules``: None where rules were made from them; else the entry points of each rule of which all
    calls ended as the rule says."""

    gpu: str
    driver: str
    date: str
    rules: dict[str, tuple[str, ...]] | None = None


@cache
def facts() -> dict[str, tuple[Fact, ...]]:
    """The rows of each id, in the order in which they were measured: those without a date first, on one day those with a program."""
    decoder = msgspec.json.Decoder(Fact)
    rows = [decoder.decode(line) for file in sorted(FOLDER.glob("*.jsonl")) for line in file.read_bytes().splitlines()]
    found: dict[str, list[Fact]] = {}
    for row in sorted(rows, key=lambda row: (row.date, row.program is None)):
        found.setdefault(row.id, []).append(row)
    return {name: tuple(same) for name, same in found.items()}


def of_facts(*ids: str) -> str:
    """Where the facts of these ids were measured: ``NVIDIA H200, driver 580.159.04, CUDA 13.0, 2026-11-21, free_twice``. ValueError
    if there is none of an id."""
    if unknown := [each for each in ids if each not in facts()]:
        raise ValueError(f"there is no fact {', '.join(unknown)}")
    return told([facts()[each] for each in ids])


def told(measured: Sequence[tuple[Fact, ...]]) -> str:
    """The same of facts with all their rows. Another GPU stands beside the first if all of them came out alike there, and it is known
    when they did on the first; else apart."""
    first, ids = measured[0][0].gpu, [rows[0].id for rows in measured]
    others = list(dict.fromkeys(row.gpu for rows in measured for row in rows if row.gpu != first))
    dated = all(row.date for rows in measured for row in rows if row.gpu == first)
    beside = [gpu for gpu in others if dated and all(_agrees(rows, gpu) for rows in measured)]
    parts = [_where([row for rows in measured for row in rows if row.gpu in (first, *beside)], ids)]
    for gpu in (gpu for gpu in others if gpu not in beside):
        there = [row for rows in measured for row in rows if row.gpu == gpu]
        alike = {rows[0].id for rows in measured if _agrees(rows, gpu)}
        for words, found in (
            ("also on", [row for row in there if row.id in alike]),
            ("with another outcome on", [row for row in there if row.id not in alike]),
        ):
            parts += [f"{words} {_where(found, [row.id for row in found])}"] if found else []
    return "; ".join(parts)


def _agrees(rows: tuple[Fact, ...], gpu: str) -> bool:
    """Whether the fact was measured on that GPU, too, with outcomes that the first one had as well."""
    there = [row for row in rows if row.gpu == gpu]
    return bool(there) and all(row.outcomes & rows[0].outcomes for row in there)


def _where(rows: list[Fact], ids: Iterable[str]) -> str:
    gpus, toolkits = _listed(row.gpu for row in rows), _listed(row.toolkit for row in rows)
    dates = sorted({row.date for row in rows} - {""})
    return ", ".join([gpus, f"driver {_drivers(row.driver for row in rows)}", f"CUDA {toolkits}", *dates, *ids])


def _drivers(releases: Iterable[str]) -> str:
    """Of one release that was noted in short and in full, what is known of all: ``580.159`` and ``580.159.04`` are ``580.159``."""
    found = sorted(set(releases))
    return _listed(each for each in found if not any(each.startswith(f"{other}.") for other in found))


def _listed(words: Iterable[str]) -> str:
    return " and ".join(dict.fromkeys(words))


def of_recordings(rule: str = "", entry_points: Collection[str] = ()) -> str:
    """``NVIDIA H200, driver 580.159.04, 2026-11-21, conformance recordings``: where random programs were recorded. Another GPU stands
    there too if calls of all these entry points that break the rule were recorded on it, and ended as the rule says."""
    known = [each for each in machines() if each.rules is None]
    others = [each for each in machines() if each.rules and set(entry_points) <= {*each.rules.get(rule, ())} != set()]
    return "; also on ".join(map(_recorded_on, filter(None, (known, others))))


@cache
def machines() -> tuple[Machine, ...]:
    """Where programs were recorded."""
    return msgspec.json.decode(_RECORDINGS.read_bytes(), type=tuple[Machine, ...])


def _recorded_on(machines: Sequence[Machine]) -> str:
    dates = sorted({each.date for each in machines})
    drivers = _drivers(each.driver for each in machines)
    return ", ".join([_listed(each.gpu for each in machines), f"driver {drivers}", *dates, "conformance recordings"])
