"""Bounds what recordings take on disk while their programs run: a process of its own shortens them (``cuvet.analysis.shortening``)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import cuvet
from cuvet.launch import trace
from cuvet.launch.environment import users_own
from cuvet.sizes import binary_size

if TYPE_CHECKING:
    from cuvet.recording import Recording

_SOURCE = str(Path(cuvet.__file__).resolve().parent.parent)
_PROGRAM = (
    "import sys; sys.path = [sys.argv.pop(1), *filter(None, sys.path)]; "
    "from cuvet.analysis.shortening import main; sys.exit(main())"
)


class Bound:
    """``most``: bytes of each recording; None: it is not bounded. ``notes``: sentences about those that could not be shortened."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._next: dict[Path, int] = {}
        """From how many bytes on a recording is shortened again."""
        self._hard: set[Path] = set()
        """Those that were left as they were, since too little would have been gained."""
        self._process: subprocess.Popen[str] | None = None
        self._path = Path()
        self.notes: list[str] = []

    def look_at(self, recordings: Sequence[Recording]) -> None:
        """After these have been read as far as they were written. Shortens one that is too large."""
        if self._most is None or not self._is_free():
            return
        for recording in recordings:
            if bytes_of(recording.path) > self._next.get(recording.path, self._most):
                self._start(recording, self._most)
                return

    def stop(self) -> None:
        """Nothing is shortened any more. What was begun leaves the recording as it was, or is done."""
        if self._process is not None:
            self._process.terminate()
            self._process.communicate()
            for left in self._path.parent.glob(f"{self._path.stem}.kept?"):
                left.unlink(missing_ok=True)
            self._process = None

    def exceeded(self, recordings: Sequence[Recording]) -> Iterator[str]:
        """After all: a sentence about each that takes more than an eighth above the bound."""
        for recording in recordings:
            size = bytes_of(recording.path)
            if self._most is not None and size > self._most + self._most // 8:
                yield (
                    f"the recording of process {recording.pid} takes {binary_size(size)}, more than --bound {binary_size(self._most)}: "
                    "its calls are needed to judge it again, or the program ended before more of them were left out"
                )

    def _start(self, recording: Recording, most: int) -> None:
        self._path = recording.path
        is_behind = bytes_of(recording.path) > 2 * most
        largest = 2 * most if is_behind or recording.path in self._hard else most
        arguments = [str(recording.path), *map(str, (recording.newest_ticks, most, largest))]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, _SOURCE, *arguments],
                env=users_own(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                text=True,
            )
        except OSError as error:
            self._give_up(error.strerror or "")

    def _is_free(self) -> bool:
        """Whether nothing is being shortened."""
        if self._process is None:
            return True
        if self._process.poll() is None:
            return False
        said, _ = self._process.communicate()
        if self._process.returncode:
            self._give_up(said.strip() or "it could not be analysed")
        elif said.strip():
            self._hard.add(self._path)
            self._next[self._path] = 2 * bytes_of(self._path)
        elif self._most is not None:
            self._next[self._path] = max(self._most, bytes_of(self._path) + self._most // 4)
        self._process = None
        return True

    def _give_up(self, why: str) -> None:
        self._next[self._path] = sys.maxsize
        self.notes.append(f"{self._path} could not be shortened while the program ran: {why}")


def bytes_of(path: Path) -> int:
    """On disk, of a recording and of what is kept of it."""
    return trace.bytes_on_disk(path) + trace.bytes_on_disk(path.with_suffix(".kept"))
