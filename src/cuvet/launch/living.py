"""Finds the recordings of this user's processes that live on this machine."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from cuvet import CuvetError
from cuvet.analysis.verdicts import recordings_below
from cuvet.findings import Rank
from cuvet.launch import trace
from cuvet.launch.live import environment_of, tree_of
from cuvet.meta import read_meta, require_directory
from cuvet.ranks import rank_in
from cuvet.recording import Recording, RecordingError

_TRACE = "CUVET_TRACE"


def recordings(wanted: Sequence[str]) -> list[Path]:
    """The files of the recordings: of directories and process ids, or, if nothing is ``wanted``, of all that live. CuvetError for a
    directory without a recording, and for a process that has none."""
    found = [file for word in wanted for file in _named(word)] if wanted else _all()
    return sorted(set(found))


def newest() -> Path:
    """The directory of the recorded process that began last and lives. CuvetError if there is none."""
    for file in sorted(_all(), key=_start, reverse=True):
        with suppress(RecordingError):
            if Recording(file).is_running:
                return file.parent
    raise CuvetError(
        "no program of yours that `cuvet run` records has called CUDA and still runs: name a directory or a process"
    )


def directory_of(process: int) -> Path:
    """Of the recording of a process, or of the first process below it that has one. CuvetError if there is none."""
    for each in tree_of(process):
        directory = _directory_of(each)
        if directory is not None and _files(directory, f"{each}-*.cuvet"):
            return directory
    raise CuvetError(f"process {process} is not one of yours that `cuvet run` records and that has called CUDA")


def _all() -> list[Path]:
    directories = {*trace.all_directories(), *filter(None, map(_directory_of, _own_processes()))}
    return [file for directory in directories for file in _files(directory)]


def _named(word: str) -> list[Path]:
    if not word.isdecimal() or Path(word).is_dir():
        require_directory(Path(word))
        return [file for directory in recordings_below(Path(word)) for file in _files(directory)]
    directory = _directory_of(int(word))
    found = _files(directory, f"{word}-*.cuvet") if directory is not None else []
    if not found:
        raise CuvetError(f"process {word} is not one of yours that `cuvet run` records and that has called CUDA")
    return found


def _files(directory: Path, named: str = "*.cuvet") -> list[Path]:
    """Of this user: what others put into a directory is not looked at."""
    return [file for file in directory.glob(named) if _is_own(file)]


def _is_own(file: Path) -> bool:
    try:
        return file.lstat().st_uid == os.getuid()
    except OSError:
        return False


def _start(file: Path) -> int:
    start = file.stem.rpartition("-")[2]
    return int(start) if start.isdecimal() else 0


def _own_processes() -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdecimal() and entry.stat().st_uid == os.getuid():
                yield int(entry.name)


def _directory_of(process: int) -> Path | None:
    """Where the process was told to write its recording."""
    directory = environment_of(process).get(_TRACE)
    return Path(directory) if directory else None


def rank_of(files: Sequence[Path], process: int) -> Rank | None:
    """As its environment tells, on the host that its recording names."""
    file = next((file for file in files if file.name.startswith(f"{process}-")), None)
    if file is None:
        return None
    with suppress(CuvetError):
        meta = read_meta(file.parent)
        return rank_in(environment_of(process), meta.host) or meta.rank_of(process)
    return None
