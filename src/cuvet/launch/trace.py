"""The directory of a recording."""

import os
import stat
import time
from contextlib import suppress
from itertools import chain
from pathlib import Path

import msgspec

from cuvet import CuvetError
from cuvet.meta import Meta


def make(wanted: Path | None) -> Path:
    """A new private directory: ``wanted``, or one named by the date and our pid. CuvetError if it holds something already, or another
    run has it: of several that are started at once, the one that makes ``meta.json``."""
    directory = wanted if wanted is not None else _unused(_home() / time.strftime(f"%Y%m%d-%H%M%S-{os.getpid()}"))
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=wanted is not None)
        if any(directory.iterdir()):
            raise FileExistsError
        (directory / "meta.json").touch(mode=0o600, exist_ok=False)  # empty: the disk may be full
    except FileExistsError:
        if not directory.is_dir():
            raise CuvetError(f"{directory} is not a directory; choose another --trace") from None
        raise CuvetError(
            f"{directory} is not empty: recordings are never overwritten, choose another --trace "
            "(--trace DIR.%p or DIR.%r gives each of several processes its own)"
        ) from None
    except OSError as error:
        raise CuvetError(f"cannot make {directory}: {error.strerror}; choose another directory with --trace") from None
    return directory.resolve()


def _unused(directory: Path) -> Path:
    """The directory, or one of a name like it: machines that share a home can have processes of one number."""
    names = (directory.with_name(f"{directory.name}{after}") for after in ("", *(f"-{n}" for n in range(2, 1000))))
    return next((name for name in names if not name.exists()), directory)


def _home() -> Path:
    # A relative path is invalid, and ignored (XDG Base Directory Specification).
    state = os.environ.get("XDG_STATE_HOME", "")
    return (Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state") / "cuvet"


def newest() -> Path:
    """The recording in ``~/.local/state/cuvet`` to which a process was added last. CuvetError if there is none."""
    times = {path.parent: _changed(path.parent) for path in _home().glob("*/meta.json")}
    if not times:
        raise CuvetError(f"there is no recording in {_home()}: make one with cuvet run -- PROGRAM, or name one")
    return max(times, key=lambda path: (times[path], path.name))


def _changed(directory: Path) -> int:
    try:
        return directory.stat().st_mtime_ns
    except OSError:  # it was deleted meanwhile
        return 0


def made_here(directory: Path) -> bool:
    """Whether a recording is one that this user's cuvet made: it stands where nobody else can put one. What is written in a
    recording says nothing about it, since that can be copied."""
    try:
        status = directory.lstat()
    except OSError:
        return False
    own = status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(status.st_mode) and own and directory.resolve().parent == _home().resolve()


def all_directories() -> list[Path]:
    """Of the recordings that no ``--trace`` gave another place."""
    return [file.parent for file in _home().glob("*/meta.json")]


def size_of_all() -> int:
    """Bytes on disk of the recordings that no ``--trace`` gave another place."""
    return sum(map(bytes_on_disk, chain(_home().glob("*/*.cuvet"), _home().glob("*/*/*.cuvet"))))


def bytes_on_disk(path: Path) -> int:
    """0 for what cannot be looked at: it was deleted meanwhile, or somebody put it there."""
    try:
        return path.stat().st_blocks * 512
    except OSError:
        return 0


def write_meta(directory: Path, meta: Meta) -> str | None:
    """Replaces ``meta.json`` at once, so that a reader sees the old one or the new one. A sentence if it cannot be written: the
    program's disk may be full, and its exit code and report are worth more."""
    new = directory / ".meta.json"
    try:
        with open(new, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(msgspec.json.encode(meta))
        new.replace(directory / "meta.json")
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        return (
            f"{directory / 'meta.json'} could not be written ({error.strerror}): "
            "`cuvet analyze` will not know how the program ended"
        )
    return None
