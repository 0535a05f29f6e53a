"""Where living processes stand: for each thread the CUDA call that it is in. Recordings are only read, so that no program notices."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from cuvet import __version__
from cuvet.analysis.clocks import rate
from cuvet.analysis.folding import Findings
from cuvet.analysis.process import ProcessAnalysis
from cuvet.analysis.ranked import RankOf
from cuvet.analysis.waiting import loads_code, standing_calls, waiting_calls
from cuvet.findings import Rank, Tool, Waiting
from cuvet.printable import valid
from cuvet.recording import Recording, RecordingError
from cuvet.recording.generated_code import GeneratedCode

SCHEMA = "cuvet-ps/1"
LONG_NS = 10 * 10**9
"""A call that takes longer is worth a verdict; one that loads code or is made in a host function, if it was watched so long as
``BRIEF_NS``."""
BRIEF_NS = 10**9
_JITTER_NS = 200
"""Of a sample: between its two clocks."""
_STOPPED = {"T": "is stopped (SIGSTOP): kill -CONT {} lets it go on", "t": "is stopped by a debugger"}
"""By the state in /proc/PID/stat (proc(5))."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """A living process. ``waiting``: a call for each thread that is in one, the longest first; ``idle``: threads that have made calls and
    are in none. ``verdicts``: what is remarkable about it, one sentence each."""

    process: int
    rank: Rank | None = None
    program: str = ""
    recording: str
    waiting: tuple[Waiting, ...] = ()
    idle: int = 0
    verdicts: tuple[str, ...] = ()


class Standings(msgspec.Struct, frozen=True, kw_only=True):
    """All of a machine; those first that are stopped, then those that have a verdict, then those that have waited longest."""

    schema: str = SCHEMA
    tool: Tool
    processes: tuple[Standing, ...] = ()
    notes: tuple[str, ...] = ()


def standings(files: Sequence[Path], rank_of: RankOf, seconds: float, sleep: Callable[[float], None]) -> Standings:
    """Of recordings, those whose process lives. They are looked at twice, so many ``seconds`` apart: calls that returned meanwhile are left
    out. ``rank_of`` a process."""
    notes: list[str] = []
    recordings = list(_living(files, notes))
    first = {each.pid: standing_calls(each) for each in recordings}
    began_ns = time.monotonic_ns()
    if any(first.values()):
        sleep(seconds)
    shared = [sample for each in recordings for sample in each.clock.samples]
    found = []
    for recording in recordings:
        try:
            found.append(_standing(recording, rank_of(recording.pid), first[recording.pid], began_ns, shared))
        except RecordingError as error:
            notes.append(str(error))
    return Standings(tool=Tool(version=__version__), processes=tuple(sorted(found, key=_order)), notes=tuple(notes))


def _order(standing: Standing) -> tuple[object, ...]:
    """Others can wait for a process that is stopped, however long they have."""
    longest_ns = max((each.for_ns or 0 for each in standing.waiting), default=-1)
    return _state(standing.process) not in _STOPPED, not standing.verdicts, -longest_ns, _number(standing)


def _number(standing: Standing) -> tuple[int, int]:
    return standing.rank.rank if standing.rank is not None else -1, standing.process


def _living(files: Sequence[Path], notes: list[str]) -> Iterator[Recording]:
    for path in files:
        try:
            recording = Recording(path)
            if recording.is_running:
                for _ in recording.poll():  # finds the flight recorders
                    pass
                yield recording
        except RecordingError as error:
            notes.append(str(error))


def _standing(
    recording: Recording, rank: Rank | None, first: Mapping[int, int], began_ns: int, shared: Sequence[tuple[int, int]]
) -> Standing:
    again = Recording(recording.path)
    process = ProcessAnalysis(again, Findings(), lambda child: None, GeneratedCode(again, None))
    process.advance(running=False)
    now_ns = time.monotonic_ns()
    at_ns, doubt_ns = _now(again, now_ns, shared)
    calls = (each for each in waiting_calls(process, at_ns) if first.get(each.site.thread) == each.site.call)
    waiting = [_watched(each, now_ns - began_ns, doubt_ns) for each in calls]
    waiting.sort(key=lambda each: -(each.for_ns or 0))
    threads = _threads(again.pid)
    known = threads & again.calls_of_thread.keys() if threads else again.calls_of_thread.keys()
    return Standing(
        process=again.pid,
        rank=rank,
        program=valid(again.executable),
        recording=valid(again.path.parent),
        waiting=tuple(waiting),
        idle=len(known - {each.site.thread for each in waiting}),
        verdicts=tuple(_verdicts(again.pid, waiting)),
    )


def _now(recording: Recording, now_ns: int, shared: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The present in nanoseconds since the process's first record, as its calls count them, and how wrong that can be."""
    samples = recording.clock.samples
    own, common = rate(samples), rate(shared)
    elapsed = now_ns - samples[0][1]
    apart = max(shared)[1] - min(shared)[1]
    doubt = _JITTER_NS * elapsed // apart if apart > 0 else elapsed
    return (round(elapsed * own / common) if own and common else elapsed), doubt


def _watched(waiting: Waiting, watched_ns: int, doubt_ns: int) -> Waiting:
    """How long it has waited at least, where its time was not taken or cannot be told well enough."""
    known = waiting.for_ns
    if known is not None and doubt_ns < max(BRIEF_NS, known // 2) and known >= watched_ns - doubt_ns:
        return waiting
    return msgspec.structs.replace(waiting, for_ns=watched_ns, at_least=True)


def _threads(process: int) -> frozenset[int]:
    """That live now; none if that cannot be seen."""
    with suppress(OSError):
        return frozenset(int(each.name) for each in Path(f"/proc/{process}/task").iterdir() if each.name.isdecimal())
    return frozenset()


def _verdicts(process: int, waiting: Sequence[Waiting]) -> Iterator[str]:
    state = _state(process)
    if state in _STOPPED:
        yield f"process {process} {_STOPPED[state].format(process)}"
        return
    yield from _loads(waiting)
    for each in waiting:
        if each.nested and (each.for_ns or 0) >= BRIEF_NS:
            yield (
                f"a function that CUDA called, as it does for a stream, has called {each.site.api} on thread {each.site.thread}, which "
                "does not return: a host function must not make any CUDA API calls (CUDA Driver API, cuLaunchHostFunc)"
            )
        elif (each.for_ns or 0) >= LONG_NS:
            yield f"{each.site.api} on thread {each.site.thread} does not return{_since_what(each)}"


def _loads(waiting: Sequence[Waiting]) -> Iterator[str]:
    """A thread that loads code, and others that are in calls since then."""
    for load in waiting:
        others = [each for each in waiting if each is not load and not loads_code(each.site.api)]
        if loads_code(load.site.api) and others and (load.for_ns or 0) >= BRIEF_NS:
            names = ", ".join(f"{each.site.api} on thread {each.site.thread}" for each in others[:3])
            more = f" and {len(others) - 3:,} more" if len(others) > 3 else ""
            yield (
                f"thread {load.site.thread} loads code in {load.site.api} while other threads are in calls ({names}{more}): loading "
                "kernels may require context synchronization (CUDA C++ Programming Guide, Lazy Loading, Concurrent Execution)"
            )


def _since_what(waiting: Waiting) -> str:
    if not waiting.waits_for:
        return ""
    last = waiting.last_work
    work = f", whose last work is of {last.api} (thread {last.thread}, call #{last.call})" if last is not None else ""
    return f": it waits for {waiting.waits_for}{work}"


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
