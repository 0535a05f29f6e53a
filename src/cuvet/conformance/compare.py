"""Compares what the model says about each recorded call with what the driver did."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from zlib import crc32

from cuvet.catalog import EntryPoint, Kind, driver
from cuvet.conformance.recording import Header, Row, Session
from cuvet.model import Call, Model, Outcome, Prediction
from cuvet.rules.rule import CRASH

LEAST_AGREEMENT, LEAST_AGREEMENT_OF_A_KIND, MOST_UNDEFINED = 0.999, 0.995, 0.10
"""What the model has to reach: shares of calls. Calls that it calls undefined are no part of the first two."""

_ADDRESSES = {"cuMemGetAddressRange"}
"""Entry points whose outputs the model does not know to the word."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Row ``index`` of ``session``: the model allows ``predicted`` (``outputs``: the words it knows), the driver did otherwise."""

    session: Session
    index: int
    predicted: tuple[int, ...]
    outputs: dict[int, int] = field(default_factory=dict)

    @property
    def row(self) -> Row:
        return self.session.rows[self.index]


@dataclass(frozen=True, slots=True)
class Judged:
    """What the model said of a call. ``checksum``: of its statuses and words, and of the violations without their text."""

    entry_point: EntryPoint
    prediction: Prediction
    disagreement: Disagreement | None
    checksum: int


@dataclass(slots=True)
class Tally:
    """Counts of calls: all; those that the model calls undefined; of the others those that it got right, and those of which it allowed
    more than one status. ``programs`` with at least one such call. ``statuses`` that the model allowed and ``words`` that it knew, in all
    calls together. ``said``: a checksum of all that it said of them."""

    programs: int = 0
    calls: int = 0
    undefined: int = 0
    agreed: int = 0
    several: int = 0
    statuses: int = 0
    words: int = 0
    said: int = 0

    @property
    def agreement(self) -> float:
        """Share of the calls that are not undefined, 0 to 1."""
        defined = self.calls - self.undefined
        return self.agreed / defined if defined else 1.0

    @property
    def share_undefined(self) -> float:
        return self.undefined / self.calls if self.calls else 0.0

    def add(self, judged: Judged) -> None:
        prediction = judged.prediction
        self.calls += 1
        self.undefined += prediction.undefined
        self.several += len(prediction.statuses) > 1 and not prediction.undefined
        self.agreed += not prediction.undefined and judged.disagreement is None
        self.statuses += len(prediction.statuses)
        self.words += len(prediction.outputs)
        self.said += judged.checksum

    def include(self, other: Tally) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class Summary:
    """Counts over all, by kind of object that the calls name, and by entry point; how many violations of each rule the model named; and
    what it got wrong. ``alone``: of calls that break one rule only and can end in one way only, by rule and entry point, whether all ended
    so."""

    all: Tally = field(default_factory=Tally)
    kinds: dict[Kind, Tally] = field(default_factory=dict)
    entry_points: dict[str, Tally] = field(default_factory=dict)
    rules: Counter[str] = field(default_factory=Counter)
    disagreements: list[Disagreement] = field(default_factory=list)
    alone: dict[tuple[str, str], bool] = field(default_factory=dict)

    def include(self, other: Summary) -> None:
        """Add what was counted of other recordings."""
        self.all.include(other.all)
        for kind, count in other.kinds.items():
            self.kinds.setdefault(kind, Tally()).include(count)
        for name, count in other.entry_points.items():
            self.entry_points.setdefault(name, Tally()).include(count)
        self.rules += other.rules
        self.disagreements += other.disagreements


def judge(header: Header, session: Session) -> Iterator[Judged]:
    """What the model says of each call, before it is told how the call ended.

    It agrees if the driver's status is one that it allows, and the driver wrote the words that it knows.
    """
    model = new_model(header)
    for index, row in enumerate(session.rows):
        call = call_of(row, index)
        prediction = model.predict(call)
        ended = CRASH if row.status is None else row.status
        wrong = {} if row.status else _wrong_outputs(row, prediction.outputs)
        differs = not prediction.undefined and (ended not in prediction.statuses or bool(wrong))
        disagreement = Disagreement(session, index, prediction.statuses, wrong) if differs else None
        yield Judged(call.entry_point, prediction, disagreement, _checksum(prediction))
        model.observe(call, Outcome(row.status, row.outputs, row.signal))


def _checksum(said: Prediction) -> int:
    broken = [(each.rule.name, each.argument, [it.name for it in each.objects]) for each in said.violations]
    return crc32(repr((said.statuses, said.undefined, sorted(said.outputs.items()), broken)).encode())


def new_model(header: Header) -> Model:
    model = Model(len(header.gpus), memory=header.memory_bytes, complete=True)
    model.driver_version = header.driver
    model.capabilities = header.capabilities
    return model


def call_of(row: Row, number: int) -> Call:
    return Call(
        driver()[row.name],
        row.args,
        thread=row.thread,
        number=number,
        inputs=row.inputs,
        pointers=row.pointers,
        maps=row.maps,
        image=row.image[:4096],
        image_readable=len(row.image),
        image_terminated=b"\0" in row.image,
    )


def _wrong_outputs(row: Row, known: Mapping[int, int]) -> dict[int, int]:
    if row.name in _ADDRESSES:
        return {}
    return {index: word for index, word in known.items() if index in row.outputs and row.outputs[index] != word}


def kinds_of(entry_point: EntryPoint) -> set[Kind]:
    """The kinds of object that a call of it names, makes or hands out."""
    return {role.kind for role in entry_point.roles if role.parameter and role.kind is not Kind.NONE}


def tally(header: Header, sessions: Iterable[Session]) -> Summary:
    summary = Summary()
    for session in sessions:
        seen: set[tuple[int, int]] = set()
        for index, judged in enumerate(judge(header, session)):
            name, program = judged.entry_point.name, bisect_right(session.starts, index)
            counts = [summary.all, summary.entry_points.setdefault(name, Tally())]
            counts += [summary.kinds.setdefault(kind, Tally()) for kind in kinds_of(judged.entry_point)]
            for count in counts:
                count.add(judged)
                count.programs += (id(count), program) not in seen
                seen.add((id(count), program))
            broken = [violation.rule.name for violation in judged.prediction.violations]
            summary.rules.update(broken)
            if len(broken) == len(judged.prediction.statuses) == 1 and not judged.prediction.undefined:
                summary.alone[broken[0], name] = summary.alone.get((broken[0], name), True) and not judged.disagreement
            if judged.disagreement is not None:
                summary.disagreements.append(judged.disagreement)
    return summary
