"""Recordings to findings: each call is judged by the model as it was when the call was made.

The driver is the judge of the model too: where a rule speaks against a call, and the call returned success though nothing shows
that it can (``Rule.succeeds``), the rule is wrong about this program. Its finding is dropped and counted
(``stats["contradicted"]``), and the model learns that what the call named is there (``Model.accept``).
"""

from __future__ import annotations

import dataclasses
import errno
import math
import os
import signal
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

import msgspec

from cuvet import CuvetError, __version__
from cuvet.analysis import cudnn_log, driver_log
from cuvet.analysis.diagnosis import Findings, RecordedCall, at, cause_of, fault_finding, finding, make_site, site_of
from cuvet.analysis.driver_log import Failure
from cuvet.analysis.memory import memory_used
from cuvet.analysis.unexplained import Failures, told
from cuvet.catalog import EntryPoint, Kind
from cuvet.catalog.answers import answers
from cuvet.catalog.results import DEINITIALIZED, NOT_INITIALIZED, NOT_PERMITTED, NOT_READY
from cuvet.findings import Finding, Frame, MachineCause, MemoryUse, Program, Report, Tool, UnexplainedFailure
from cuvet.model import MORE_THAN_ANY_GPU, Function, Launch, Model, Outcome, SeenHandle
from cuvet.model.precedence import Stage
from cuvet.recording import Recording, RecordingError
from cuvet.recording.generated_code import GeneratedCode, Run, advice
from cuvet.recording.launches import Launched, unwaited
from cuvet.recording.layout import NOT_ASKED, PENDING, End, NoteCode
from cuvet.recording.ordering import Ordering, is_notable
from cuvet.recording.reader import Array
from cuvet.recording.records import CallRecord, Fault, Fork, Image, Overlap, SeenObject
from cuvet.recording.sites import Sites
from cuvet.recording.symbols import demangle, parameter_types
from cuvet.regular import read_regular
from cuvet.rules import model_rules
from cuvet.rules.device.not_initialised import uninitialised
from cuvet.rules.error import explain_failure
from cuvet.rules.error.unchecked import lacks
from cuvet.rules.exit.leak import leaks as leaks_of
from cuvet.rules.exit.leak import left
from cuvet.rules.library_handle.creation_failed import kind_not_made
from cuvet.rules.lifecycle import ENDS
from cuvet.rules.memory.dereferenced_on_host import explain_fault
from cuvet.rules.rule import Violation
from cuvet.signals import error_text, signal_name

CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
_ORDINARY = (None, 0, NOT_READY)
"""Outcomes that are no failure."""
_STOPPED = {
    0: "had reached its size limit",
    errno.EFBIG: "could not grow beyond the program's limit on the size of files (ulimit -f)",
    errno.ENOSPC: "could not grow: the disk is full",
    errno.ENOSYS: "had used up the room that was made before the program restricted its system calls (prctl, seccomp)",
    errno.EDQUOT: "could not grow: the user's disk quota is used up",
}
"""Why recordings stopped growing, by errno."""
_CLOSED = (errno.EACCES, errno.ENOENT, errno.ENOTDIR, errno.EPERM, errno.EROFS, errno.ESTALE)
"""Errors of opening a recording again."""
MOST_SENTENCES = 100
MOST_FAILURES = 10_000
MOST_FORKS = 256
MOST_GPUS = 1024
MANY_LEFT = 100
"""Objects of a kind that one place made and nobody ended."""
MOST_META = 16 << 20
"""Bytes. The arguments of a program take 2 MiB at most on Linux's default stack."""
_NO_IMAGE = Image(0, b"", False)
_NO_OVERLAP = Overlap(0, -1, 0)
_KINDS = {kind.value: kind for kind in Kind}


class Meta(msgspec.Struct, kw_only=True):
    """``meta.json``: what the launcher knows. ``pid`` is the process that it started; ``exit_code`` and ``signal`` are how that
    ended; ``notes`` are sentences about what could not be seen; ``machine``: what was wrong with the machine when it failed."""

    argv: tuple[str, ...] = ()
    pid: int = 0
    device: Literal["real", "emulated"] = "real"
    gpus: tuple[str, ...] = ()
    driver: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    notes: tuple[str, ...] = ()
    machine: tuple[MachineCause, ...] = ()


class ProcessAnalysis:
    """Judges the calls of one process. ``inherit`` gives the model of the parent at the fork that made this process,
    or None if there is none (yet)."""

    def __init__(
        self,
        recording: Recording,
        findings: Findings,
        inherit: Callable[[Recording], Model | None],
        generated: GeneratedCode,
    ) -> None:
        self.recording = recording
        self.generated = generated
        self.stats: Counter[str] = Counter()
        self.not_checked: dict[str, None] = {}
        self.failures: list[Failure] = []
        """The first ``MOST_FAILURES`` driver calls that failed, in the order in which they are judged."""
        self.cudnn_failures: list[Failure] = []
        """The first ``MOST_FAILURES`` cuDNN calls that failed, likewise."""
        self.handles_not_made: list[RecordedCall] = []
        """Calls that were to make a library's handle and failed, for another reason than their arguments; likewise."""
        self.unexplained = Failures()
        self.model: Model | None = None
        self._findings = findings
        self._inherit = inherit
        self._ordering = Ordering(recording)
        self._sites = Sites(recording, recording.executable, generated)
        self._forks: list[tuple[Fork, Model]] = []
        self._held: list[CallRecord | Fork] = []
        self._unknown: Counter[str] = Counter()
        self._faults_in_calls: set[int] = set()
        self._crashes: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        """By thread: ticks and numbers of the faults that end a process, ``_faults_sorted`` of all faults being looked at."""
        self._faults_sorted = 0
        self._told_until: dict[int, float] = {}
        """By thread: the ticks at which the last call of a library returned that a rule said something about; infinite if it did not."""

    def advance(self, *, running: bool, death: int | None = None) -> None:
        """Judge what is new. ``death`` is the signal that ended the process, if somebody saw it."""
        held, self._held = self._held, []
        try:
            for item in chain(held, self._ordering.poll(running=running)):
                self._take(item, running, death)
        except RecordingError as error:
            self._say(f"the recording could not be read to its end: {error}")

    def _take(self, item: CallRecord | Fork, running: bool, death: int | None) -> None:
        if self.model is None:
            self.model = self._first_model(running)
        if self.model is None:
            self._held.append(item)
        elif isinstance(item, Fork):
            self._forks = [*self._forks[1 - MOST_FORKS :], (item, self.model.forked())]
        else:
            self._judge(self.model, item, death)

    def model_at_fork_of(self, child: int) -> Model | None:
        return next((model for fork, model in self._forks if self.recording.child_of(fork) == child), None)

    def _first_model(self, running: bool) -> Model | None:
        """None while the parent of a forked process has not been followed up to the fork."""
        if any(note.code == NoteCode.INHERITED_CONTEXT for note in self.recording.notes):
            inherited = self._inherit(self.recording)
            if inherited is not None or running:
                return inherited
        header = self.recording.header
        gpus, complete = int(header["gpus"]), self.recording.full and not int(header["dropped"])
        memory = self.recording.gpu_memory or MORE_THAN_ANY_GPU
        model = Model(devices=gpus if 0 < gpus <= MOST_GPUS else 1, memory=memory, complete=complete)
        model.driver_version, model.capabilities = int(header["driver_version"]), self.recording.capabilities
        model.ledger.gpus = self.recording.gpu_memories
        return model

    def _judge(self, model: Model, record: CallRecord, death: int | None) -> None:
        entry_point = self._ordering.entry_points[record.entry_point]
        if entry_point is None:
            self._unknown[self._ordering.entry_points.name(record.entry_point)] += 1
            return
        call = self._call(entry_point, record)
        call.launches = self._launches_before(model, call)
        outcome = call.outcome = self._outcome(record, death, call)
        if outcome.status not in _ORDINARY:
            self._note_failure(call, record, outcome.status)
        of_library = entry_point.api != "driver"
        try:
            explained = not of_library and record.entered < self._told_until.get(record.thread, 0)
            if not explained and (is_notable(record) or of_library):
                explained = self._predict(model, call, outcome)
            model.observe(call, outcome)
            if not explained and outcome.status not in _ORDINARY:
                explained = self._explain(model, call, outcome)
        except Exception as error:
            self.stats["internal_errors"] += 1
            self._say(f"{call.name} (call {call.number} of thread {call.thread}) could not be judged: {error!r}")
            return
        if of_library and explained:  # what goes wrong inside follows from it
            self._told_until[record.thread] = record.returned or math.inf
        if outcome.signal and not explained:
            site = site_of(call)
            self._say_died(f"{site.api}{at(site)}", outcome.signal, call.thread)
        if not explained and outcome.status not in _ORDINARY:
            self._keep_unexplained(model, call, outcome.status)

    def _keep_unexplained(self, model: Model, call: RecordedCall, status: int) -> None:
        """A failure, unless it is an answer, or follows from a fork, from the loss of a context or from the end of the process: of that
        ``exit-call-after-shutdown`` tells what is the program's, and the rest is what runtimes do in every process that exits."""
        forked = status == NOT_INITIALIZED and model.initialised_before_fork is not None
        if (
            not forked
            and status != DEINITIALIZED
            and model.sticky_error(call) is None
            and status not in answers(_asked(call))
        ):
            self.unexplained.add(call, status, self._is_of_library(call))

    def _note_failure(self, call: RecordedCall, record: CallRecord, status: int) -> None:
        logged = {"driver": self.failures, "cudnn": self.cudnn_failures}.get(call.entry_point.api)
        if logged is not None and len(logged) < MOST_FAILURES:
            duration_ns = self.recording.clock.ns(record.returned) - call.time_ns
            logged.append(Failure(call.process, call.thread, call.number, call.name, status, duration_ns))
        if call.entry_point.api == "driver":
            return
        if kind_not_made(call, status) is not None and len(self.handles_not_made) < MOST_FAILURES:
            self.handles_not_made.append(call)

    def _predict(self, model: Model, call: RecordedCall, outcome: Outcome) -> bool:
        """Whether a rule says something about the call, if only that the runtime expects its failure."""
        if outcome.status == DEINITIALIZED and call.entry_point.api == "driver" and not model.shutdown_by:
            model.shutdown()
        lost = model.sticky_error(call)
        if lost is not None and (outcome.status == lost[1] or _is_cleaning_up(call, outcome)):
            return False  # whatever the call was given: it fails with its context, which ``explain_failure`` says
        found = model.violations(call)
        for violation in found:
            if violation.contradicted(call, outcome.status):
                self.stats["contradicted"] += 1
                model.accept(call, violation)
        standing = [each for each in found if each.stands(call, outcome.status)]
        if any(each.rule.answers for each in standing) and self._answers_library(call, outcome.status):
            standing = [each for each in standing if not each.rule.answers]
        standing = self._with_cause(model, call, standing)
        for violation in [each for each in standing if each.rule.stage is Stage.PROCESS] or standing:
            if not (violation.driver_only and site_of(call).api != call.name):
                answer = violation.rule.answers and outcome.status in answers(_asked(call))
                self._report(call, violation, answer)
        return bool(standing)

    def _answers_library(self, call: RecordedCall, status: int | None) -> bool:
        """Whether a library asked, as far as that can be told, and this is what it may be answered."""
        return status in answers(_asked(call), to_library=True) and self._is_of_library(call)

    @staticmethod
    def _with_cause(model: Model, call: RecordedCall, violations: list[Violation]) -> list[Violation]:
        """What is wrong with an argument that is nothing follows from the failure of the call that should have made it."""
        lack = lacks(call, model) if violations and call.entry_point.api == "driver" else None
        if lack is None:
            return violations
        return [
            dataclasses.replace(each, cause=lack.maker) if each.argument == lack.argument and not each.cause else each
            for each in violations
        ]

    def _is_of_library(self, call: RecordedCall) -> bool:
        return self._sites.is_of_library(call.stack)

    def _explain(self, model: Model, call: RecordedCall, outcome: Outcome) -> bool:
        failure = explain_failure(call, outcome, model)
        if failure is not None:
            self._report(call, failure)
        return failure is not None

    def _report(self, call: RecordedCall, violation: Violation, answer: bool = False) -> None:
        blamed = violation.culprit if isinstance(violation.culprit, RecordedCall) else call
        key: tuple[object, ...] = (violation.rule.code, blamed.process)
        if not violation.rule.of_process:
            key += (blamed.stack or blamed.thread, blamed.entry_point.id)
        fold = self._findings.add(
            key,
            lambda: finding(blamed, blamed.outcome or Outcome(None), violation, answer=answer),
            cause_of(violation),
        )
        if fold not in blamed.reported:
            blamed.reported += (fold,)

    def _call(self, entry_point: EntryPoint, record: CallRecord) -> RecordedCall:
        missing = len(entry_point.parameters) - len(record.args)
        key = (record.thread, record.number)
        maps = self.recording.maps.get(key, "")
        image = self.recording.images.get(key, _NO_IMAGE)
        overlap = self.recording.overlaps.get(key, _NO_OVERLAP)
        call = RecordedCall(
            entry_point=entry_point,
            args=record.args + (0,) * missing if missing > 0 else record.args,
            process=self.recording.pid,
            thread=record.thread,
            number=record.number,
            time_ns=self.recording.clock.ns(record.entered),
            context=None if record.context == NOT_ASKED else record.context,
            inputs=record.inputs,
            seen=_seen(record.objects),
            pointers=record.pointers,
            per_thread=record.per_thread,
            in_host_function=record.status == NOT_PERMITTED and self._sites.is_called_by_driver(record.stack),
            sites=self._sites,
            stack=self._sites.first(record.stack),
            maps=tuple(maps.splitlines()),
            image=image.data,
            image_readable=image.readable,
            image_terminated=image.terminated,
            shared_with=overlap.thread,
            shared_call=self._ordering.entry_points[overlap.entry_point],
        )
        if record.stack:
            self._sites.note(record.stack, entry_point)
            call.site = make_site(call, self._sites.api(record.stack))
        return call

    def _launches_before(self, model: Model, call: RecordedCall) -> tuple[Launch, ...]:
        """What the shim stored with a call that told that a context was lost."""
        rings = self.recording.launches.get((call.thread, call.number), ())
        known = self._ordering.entry_points.__getitem__
        return tuple(self._launch(model, each) for ring in rings for each in unwaited(ring, self.recording, known))

    def _launch(self, model: Model, launched: Launched) -> Launch:
        function = model.find(Kind.FUNCTION, launched.function)
        symbol = function.symbol if isinstance(function, Function) else ""
        _, frames = self._sites.of_stack(launched.stack)
        types = parameter_types(symbol)
        return Launch(
            kernel=demangle(symbol),
            stream=launched.stream,
            thread=launched.thread,
            number=launched.number,
            after_ns=self.recording.clock.ns(launched.after),
            where=_where(frames),
            words=launched.words,
            pointers=frozenset(number for number, name in enumerate(types) if name.endswith("*")),
        )

    def _outcome(self, record: CallRecord, death: int | None, call: RecordedCall) -> Outcome:
        if record.status is None:
            return Outcome(None, signal=self._signal_in(record, death, call))
        if record.status:
            return Outcome(record.status)
        return Outcome(
            0,
            {output.parameter: output.value for output in reversed(record.outputs)},
            generations={
                output.parameter: output.generation for output in reversed(record.outputs) if output.generation
            },
        )

    def _signal_in(self, record: CallRecord, death: int | None, call: RecordedCall) -> int | None:
        """The signal of which the process died in this call that did not return. A call without a stack gets the fault's."""
        number = self._crash_of(record.thread, record.entered)
        if number is None:
            return death if death in CRASHES and not self.recording.faults else None
        fault = self.recording.faults[number]
        self._faults_in_calls.add(number)
        if fault.stack and not call.stack:
            call.stack = fault.stack
            call.site = make_site(call, self._sites.api(fault.stack))
        return fault.signal

    def _crash_of(self, thread: int, since: int) -> int | None:
        """Number of the thread's first fault from that instant on that ends a process."""
        faults = self.recording.faults
        if self._faults_sorted != len(faults):
            self._faults_sorted = len(faults)
            self._crashes.clear()
            for ticks, number in sorted((each.ticks, n) for n, each in enumerate(faults) if each.signal in CRASHES):
                self._crashes[faults[number].thread].append((ticks, number))
        crashes = self._crashes.get(thread, [])
        index = bisect_left(crashes, (since, 0))
        return crashes[index][1] if index < len(crashes) else None

    def _say(self, sentence: str) -> None:
        if len(self.not_checked) < MOST_SENTENCES:
            self.not_checked[sentence] = None

    def finish(self, *, leaks: bool) -> None:
        """After the last call: what is found out once per process."""
        flight = self.recording.flight()
        if self.model is not None:
            self._explain_faults(self.model, flight)
            self._explain_uninitialised(self.model)
            if leaks:
                for violation in leaks_of(self.model):
                    if isinstance(violation.culprit, RecordedCall):
                        self._report(violation.culprit, violation)
        self._count()
        self._say_what_was_not_seen()

    def hints(self, meta: Meta, *, leaks: bool) -> Iterator[str]:
        """What would give names and lines to the frames that have none, and what ``leaks`` would tell."""
        names = advice(self.recording.modules) if self._sites.nameless else None
        yield from filter(None, (names, self.generated.hint()))
        failed = meta.exit_code or meta.signal if meta.pid == self.recording.pid else None
        if not leaks and not failed and int(self.recording.header["end"]) == End.EXITED and (kinds := self._left()):
            yield f"{kinds} were never ended: --leaks says where they were made"

    def _left(self) -> str:
        """The kinds of objects that are left at the end in number, by single places in the program: ``500 streams, 500 events``.
        What a program holds for good it makes in small numbers, or a library holds it in a pool. A lost context keeps all."""
        if self.model is None or self.model.lost_contexts:
            return ""
        places: Counter[tuple[Kind, int]] = Counter()
        for found in left(self.model):
            if isinstance(found.created_by, RecordedCall) and found.created_by.stack:
                places[found.kind, found.created_by.stack] += 1
        many: Counter[Kind] = Counter()
        for (kind, stack), count in places.items():
            many[kind] += count if count >= MANY_LEFT and not self._sites.is_of_library(stack) else 0
        return ", ".join(f"{count:,} {_plural(kind).replace('_', ' ')}" for kind, count in many.items() if count)

    def keep_names(self) -> None:
        """Of code that is in no file, beside the recording."""
        self._sites.find_generated()
        self.generated.keep()

    def _explain_uninitialised(self, model: Model) -> None:
        """Only the end shows that the driver was never initialised: libraries ask it earlier whether it is."""
        refused = self.unexplained.take(NOT_INITIALIZED) if model.initialised_by is None else []
        if refused:
            self._report(refused[0].call, uninitialised(refused[0].call, sum(each.count for each in refused), model))

    def memory(self) -> tuple[MemoryUse, ...]:
        """What the process holds, and held at most."""
        return tuple(memory_used(self.recording.pid, self.model.ledger)) if self.model is not None else ()

    def _explain_faults(self, model: Model, flight: dict[int, Array]) -> None:
        """Host code that touched memory of CUDA. A fault in a call that is stored has been told with the call."""
        for number, fault in enumerate(self.recording.faults):
            if number in self._faults_in_calls or fault.signal not in CRASHES:
                continue
            last = flight[fault.thread][-1:] if fault.thread in flight else None
            if last is not None and PENDING in last["status"]:
                self._say_died(
                    self._ordering.entry_points.name(int(last["entry_point"][0])), fault.signal, fault.thread
                )
            elif (violation := explain_fault(fault.address, model)) is not None:
                self._report_fault(fault, violation)

    def _say_died(self, where: str, number: int, thread: int) -> None:
        self._say(
            f"process {self.recording.pid} died of {signal_name(number)} in {where} (thread {thread}): no rule says why"
        )

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
        self.stats["calls"] += max(self.recording.calls_made, self._ordering.counted)
        self.stats["threads"] += len(self.recording.calls_of_thread)
        for kind in Kind:
            self.stats[_plural(kind)] += self.model.table.count(kind) if self.model else 0
        self.stats["unexplained_failures"] += self.unexplained.total

    def _say_what_was_not_seen(self) -> None:
        recording = self.recording
        for problem in recording.problems:
            self._say(f"the recording is damaged: {problem}")
        dropped = int(recording.header["dropped"])
        if dropped:
            self._say(
                f"{dropped} records of process {recording.pid} were dropped{_since(recording)}: {_why_stopped(recording)}"
            )
        for note in recording.notes:
            if note.code == NoteCode.BYPASSED:
                self._say(f"process {recording.pid} loaded {note.text} past cuvet: calls through it were not seen")
        for name, count in self._unknown.items():
            self._say(f"{count} calls of {name} were not judged: this cuvet does not know it")


class Analysis:
    """One recording directory, while it grows or afterwards. ``run`` makes it; None if that was another command, perhaps on another
    machine."""

    def __init__(self, directory: Path, run: Run | None = None) -> None:
        model_rules()  # now, so that a rule that cannot be imported is an error and not a call that cannot be judged
        self.directory = directory
        self._run = run
        self._findings = Findings()
        self._processes: dict[Path, ProcessAnalysis] = {}
        self._unreadable: dict[Path, str] = {}

    def advance(self, *, running: bool = False, meta: Meta | None = None) -> list[Finding]:
        """Judge what is new in all processes; returns the findings that are new."""
        self._open_new(running)
        for process in self._processes.values():
            death = meta.signal if meta and meta.pid == process.recording.pid else None
            process.advance(running=running, death=death)
        return self._findings.take_fresh()

    def _open_new(self, running: bool) -> None:
        for path in sorted(self.directory.glob("*.cuvet"), key=_start):
            if path in self._processes or path in self._unreadable:
                continue
            try:
                recording = Recording(path)
                generated = GeneratedCode(recording, self._run)
                self._processes[path] = ProcessAnalysis(recording, self._findings, self._model_at_fork, generated)
            except RecordingError as error:
                if not running:
                    self._unreadable[path] = str(error)

    def _model_at_fork(self, recording: Recording) -> Model | None:
        """Every process is asked: the parent may have ended, and another be the parent by then."""
        models = (process.model_at_fork_of(recording.pid) for process in reversed(self._processes.values()))
        return next((model for model in models if model is not None), None)

    def _in_order(self) -> tuple[Finding, ...]:
        """By process and time, whether they were found while the program ran or afterwards."""
        order = {process.recording.pid: index for index, process in enumerate(self.processes())}
        return tuple(
            sorted(self._findings.all(), key=lambda each: (order.get(each.site.process, -1), each.site.time_ns))
        )

    def _with_logs(self) -> tuple[Finding, ...]:
        """In order, with what the driver and cuDNN logged about their calls."""
        processes = self.processes()
        failures = (each for process in processes for each in process.failures)
        findings = driver_log.attach(self.directory, self._in_order(), failures)
        of_cudnn = (each for process in processes for each in process.cudnn_failures)
        return cudnn_log.attach(self.directory, findings, of_cudnn)

    def processes(self) -> list[ProcessAnalysis]:
        """Of all recordings, by the start of the process."""
        return [self._processes[path] for path in sorted(self._processes, key=_start)]

    def still_running(self) -> list[int]:
        """Processes that have a recording and have not ended."""
        self._open_new(running=True)
        return [process.recording.pid for process in self._processes.values() if process.recording.is_running]

    def report(self, meta: Meta, *, leaks: bool = False, memory: bool = False) -> Report:
        """Everything, once the last process has ended."""
        self.advance(meta=meta)
        stats: Counter[str] = Counter(processes=len(self._processes))
        not_checked = dict.fromkeys([*meta.notes, *self._unreadable.values()])
        for process in self.processes():
            process.finish(leaks=leaks)
            stats += process.stats
            not_checked |= process.not_checked
        return Report(
            tool=Tool(version=__version__),
            program=Program(
                argv=meta.argv,
                exit_code=meta.exit_code,
                signal=meta.signal,
                device=meta.device,
                gpus=meta.gpus,
                driver=meta.driver,
            ),
            findings=self._with_logs(),
            unexplained=told(failed for process in self.processes() for failed in process.unexplained.all()),
            machine=meta.machine,
            memory=tuple(use for process in self.processes() for use in process.memory()) if memory else None,
            not_checked=tuple(not_checked),
            hints=tuple(dict.fromkeys(hint for each in self.processes() for hint in each.hints(meta, leaks=leaks))),
            stats=dict(stats),
        )


def analyze(directories: Sequence[Path], *, leaks: bool = False, memory: bool = False) -> Report:
    """The report of one or more recordings. CuvetError if a directory holds none."""
    reports = [
        Analysis(directory).report(read_meta(directory), leaks=leaks, memory=memory) for directory in directories
    ]
    stats: Counter[str] = Counter()
    for report in reports:
        stats += Counter(report.stats)
    programs = [report.program for report in reports]
    return msgspec.structs.replace(
        reports[0],
        program=next((each for each in programs if each.signal is not None or each.exit_code), programs[0]),
        findings=_folded(finding for report in reports for finding in report.findings),
        unexplained=_folded_failures(failure for report in reports for failure in report.unexplained),
        machine=tuple(dict.fromkeys(cause for report in reports for cause in report.machine)),
        memory=tuple(use for report in reports for use in report.memory or ()) if memory else None,
        not_checked=tuple(dict.fromkeys(sentence for report in reports for sentence in report.not_checked)),
        hints=tuple(dict.fromkeys(hint for report in reports for hint in report.hints)),
        stats=dict(stats),
    )


def _folded(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each once that occurred in several recordings, with the same stack and message: they are of processes of one program."""
    folded: dict[tuple[object, ...], Finding] = {}
    for number, each in enumerate(findings):
        key = (each.rule, each.api, each.message, each.site.frames or number)
        if (first := folded.get(key)) is not None:
            each = msgspec.structs.replace(
                first, repeats=first.repeats + each.repeats, processes=first.processes + each.processes
            )
        folded[key] = each
    return tuple(folded.values())


def _folded_failures(failures: Iterable[UnexplainedFailure]) -> tuple[UnexplainedFailure, ...]:
    """Likewise, of calls that failed."""
    folded: dict[tuple[object, ...], UnexplainedFailure] = {}
    for number, each in enumerate(failures):
        key = (each.api, each.status, each.library, each.site.frames or number)
        if (first := folded.get(key)) is not None:
            each = msgspec.structs.replace(first, count=first.count + each.count)
        folded[key] = each
    return tuple(folded.values())


def read_meta(directory: Path) -> Meta:
    """``meta.json``; an empty one if there are recordings without it. CuvetError if there is no recording."""
    path = directory / "meta.json"
    if not directory.is_dir():
        raise CuvetError(f"{directory}: {'not a directory' if directory.exists() else 'no such directory'}")
    try:
        data = read_regular(path, MOST_META + 1, follow=False)
        if len(data) > MOST_META:
            raise CuvetError(f"{path}: larger than any that cuvet writes")
        if not data:
            return Meta(notes=(f"{path} is empty, since it could not be written: how the program ended is not known",))
        return msgspec.json.decode(data, type=Meta)
    except FileNotFoundError:
        if not any(directory.glob("*.cuvet")):
            raise CuvetError(f"{directory}: no recording here") from None
        return Meta()
    except RecursionError:
        raise CuvetError(f"{path}: it is nested too deeply") from None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CuvetError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _where(frames: Sequence[Frame]) -> str:
    """The place of a launch: the innermost line that is known and the one that called it, else the file whose code made it."""
    own = [frame for frame in frames if frame.language != "python" or frame.module is None] or frames
    lines = [f"{frame.file}:{frame.line}" for frame in own if frame.file and frame.line]
    if lines:
        return f" at {lines[0]}" + (f" (called at {lines[1]})" if lines[1:] else "")
    return f" in {os.path.basename(frames[0].module)}" if frames and frames[0].module else ""


def _asked(call: RecordedCall) -> str:
    """The name of the function that was called: of the runtime, if it made the call."""
    return call.site.api if call.site is not None else call.name


def _seen(objects: Sequence[SeenObject]) -> dict[int, SeenHandle]:
    """The shim's view of each parameter; of an array of handles, the first that is not alive."""
    seen: dict[int, SeenHandle] = {}
    for each in objects:
        if each.parameter not in seen or (seen[each.parameter].alive and not each.alive):
            seen[each.parameter] = SeenHandle(
                _KINDS.get(each.kind, Kind.NONE), each.handle, each.generation if each.known else 0, each.alive
            )
    return seen


def _is_cleaning_up(call: RecordedCall, outcome: Outcome) -> bool:
    """Whether a call in a lost context fails to end an object: it is often one that could not be made."""
    ends = any(role.verb in ENDS for role in call.entry_point.roles)
    return ends and call.entry_point.api == "driver" and outcome.status not in _ORDINARY


def _plural(kind: Kind) -> str:
    noun = {Kind.MEMORY: "allocation", Kind.HOST_MEMORY: "host allocation"}.get(kind, kind.noun).replace(" ", "_")
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def _since(recording: Recording) -> str:
    stop = recording.stop
    return f", from {stop.time_ns / 1e9:.3f} s after its first call on" if stop else ""


def _why_stopped(recording: Recording) -> str:
    error = recording.stop.error if recording.stop else 0
    if error in _CLOSED:
        return f"the program closed its recording, which could not be opened again ({error_text(error)})"
    return f"its recording {_STOPPED.get(error) or f'could not grow ({error_text(error)})'}"


def _start(path: Path) -> tuple[int, str]:
    """When the process of a recording began; names of other shapes come first."""
    start = path.stem.rpartition("-")[2]
    return (int(start) if start.isdecimal() else 0, path.name)
