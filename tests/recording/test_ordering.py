"""What is delivered of recordings that are made up at random, and when: as the first lines of ``ordering.py`` say it, written plainly."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from cuvet import catalog
from cuvet.catalog import Verb
from cuvet.recording import ordering, reader
from cuvet.recording.ordering import SLACK_NS, Ordering
from cuvet.recording.reader import Recording
from cuvet.recording.records import CallRecord, Fork

sys.path.insert(0, str(Path(__file__).parent))
import writing as w

Key = tuple[int, int]
"""Thread and number of a call."""


class Made(NamedTuple):
    """A call that was recorded; ``chunk`` and ``place`` say where."""

    thread: int
    number: int
    name: str
    args: tuple[int, ...]
    entered: int
    returned: int
    status: int
    flags: int
    context: int
    chunk: int
    place: int

    @property
    def notable(self) -> bool:
        return bool(
            self.flags & (w.LIFECYCLE | w.SUSPECT | w.FAILED | w.ORDER | w.STREAM_ORDERED)
        ) or self.status not in (0, 600)

    @property
    def instant(self) -> int:
        return self.returned if self.name in MAKES and self.returned else self.entered

    def record(self) -> bytes:
        fields = {"entered": self.entered, "returned": self.returned, "number": self.number, "flags": self.flags}
        return w.call(self.name, self.args, status=self.status, thread=self.thread, context=self.context, **fields)  # type: ignore[arg-type]


MAKES = {"cuStreamCreate", "cuEventCreate", "cublasCreate", "cublasGetStream"}
"""Those that hand out what was there are as those that make it."""
ENDS = {"cuStreamDestroy", "cuMemFree"}
STREAM_OF = {"cuMemsetD8Async": 3, "cuEventRecord": 1, "cuLaunchKernel": 8}
NAMES = {
    "cuStreamCreate": (1, 0),
    "cuEventCreate": (1, 0),
    "cuStreamDestroy": (7,),
    "cuMemFree": (0xD000,),
    "cuMemsetD8Async": (0xD000, 0, 16, 7),
    "cuEventRecord": (0xE000, 7),
    "cuLaunchKernel": (0xF000, 1, 1, 1, 1, 1, 1, 0, 7, 0, 0),
    "cuCtxGetDevice": (1,),
    "cublasCreate": (1,),
    "cublasSetStream": (0xB000, 7),
    "cublasGetStream": (0xB000, 1),
}


def program(chance: random.Random) -> list[list[Made]]:
    """Calls by chunk: each thread fills one after the other."""
    chunks: list[list[Made]] = []
    for thread in range(1, chance.randrange(2, 5)):
        at, number = chance.randrange(1, 100), 0
        for _ in range(chance.randrange(1, 3)):
            calls: list[Made] = []
            for place in range(chance.randrange(1, 25)):
                number += 1
                name = chance.choice([*NAMES])
                args = tuple(chance.choice((word, word, word + 1)) for word in NAMES[name])
                at += chance.randrange(1, 40)
                entered, at = at, at + chance.randrange(1, 60)
                quiet = name not in {"cuStreamCreate", "cuEventCreate", "cublasCreate"} | ENDS
                flags = 0 if quiet and chance.random() < 0.8 else w.LIFECYCLE
                status = chance.choice((0, 0, 0, 0, 0, 600, 1)) if quiet else 0
                context = chance.choice((0xC000, 0xC000, 0xC100))
                calls.append(Made(thread, number, name, args, entered, at, status, flags, context, len(chunks), place))
            chunks.append(calls)
    return chunks


def expected(chunks: list[list[Made]]) -> list[Key]:
    """By their instants: the notable calls, the last work on each stream between two of a thread, and of calls of libraries that are alike
    the first after each end."""
    every = [call for calls in chunks for call in calls]
    chosen = {call for call in every if call.notable}
    ended = [call.entered for call in every if call.name in ENDS]
    seen = set()
    for call in every:
        if is_of_library(call) and not call.notable:
            like = (call.name, call.args, call.context, sum(each < call.entered for each in ended))
            if like not in seen:
                seen.add(like)
                chosen.add(call)
    dividing = {call for call in every if call.notable and not is_of_library(call)}
    for calls in chunks:
        last: dict[int, Made] = {}
        for call in calls:
            if call in dividing:
                chosen.update(last.values())
                last = {}
            elif call.name in STREAM_OF:
                last[call.args[STREAM_OF[call.name]]] = call
        chosen.update(last.values())
    ordered = sorted(chosen, key=lambda call: (call.instant, call.number, call.chunk, call.place))
    return [(call.thread, call.number) for call in ordered]


def is_of_library(call: Made) -> bool:
    return call.name.startswith("cublas")


def chunk(calls: list[Made]) -> bytes:
    return w.chunk(b"".join(call.record() for call in calls), thread=calls[0].thread)


def key(item: CallRecord | Fork) -> Key:
    return (item.thread, item.number) if isinstance(item, CallRecord) else (0, item.child)


@pytest.mark.parametrize("seed", range(30))
def test_calls_are_delivered_by_their_instants(tmp_path: Path, seed: int) -> None:
    chunks = program(random.Random(seed))
    w.write(tmp_path, [w.chunk(w.every_entry_point(), thread=9), *map(chunk, chunks)])
    ordering = Ordering(Recording(tmp_path / "1000-1.cuvet"))
    assert [key(item) for item in ordering.poll()] == expected(chunks)
    assert ordering.counted == sum(map(len, chunks))
    assert list(ordering.poll()) == []


def test_a_call_that_waits_is_the_same_after_others_were_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of the chunk in which it was is used again."""
    monkeypatch.setattr(reader, "GROUP", 1)
    numbers = [range(begin, begin + 20) for begin in range(1, 100, 20)]
    records = [
        b"".join(w.call("cuMemsetD8Async", [number, 0, 16, 7], number=number, flags=0) for number in each)
        for each in numbers
    ]
    w.write(tmp_path, [w.chunk(w.every_entry_point()), *map(w.chunk, records)])
    recording = Recording(tmp_path / "1000-1.cuvet")
    found = [item for item in Ordering(recording).poll() if isinstance(item, CallRecord)]
    assert [(call.number, call.args[0]) for call in found] == [(each[-1], each[-1]) for each in numbers]


@pytest.mark.parametrize("seed", range(10))
def test_calls_of_a_growing_recording_are_delivered_in_the_same_order(tmp_path: Path, seed: int) -> None:
    """Chunk by chunk, as they are claimed: no call is new that is older than another was by more than the slack."""
    chunks = program(random.Random(seed))
    chunks = [[call._replace(flags=w.LIFECYCLE) for call in calls] for calls in chunks]
    written = [w.chunk(w.every_entry_point(), thread=9), *map(chunk, chunks)]
    w.write(tmp_path, written[:1])
    ordering, found = Ordering(Recording(tmp_path / "1000-1.cuvet")), []
    for count in range(1, len(written) + 1):
        w.write(tmp_path, written[:count])
        found += [key(item) for item in ordering.poll(running=True)]
    assert found == []  # all are within the slack of the newest
    assert [key(item) for item in ordering.poll()] == expected(chunks)


def test_what_is_older_than_the_slack_is_delivered_while_the_program_runs(tmp_path: Path) -> None:
    ms = 1_000_000
    names = w.chunk(w.every_entry_point(), thread=9)
    times = [ms, 2 * ms, 2 * ms + SLACK_NS, 2 * ms + SLACK_NS + 1]
    calls = [w.call("cuCtxGetDevice", (1,), entered=at, number=number) for number, at in enumerate(times, 1)]
    ordering = None
    delivered = []
    for count in range(1, len(calls) + 1):
        w.write(tmp_path, [names, w.chunk(b"".join(calls[:count]))])
        ordering = ordering or Ordering(Recording(tmp_path / "1000-1.cuvet"))
        delivered.append([key(item)[1] for item in ordering.poll(running=True)])
    assert delivered == [[], [], [1, 2], []]
    assert ordering is not None
    assert [key(item)[1] for item in ordering.poll()] == [3, 4]


def test_forks_stand_between_the_calls(tmp_path: Path) -> None:
    """Before a call of the same instant, and one after the other."""
    records = [
        w.call("cuCtxGetDevice", (1,), entered=at, number=number) for number, at in enumerate((100, 200, 300), 1)
    ]
    forks = [w.fork(child, ticks=ticks) for child, ticks in ((50, 200), (51, 200), (52, 250), (53, 50))]
    w.write(tmp_path, [w.chunk(w.every_entry_point(), thread=9), w.chunk(b"".join((*records, *forks)))])
    found = [key(item) for item in Ordering(Recording(tmp_path / "1000-1.cuvet")).poll()]
    assert found == [(0, 53), (1, 1), (0, 51), (0, 50), (1, 2), (0, 52), (1, 3)]


def test_a_call_that_has_not_returned_holds_back_what_comes_after(tmp_path: Path) -> None:
    """While the program runs. At the end it is delivered at its entry, though it would make something."""
    early = w.call("cuStreamCreate", (1, 0), entered=100, status=w.PENDING, number=1)
    later = w.call("cuCtxGetDevice", (1,), entered=200, thread=2, number=1)
    newest = w.call("cuCtxGetDevice", (1,), entered=300 + SLACK_NS, thread=2, number=2)
    parts = [w.chunk(w.every_entry_point(), thread=9), w.chunk(early), w.chunk(later + newest, thread=2)]
    w.write(tmp_path, parts)
    ordering = Ordering(Recording(tmp_path / "1000-1.cuvet"))
    assert list(ordering.poll(running=True)) == []
    assert list(ordering.poll(running=True)) == []
    returned = w.call("cuStreamCreate", (1, 0), entered=100, returned=250, number=1, outputs=[])
    w.write(tmp_path, [parts[0], w.chunk(returned), parts[2]])
    assert [key(item) for item in ordering.poll(running=True)] == [
        (2, 1),
        (1, 1),
        (2, 2),
    ]  # nothing is new: nobody waits for more


def test_the_sets_above_are_those_of_the_catalog() -> None:
    def having(*verbs: Verb) -> set[str]:
        points = map(catalog.recorded_entry_point, NAMES)
        return {each.name for each in points if each is not None and each.does(*verbs)}

    assert having(Verb.CREATES, Verb.RETURNS) - {"cuCtxGetDevice"} == MAKES
    assert having(Verb.DESTROYS, Verb.FREES) == ENDS


def test_what_a_later_chunk_knows_of_a_poll_waits_for_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a long poll goes on, threads write into chunks that it has read already."""
    monkeypatch.setattr(ordering, "SLACK_NS", 0)
    early, late, begun, other = (
        w.call("cuStreamSynchronize", [1], thread=thread, number=at, entered=at)
        for thread, at in ((1, 100), (1, 300), (2, 150), (2, 400))
    )
    path = w.write(tmp_path, [w.chunk(early), w.chunk(begun + other, thread=2)], end=0)
    calls = Ordering(Recording(path))
    given = [call.entered for call in calls.poll(running=True) if isinstance(call, CallRecord)]
    w.write(tmp_path, [w.chunk(early + late), w.chunk(begun + other, thread=2)], end=0)
    for _ in range(2):
        given += [call.entered for call in calls.poll(running=True) if isinstance(call, CallRecord)]
    assert given == [100, 150, 300, 400]
