"""Surveys a program, lets its calls fail one place after another, in parallel, and judges what it does.

Every trial is a run of its own, in a worker that was forked from this process, with a recording of its own. What has been tried is written
beside the recordings, so that a campaign that was broken off goes on where it was.
"""

from __future__ import annotations

import multiprocessing
import os
import shlex
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from cuvet import CuvetError, __version__
from cuvet.catalog import EntryPoint, Verb
from cuvet.catalog.answers import answers
from cuvet.catalog.roles import ENDS
from cuvet.findings import SEVERITIES, Program, Severity, Tool
from cuvet.inject.codes import Code, codes, name_of
from cuvet.inject.observed import Key, Observed, observe
from cuvet.inject.outcome import (
    CLASSES,
    HARMLESS,
    SEVERITY,
    VERDICTS,
    Class,
    Fault,
    InjectReport,
    Place,
    Survey,
    Trial,
    Tried,
)
from cuvet.inject.running import Limits, Start, end_with_parent, keep_orphans, run
from cuvet.inject.verdict import Judged, judge, varies, without_numbers
from cuvet.launch import unsupported
from cuvet.model.statuses import BEFORE_INIT
from cuvet.printable import valid
from cuvet.regular import read_whole
from cuvet.signals import signal_name
from cuvet.sizes import counted
from cuvet.source.tool.changes import Changes

LOG = "trials.jsonl"
_MOST_LOG = 1 << 30
"""Bytes."""
_PATIENCE = 5
"""By so much the limits of a run are larger that shows whether it hangs."""
_FULL = "its recording became full, and no call fails from then on: CUVET_LIMIT sets another bound"
_NEVER = BEFORE_INIT - {"cuInit"}
"""Calls with which the runtime and bindings find the driver's functions."""


@dataclass(frozen=True)
class Wanted:
    """What is to be tried. ``at``: places by id, function, ``file:line``, or their number in the survey; none: all. ``calls``: which of
    the calls of a place fail. ``changed``: only places with a frame on a changed line. ``budget_s``: nothing is begun after so long.
    ``quick``: one fault for each place."""

    at: tuple[str, ...] = ()
    classes: tuple[Class, ...] = CLASSES
    changed: Changes | None = None
    budget_s: float | None = None
    calls: Literal["all", "every", "first", "last"] = "all"
    quick: bool = False
    jobs: int = 2
    keep: bool = False


@dataclass(frozen=True)
class Job:
    """A trial that is to be made: a fault at a place, which has so many ``calls`` in a run without a fault."""

    key: Key
    fault: Fault
    calls: int

    @property
    def name(self) -> str:
        """Of the directory of its recording."""
        fault = self.fault
        return f"{self.key.id}-{fault.status}-{fault.first}-{fault.last}{'-later' if fault.later else ''}"


class Finished(NamedTuple):
    """A trial, how many calls failed in it, and how many runs it took."""

    trial: Trial
    injected: int
    runs: int


@dataclass
class Campaign:
    """``directory``: of all recordings, the survey's and those of the trials. ``told``: called with how many trials have been made of how
    many, and the newest."""

    start: Start
    directory: Path
    wanted: Wanted
    options: str
    """Those that a command that repeats a trial needs."""
    told: Callable[[int, int, Trial | None], None] = lambda done, all_, trial: None
    usual: Observed = field(init=False)
    stable: frozenset[str] = field(init=False)
    same_calls: bool = field(init=False)
    _trials: dict[Key, list[Trial]] = field(default_factory=dict)
    _runs: int = 0
    _made: int = 0
    _notes: list[str] = field(default_factory=list)

    def run(self) -> InjectReport:
        """CuvetError if the program cannot be started, or makes no CUDA calls."""
        began = time.monotonic()
        survey = self._survey()
        places = self._places()
        chosen = [key for key in places if self._is_wanted(key, places)]
        if self.wanted.at and not chosen:
            raise CuvetError(
                f"no CUDA call of the program is at {', '.join(self.wanted.at)}: cuvet inject --list shows all places"
            )
        jobs = [job for key in chosen for job in self._jobs(key, places[key])]
        self._try(jobs, began)
        tried = [self._tried(key, places[key]) for key in chosen if self._trials.get(key)]
        tried.sort(key=lambda each: (_rank(each.severity), VERDICTS.index(each.verdict)))
        if missed := sum(each.verdict == "not-reached" for each in tried):
            which = f"the calls of {counted(missed, 'place')} were not made any more"
            self._notes.append(f"{which}: does the program differ when several of it run at a time? --jobs 1 runs one")
        return InjectReport(
            tool=Tool(version=__version__),
            program=self._program(),
            survey=survey,
            sites=tuple(tried),
            untried=len(places) - len(tried),
            runs=self._runs,
            seconds=round(time.monotonic() - began, 1),
            verdicts=dict(Counter(each.verdict for each in tried)),
            notes=tuple(self._notes),
        )

    def listed(self) -> InjectReport:
        """The survey alone, with all places."""
        survey = self._survey()
        places = self._places()
        return InjectReport(
            tool=Tool(version=__version__),
            program=self._program(),
            survey=survey,
            sites=tuple(
                Tried(**msgspec.structs.asdict(self.usual.place(key)), count=calls, verdict="not-tried")
                for key, calls in places.items()
            ),
            untried=len(places),
            runs=self._runs,
        )

    def _program(self) -> Program:
        ending = self.usual.ending
        return Program(
            argv=tuple(map(valid, self.start.argv)),
            exit_code=ending.exit_code,
            signal=ending.signal,
            device="real" if self.start.driver else "emulated",
        )

    def _survey(self) -> Survey:
        """Two runs without a fault: what differs between them tells nothing."""
        limits = Limits.within(self.wanted.budget_s)
        directory = self._unused("survey")
        first = _observed(self.start, directory, "", limits)
        self._runs += 1
        ending = first.ending
        if refusal := unsupported.sentence(directory):
            raise CuvetError(refusal)
        if ending.hung:
            raise CuvetError(
                f"the program did not end by itself without any fault in {ending.wall_s:.0f} s: cuvet inject needs one that does"
            )
        if not any(first.threads):
            how = f"exit code {ending.exit_code}" if ending.signal is None else signal_name(ending.signal)
            raise CuvetError(
                f"the program makes no CUDA calls that cuvet sees, so none can fail (it ended with {how}; its standard input is empty): "
                "cuvet run -- says more"
            )
        second = _observed(self.start, self._unused("survey"), "", Limits.after(ending))
        self._runs += 1
        self.usual = first
        self.same_calls = _count_calls(first) == _count_calls(second)
        self.stable = frozenset(line for line in {*first.lines} & {*second.lines} if not varies(line))
        unstable = tuple(_differences(first, second))
        return Survey(
            exit_code=ending.exit_code,
            signal=ending.signal,
            seconds=round(ending.wall_s, 3),
            calls=sum(map(len, first.threads)),
            left=sum(first.left.values()),
            deterministic=not unstable,
            unstable=unstable,
        )

    def _unused(self, name: str) -> Path:
        """A campaign that goes on has surveys already."""
        return next(path for number in count(1) if not (path := self.directory / f"{name}-{number}").exists())

    def _places(self) -> dict[Key, int]:
        """With how many calls that succeed, in the order of their first; only those that can fail."""
        counts: Counter[Key] = Counter()
        for call in (each for calls in self.usual.threads for each in calls if not each.failed):
            counts[call.key] += 1
        return {key: calls for key, calls in counts.items() if self._codes(key)}

    def _codes(self, key: Key) -> tuple[Code, ...]:
        if self._entry_point(key).name in _NEVER:
            return ()
        found = codes(self._entry_point(key), self.usual.stacks[key].api)
        real = self.start.driver is not None  # only the emulated device goes on as after such an error
        wanted = [each for each in found if each.kind in self.wanted.classes and not (real and each.kind == "sticky")]
        return tuple(wanted[:1] if self.wanted.quick else wanted)

    def _entry_point(self, key: Key) -> EntryPoint:
        return self.usual.entry_points[key.entry_point]

    def _is_wanted(self, key: Key, places: dict[Key, int]) -> bool:
        frames = self.usual.stacks[key].frames
        changed = self.wanted.changed
        lines = [(each.file, each.line) for each in frames if each.file and each.line]
        if changed is not None and not any(changed.touch(file, line) for file, line in lines):
            return False
        if not self.wanted.at:
            return True
        names = {key.id, f"{key.site:016x}", self.usual.stacks[key].api, str(list(places).index(key) + 1)}
        names |= {f"{os.path.basename(each.file)}:{each.line}" for each in frames if each.file}
        names |= {f"{each.file}:{each.line}" for each in frames if each.file}
        return any(each in names for each in self.wanted.at)

    def _jobs(self, key: Key, calls: int) -> Iterator[Job]:
        """The fault from the first call on. Whether the first or the last alone says more shows only then."""
        api = self.usual.stacks[key].api
        for code in self._codes(key):
            name = name_of(self._entry_point(key), api, code.status)
            first, last = {"first": (1, 1), "last": (calls, calls)}.get(self.wanted.calls, (1, 0))
            last = first if code.later else last
            fault = Fault(first=first, last=last, status=code.status, code=name, kind=code.kind, later=code.later)
            yield Job(key, fault, calls)

    def _more(self, job: Job, injected: int) -> Iterator[Job]:
        """If more than one call failed: the first alone, from which the program may recover, and the last alone."""
        fault = job.fault
        if self.wanted.calls != "all" or self.wanted.quick or fault.last or fault.kind == "sticky" or injected < 2:
            return
        yield Job(job.key, msgspec.structs.replace(fault, last=1), job.calls)
        if job.calls > 1:
            yield Job(job.key, msgspec.structs.replace(fault, first=job.calls, last=job.calls), job.calls)

    def _try(self, jobs: Sequence[Job], began: float) -> None:
        global _campaign
        _campaign = self  # workers are forked from here, and have all that was surveyed
        known = self._known()
        todo, running = list(reversed(jobs)), dict[Future[Finished], Job]()
        with ProcessPoolExecutor(self.wanted.jobs, multiprocessing.get_context("fork"), _begin_worker) as pool:
            while todo or running:
                while todo and len(running) < self.wanted.jobs and not self._is_late(began):
                    job = todo.pop()
                    if (made := known.get(job.name)) is not None:
                        self._trials.setdefault(job.key, []).append(made.trial)
                        todo += self._more(job, made.injected)
                    else:
                        running[pool.submit(_make, job)] = job
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED)[0]:
                    job = running.pop(future)
                    result = future.result()
                    todo += self._more(job, result.injected)
                    self._take(job, result)
                    self.told(self._made, self._made + len(todo) + len(running), result.trial)
        if todo:
            again = "the same command with --resume goes on"
            self._notes.append(f"the budget was used up: {counted(len(todo), 'trial')} not made; {again}")

    def _is_late(self, began: float) -> bool:
        return self.wanted.budget_s is not None and time.monotonic() - began > self.wanted.budget_s

    def _take(self, job: Job, made: Finished) -> None:
        self._runs += made.runs
        self._made += 1
        self._trials.setdefault(job.key, []).append(made.trial)
        with open(self.directory / LOG, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(msgspec.json.encode((job.name, made)) + b"\n")

    def _known(self) -> dict[str, Finished]:
        """Trials of the same campaign that was broken off; a line that is cut short is of none."""
        found: dict[str, Finished] = {}
        try:
            lines = read_whole(self.directory / LOG, _MOST_LOG).splitlines()
        except FileNotFoundError:
            return {}
        for line in lines:
            try:
                name, made = msgspec.json.decode(line, type=tuple[str, Finished])
            except msgspec.DecodeError:
                continue
            found[name] = made
        return found

    def _tried(self, key: Key, calls: int) -> Tried:
        trials = sorted(self._trials[key], key=lambda trial: (_rank(self._severity(key, trial)), *_order(trial)))
        reached = [each for each in trials if each.verdict != "not-reached"] or trials
        others, worst = [each for each in trials if each not in reached], reached[0]
        return Tried(
            **msgspec.structs.asdict(self.usual.place(key)),
            count=calls,
            verdict=worst.verdict,
            severity=self._severity(key, worst),
            code=worst.fault.code,
            occurrence=worst.fault.occurrence,
            command=worst.command,
            trials=(*reached, *others),
        )

    def _severity(self, key: Key, trial: Trial) -> Severity | None:
        """That the program goes on where something could not be freed, or a question was not answered, may be meant."""
        if trial.minor:
            return "note"
        if trial.verdict == "ignored":
            entry_point, api = self._entry_point(key), self.usual.stacks[key].api
            asks = trial.fault.status in answers(api) | answers(entry_point.name)
            asks |= (
                all(role.verb in (Verb.USES, Verb.RETURNS) for role in entry_point.roles)
                and entry_point.api == "driver"
            )
            minor = asks or entry_point.does(*ENDS, Verb.RELEASES, Verb.RESETS)
            return "note" if minor else SEVERITY["ignored"]
        return SEVERITY.get(trial.verdict)

    def make(self, job: Job) -> Finished:
        """In a worker. A verdict that accuses is confirmed by a second run."""
        directory, second = self.directory / job.name, self.directory / f"{job.name}-again"
        judged, seen, injected = self._judged(job, directory)
        runs = 1
        if judged.verdict not in HARMLESS:
            again, later, _ = self._judged(job, second, patience=_PATIENCE if judged.verdict == "hang" else 1)
            runs = 2
            if judged.verdict == "hang" and again.verdict != "hang":
                judged = judged if later.full else again  # it only took its time
            elif again.verdict != judged.verdict:
                because = (f"{judged.verdict} in one run, {again.verdict} in another", *judged.because)
                judged = Judged("unstable", because, judged.output, judged.at)
        kept = self.wanted.keep or judged.verdict not in HARMLESS
        if not kept:
            shutil.rmtree(directory, ignore_errors=True)
        shutil.rmtree(second, ignore_errors=True)
        at: Place | None = seen.place(judged.at) if judged.at is not None and judged.at != job.key else None
        trial = Trial(
            fault=job.fault,
            verdict=judged.verdict,
            exit_code=seen.ending.exit_code,
            signal=seen.ending.signal,
            at=at,
            because=judged.because,
            output=judged.output,
            minor=judged.minor,
            recording=str(directory) if kept else "",
            command=self._command(job),
        )
        return Finished(trial, injected, runs)

    def _judged(self, job: Job, directory: Path, patience: int = 1) -> tuple[Judged, Observed, int]:
        shutil.rmtree(directory, ignore_errors=True)  # of a campaign that was broken off
        fault = job.fault
        text = f"{job.key.site:x}:{job.key.entry_point}:{fault.first}:{fault.last}:{fault.status}:{int(fault.later)}"
        seen = _observed(self.start, directory, text, Limits.after(self.usual.ending, patience))
        sticky = fault.kind == "sticky"
        judged = judge(
            self.usual, seen, later=fault.later, sticky=sticky, stable=self.stable, same_calls=self.same_calls
        )
        if seen.full and judged.verdict in HARMLESS:
            judged = Judged("unstable", (_FULL,))
        return judged, seen, sum(each.injected for calls in seen.threads for each in calls)

    def _command(self, job: Job) -> str:
        fault = job.fault
        which = {(1, 0): "every", (1, 1): "first"}.get((fault.first, fault.last), "last")
        return f"cuvet inject{self.options} --at {job.key.id} --codes {fault.kind} --calls {which} -- {shlex.join(self.start.argv)}"


def _rank(severity: Severity | None) -> int:
    return len(SEVERITIES) if severity is None else SEVERITIES.index(severity)


def _order(trial: Trial) -> tuple[int, ...]:
    """The worst first; of those alike, in the order in which they are made."""
    fault = trial.fault
    return VERDICTS.index(trial.verdict), CLASSES.index(fault.kind), fault.status, fault.first, fault.last


_campaign: Campaign | None = None
"""Of this process, in which it runs, and of its workers."""


def _begin_worker() -> None:
    end_with_parent()
    keep_orphans()


def _make(job: Job) -> Finished:
    assert _campaign is not None
    return _campaign.make(job)


def _observed(start: Start, directory: Path, faults: str, limits: Limits) -> Observed:
    return observe(directory, run(start, directory, faults, limits))


def _count_calls(seen: Observed) -> Counter[Key]:
    """Of all threads."""
    return Counter(call.key for calls in seen.threads for call in calls)


def _differences(first: Observed, second: Observed) -> Iterator[str]:
    """What two runs without a fault do not have in common."""
    if (first.ending.exit_code, first.ending.signal) != (second.ending.exit_code, second.ending.signal):
        yield "it ended in two ways"
    if sorted(map(without_numbers, first.lines)) != sorted(map(without_numbers, second.lines)):
        yield "it wrote different output, not only other numbers"
    if first.full or second.full:
        yield "its recording became full: the places of later calls are not known"
    keys = [[[call.key for call in calls] for calls in each.threads] for each in (first, second)]
    if keys[0] != keys[1]:
        yield "it made different calls, or made them in another order"
