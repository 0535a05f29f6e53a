"""The machine that probes look at: its files, the environment and the program that would run in it, its GPUs.

Paths are strings as the program would see them (``/usr/lib/libcuda.so.1``), whatever directory stands for ``/``.
"""

import errno
import fnmatch
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from cuvet.doctor import state
from cuvet.doctor.state import State

_MOST_LINKS = 40


@dataclass(frozen=True, eq=False)
class Machine:
    """``root`` stands for ``/``: absolute paths and symbolic links are taken inside it, and none leads out of it.

    ``program``: what would run, as a path inside the root; ``python``: the interpreter whose packages it would import. With a program and
    no ``python``, the program is not one of Python. ``loaded``: the files that a process of the program had really mapped, if that is
    known; they outweigh what the loader would take. ``uid`` and ``read_state`` are given for a synthetic root only.
    """

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    program: str | None = None
    python: str | None = None
    loaded: tuple[str, ...] = ()
    uid: int = field(default_factory=os.getuid)
    read_state: Callable[[Mapping[str, str]], State] = state.read

    @cached_property
    def state(self) -> State:
        """What the driver says about itself and its GPUs, to a process with this environment."""
        return self.read_state(self.environ)

    @cached_property
    def real(self) -> bool:
        return self.root == Path("/")

    def realpath(self, path: str) -> str:
        """``path`` without symbolic links, whether it exists or not. OSError if links go in a circle."""
        done, rest, links = "/", _parts(path), 0
        while rest:
            part = rest.pop(0)
            if part == "..":
                done = os.path.dirname(done)
                continue
            step = os.path.join(done, part)
            try:
                target = os.readlink(self._outside(step))
            except OSError:
                done = step
                continue
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            done = "/" if target.startswith("/") else done
            rest = _parts(target) + rest
        return done

    def host_path(self, path: str) -> Path:
        """Where the file is for this process: for libraries that open files themselves."""
        return Path(path) if self.real else Path(self._outside(self.realpath(path)))

    def exists(self, path: str) -> bool:
        return os.path.exists(self.host_path(path))

    def is_file(self, path: str) -> bool:
        return os.path.isfile(self.host_path(path))

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(self.host_path(path))

    def stat(self, path: str) -> os.stat_result:
        return os.stat(self.host_path(path))

    def open(self, path: str) -> BinaryIO:
        return open(self.host_path(path), "rb")

    def read_text(self, path: str) -> str | None:
        """None if there is no such file; OSError if it cannot be read."""
        try:
            return self.host_path(path).read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names(self, directory: str) -> list[str]:
        """What is in the directory, sorted; nothing if there is no such directory or it cannot be read."""
        try:
            return sorted(os.listdir(self.host_path(directory)))
        except OSError:
            return []

    def glob(self, pattern: str) -> list[str]:
        """The paths that match, sorted; ``*``, ``?`` and ``[]`` match inside one component."""
        found = ["/"]
        for part in _parts(pattern):
            if any(character in part for character in "*?["):
                found = [
                    os.path.join(directory, name)
                    for directory in found
                    for name in self.names(directory)
                    if fnmatch.fnmatchcase(name, part) and (part.startswith(".") or not name.startswith("."))
                ]
            else:
                found = [os.path.join(directory, part) for directory in found]
        return [path for path in found if os.path.lexists(self._of_parent(path))]

    def open_error(self, path: str) -> int:
        """The errno with which this user cannot open the file for reading and writing; 0 if that works."""
        if not self.real:
            return self._synthetic_open_error(path)
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK))
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    def room(self, directory: str) -> tuple[int, int] | None:
        """Bytes of the tmpfs that is mounted there, and how many of them are free; None if none is, or it has no limit of its own."""
        found = re.search(rf" {re.escape(directory)} tmpfs \S*\bsize=(\d+)k", self.read_text("/proc/self/mounts") or "")
        if not found:
            return None
        if self.real:
            status = os.statvfs(directory)
            return status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize
        size = int(found[1]) << 10
        return size, size - sum(self.stat(os.path.join(directory, name)).st_size for name in self.names(directory))

    def _synthetic_open_error(self, path: str) -> int:
        """By the mode alone: every file of a synthetic root belongs to user and group 0."""
        if not self.exists(path):
            return errno.ENOENT
        others = stat.S_IROTH | stat.S_IWOTH
        return 0 if self.uid == 0 or self.stat(path).st_mode & others == others else errno.EACCES

    def _of_parent(self, path: str) -> str:
        """Where the directory entry itself is for this process, though it be a link."""
        directory, name = os.path.split(path)
        return os.path.join(self.host_path(directory or "/"), name)

    def _outside(self, path: str) -> str:
        return path if self.real else f"{self._prefix}/{path.lstrip('/')}"

    @cached_property
    def _prefix(self) -> str:
        return str(self.root)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]
