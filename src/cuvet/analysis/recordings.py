"""Makes the report of a program from the recordings of its processes."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from cuvet import CuvetError, __version__
from cuvet.analysis import core_dumps, cudnn_log, driver_log, marked
from cuvet.analysis.folding import Findings, Samples
from cuvet.analysis.process import ProcessAnalysis
from cuvet.analysis.ranked import with_ranks
from cuvet.analysis.unexplained import told
from cuvet.findings import Finding, ProcessRank, Report, Tool
from cuvet.meta import Meta
from cuvet.model import Model
from cuvet.recording import Recording, RecordingError
from cuvet.recording.generated_code import GeneratedCode, Run
from cuvet.recording.records import CallRecord
from cuvet.rules import model_rules


class Analysis:
    """One recording directory, while it grows or afterwards. ``run`` makes it; None if that was another command, perhaps on another
    machine. ``ignored`` says whether the report is to leave a finding out. ``before`` is told of each call before it is judged, with its
    process."""

    def __init__(
        self,
        directory: Path,
        run: Run | None = None,
        ignored: Callable[[Finding], bool] = lambda finding: False,
        *,
        over_time: bool = False,
        before: Callable[[int, CallRecord], None] | None = None,
    ) -> None:
        model_rules()  # now, so that a rule that cannot be imported is an error and not a call that cannot be judged
        self.directory = directory
        self._run = run
        self._over_time = over_time
        self._before = before
        self._findings = Findings(ignored)
        self._processes: dict[Path, ProcessAnalysis] = {}
        self._first_samples: dict[Path, Samples] = {}
        """Of the clocks of each recording, when it was first read."""
        self.unreadable: dict[Path, str] = {}
        """Recordings that cannot be read, with the reason."""

    def advance(self, *, running: bool = False, meta: Meta | None = None) -> list[Finding]:
        """Judge what is new in all processes; returns the findings that are new."""
        self._open_new(running)
        for process in self._processes.values():
            if running and process.has_ended:
                continue
            death = meta.signal if meta and meta.pid == process.recording.pid else None
            held = process.holds_back
            process.advance(running=running, death=death)
            samples = process.recording.clock.samples
            self._findings.date(None if held else samples)
            self._first_samples.setdefault(process.recording.path, samples)
        return self._findings.take_fresh()

    def take(self) -> list[Finding]:
        """The findings since it was last asked, each with its repeats so far and what followed from it. What comes later is a finding of
        its own, also at the same place."""
        return self._findings.take()

    def _open_new(self, running: bool) -> None:
        for path in sorted(self.directory.glob("*.cuvet"), key=_start):
            if path in self._processes or path in self.unreadable:
                continue
            try:
                recording = Recording(path)
                generated = GeneratedCode(recording, self._run)
                process = ProcessAnalysis(
                    recording, self._findings, self._model_at_fork, generated, over_time=self._over_time
                )
                process.before = partial(self._before, recording.pid) if self._before is not None else None
                self._processes[path] = process
            except RecordingError as error:
                if not running:
                    self.unreadable[path] = str(error)

    def _model_at_fork(self, recording: Recording) -> Model | None:
        """Every process is asked: the parent may have ended, and another be the parent by then."""
        models = (process.model_at_fork_of(recording.pid) for process in reversed(self._processes.values()))
        return next((model for model in models if model is not None), None)

    def findings(self, meta: Meta | None = None) -> tuple[Finding, ...]:
        """By process and time, whether they were found while the program ran or afterwards. Without ``meta`` no ranks are known, nor what
        the program was doing."""
        order = {process.recording.pid: index for index, process in enumerate(self.processes())}
        found = self._findings.all(meta.rank_of) if meta is not None else self._findings.all()
        if meta is not None:
            found = marked.attach(self.directory, found, self._findings.samples(), meta)
        return tuple(sorted(found, key=lambda each: (order.get(each.site.process, -1), each.site.time_ns)))

    def _with_logs(self, meta: Meta) -> tuple[Finding, ...]:
        """In order, with what GPU core dumps have of them, what the driver and cuDNN logged about their calls, and what the
        program was doing then."""
        processes = self.processes()
        failures = (each for process in processes for each in process.judge.failures)
        dumped = core_dumps.attach(self.directory, self.findings(meta), processes)
        findings = driver_log.attach(self.directory, dumped, failures)
        of_cudnn = (each for process in processes for each in process.judge.cudnn_failures)
        return cudnn_log.attach(self.directory, findings, of_cudnn)

    def processes(self) -> list[ProcessAnalysis]:
        """Of all recordings, by the start of the process."""
        return [self._processes[path] for path in sorted(self._processes, key=_start)]

    def still_running(self) -> list[int]:
        """Processes that have a recording and have not ended."""
        self._open_new(running=True)
        return [process.recording.pid for process in self._processes.values() if process.recording.is_running]

    def _hints(self, meta: Meta, *, leaks: bool) -> Iterator[str]:
        yield from core_dumps.untold(self.directory, self.processes())
        for process in self.processes():
            yield from process.hints(meta, leaks=leaks)

    def require_readable(self) -> None:
        """CuvetError if there are only recordings that cannot be read."""
        damaged = [why for path, why in self.unreadable.items() if path.stat().st_size]
        if damaged and not self.processes():
            raise CuvetError(damaged[0])

    def report(self, meta: Meta, *, leaks: bool = False, memory: bool = False) -> Report:
        """Everything, once the last process has ended."""
        self.advance(meta=meta)
        stats: Counter[str] = Counter(processes=len(self._processes))
        not_checked = dict.fromkeys([*meta.notes, *self.unreadable.values()])
        for process in self.processes():
            process.finish(leaks=leaks)
            samples = (
                process.recording.clock.samples
            )  # by which calls that were judged while the program ran have no times
            self._findings.date(samples if samples == self._first_samples.get(process.recording.path) else None)
            stats += process.stats
            not_checked |= process.not_checked
        report = Report(
            tool=Tool(version=__version__),
            program=meta.program,
            ranks=tuple(self._ranks(meta)),
            findings=self._with_logs(meta),
            unexplained=told(
                (failed for process in self.processes() for failed in process.judge.unexplained.all()),
                emulated=meta.device == "emulated",
            ),
            machine=meta.machine,
            memory=tuple(use for process in self.processes() for use in process.memory()) if memory else None,
            not_checked=tuple(not_checked),
            hints=tuple(dict.fromkeys([*self._hints(meta, leaks=leaks), *meta.hints])),
            stats=dict(+stats),
        )
        return with_ranks(report, meta.rank_of) if report.ranks else report

    def _ranks(self, meta: Meta) -> Iterator[ProcessRank]:
        rank_of = meta.rank_of
        for process in self.processes():
            rank = rank_of(process.recording.pid)
            if rank is not None:
                yield ProcessRank(process=process.recording.pid, rank=rank)


def _start(path: Path) -> tuple[int, str]:
    """When the process of a recording began; names of other shapes come first."""
    start = path.stem.rpartition("-")[2]
    return (int(start) if start.isdecimal() else 0, path.name)
