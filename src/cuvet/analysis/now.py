"""How the processes of a recording are at the moment, as far as it was read: for pages that are shown while a program runs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from cuvet.analysis.process import ProcessAnalysis
from cuvet.analysis.recordings import Analysis
from cuvet.catalog import Kind
from cuvet.findings import Finding, MemoryUse
from cuvet.recording import RecordingError
from cuvet.recording.layout import PENDING
from cuvet.recording.ordering import EntryPoints
from cuvet.recording.reader import Array


class ThreadNow(NamedTuple):
    """``call``: the function that it is in, by its name in the recording, and None if it is in none. ``number``: of its last call."""

    process: int
    thread: int
    name: str
    call: str | None
    number: int


class ObjectsNow(NamedTuple):
    """``alive`` objects of a kind, of so many that were ``made``."""

    kind: Kind
    alive: int
    made: int


class Now(NamedTuple):
    """``running``: processes that live, of ``processes``. ``calls``: made so far by all of them, stored or not."""

    running: int = 0
    processes: int = 0
    calls: int = 0
    findings: tuple[Finding, ...] = ()
    objects: tuple[ObjectsNow, ...] = ()
    memory: tuple[MemoryUse, ...] = ()
    threads: tuple[ThreadNow, ...] = ()


def now(analysis: Analysis) -> Now:
    """After ``analysis.advance``."""
    processes = analysis.processes()
    threads = [thread for process in processes if process.recording.is_running for thread in _threads(process)]
    return Now(
        running=sum(process.recording.is_running for process in processes),
        processes=len(processes),
        calls=sum(process.recording.calls_made for process in processes),
        findings=analysis.findings(),
        objects=_objects(processes),
        memory=tuple(use for process in processes if process.recording.is_running for use in process.memory()),
        threads=tuple(sorted(threads, key=lambda each: (each.call is None, each.process, each.thread))),
    )


def _objects(processes: list[ProcessAnalysis]) -> tuple[ObjectsNow, ...]:
    """Of processes that live: those of the others ended with them."""
    tables = [process.model.table for process in processes if process.model and process.recording.is_running]
    alive = [sum(counts) for counts in zip(*(table.alive() for table in tables), strict=True)]
    found = (
        ObjectsNow(kind, alive[kind], sum(table.count(kind) for table in tables))
        for kind in (Kind if tables else ())
        if kind is not Kind.NONE
    )
    return tuple(sorted((each for each in found if each.made), key=lambda each: -each.alive))


def _threads(process: ProcessAnalysis) -> list[ThreadNow]:
    recording = process.recording
    flight: dict[int, Array] = {}
    with suppress(RecordingError):
        flight = recording.flight()
    living = _living(recording.pid)
    known = EntryPoints(recording)
    found = []
    for thread in living & (flight.keys() | recording.calls_of_thread.keys()):
        last = flight[thread][-1] if thread in flight and len(flight[thread]) else None
        within = last is not None and int(last["status"]) == PENDING
        call = known.name(int(last["entry_point"])) if last is not None and within else None
        number = int(last["number"]) if last is not None else recording.calls_of_thread.get(thread, 0)
        found.append(ThreadNow(recording.pid, thread, recording.threads.get(thread, ""), call, number))
    return found


def _living(process: int) -> frozenset[int]:
    """Threads that live; none of a process that ended meanwhile."""
    with suppress(OSError):
        return frozenset(int(each.name) for each in Path(f"/proc/{process}/task").iterdir() if each.name.isdecimal())
    return frozenset()
