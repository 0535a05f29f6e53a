"""Makes the call that the model judges of a record, with all that the recording has about it."""

from __future__ import annotations

import os
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from cuvet.analysis.code import LaunchedCode
from cuvet.analysis.crashes import SIGNALS, Crashes
from cuvet.catalog import EntryPoint, Kind
from cuvet.catalog.results import NOT_PERMITTED
from cuvet.findings import Frame, Site
from cuvet.model import Arguments, Call, Function, GraphExec, Launch, Model, Outcome, SeenHandle, Stream
from cuvet.model.objects import Object
from cuvet.model.series import Series
from cuvet.model.statuses import STICKY
from cuvet.model.touching import launched as launched_by
from cuvet.model.touching import shape_of_node
from cuvet.recording import Recording
from cuvet.recording.launches import Launched, done_with, unwaited
from cuvet.recording.layout import NOT_ASKED
from cuvet.recording.ordering import EntryPoints
from cuvet.recording.reader import Array, Clock
from cuvet.recording.records import MOST_ALIKE, CallRecord, Output, Refusal, Ring, SeenObject
from cuvet.recording.sites import Sites
from cuvet.recording.symbols import demangle, parameter_types

if TYPE_CHECKING:
    from cuvet.analysis.folding import Fold

_NOTHING_SEEN: dict[int, SeenHandle] = {}
"""Of all calls that name no object: an empty dictionary for each would be much of the memory of a model."""
_SUCCESS = Outcome(0)
_KINDS = {kind.value: kind for kind in Kind}


class RecordedCall(Call, eq=False):
    """A call that knows where it was recorded and how it ended. It has no ``site``: ``site_of`` makes it. ``api``: the function that was
    called, "" if it is not known that the runtime made the call. ``refused``: unless None, it was not made (``--protect``), and the status
    of its outcome is what the shim answered. ``kept``: the quarantine keeps an object that it names. ``injected``: it failed because that
    was asked for (``cuvet inject``)."""

    sites: Sites | None = None
    outcome: Outcome = msgspec.field(default_factory=lambda: Outcome(None))
    api: str = ""
    refused: Refusal | None = None
    kept: bool = False
    injected: bool = False
    reported: tuple[Fold, ...] = ()

    def where(self) -> str:
        return at(site_of(self))

    @property
    def asked(self) -> str:
        """The name of the function that was called: of the runtime, if it made the call."""
        return self.api or self.name

    def is_of_library(self) -> bool:
        """Whether a library made the call, and not the program's own code. False if that is not known."""
        return self.sites is not None and self.sites.is_of_library(self.stack)

    def library(self) -> str | None:
        """The file or the package whose code made the call; None if it is not known."""
        return self.sites.library(self.stack) if self.sites is not None else None


@dataclass(slots=True, eq=False)
class Common:
    """What calls that are alike have in common (``Call.like``)."""

    args: tuple[int, ...]
    context: int | None
    seen: dict[int, SeenHandle]
    stack: int
    api: str
    kept: bool
    per_thread: bool
    refused: Refusal | None
    in_host_function: bool
    by_library: bool = False


def site_of(call: Call) -> Site:
    """Where a recorded call was made."""
    api, frames = call.sites.of_stack(call.stack) if isinstance(call, RecordedCall) and call.sites else (None, ())
    return _make_site(call, api, frames)


def _make_site(call: Call, api: str | None, frames: tuple[Frame, ...] = ()) -> Site:
    return Site(
        api=api or call.name,
        call=call.number,
        process=call.process,
        thread=call.thread,
        time_ns=call.time_ns,
        frames=frames,
    )


def series_of(first: Object, call: RecordedCall, rows: Array, made: int, clock: Clock) -> Series:
    """Objects that calls like ``call`` made, which made ``first``. ``rows``: dtype ``short_lives.MADE``; ``made``: how many objects of the
    kind there were behind them."""

    def call_of(row: int) -> RecordedCall:
        columns = rows[row]
        args = (int(columns["argument"]), *call.args[1:])
        number, time_ns = int(columns["number"]), clock.ns(int(columns["entered"]))
        return msgspec.structs.replace(call, args=args, number=number, time_ns=time_ns, reported=())

    numbers = made - rows["later"].astype(np.int64)
    return Series(
        replace(first, children={}), rows["handle"].tolist(), rows["generation"].tolist(), numbers.tolist(), call_of
    )


def at(site: Site) -> str:
    """`` at file:line``, or nothing."""
    frame = site.frames[0] if site.frames else None
    return f" at {frame.file}:{frame.line}" if frame and frame.file else ""


class Calls:
    """Makes the calls of one process."""

    def __init__(self, recording: Recording, sites: Sites, crashes: Crashes) -> None:
        self._recording = recording
        self._process = recording.pid
        self._sites = sites
        self._code = LaunchedCode(sites)
        self._crashes = crashes
        self._launches: dict[tuple[object, ...], Common] = {}
        self._told: set[tuple[int, int]] = set()
        """Calls whose flight recorders were told of."""

    def of_record(
        self, record: CallRecord, entry_point: EntryPoint, known: EntryPoints, model: Model, death: int | None
    ) -> RecordedCall:
        """The call with its outcome. ``known`` are the entry points by their ids; ``death`` is the signal that ended the process, if
        somebody saw it."""
        call = self._call(record, entry_point, known)
        if rings := self._flight_recorders(record, call, model):
            call.awaited = record.awaited
            call.launches, call.more_launches = self._launches_before(model, call, rings, known)
        if record.status is None:
            call.outcome.signal = self._signal_in(record, death, call)
        return call

    def _call(self, record: CallRecord, entry_point: EntryPoint, known: EntryPoints) -> RecordedCall:
        key = (record.thread, record.number)
        recording = self._recording
        given = entry_point.index.get("kernelParams", len(entry_point.parameters))
        launch = given in record.inputs
        common = self._of_launch(record, entry_point, given) if launch else self._common(record, entry_point)
        call = RecordedCall(
            entry_point,
            common.args,
            self._process,
            record.thread,
            record.number,
            recording.clock.ns(record.entered),
            common.context,
            record.inputs,
            common.seen,
            record.pointers,
            per_thread=common.per_thread,
            in_host_function=common.in_host_function,
            stack=common.stack,
            sites=self._sites,
            outcome=_outcome(record, recording.handed_out.get(key, ())),
            api=common.api,
            refused=common.refused,
            kept=common.kept,
            injected=record.injected,
        )
        if launch:
            call.arguments, call.by_library, call.like = _arguments(record.inputs[given]), common.by_library, common
            return call
        if key in recording.maps:
            call.maps = tuple(recording.maps[key].splitlines())
        if (image := recording.images.get(key)) is not None:
            call.image, call.image_readable, call.image_terminated = image.data, image.readable, image.terminated
        if (overlap := recording.overlaps.get(key)) is not None:
            call.shared_with, call.shared_call = overlap.thread, known[overlap.entry_point]
        return call

    def _of_launch(self, record: CallRecord, entry_point: EntryPoint, given: int) -> Common:
        """``given``: the parameter that has the kernel's arguments, and may be another's each time."""
        others = (
            () if len(record.inputs) == 1 else tuple(record.inputs[each] for each in record.inputs if each != given)
        )
        place = (record.thread, record.stack, record.context)
        key = (record.named, others, record.entry_point, record.flags, record.status, place)
        found = self._launches.get(key)
        if found is None:
            found = self._common(record, entry_point)
            found.by_library = self._sites.is_of_library(found.stack)
            if not record.stack or record.stack in self._recording.stacks:
                self._launches[key] = found
            if len(self._launches) > MOST_ALIKE:
                del self._launches[next(iter(self._launches))]
        return found

    def _common(self, record: CallRecord, entry_point: EntryPoint) -> Common:
        missing, sites, stack = len(entry_point.parameters) - len(record.args), self._sites, record.stack
        if stack:
            sites.note(stack, entry_point)
        return Common(
            args=record.args + (0,) * missing if missing > 0 else record.args,
            context=None if record.context == NOT_ASKED else record.context,
            seen=(seen := _seen(record.objects)),
            kept=any(each.kept for each in seen.values()),
            per_thread=record.per_thread,
            refused=record.refused,
            stack=sites.first(stack),
            api=(sites.api(stack) or "") if stack else "",
            in_host_function=record.status == NOT_PERMITTED and sites.is_called_by_driver(stack),
        )

    def _flight_recorders(self, record: CallRecord, call: RecordedCall, model: Model) -> Sequence[Ring]:
        """Those that were stored because the call told that a context was lost. Of threads that are told so at once one stores them, while
        the call of another may be the first in the recording."""
        stored = self._recording.launches
        told = (call.thread, call.number)
        if told not in stored and record.status in STICKY and model.sticky_error(call) is None:
            left = [each for each in stored if each not in self._told and each[0] != call.thread]
            told = left[0] if len(left) == 1 else told
        if told not in stored:
            return ()
        self._told.add(told)
        return stored[told]

    def _launches_before(
        self, model: Model, call: RecordedCall, rings: Sequence[Ring], known: EntryPoints
    ) -> tuple[tuple[Launch, ...], bool]:
        """What was launched by then and not waited for, and whether other work may have come before."""
        alone = sum(1 for _ in model.objects(Kind.CONTEXT, alive=False)) <= 1
        each = [unwaited(ring, self._recording, known.__getitem__, alone=alone) for ring in rings]
        kernels = [
            launched for found in each for launched in found.launches if call.awaited or _is_before(launched, call)
        ]
        if call.awaited:
            kernels = _without_done(kernels, call, alone=alone)
        captured = {
            (ring.thread, end): found.captured[end]
            for ring, found in zip(rings, each, strict=True)
            for end in found.captured
        }
        graphs = (launched for found in each for launched in found.graphs)
        unwaited_for = (self._launch(model, launched) for launched in kernels)
        launches = (*unwaited_for, *self._of_graphs(model, graphs, captured))
        told = {ring.thread for ring in rings}
        more = any(found.more for found in each) or not self._recording.calls_of_thread.keys() <= told
        return launches, more and not self._recording.awaits_all

    def _of_graphs(
        self, model: Model, launches: Iterable[Launched], captured: Mapping[tuple[int, int], Sequence[Launched]]
    ) -> Iterator[Launch]:
        """The kernels of the graphs, each once, as they were captured or added. What they were given may have been changed since: they have
        no code that could be followed. ``captured``: by the call that ended the capture."""
        newest = {launched.function: launched for launched in launches}
        for launched in newest.values():
            executable = model.find(Kind.GRAPH_EXEC, launched.function)
            if not isinstance(executable, GraphExec) or executable.graph is None:
                continue
            made = executable.graph.created_by
            given = captured.get((made.thread, made.number), ()) if made is not None else ()
            for each, added in [
                *((each, False) for each in given),
                *((each, True) for each in _added(model, executable)),
            ]:
                yield replace(
                    self._launch(model, each._replace(captured=True)),
                    stream=launched.stream,
                    thread=launched.thread,
                    number=launched.number,
                    after_ns=self._recording.clock.ns(launched.after),
                    graph=executable,
                    added=added,
                )

    def _launch(self, model: Model, launched: Launched) -> Launch:
        function = function_before(model.find(Kind.FUNCTION, launched.function), launched.thread, launched.number)
        symbol = function.symbol if function is not None else ""
        _, frames = self._sites.of_stack(launched.stack)
        types = parameter_types(symbol)
        return Launch(
            kernel=demangle(symbol),
            stream=launched.stream,
            thread=launched.thread,
            number=launched.number,
            after_ns=self._recording.clock.ns(launched.after),
            where=_where(frames),
            words=launched.words,
            pointers=frozenset(number for number, name in enumerate(types) if name.endswith("*")),
            grid=launched.grid,
            block=launched.block,
            symbol=symbol,
            code=None if self._may_be_captured(model, launched) else self._code.of(symbol, launched.stack),
            context=function.context if function is not None else None,
        )

    def _may_be_captured(self, model: Model, launched: Launched) -> bool:
        """Whether the kernel may not have run, since its stream captured. Of captures that another thread began, it is not known when."""
        stream = model.find(Kind.STREAM, launched.stream) if launched.stream else None
        begun = stream.begun if isinstance(stream, Stream) else None
        return launched.captured or (begun is not None and begun.thread != launched.thread)

    def _signal_in(self, record: CallRecord, death: int | None, call: RecordedCall) -> int | None:
        """The signal of which the process died in this call that did not return. A call without a stack gets the fault's."""
        fault = self._crashes.in_call(record.thread, record.entered)
        if fault is None:
            return death if death in SIGNALS and not self._recording.faults else None
        if not call.stack:
            call.stack = fault.stack
            call.api = self._sites.api(fault.stack) or ""
        return fault.signal


def _added(model: Model, executable: GraphExec) -> Iterator[Launched]:
    """The kernels of nodes that calls added to the graph before it was instantiated, in the order of these calls. What they were given is
    left out."""
    calls = (node.created_by for node in executable.nodes)
    added = [each for each in calls if isinstance(each, RecordedCall)]
    for call in sorted(added, key=attrgetter("thread", "number")):
        shape, function = shape_of_node(call), launched_by(call, model)
        if shape is not None:
            handle = function.handle if function is not None else 0
            yield Launched(handle, None, call.stack, call.thread, call.number, 0, (), *shape)


def function_before(found: Object | None, thread: int, number: int) -> Function | None:
    """The function that a call of the thread named; None if it is none, or the handle was issued again since."""
    made = found.created_by if found is not None else None
    later = made is not None and made.thread == thread and made.number > number
    return found if isinstance(found, Function) and not later else None


def _is_before(launched: Launched, call: Call) -> bool:
    return launched.thread != call.thread or launched.number < call.number


def _without_done(launches: Sequence[Launched], call: Call, *, alone: bool) -> list[Launched]:
    """Without those that its stream had before ``call``, which the shim waited for."""
    own = (each for each in launches if (each.thread, each.number) == (call.thread, call.number))
    stream = next((each.stream for each in own), None)
    return [
        each
        for each in launches
        if each.thread != call.thread or each.number >= call.number or not done_with(each, stream, alone=alone)
    ]


def _arguments(data: bytes) -> Arguments | None:
    """Of a kernel, as FORMAT.md says; None if there are fewer bytes than they say."""
    count = int.from_bytes(data[:4], "little")
    start = (4 + 4 * count + 7) & ~7
    if len(data) < start:
        return None
    layout, packed = _layout(data[4 : 4 + 4 * count]), data[start:]
    return Arguments(packed, layout) if layout is not None and (not layout or sum(layout[-1]) <= len(packed)) else None


@lru_cache(maxsize=MOST_ALIKE)
def _layout(data: bytes) -> tuple[tuple[int, int], ...] | None:
    """Offset and size of each parameter; None if one begins before another ends."""
    layout = tuple((at, size) for at, size in struct.iter_unpack("<HH", data))
    return layout if all(at + size <= later for (at, size), (later, _) in pairwise(layout)) else None


def _outcome(record: CallRecord, in_arrays: Sequence[Output]) -> Outcome:
    """``in_arrays``: the new objects in the arrays that the call wrote."""
    if record.status:
        return Outcome(record.status)
    if not record.outputs and not in_arrays:
        return Outcome(None) if record.status is None else _SUCCESS
    outputs = record.outputs[::-1] if record.status == 0 else ()
    handed_out: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for each in in_arrays:
        handed_out[each.parameter].append((each.value, each.generation))
    return Outcome(
        record.status,
        {output.parameter: output.value for output in outputs},
        generations={output.parameter: output.generation for output in outputs if output.generation},
        handed_out={parameter: tuple(objects) for parameter, objects in handed_out.items()},
    )


def _seen(objects: Sequence[SeenObject]) -> dict[int, SeenHandle]:
    """The shim's view of each parameter; of an array of handles, the first that is not alive."""
    if not objects:
        return _NOTHING_SEEN
    seen: dict[int, SeenHandle] = {}
    for each in objects:
        if each.parameter not in seen or (seen[each.parameter].alive and not each.alive):
            generation = each.generation if each.known else 0
            kind = _KINDS.get(each.kind, Kind.NONE)
            seen[each.parameter] = SeenHandle(kind, each.handle, generation, each.alive, each.kept, each.recorded)
    return seen


def _where(frames: Sequence[Frame]) -> str:
    """The place of a launch: the innermost line that is known and the one that called it, else the file whose code made it."""
    own = [frame for frame in frames if frame.language != "python" or frame.module is None] or frames
    lines = [f"{frame.file}:{frame.line}" for frame in own if frame.file and frame.line]
    if lines:
        return f" at {lines[0]}" + (f" (called at {lines[1]})" if lines[1:] else "")
    return f" in {os.path.basename(frames[0].module)}" if frames and frames[0].module else ""
