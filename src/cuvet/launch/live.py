"""Reads the recording while the program runs. Prints errors when it finds them, and notices a driver that was loaded past the shim."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cuvet.launch.bound import Bound
from cuvet.launch.environment import SHIM, users_own
from cuvet.numeric import import_numpy
from cuvet.reports.choice import Choice

if TYPE_CHECKING:
    from rich.console import Console

    from cuvet.analysis import Analysis
    from cuvet.findings import Finding
    from cuvet.meta import Stood
    from cuvet.recording import Recording

_POLL_S = 0.2
_FIRST_POLLS_S = (0.02, 0.05, 0.1)
_LOOK_NS = 5 * 10**9
"""Between two looks at the calls in which threads are, of which not all have a time."""
_NICENESS = 10
_NICENESS_BESIDE_DEVICE = 19
"""Of processes that answer each other all the time, each wait for a processor delays both."""


class Live:
    """A thread that polls the recording until ``stop``. The program is ``pid``, of ``argv``, and began at ``started_ns`` of the Unix epoch.
    ``color``: errors are told on stderr, with ``--color`` so; None: nobody looks on. ``bound``: what recordings may take on disk.
    ``choice``: which findings are told. ``emulated``: the program uses the emulated device. ``seen`` is told by another thread when
    there are new ``environments``.

    What analyses is imported when a process has made a recording, and by this thread, which leaves the cores to the program.
    """

    def __init__(
        self,
        directory: Path,
        pid: int,
        argv: tuple[str, ...],
        started_ns: int,
        color: str | None,
        bound: Bound,
        choice: Choice,
        *,
        emulated: bool,
        seen: Callable[[Mapping[int, Mapping[str, str]]], None],
    ) -> None:
        self._directory = directory
        self._bound = bound
        self._choice = choice
        self._pid = pid
        self._argv = argv
        self._started_ns = started_ns
        self._niceness = _NICENESS_BESIDE_DEVICE if emulated else _NICENESS
        self._color = color
        self._console: Console | None = None
        self._analysis: Analysis | None = None
        self._stop = threading.Event()
        self.past_shim: dict[int, str] = {}
        """Process to the real driver that it loaded, of those that have no recording."""
        self.environments: dict[int, dict[str, str]] = {}
        """The user's part of the environment that a process was started with, of those that have a recording and ran long enough."""
        self._seen = seen
        self.stood: list[Stood] = []
        """Calls that had not returned when this was looked at last."""
        self._thread = threading.Thread(target=self._run, name="cuvet-live", daemon=True)
        self._thread.start()

    def stop(self) -> Analysis | None:
        """Ends. What follows the recordings, None if there are none."""
        self._stop.set()
        self._thread.join()
        self._bound.stop()
        return self._following(self._recordings())

    def _run(self) -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._niceness)
        waits = iter(_FIRST_POLLS_S)
        looked_ns = time.monotonic_ns()
        while not self._stop.wait(next(waits, _POLL_S)):
            recordings = self._recordings()
            recorded = {int(pid) for pid in (name.partition("-")[0] for name in recordings) if pid.isdecimal()}
            if new := recorded - self.environments.keys():
                for pid in new:
                    self.environments[pid] = users_own(environment_of(pid))
                self._seen(self.environments)
            self._look_for_drivers(recorded)
            analysis = self._following(recordings)
            if analysis is not None:
                self._tell(analysis.advance(running=True))
                opened = [process.recording for process in analysis.processes()]
                self._bound.look_at(opened)
                if (now_ns := time.monotonic_ns()) - looked_ns >= _LOOK_NS:
                    looked_ns = now_ns
                    self._look_at_calls(opened, now_ns)

    def _look_at_calls(self, recordings: list[Recording], now_ns: int) -> None:
        from cuvet.analysis.waiting import still_standing  # start: only for programs that call CUDA

        living = [recording for recording in recordings if recording.is_running]
        self.stood = still_standing(self.stood, living, now_ns)

    def _recordings(self) -> list[str]:
        return [path.name for path in self._directory.glob("*.cuvet")]

    def _following(self, recordings: list[str]) -> Analysis | None:
        if self._analysis is None and recordings:
            import_numpy()
            from cuvet.analysis import Analysis  # start: only for programs that call CUDA
            from cuvet.recording.generated_code import Run  # start: only for programs that call CUDA

            self._analysis = Analysis(self._directory, Run(self._started_ns, self._argv), self._choice.hides)
        return self._analysis

    def _tell(self, findings: list[Finding]) -> None:
        color = self._color
        if color is None:
            return
        try:
            for finding in filter(None, map(self._choice.told, findings)):
                if finding.severity == "error":
                    from cuvet.reports import terminal  # start: only for findings

                    self._console = self._console or terminal.console(sys.stderr, color)
                    self._console.print(terminal.concise(finding), soft_wrap=True)
        except OSError:  # a full disk, or a pipe that nobody reads
            self._color = None

    def _look_for_drivers(self, recorded: set[int]) -> None:
        for pid in tree_of(self._pid):
            if pid not in recorded and pid not in self.past_shim:
                path = real_driver_in(pid)
                if path:
                    self.past_shim[pid] = path


def tree_of(pid: int) -> list[int]:
    """A process and its descendants, as far as they are visible."""
    found = [pid]
    for each in found:
        found += _children(Path(f"/proc/{each}/task"))
    return found


def environment_of(pid: int) -> dict[str, str]:
    """As it was at the start of the process; empty if that has ended or is another user's."""
    try:
        entries = os.fsdecode(Path(f"/proc/{pid}/environ").read_bytes()).split("\0")
    except OSError:
        return {}
    return {name: value for name, equals, value in (entry.partition("=") for entry in entries) if equals}


def _children(tasks: Path) -> list[int]:
    try:
        return [int(child) for task in os.listdir(tasks) for child in (tasks / task / "children").read_text().split()]
    except OSError:  # it ended meanwhile
        return []


def real_driver_in(pid: int) -> str | None:
    """The libcuda.so that the process has mapped, if it is not ours and ours is not there as well."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
    except OSError:
        return None
    paths = {line.split(None, 5)[5] for line in lines if "/libcuda.so" in line}
    return None if str(SHIM) in paths else next(iter(sorted(paths)), None)
