"""What a process repeats is not judged again and again, and the report is the same as if it were."""

from __future__ import annotations

import random
import struct
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuvet import catalog
from cuvet.analysis import Analysis, Meta, process
from cuvet.analysis.calls import RecordedCall
from cuvet.analysis.judge import Judge
from cuvet.catalog import Kind
from cuvet.model import Model
from cuvet.model.table import ObjectTable
from cuvet.recording import ordering, reader, rests, short_lives
from cuvet.recording.ordering import Ordering
from cuvet.recording.reader import Recording
from cuvet.recording.records import CallRecord
from cuvet.recording.short_lives import Alike

sys.path.insert(0, str(Path(__file__).parent))
import writing as w

CONTEXT, KNOWN, ALIVE = 0xC000, 2, 1
CHUNK = 200
"""Calls."""
SLACK_NS = 100 * CHUNK
"""As long as a chunk takes."""
MAKES = {
    "event": ("cuEventCreate", "cuEventDestroy", Kind.EVENT),
    "stream": ("cuStreamCreate", "cuStreamDestroy", Kind.STREAM),
    "memory": ("cuMemAlloc", "cuMemFree", Kind.MEMORY),
    "pinned": ("cuMemAllocHost", "cuMemFreeHost", Kind.HOST_MEMORY),
    "pooled": ("cuMemAllocAsync", "cuMemFreeAsync", Kind.MEMORY),
}


class Program:
    """Makes the calls of a process. Handles are issued again, those that were ended last first."""

    def __init__(self, contexts: int = 1) -> None:
        self.contexts = {1: CONTEXT, 2: CONTEXT}
        self.records: list[tuple[int, bytes]] = []
        self.now = 1000
        self.numbers: Counter[int] = Counter()
        self.generations: Counter[tuple[Kind, int]] = Counter()
        self.ended: dict[Kind, list[int]] = defaultdict(list)
        self.slots: dict[tuple[str, int], int] = {}
        self.functions: dict[int, int] = {}
        self.fresh = 0x10_0000
        self.call(1, "cuInit", 0, context=0)
        self.call(1, "cuDevicePrimaryCtxRetain", 1, 0, context=0, outputs=[(0, Kind.CONTEXT, 1, CONTEXT)])
        if contexts == 2:
            self.contexts[2] = CONTEXT + 0x100
            outputs = [(0, Kind.CONTEXT, 1, self.contexts[2])]
            self.call(2, "cuDevicePrimaryCtxRetain", 1, 1, context=0, outputs=outputs)
        for thread, context in self.contexts.items():
            set_current = [(0, Kind.CONTEXT, 3, 1, context, 0)]
            self.call(thread, "cuCtxSetCurrent", context, context=0, objects=set_current)
        for slot in range(2):
            self.make("stream", slot)

    def call(self, thread: int, name: str, *args: int, **fields: object) -> None:
        self.now += 100
        self.numbers[thread] += 1
        fields = {"context": self.contexts[thread], "stack": len(args) + thread * 10, **fields}
        of = {"thread": thread, "number": self.numbers[thread], "entered": self.now}
        self.records.append((thread, w.call(name, args, **of, **fields)))  # type: ignore[arg-type]

    def seen(self, parameter: int, what: str, handle: int) -> tuple[int, Kind, int, int, int, int]:
        kind = MAKES[what][2]
        alive = ALIVE if handle in self.slots.values() else 0
        return parameter, kind, KNOWN | alive, self.generations[kind, handle], handle, CONTEXT

    def make(self, what: str, slot: int, thread: int = 1) -> None:
        if (what, slot) in self.slots:
            return
        name, _, kind = MAKES[what]
        if self.ended[kind]:
            handle = self.ended[kind].pop()
        else:
            self.fresh += 0x1000
            handle = self.fresh
        self.generations[kind, handle] += 1
        self.slots[what, slot] = handle
        fields = {"outputs": [(0, kind, self.generations[kind, handle], handle)]}
        if what == "pooled":
            stream = self.slots["stream", slot % 2]
            fields["objects"] = [self.seen(2, "stream", stream)]
            self.call(thread, name, 0x7FFF, 512 + 256 * slot, stream, **fields)
        else:
            size = 512 + 256 * slot
            self.call(thread, name, 0x7FFF, size if kind in (Kind.MEMORY, Kind.HOST_MEMORY) else 1, **fields)

    def end(self, what: str, slot: int, thread: int = 1) -> None:
        handle = self.slots.get((what, slot))
        if handle is None or (what == "stream" and slot < 2):
            return
        _, name, kind = MAKES[what]
        seen = [self.seen(0, what, handle)]
        if what == "pooled":
            stream = self.slots["stream", slot % 2]
            self.call(thread, name, handle, stream, objects=[*seen, self.seen(1, "stream", stream)])
        else:
            self.call(thread, name, handle, objects=seen)
        del self.slots[what, slot]
        self.ended[kind].append(handle)

    def record(self, slot: int, thread: int = 1) -> None:
        event, stream = self.slots.get(("event", slot)), self.slots["stream", slot % 2]
        if event is not None:
            seen = [self.seen(0, "event", event), self.seen(1, "stream", stream)]
            self.call(thread, "cuEventRecord", event, stream, objects=seen, flags=w.ORDER)

    def wait(self, slot: int, thread: int = 1) -> None:
        event, stream = self.slots.get(("event", slot)), self.slots["stream", (slot + 1) % 2]
        if event is not None:
            seen = [self.seen(0, "stream", stream), self.seen(1, "event", event)]
            self.call(thread, "cuStreamWaitEvent", stream, event, 0, objects=seen, flags=w.ORDER)

    def work(self, slot: int, thread: int = 1) -> None:
        memory, stream = self.slots.get(("pooled", slot)), self.slots["stream", (slot + 1) % 2]
        if memory is not None:
            seen = [self.seen(0, "pooled", memory), self.seen(3, "stream", stream)]
            self.call(thread, "cuMemsetD8Async", memory, 0, 16, stream, objects=seen, flags=w.STREAM_ORDERED)

    def copy(self, slot: int, thread: int = 1) -> None:
        """Into the middle of memory, which may have ended; the driver says nothing of it."""
        addresses = [*self.ended[Kind.MEMORY], *(at for (what, _), at in self.slots.items() if what == "memory")]
        if addresses:
            address = addresses[slot % len(addresses)] + 100
            self.call(thread, "cuMemcpyHtoDAsync", address, 0x5000, 16, 0, flags=w.ORDER)

    def launch(self, slot: int, thread: int = 1, into: int = 64) -> None:
        """A kernel of whose code nothing is known, with a number that is another each time, and a pointer into memory, which may have
        ended."""
        function, stream = self.function(slot % 2), self.slots["stream", slot % 2]
        addresses = [at for (what, _), at in self.slots.items() if what in ("memory", "pooled", "pinned")]
        address = (addresses or self.ended[Kind.MEMORY] or [0])[-1 - slot % max(1, len(addresses))]
        arguments = struct.pack("<IHHHHI", 2, 0, 8, 8, 8, 0) + struct.pack("<QQ", self.now, address + into)
        named = [(0, Kind.FUNCTION, 3, 1, function, CONTEXT), self.seen(8, "stream", stream)]
        words = (function, 1, 1, 1, 32, 1, 1, 0, stream, 0x7FFE, 0)
        self.call(thread, "cuLaunchKernel", *words, objects=named, inputs={9: arguments}, flags=w.WORK)

    def function(self, number: int) -> int:
        """One of two."""
        if number not in self.functions:
            module, handle = 0x9000 + number * 0x100, 0xA000 + number * 0x100
            self.call(1, "cuModuleLoadData", 0x7FFF, 0x6000, outputs=[(0, Kind.MODULE, 1, module)])
            seen = [(1, Kind.MODULE, 3, 1, module, CONTEXT)]
            self.call(
                1, "cuModuleGetFunction", 0x7FFF, module, 0x6000, objects=seen, outputs=[(0, Kind.FUNCTION, 1, handle)]
            )
            self.functions[number] = handle
        return self.functions[number]

    def copy_to_freed(self, offset: int) -> None:
        """Into memory that was freed, where only some of what lay there reached; the driver refuses that."""
        flags = w.LIFECYCLE | w.SUSPECT | w.FAILED
        for address in self.ended[Kind.MEMORY]:
            thread = max(self.contexts) + 1  # a finding of its own
            self.contexts[thread] = CONTEXT
            self.call(thread, "cuMemcpyHtoD", address + offset, 0x5000, 16, flags=flags, status=1)

    def other(self, slot: int, thread: int = 1) -> None:
        """A call that no repetition has, and that changes nothing about other objects."""
        context = self.contexts[thread]
        named = [(0, Kind.CONTEXT, 3, 1, context, 0)]
        if slot % 4 == 0:
            self.call(thread, "cuCtxSetCurrent", context, objects=named)
        elif slot % 4 == 1:
            self.call(thread, "cuCtxPushCurrent", context, objects=named)
            self.call(thread, "cuCtxPopCurrent", 0x7FFF, outputs=[(0, Kind.CONTEXT, 1, context)])
        elif slot % 4 == 2:
            self.fresh += 0x1000
            self.call(thread, "cuModuleLoadData", 0x7FFF, 0x6000, outputs=[(0, Kind.MODULE, 1, self.fresh)])
        else:
            self.call(thread, "cuDeviceGet", 0x7FFF, 0, outputs=[(0, Kind.NONE, 0, 0)])

    def wait_for(self, slot: int, thread: int = 1) -> None:
        stream = self.slots["stream", slot % 2]
        self.call(thread, "cuStreamSynchronize", stream, objects=[self.seen(0, "stream", stream)], flags=w.ORDER)

    def rest(self, slot: int = 0, thread: int = 1) -> None:
        """The host waits for all work."""
        self.call(thread, "cuCtxSynchronize", flags=w.ORDER)

    def fill(self, slot: int, stream: int, thread: int = 1) -> None:
        """Sets memory, on one of two streams."""
        memory, handle = self.slots["memory", slot], self.slots["stream", stream]
        seen = [self.seen(0, "memory", memory), self.seen(3, "stream", handle)]
        self.call(thread, "cuMemsetD8Async", memory, 0, 16, handle, objects=seen, flags=w.WORK | w.STREAM_ORDERED)

    def reset(self) -> None:
        """The first context ends, with all that belongs to it, and is there again."""
        self.call(1, "cuDevicePrimaryCtxReset", 0)
        self.call(1, "cuDevicePrimaryCtxRetain", 1, 0, outputs=[(0, Kind.CONTEXT, 1, CONTEXT)])
        for (what, slot), handle in [*self.slots.items()]:
            self.ended[MAKES[what][2]].append(handle)
            del self.slots[what, slot]

    def stale(self, slot: int, thread: int = 1) -> None:
        """The handle that was ended last is used, which the driver refuses."""
        for what, name in (("event", "cuEventSynchronize"), ("stream", "cuStreamSynchronize"), ("memory", "cuMemFree")):
            handles = self.ended[MAKES[what][2]]
            if handles:
                handle, flags = handles[-1 - slot % len(handles)], w.LIFECYCLE | w.SUSPECT | w.FAILED
                seen = [self.seen(0, what, handle)]
                self.call(thread, name, handle, objects=seen, flags=flags, status=1 if what == "memory" else 400)

    def chunks(self) -> Iterator[bytes]:
        """Each is left before the next call, but for the first, in which a thread goes on that makes no more calls."""
        yield w.chunk(w.every_entry_point())
        for at in range(0, len(self.records), CHUNK):
            of_thread: dict[int, bytes] = defaultdict(bytes)
            for thread, record in self.records[at : at + CHUNK]:
                of_thread[thread] += record
            left = 1000 + 100 * (at + CHUNK) + 50
            yield from (w.chunk(records, thread=thread, left=left) for thread, records in of_thread.items())

    def write(self, directory: Path, flags: int = 0, gpus: int = 1) -> Path:
        return w.write(directory, list(self.chunks()), flags=flags, gpus=gpus)


def report(directory: Path) -> bytes:
    found = Analysis(directory).report(Meta(pid=1000), leaks=True, memory=True)
    assert found.stats.get("internal_errors", 0) == 0, found.not_checked
    return msgspec.json.format(msgspec.json.encode(found))


def both(directory: Path) -> tuple[bytes, bytes]:
    """The report without what is repeated, and with it."""
    without = report(directory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "LEAVE_OUT_REPEATS", False)
        return without, report(directory)


def calls_given(path: Path, repeats: bool) -> list[CallRecord]:
    calls = Ordering(Recording(path), repeats=repeats)
    calls.told = lambda: 0
    found = []
    for item in calls.poll():
        calls.after_period(True)
        if isinstance(item, CallRecord):
            found.append(item)
    return found


def delivered(path: Path, repeats: bool) -> int:
    return len(calls_given(path, repeats))


AT_REST: list[tuple[Any, ...]] = [
    *(("fill", slot, stream) for slot in range(3) for stream in range(2)),
    *((name, slot) for name in ("record", "wait", "work", "wait_for", "launch") for slot in range(2)),
]
slots, threads = st.integers(0, 3), st.integers(1, 2)
steps = st.one_of(
    st.tuples(st.sampled_from(["make", "end"]), st.sampled_from(sorted(MAKES)), slots, threads),
    st.tuples(st.sampled_from(["record", "wait", "work", "wait_for", "launch", "rest"]), slots, threads),
)
mistakes = st.tuples(st.just("stale"), slots, threads)
bodies = st.lists(steps, min_size=1, max_size=8)
loops = st.tuples(
    st.one_of(bodies, st.lists(st.one_of(steps, mistakes), min_size=1, max_size=4)), st.sampled_from([1, 4, 40, 90])
)


@settings(max_examples=120, deadline=None)
@given(st.lists(loops, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_the_report_is_the_same(
    program: list[tuple[list[tuple[object, ...]], int]], complete: bool, accesses: bool
) -> None:
    made = Program()
    for body, times in program:
        for _ in range(times):
            for name, *arguments in body:
                getattr(made, str(name))(*arguments)
    for slot in range(3):  # what was left out shows in later calls
        made.stale(slot)
        for what in MAKES:
            made.make(what, 7 + slot)
        made.stale(slot)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "GROUP", 3)
        made.write(Path(folder), flags=2 * complete + 4 * accesses)
        without, with_all = both(Path(folder))
    assert without == with_all


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 32), st.booleans(), st.integers(1, 20))
def test_the_report_of_a_program_that_comes_to_rest_is_the_same(seed: int, complete: bool, fewest: int) -> None:
    """It does one thing or another, in no order, and waits for all."""
    chosen, made = random.Random(seed), Program()
    for what, slot in [*(("memory", slot) for slot in range(3)), ("event", 0), ("event", 1), ("pooled", 0)]:
        made.make(what, slot)
    bodies = [chosen.choices(AT_REST, k=chosen.randrange(9)) for _ in range(4)]
    for at in range(chosen.randrange(400)):
        for name, *arguments in [*chosen.choice(bodies), ("rest",), *bodies[0][:1]]:
            getattr(made, name)(*arguments)
        if at % 100 == 99:
            made.stale(at // 100)
            made.make("event", at // 100)
    for slot in range(3):
        made.stale(slot)
        made.work(0)
        made.copy(slot)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "GROUP", 3)
        patch.setattr(rests, "FEWEST", fewest)
        patch.setattr(process, "VALUES_A_CALL", 1 << 10)
        made.write(Path(folder), flags=2 * complete + 4)
        without, with_all = both(Path(folder))
    assert without == with_all


STEPS = {"make": 8, "end": 8, "record": 1, "wait": 1, "work": 1, "wait_for": 1, "stale": 1, "copy": 1, "other": 1}


def at_random(seed: int, steps: int, slots: int, often: dict[str, int], kinds: list[str], contexts: int = 1) -> Program:
    """A program without loops: how ``often`` each step is made, in how many ``slots``."""
    chosen, made = random.Random(seed), Program(contexts)
    for name in chosen.choices(list(often), list(often.values()), k=steps):
        what = [chosen.choice(kinds)] if name in ("make", "end") else []
        getattr(made, name)(*what, chosen.randrange(slots), chosen.randint(1, 2))
    return made


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 1 << 32),
    st.sampled_from([2, 3, 5, 9, 90, 900]),
    st.fixed_dictionaries(
        {name: st.sampled_from([0, most]) for name, most in STEPS.items() if name not in ("make", "end")}
    ),
    st.lists(st.sampled_from(sorted(MAKES)), min_size=1, unique=True),
    st.booleans(),
    st.integers(1, 2),
    st.booleans(),
)
def test_the_report_of_a_program_without_loops_is_the_same(
    seed: int, slots: int, often: dict[str, int], kinds: list[str], complete: bool, contexts: int, reset: bool
) -> None:
    made = at_random(seed, 700, slots, {"make": 8, "end": 8, **often}, kinds, contexts)
    if reset:
        made.reset()
    for slot in range(3):
        made.stale(slot)
    for offset in (600, 1200, 2400):
        made.copy_to_freed(offset)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "GROUP", 3)
        patch.setattr(ordering, "SLACK_NS", SLACK_NS)
        patch.setattr(ordering, "FEWEST", 20)
        patch.setattr(short_lives, "FEWEST_ALIKE", 2)
        made.write(Path(folder), flags=2 if complete else 0, gpus=2)
        without, with_all = both(Path(folder))
    assert without == with_all


@pytest.mark.parametrize("what", ["event", "stream", "memory", "pooled"])
def test_objects_that_live_for_a_short_time_in_any_order_are_not_judged(tmp_path: Path, what: str) -> None:
    made = at_random(1, 6000, 6, {"make": 1, "end": 1}, [what])
    path = made.write(tmp_path)
    judged, every = calls_given(path, True), calls_given(path, False)
    assert len(judged) < 500 < 1900 < len(every)
    newest: dict[int, list[int]] = defaultdict(list)
    for call in every[6:]:
        for made_here in call.outputs:
            newest[made_here.value].append(call.entered)
    assert {call.entered for call in judged} >= {last for made_there in newest.values() for last in made_there[-5:]}
    without, with_all = both(tmp_path)
    assert without == with_all


def lasting(count: int) -> Program:
    """Events that nobody ends, made at two places by two threads."""
    made = Program()
    for number in range(count):
        made.make("event", number, 1 + number % 2)
    return made


def rows_given(path: Path) -> int:
    calls = Ordering(Recording(path), repeats=True)
    calls.told = lambda: 0
    return sum(len(item.rows) for item in calls.poll() if isinstance(item, Alike))


def opened_elsewhere(made: Program) -> None:
    """Events that another call makes are counted, too."""
    for slot in range(2000, 2800):
        made.make("event", slot)
        if slot % 100 == 0:
            outputs = [(0, Kind.EVENT, 1, 0x77_0000 + slot)]
            made.call(1, "cuIpcOpenEventHandle", 0x7FFF, 0, outputs=outputs)
    made.end("event", 2150)


def named_later(made: Program) -> None:
    for slot in (7, 6, 1500, 1501):
        made.record(slot)
        made.end("event", slot)
    made.stale(2)


def made_again(made: Program) -> None:
    """Handles of objects that ended name new ones, and one that did not end, too."""
    for slot in range(100, 900):
        made.end("event", slot)
    made.ended[Kind.EVENT].append(made.slots["event", 950])
    for slot in range(3000, 3800):
        made.make("event", slot)
    made.stale(0)


def named_by_another_call(made: Program) -> None:
    """As a stream."""
    made.call(1, "cuStreamSynchronize", made.slots["event", 40], flags=w.LIFECYCLE | w.SUSPECT | w.FAILED, status=400)


@pytest.mark.parametrize(
    "then", [lambda made: None, Program.reset, opened_elsewhere, named_later, made_again, named_by_another_call]
)
def test_events_that_live_on_are_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: Callable[[Program], None]
) -> None:
    monkeypatch.setattr(reader, "GROUP", 9)
    monkeypatch.setattr(ordering, "SLACK_NS", SLACK_NS)
    made = lasting(2000)
    then(made)
    for slot in range(2):
        made.stale(slot)
    path = made.write(tmp_path)
    assert rows_given(path) > 1200
    assert delivered(path, True) < len(made.records) - 1200
    without, with_all = both(tmp_path)
    assert without == with_all


def numbers(made: Program, turn: int) -> None:
    made.launch(0)


def other_pointers(made: Program, turn: int) -> None:
    made.launch(0, into=turn % 512)


def other_memory(made: Program, turn: int) -> None:
    made.make("memory", 5)
    made.launch(0)
    made.end("memory", 5)


def in_a_capture(made: Program, turn: int) -> None:
    if turn == 0:
        stream = made.slots["stream", 0]
        made.call(1, "cuStreamBeginCapture", stream, 0, objects=[made.seen(0, "stream", stream)])
    made.launch(0)


@pytest.mark.parametrize(
    ("what", "least", "most"),
    [(numbers, 0, 1000), (other_pointers, 3000, 3000), (other_memory, 3000, 3000), (in_a_capture, 3000, 3000)],
)
def test_numbers_that_kernels_without_code_are_given_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: Callable[[Program, int], None], least: int, most: int
) -> None:
    launches = []

    class Counting(Judge):
        def judge(self, model: Model, call: RecordedCall, record: CallRecord) -> bool:
            launches.extend([call] * (call.name == "cuLaunchKernel"))
            return super().judge(model, call, record)

    monkeypatch.setattr(reader, "GROUP", 3)
    monkeypatch.setattr(ordering, "SLACK_NS", SLACK_NS)
    made = Program()
    made.make("memory", 0)
    for turn in range(3000):
        what(made, turn)
        made.wait_for(1)
    made.write(tmp_path, flags=4)
    without, with_all = both(tmp_path)
    assert without == with_all
    monkeypatch.setattr(process, "Judge", Counting)
    report(tmp_path)
    assert least <= len(launches) <= most


def test_what_kernels_are_given_does_not_matter_behind_calls_that_map_memory_and_are_read_with_them(
    tmp_path: Path,
) -> None:
    made = Program()
    for turn in range(6000):
        if turn in (0, 2000):
            made.make("memory", turn // 2000)
        made.launch(0)
        made.wait_for(1)
    path = made.write(tmp_path, flags=4)
    (batch,) = Recording(path).poll()
    assert len(batch.calls) > 12_000
    without, with_all = both(tmp_path)
    assert without == with_all
    judged = []

    class Counting(Judge):
        def judge(self, model: Model, call: RecordedCall, record: CallRecord) -> bool:
            judged.append(call)
            return super().judge(model, call, record)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "Judge", Counting)
        report(tmp_path)
    assert len(judged) < 9000


def test_of_what_is_read_first_not_all_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = []

    class Counting(Judge):
        def judge(self, model: Model, call: RecordedCall, record: CallRecord) -> bool:
            judged.append(call)
            return super().judge(model, call, record)

    monkeypatch.setattr(process, "Judge", Counting)
    lasting(1000).write(tmp_path)
    report(tmp_path)
    assert len(judged) < 20


def test_what_is_said_while_events_are_made_is_said_of_all(tmp_path: Path) -> None:
    """A mistake between them: what follows it is judged."""
    made = lasting(1000)
    made.make("stream", 3)
    made.call(1, "cuStreamDestroy", 0x99, flags=w.LIFECYCLE)
    for number in range(1000, 2000):
        made.make("event", number)
    made.write(tmp_path)
    without, with_all = both(tmp_path)
    assert without == with_all


def test_only_objects_that_are_remembered_are_made_of_rows_that_end(tmp_path: Path) -> None:
    """With their context; those that are remembered are the same as without rows."""
    made = lasting(1200)
    made.call(1, "cuInit", 0)
    made.record(1199)
    made.reset()
    for slot in (0, 20, 48, 1150, 1199):
        made.stale(slot)
    made.write(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ObjectTable.__init__, "__defaults__", (50,))
        without, with_all = both(tmp_path)
    assert without == with_all


def test_what_lay_where_a_call_points_is_known(tmp_path: Path) -> None:
    """Memory of several sizes was at each address; only few were as large as a later mistake tells."""
    chosen, made = random.Random(1), Program()
    for step in range(4000):
        getattr(made, chosen.choice(["make", "end"]))("memory", chosen.randrange(3))
        if step % 400 == 200:
            for slot in range(3):
                made.end("memory", slot)
            made.make("memory", 9)
            made.end("memory", 9)
    for slot in range(3):
        made.end("memory", slot)
    for offset in (100, 2600):
        made.copy_to_freed(offset)
    path = made.write(tmp_path)
    assert delivered(path, True) < 500 < 2000 < delivered(path, False)
    without, with_all = both(tmp_path)
    assert without == with_all
    assert "memcpy" in without.decode().lower()


def test_the_last_work_and_the_last_wait_before_other_calls_are_judged(tmp_path: Path) -> None:
    made = at_random(3, 9000, 4, {"make": 300, "end": 300, "wait_for": 1}, ["memory", "pooled"])
    path = made.write(tmp_path)
    judged = {(call.thread, call.number) for call in calls_given(path, True)}
    assert len(judged) < len(made.records) // 3
    ids = {each.id: each.name for each in catalog.driver().entry_points}
    last: dict[tuple[str, int], CallRecord] = {}
    for call in calls_given(path, False):
        name = ids[call.entry_point]
        if name == "cuStreamSynchronize":
            assert all((each.thread, each.number) in judged for each in last.values())
        elif name.endswith("Async"):
            last["work", call.args[-1]] = call
        elif name == "cuMemFree":
            last["wait", 0] = call


@pytest.mark.parametrize("slots", [4, 1 << 20])
def test_calls_in_another_context_than_the_one_before_are_judged(tmp_path: Path, slots: int) -> None:
    chosen, made = random.Random(1), Program()
    for _ in range(3000):
        made.contexts[1] = CONTEXT + (chosen.random() < 0.03)
        getattr(made, chosen.choice(["make", "end"]))("event", chosen.randrange(slots))
    path = made.write(tmp_path)
    judged = {(call.thread, call.number) for call in calls_given(path, True)}
    every = [call for call in calls_given(path, False) if call.thread == 1]
    changes = [call for before, call in pairwise(every) if call.context != before.context]
    assert 50 < len(changes) < len(judged) < len(every) // 2
    assert all((call.thread, call.number) in judged for call in changes)


def pairs(made: Program, what: str, count: int) -> None:
    for _ in range(count):
        made.make(what, 5)
        made.end(what, 5)


def timed(made: Program, what: str, count: int) -> None:
    for _ in range(count):
        for step in ("make", "end"):
            for slot in (2, 3):
                getattr(made, step)("event", slot)
                if step == "make":
                    made.record(slot)
                    made.work(slot)
        made.wait_for(0)


@pytest.mark.parametrize(
    ("loop", "what"),
    [(pairs, "event"), (pairs, "stream"), (pairs, "memory"), (pairs, "pinned"), (pairs, "pooled"), (timed, "")],
)
def test_a_loop_is_judged_as_often_however_long_it_is(
    tmp_path: Path, loop: Callable[[Program, str, int], None], what: str
) -> None:
    judged = []
    for count in (400, 1200):
        made = Program()
        loop(made, what, count)
        (folder := tmp_path / str(count)).mkdir()
        path = made.write(folder)
        judged.append((delivered(path, True), delivered(path, False) - len(made.records)))
        without, with_all = both(folder)
        assert without == with_all
    assert judged[0] == judged[1]
    assert judged[0][0] < 200


def test_a_loop_that_does_something_else_now_and_then_is_judged_as_often_however_long_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the host waits for all work after each turn."""
    monkeypatch.setattr(rests, "FEWEST", 8)
    judged = Counter[int]()

    class Counting(Judge):
        def judge(self, model: Model, call: RecordedCall, record: CallRecord) -> bool:
            judged[count] += 1
            return super().judge(model, call, record)

    monkeypatch.setattr(process, "Judge", Counting)
    for count in (1000, 4000):
        chosen, made = random.Random(1), Program()
        for slot in range(3):
            made.make("memory", slot)
        made.make("event", 0)
        for _ in range(count):
            for slot in range(3):
                made.fill(slot, slot % 2)
            if chosen.randrange(7) == 0:
                made.record(0)
                made.wait(0)
                made.fill(0, 1)
            made.rest()
        (folder := tmp_path / str(count)).mkdir()
        made.write(folder, flags=4)
        report(folder)
        assert judged[count] < 1500 < 4000 < len(made.records)


def of_stale(found: bytes) -> dict[str, Any]:
    """The finding that is not about what is left at the end."""
    (finding,) = (each for each in msgspec.json.decode(found)["findings"] if each["name"] != "exit-leak")
    assert isinstance(finding, dict)
    return finding


def test_what_is_said_of_a_repeated_call_is_counted(tmp_path: Path) -> None:
    made = Program()
    pairs(made, "event", 1)
    for _ in range(300):
        made.stale(0)
    made.write(tmp_path)
    without, with_all = both(tmp_path)
    assert without == with_all
    finding = of_stale(without)
    assert finding["repeats"] == 300


def test_references_that_are_counted_are_not_left_out(tmp_path: Path) -> None:
    """A primary context that is retained a hundred times must be released a hundred times."""
    made = Program()
    for _ in range(100):
        made.call(1, "cuDevicePrimaryCtxRetain", 1, 0, outputs=[(0, Kind.CONTEXT, 1, CONTEXT)])
    for _ in range(100):
        made.call(1, "cuDevicePrimaryCtxRelease", 0)
    made.make("stream", 6)
    made.write(tmp_path)
    without, with_all = both(tmp_path)
    assert without == with_all
    assert msgspec.json.decode(without)["stats"].get("contradicted", 0) == 0


def test_handles_of_a_loop_are_known_after_it(tmp_path: Path) -> None:
    """The last objects of a loop are there when a later call names them, with the numbers that they have."""
    made = Program()
    pairs(made, "stream", 500)
    made.stale(0)
    made.write(tmp_path)
    without, with_all = both(tmp_path)
    assert without == with_all
    finding = of_stale(without)
    assert finding["objects"][0]["name"] == "stream#502"
