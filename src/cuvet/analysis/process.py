"""Reads the recording of one process: follows its calls and forks with the model, and says at the end what it found."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM
from typing import NamedTuple

import numpy as np

from cuvet.analysis.calls import Calls, RecordedCall, at, series_of, site_of
from cuvet.analysis.crashes import Crashes
from cuvet.analysis.diagnosis import fault_finding, finding, touch_finding
from cuvet.analysis.folding import Findings
from cuvet.analysis.hints import hints
from cuvet.analysis.history import History, history
from cuvet.analysis.judge import Judge
from cuvet.analysis.kernels import RecordedKernels
from cuvet.analysis.memory import memory_used
from cuvet.analysis.steady import Steady
from cuvet.analysis.unseen import not_seen
from cuvet.catalog import Kind
from cuvet.findings import Finding, MemoryUse
from cuvet.meta import Meta
from cuvet.model import MORE_THAN_ANY_GPU, Model
from cuvet.model.ledger import Changes
from cuvet.model.state import MOST, VALUES_A_CALL, state_of
from cuvet.model.touches import Touches
from cuvet.printable import in_short
from cuvet.recording import Recording, RecordingError
from cuvet.recording.generated_code import GeneratedCode
from cuvet.recording.layout import PENDING, NoteCode
from cuvet.recording.ordering import EVER, EntryPoints, Item, Ordering
from cuvet.recording.reader import Array
from cuvet.recording.records import CallRecord, Fault, Fork, HostAccess
from cuvet.recording.repeats import Boundary, Codeless, Skipped
from cuvet.recording.rests import State
from cuvet.recording.short_lives import Alike, LeftOut
from cuvet.recording.sites import Sites
from cuvet.recording.symbols import demangle
from cuvet.rules.afterwards import at_exit, explain_fault, explain_touch
from cuvet.rules.exit.leak import LeakedAtExit
from cuvet.rules.left import left
from cuvet.rules.rule import Ended, Violation
from cuvet.signals import signal_name
from cuvet.sizes import counted, plural

LEAVE_OUT_REPEATS = True
"""A test compares both."""
ENDED_BY_OTHERS = (SIGHUP, SIGINT, SIGKILL, SIGTERM)
"""Signals with which a person or another program ends one."""
MOST_SENTENCES = 100
MOST_FORKS = 256
MOST_GPUS = 1024
MEETS, _RANKS = "ncclCommInitRank", 1
"""It "implicitly synchronizes with other ranks" (NCCL user guide, ncclCommInitRank); the parameter that says how many there are."""
_MOST_RANGES = 1 << 14
"""Of memory, that the arguments of kernels are looked up in."""


class Meeting(NamedTuple):
    """A call of all of so many ranks that returns when all have made it; in nanoseconds since the process's first record."""

    ranks: int
    entered_ns: int
    returned_ns: int


class ProcessAnalysis:
    """Judges the calls of one process. ``inherit`` gives the model of the parent at the fork that made this process,
    or None if there is none (yet). ``over_time``: what held memory is kept for ``history``."""

    def __init__(
        self,
        recording: Recording,
        findings: Findings,
        inherit: Callable[[Recording], Model | None],
        generated: GeneratedCode,
        *,
        over_time: bool = False,
    ) -> None:
        self.recording = recording
        self.generated = generated
        self.stats: Counter[str] = Counter()
        self.not_checked: dict[str, None] = {}
        self.judge = Judge(findings, recording.clock)
        self.model: Model | None = None
        self._over_time = over_time
        self.has_ended = False
        """Nothing comes of it any more while others run."""
        self._findings = findings
        self._running = False
        self._inherit = inherit
        self._ordering = Ordering(recording, repeats=LEAVE_OUT_REPEATS)
        self._ordering.told = self._told_if_calm
        self._ordering.codeless = self._codeless
        self._steady = Steady()
        self._left_out_counted = 0
        """How many records of objects that were left out have been counted."""
        self._told = 0
        """Of how many calls something was said."""
        self._sites = Sites(recording, recording.executable, generated)
        self._crashes = Crashes(recording)
        self._calls = Calls(recording, self._sites, self._crashes)
        self._forks: list[tuple[Fork, Model]] = []
        self._held: list[CallRecord | Fork | HostAccess] = []
        self._unknown: Counter[str] = Counter()
        self.unreturned: dict[int, RecordedCall] = {}
        """By thread: the newest call that had not returned when it was judged."""
        self.before: Callable[[CallRecord], None] | None = None
        """Told of each call before it is judged."""
        self.met: Meeting | None = None
        """The first call that returns only when all ranks have made it."""

    def advance(self, *, running: bool, death: int | None = None) -> None:
        """Judge what is new. ``death`` is the signal that ended the process, if somebody saw it."""
        held, self._held = self._held, []
        self._running = running
        ended, before = running and self._is_over(), self.calls_read
        try:
            for item in chain(held, self._ordering.poll(running=running)):
                self._take(item, death)
        except RecordingError as error:
            self._say(f"the recording could not be read to its end: {error}")
        self.has_ended = ended and self.calls_read == before and not self._held

    @property
    def holds_back(self) -> bool:
        """Whether it has read calls, with their times, that it could not judge yet."""
        return bool(self._held)

    def _is_over(self) -> bool:
        """Whether the process said that it ends, and is not there any more. (One of another process namespace never seems to be there.)"""
        return bool(int(self.recording.header["end"])) and not self.recording.is_running

    @property
    def calls_read(self) -> int:
        """How many were read so far, judged or not."""
        return self._ordering.counted

    def lost_by(self) -> RecordedCall | None:
        """The call that showed that a context was lost which lives yet; None if there is no such context."""
        lost = (each.error for each in (self.model.lost_contexts if self.model is not None else ()) if each.alive)
        return next((call for call in lost if isinstance(call, RecordedCall)), None)

    def alive(self, of_interest: Callable[[RecordedCall], bool], message: str) -> Iterator[Finding]:
        """A finding with that message about each object that lives, is the program's to end, and was made by a call of interest that is not
        a library's. ``{}`` in the message stands for its name."""
        for thing, _ in left(self.model) if self.model is not None else ():
            call = thing.created_by
            if isinstance(call, RecordedCall) and of_interest(call) and not call.is_of_library():
                yield finding(call, LeakedAtExit.broken(message.format(thing.name), thing, culprit=call))

    def _take(self, item: Item, death: int | None) -> None:
        self._begin()
        if self.recording.left_out:
            self._count_left_out(self._ordering.instant)
        if isinstance(item, CallRecord) and self.model is not None:
            if self.before is not None:
                self.before(item)
            self._judge(self.model, item, death)
            self._look_at_rest(self.model)
        elif isinstance(item, Boundary):
            self._ordering.after_period(
                self.model is not None and self._steady.after(item, self.model, self._told + self.judge.contradicted)
            )
        elif self.model is None:
            if not isinstance(item, (Skipped, LeftOut, Alike)):
                self._held.append(item)
        elif isinstance(item, LeftOut):
            self._skip(item.counts)
        elif isinstance(item, Alike):
            self._take_alike(self.model, item)
        elif isinstance(item, Skipped):
            self._steady.skip(item, self.model)
        elif isinstance(item, Fork):
            self._forks = [*self._forks[1 - MOST_FORKS :], (item, self.model.forked())]
        elif isinstance(item, HostAccess):
            self._judge_touch(self.model, item)

    def _look_at_rest(self, model: Model) -> None:
        """Where the host has waited for all work, the state of the model is worth a look."""
        if self._ordering.wants_state() and model.order.at_rest() and not model.lost_contexts:
            self._ordering.rested(*self._state(model))

    def _state(self, model: Model) -> tuple[State | None, int]:
        """All that the next calls are judged by, if that can be told, and to how many calls it compares to find it."""
        found = state_of(model)
        if found is None:
            return None, MOST // VALUES_A_CALL
        return (found[0], self._told + self.judge.contradicted), found[1] // VALUES_A_CALL

    def _take_alike(self, model: Model, alike: Alike) -> None:
        """What was made like an object that is in the model, unless the call that made that could not be judged."""
        first = model.table.find(alike.kind, int(alike.first["handle"]), int(alike.first["generation"]))
        if first is not None and isinstance(first.created_by, RecordedCall):
            made = model.table.count(alike.kind)
            model.create_like(series_of(first, first.created_by, alike.rows, made, self.recording.clock))

    def _skip(self, counts: tuple[int, ...]) -> None:
        """So many objects of each kind were made and ended, and are not judged."""
        if self.model is not None:
            self.model.table.skip(counts)

    def _count_left_out(self, until: int) -> None:
        """Objects of calls that are not in the recording any more, and came before those of that instant."""
        left_out = self.recording.left_out
        while self._left_out_counted < len(left_out) and left_out[self._left_out_counted].ticks <= until:
            each = left_out[self._left_out_counted]
            self._skip(tuple(each.objects if kind == each.kind else 0 for kind in range(max(Kind) + 1)))
            self._left_out_counted += 1

    def _told_if_calm(self) -> int | None:
        """How much was said of calls so far; None if calls that are alike may be judged differently."""
        model = self._begin()
        if model is None or model.live_captures or model.lost_contexts or model.touches is not None:
            return None
        return self._told + self.judge.contradicted

    def _codeless(self) -> Codeless | None:
        """Kernels that were launched. None in a capture: the nodes of a graph are told apart by all of their arguments."""
        model = self.model
        if model is None or model.live_captures or not isinstance(model.kernels, RecordedKernels):
            return None
        handles = sorted(function.handle for function in model.kernels.without_code())
        ranges = model.ranges_of_memory()
        if len(ranges) > _MOST_RANGES:
            return None
        starts, ends = np.array(ranges, np.uint64).reshape(-1, 2).T
        return Codeless(np.array(handles, np.uint64), starts, ends)

    def model_at_fork_of(self, child: int) -> Model | None:
        """The model of a child process, as it began; None if it was not forked here."""
        return next((model for fork, model in self._forks if self.recording.child_of(fork) == child), None)

    def _begin(self) -> Model | None:
        """The model, which is made when the first calls have been read; None while the parent of a forked process has not been followed up
        to the fork."""
        if self.model is None:
            self.model = self._first_model()
            if self._over_time and self.model is not None:
                self.model.ledger.changes = Changes()
        return self.model

    def _first_model(self) -> Model | None:
        if any(note.code == NoteCode.INHERITED_CONTEXT for note in self.recording.notes):
            inherited = self._inherit(self.recording)
            if inherited is not None or self._running:
                return inherited
        header = self.recording.header
        gpus, whole = int(header["gpus"]), not int(header["dropped"])
        complete, all_work = self.recording.full and whole, self.recording.has_accesses and whole
        memory = self.recording.gpu_memory or MORE_THAN_ANY_GPU
        devices = gpus if 0 < gpus <= MOST_GPUS else 1
        model = Model(devices, memory=memory, complete=complete, all_work=all_work)
        if all_work:
            model.touches, model.kernels = Touches(), RecordedKernels(self.recording)
        model.driver_version, model.capabilities = int(header["driver_version"]), self.recording.capabilities
        model.ledger.gpus, model.not_pageable = self.recording.gpu_memories, self.recording.not_pageable
        return model

    def _judge(self, model: Model, record: CallRecord, death: int | None) -> None:
        known = self._ordering.entry_points
        entry_point = known[record.entry_point]
        if entry_point is None:
            self._unknown[known.name(record.entry_point)] += 1
            return
        call = self._calls.of_record(record, entry_point, known, model, death)
        try:
            explained = self.judge.judge(model, call, record)
        except Exception as error:
            self._told += 1
            self.stats["internal_errors"] += 1
            self._say(f"{call.name} (call {call.number} of thread {call.thread}) could not be judged: {error!r}")
            return
        self._told += explained or call.outcome.status != 0
        if call.outcome.status is None:
            self.unreturned[call.thread] = call
        elif call.name == MEETS and self.met is None and call.outcome.status == 0:
            clock = self.recording.clock
            self.met = Meeting(call.args[_RANKS], clock.ns(record.entered), clock.ns(record.returned))
        if call.outcome.signal and not explained:
            site = site_of(call)
            self._say_died(f"{site.api}{at(site)}", call.outcome.signal, call.thread)

    def _judge_touch(self, model: Model, access: HostAccess) -> None:
        """Host functions run when the work before them is done, and the driver may touch what it wants."""
        if self._sites.is_of_driver(access):
            return
        violation = explain_touch(access.address, bool(access.writes), model)
        if violation is None:
            return
        self._told += 1
        recording = self.recording
        other = tuple(call.stack for _, call in violation.earlier[:1])
        self._findings.add(
            (violation.rule.code, recording.pid, access.instruction, access.stack, other),
            lambda: touch_finding(
                access, violation, self._sites, process=recording.pid, time_ns=recording.clock.ns(access.ticks)
            ),
        )

    def _say(self, sentence: str) -> None:
        if len(self.not_checked) < MOST_SENTENCES:
            self.not_checked[sentence] = None

    def _say_died(self, where: str, number: int, thread: int) -> None:
        self._say(
            f"process {self.recording.pid} died of {signal_name(number)} in {where} (thread {thread}): no rule says why"
        )

    def finish(self, *, leaks: bool) -> None:
        """After the last call: what is found out once per process."""
        flight = self._flight()
        self._count_left_out(EVER)
        if self.model is not None:
            self._explain_faults(self.model, flight)
            for violation in at_exit(self.model, Ended(self.judge.refused(self.model), leaks)):
                if isinstance(violation.culprit, RecordedCall):
                    self.judge.report(violation.culprit, violation)
        self._count()
        for symbol, count in self._left_out().items():
            launches = counted(count, "launch", "launches")
            self._say(f"{launches} of {in_short(demangle(symbol))} were not compared with other work: too many differ")
        for sentence in not_seen(self.recording):
            self._say(sentence)
        for name, count in self._unknown.items():
            calls = f"{counted(count, 'call')} of {name} {'was' if count == 1 else 'were'}"
            self._say(f"{calls} not judged: this cuvet does not know it")

    def _left_out(self) -> Mapping[str, int]:
        """Launches of which it was not looked what they touch, by symbol."""
        kernels = self.model.kernels if self.model is not None else None
        return kernels.left_out if isinstance(kernels, RecordedKernels) else {}

    def _flight(self) -> dict[int, Array]:
        """The flight recorder; empty if the file is not there any more."""
        try:
            return self.recording.flight()
        except RecordingError as error:
            self._say(f"the recording could not be read to its end: {error}")
            return {}

    def _explain_faults(self, model: Model, flight: dict[int, Array]) -> None:
        """Host code that touched memory of CUDA. A fault in a call that is stored has been told with the call."""
        for fault in self._crashes.outside_calls():
            last = flight[fault.thread][-1:] if fault.thread in flight else None
            if last is not None and PENDING in last["status"]:
                name = self._ordering.entry_points.name(int(last["entry_point"][0]))
                self._say_died(name, fault.signal, fault.thread)
            elif (violation := explain_fault(fault.address, model)) is not None:
                self._report_fault(fault, violation)

    def _report_fault(self, fault: Fault, violation: Violation) -> None:
        recording = self.recording
        self._findings.add(
            (violation.rule.code, recording.pid, fault.ticks),
            lambda: fault_finding(
                fault,
                violation,
                self._sites,
                process=recording.pid,
                time_ns=recording.clock.ns(fault.ticks),
                calls=recording.calls_of_thread.get(fault.thread, 0),
            ),
        )

    def _count(self) -> None:
        left_out = sum(each.calls for each in self.recording.left_out_calls.values())
        self.stats["calls"] += max(self.recording.calls_made, self._ordering.counted + left_out)
        self.stats["threads"] += len(self.recording.calls_of_thread)
        for kind in Kind:
            self.stats[plural(kind.counted).replace(" ", "_")] += self.model.table.count(kind) if self.model else 0
        self.stats["unexplained_failures"] += self.judge.unexplained.total
        self.stats["contradicted"] += self.judge.contradicted

    def hints(self, meta: Meta, *, leaks: bool) -> Iterator[str]:
        """What the user can do to be told more about this process."""
        failed = bool(meta.exit_code or meta.signal) and meta.pid == self.recording.pid
        return hints(
            self.recording,
            self.generated,
            self.model,
            nameless=self._sites.nameless,
            leaks=leaks,
            failed=failed,
            by_itself=meta.signal not in ENDED_BY_OTHERS and not self.judge.ended,
        )

    @property
    def entry_points(self) -> EntryPoints:
        """By their ids in this recording."""
        return self._ordering.entry_points

    @property
    def sites(self) -> Sites:
        return self._sites

    def keep_names(self) -> None:
        """Of code that is in no file, beside the recording."""
        self._sites.find_generated()
        self.generated.keep()

    def memory(self) -> tuple[MemoryUse, ...]:
        """What the process holds, and held at most."""
        return tuple(memory_used(self.recording.pid, self.model.ledger)) if self.model is not None else ()

    def history(self) -> History:
        """What the process did over time; what held memory, if that was asked for. RecordingError if it cannot be read any more."""
        return history(self.recording, self._sites, self.model)
