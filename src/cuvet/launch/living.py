"""Finds the recordings of this user's processes that live on this machine."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from cuvet import CuvetError
from cuvet.analysis.verdicts import recordings_below
from cuvet.findings import Rank
from cuvet.launch import trace
from cuvet.launch.live import environment_of
from cuvet.meta import read_meta
from cuvet.ranks import rank_in

_TRACE = "CUVET_TRACE"


def recordings(wanted: Sequence[str]) -> list[Path]:
    """The files of the recordings: of directories and process ids, or, if nothing is ``wanted``, of all that live. CuvetError for a
    directory without a recording, and for a process that has none."""
    if wanted:
        found = [file for word in wanted for file in _named(word)]
    else:
        directories = {*trace.all_directories(), *map(_directory_of, _own_processes())} - {None}
        found = [file for directory in directories if directory is not None for file in _files(directory)]
    return sorted(set(found))


def _named(word: str) -> list[Path]:
    if not word.isdecimal() or Path(word).is_dir():
        return [file for directory in recordings_below(Path(word)) for file in _files(directory)]
    directory = _directory_of(int(word))
    found = [file for file in _files(directory) if file.name.startswith(f"{word}-")] if directory is not None else []
    if not found:
        raise CuvetError(f"process {word} is not one of yours that `cuvet run` records and that has called CUDA")
    return found


def _files(directory: Path) -> list[Path]:
    """Of this user: what others put into a directory is not looked at."""
    with suppress(OSError):
        return [file for file in directory.glob("*.cuvet") if file.lstat().st_uid == os.getuid()]
    return []


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
