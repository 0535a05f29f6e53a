"""What is left of one recording when it has been judged: small, and all that several are compared by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from cuvet import CuvetError
from cuvet.analysis.process import Meeting, ProcessAnalysis
from cuvet.analysis.recordings import Analysis
from cuvet.analysis.waiting import waiting_calls
from cuvet.findings import Finding, Rank, Report, Waiting
from cuvet.meta import Meta, Moment, read_meta
from cuvet.printable import valid
from cuvet.recording import RecordingError
from cuvet.recording.layout import End

MOST_DEPTH = 3
"""Directories below the one that is given in which recordings are looked for: ``job/node/rec.0``."""
MOST_RECORDINGS = 1 << 17


class Options(NamedTuple):
    """How recordings are judged, the same for all. ``ignored`` says whether the report is to leave a finding out."""

    leaks: bool = False
    memory: bool = False
    ignored: Callable[[Finding], bool] = lambda finding: False


class Lived(msgspec.Struct, frozen=True, kw_only=True):
    """A process of a recording. ``start`` is its first sample of the clocks, ``last_ns`` its newest sign of life, from there on.
    ``samples`` are those by which its ticks were made times (``Clock``)."""

    process: int
    rank: Rank | None
    start: Moment
    samples: tuple[tuple[int, int], ...]
    last_ns: int
    last_api: str = ""
    """Its main thread's newest call, or that of another thread if this made none."""
    ended: bool
    """It ended by itself: its exit handlers ran, or another program took its place."""
    running: bool
    waiting: tuple[Waiting, ...] = ()
    met: Meeting | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Of one directory. ``boot`` names the machine, "" if it is not known; ``ended``: when its program did."""

    directory: str
    report: Report
    host: str = ""
    boot: str = ""
    program: int = 0
    ended: Moment | None = None
    processes: tuple[Lived, ...] = ()


def recordings_below(directory: Path) -> list[Path]:
    """The directory itself if it holds a recording, else those below it that do, by name. CuvetError if there is none."""
    if _is_recording(directory) or not directory.is_dir():
        return [directory]
    found = sorted(_below(directory, MOST_DEPTH))
    if not found:
        raise CuvetError(f"{directory}: no recording here, nor in directories below it")
    return found[:MOST_RECORDINGS]


def _is_recording(directory: Path) -> bool:
    return (directory / "meta.json").is_file() or any(directory.glob("*.cuvet"))


def _below(directory: Path, depth: int) -> Iterator[Path]:
    """Links are not followed: they can lead in a circle."""
    try:
        children = [each for each in directory.iterdir() if each.is_dir() and not each.is_symlink()]
    except OSError:
        return
    for child in children:
        if _is_recording(child):
            yield child
        elif depth > 1:
            yield from _below(child, depth - 1)


def verdict_on(directory: Path, options: Options, then: Callable[[ProcessAnalysis], None] | None = None) -> Verdict:
    """Judge the recording of a directory. ``then`` is called with each process, whose history can be asked for. CuvetError if it holds
    none, or only damaged ones."""
    meta = read_meta(directory)
    analysis = Analysis(directory, ignored=options.ignored, over_time=then is not None)
    report = analysis.report(meta, leaks=options.leaks, memory=options.memory)
    analysis.require_readable()
    if then is not None:
        for process in analysis.processes():
            then(process)
    return verdict_of(analysis, meta, report)


def verdict_of(analysis: Analysis, meta: Meta, report: Report) -> Verdict:
    """What is left of an analysis that has made its report."""
    return Verdict(
        directory=valid(analysis.directory),
        report=report,
        host=meta.host,
        boot=meta.boot,
        program=meta.pid,
        ended=meta.ended,
        processes=tuple(_lived(each, meta) for each in analysis.processes()),
    )


def _lived(process: ProcessAnalysis, meta: Meta) -> Lived:
    recording = process.recording
    _, monotonic_ns, realtime_ns = recording.header["clock"][0].tolist()
    ended = int(recording.header["end"]) != End.NONE
    last = recording.clock.ns(recording.newest_ticks)
    until = meta.ended.monotonic_ns - monotonic_ns if meta.ended is not None else last
    waiting: list[Waiting] = []
    last_api = ""
    with suppress(RecordingError):  # it has been said
        if not ended:
            waiting = [_since(each, meta) for each in waiting_calls(process, until)]
        slots = {thread: slot[-1] for thread, slot in recording.flight().items() if len(slot)}
        last = max([last, *(recording.clock.ns(int(slot["entered"])) for slot in slots.values())])
        newest = max(slots.values(), key=lambda slot: int(slot["entered"]), default=None)
        if (slot := slots.get(recording.pid, newest)) is not None:
            last_api = process.entry_points.name(int(slot["entry_point"]))
    return Lived(
        process=recording.pid,
        rank=meta.rank_of(recording.pid),
        start=Moment(monotonic_ns=monotonic_ns, realtime_ns=realtime_ns),
        samples=recording.clock.samples,
        last_ns=last,
        last_api=last_api,
        ended=ended,
        running=recording.is_running,
        waiting=tuple(waiting),
        met=process.met,
    )


def _since(waiting: Waiting, meta: Meta) -> Waiting:
    """With how long it had waited at least, if the call's own time was not taken."""
    site, ended = waiting.site, meta.ended
    same = (
        each for each in meta.stood if (each.process, each.thread, each.call) == (site.process, site.thread, site.call)
    )
    stood = next(same, None)
    if waiting.for_ns is not None or stood is None or ended is None:
        return waiting
    return msgspec.structs.replace(waiting, for_ns=max(0, ended.monotonic_ns - stood.since_ns), at_least=True)
