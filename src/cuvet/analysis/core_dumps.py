"""GPU core dumps that the driver wrote during a run: kept with the recording, and attached to the finding of the context that was lost.

Where the driver writes them: CUDA-GDB documentation, GPU Core Dump Support: if CUDA_ENABLE_COREDUMP_ON_EXCEPTION or
CUDA_ENABLE_LIGHTWEIGHT_COREDUMP is 1, to the file that CUDA_COREDUMP_FILE names, in which %h is the host, %p the process and %t the time;
by default ``core_%t_%h_%p.nvcudmp`` in the working directory.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cuvet.findings import Finding
from cuvet.image.core_dump import CoreDump, Grid, Stop, read
from cuvet.image.errors import ImageError
from cuvet.image.source import opened
from cuvet.printable import in_short, valid
from cuvet.recording.symbols import demangle
from cuvet.regular import read_regular
from cuvet.rules.launches import Dumped, told_of_dump
from cuvet.sizes import counted

if TYPE_CHECKING:
    from cuvet.analysis.process import ProcessAnalysis
    from cuvet.model import Context

FILE = "core_dumps.json"
"""In the directory of a recording."""
_SWITCHES = ("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP")
_NAME, _DEFAULT = "CUDA_COREDUMP_FILE", "core_%t_%h_%p.nvcudmp"
_MOST_DUMPS, _MOST_LOOKED_AT, _MOST_KEPT = 16, 1000, 4 << 20
_MTIME_NS = 10**9
"""Coarsest time of a file."""
_STICKY = "error-sticky"


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """``process``: of the file's name, 0 if that does not tell."""

    file: str
    process: int
    dump: CoreDump


def keep(directory: Path, environment: Mapping[str, str], processes: Iterable[int], since_ns: int) -> list[str]:
    """Put what the dumps say into the directory of the recording. ``processes`` were recorded. A file last written before
    ``since_ns``, of the Unix epoch, is of another run. Sentences about what could not be read or written."""
    found, notes = [], []
    for process, file in islice(_files(environment, processes, since_ns), _MOST_DUMPS):
        try:
            with opened(Path(file)) as source:
                found.append(Kept(file=valid(file), process=process, dump=read(source)))
        except (ImageError, OSError) as error:
            notes.append(f"the GPU core dump {valid(file)} could not be read: {error}")
    try:
        if found:
            (directory / FILE).write_bytes(msgspec.json.encode(found))
    except OSError as error:
        notes.append(f"{directory / FILE} could not be written whole ({error.strerror})")
    return notes


def _files(environment: Mapping[str, str], processes: Iterable[int], since_ns: int) -> Iterator[tuple[int, str]]:
    if not any(environment.get(name, "0") not in ("", "0") for name in _SWITCHES):
        return
    wanted = environment.get(_NAME) or _DEFAULT
    named = "%p" in wanted
    seen: set[str] = set()
    for process in processes if named else (0,):
        pattern = glob.escape(wanted.replace("%p", str(process)).replace("%h", os.uname().nodename)).replace("%t", "*")
        for file in sorted(islice(glob.iglob(pattern), _MOST_LOOKED_AT)):
            if file not in seen and _is_new(file, since_ns):
                seen.add(file)
                yield process, file


def _is_new(file: str, since_ns: int) -> bool:
    try:
        return os.stat(file).st_mtime_ns + _MTIME_NS >= since_ns
    except OSError:
        return False


def attach(directory: Path, findings: Sequence[Finding], processes: Sequence[ProcessAnalysis]) -> tuple[Finding, ...]:
    """The findings, those of lost contexts with what a dump says of the kernel. A dump is of a process if its name or the thread that
    launched the kernel tells so, or if only one process lost a context."""
    dumps = _kept(directory)
    lost = [each for each in processes if each.model is not None and each.model.lost_contexts] if dumps else []
    attached = list(findings)
    for process in lost:
        threads = process.recording.calls_of_thread.keys()
        own = [
            each
            for each in dumps
            if each.process == process.recording.pid
            or (not each.process and (len(lost) == 1 or any(grid.thread in threads for grid in each.dump.grids)))
        ]
        for number, finding in enumerate(attached if own else ()):
            context = _context_of(finding, process)
            if context is not None:
                attached[number] = _with_dump(finding, context, process, own[0])
    return tuple(attached)


def untold(directory: Path, processes: Iterable[ProcessAnalysis]) -> Iterator[str]:
    """What dumps say of processes in which no call told that a context was lost: a driver was measured to end the process when it had
    written the dump (an H200, driver 580.159.04). CU_COREDUMP_SKIP_ABORT (CUDA Driver API) is against that."""
    dumps = _kept(directory)
    lost = (
        {each.recording.pid for each in processes if each.model is not None and each.model.lost_contexts}
        if dumps
        else set()
    )
    for each in dumps:
        if not (each.process in lost if each.process else lost):
            yield from described(each.dump, os.path.basename(each.file))
            yield (
                "the driver ends a program when it has written a GPU core dump, so that no call tells the error: cuvet who FILE DIR says "
                "what the kernel was given; the flag against that is CUDA_COREDUMP_GENERATION_FLAGS=skip_abort"
            )


def _kept(directory: Path) -> list[Kept]:
    try:
        return msgspec.json.decode(read_regular(directory / FILE, _MOST_KEPT, follow=False), type=list[Kept])
    except (OSError, msgspec.DecodeError):
        return []


def _context_of(finding: Finding, process: ProcessAnalysis) -> Context | None:
    """The context of whose loss it tells."""
    if finding.name != _STICKY or finding.site.process != process.recording.pid or process.model is None:
        return None
    handles = {each.handle for each in finding.objects if each.kind == "context"}
    return next((each for each in process.model.lost_contexts if f"{each.handle:#x}" in handles), None)


def _with_dump(finding: Finding, context: Context, process: ProcessAnalysis, kept: Kept) -> Finding:
    failed = kept.dump.failed()
    if process.model is None or not failed:
        return finding
    name = os.path.basename(kept.file)
    if len(failed) > 1 or len(process.model.lost_contexts) > 1:
        return msgspec.structs.replace(finding, because=(*finding.because, *described(kept.dump, name)))
    lines = told_of_dump(context, process.model, _dumped(failed[0]))
    return msgspec.structs.replace(finding, because=(*finding.because[:1], *lines, *described(kept.dump, name)))


def _dumped(grid: Grid) -> Dumped:
    words = {(parameter, offset): value for parameter, offset, value in grid.words()}
    return Dumped(grid.kernel, demangle(grid.kernel), grid.grid, grid.block, words)


def described(dump: CoreDump, name: str) -> Iterator[str]:
    """What a dump says, in lines."""
    for stop in dump.stops:
        yield f"the GPU core dump {name} says: {_stopped(stop, dump)}"
    if not dump.stops:
        for grid in dump.grids:
            yield f"the GPU core dump {name} has no exception; {_kernel(grid)} was running"


def _stopped(stop: Stop, dump: CoreDump) -> str:
    grid = dump.grid_of(stop)
    where = _kernel(grid) if grid is not None else "a kernel that it does not name"
    at = f", {counted(stop.at, 'byte')} into its code" if stop.at >= 0 else ""
    if stop.block is None or stop.thread is None:
        return f"{stop.name} in {where}{at}"
    others = f" and {counted(stop.threads - 1, 'other')}" if stop.threads > 1 else ""
    return f"{stop.name} in {where}{at}, block {stop.block}, thread {stop.thread}{others}"


def _kernel(grid: Grid) -> str:
    return in_short(demangle(grid.kernel)) or "a kernel whose name is not known"
