"""Follows a recording of this user while its program runs, and shows it on a terminal. The recording is only read."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import threading
import time
import tty
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from pathlib import Path
from typing import NoReturn

from cuvet import CuvetError
from cuvet.analysis import Analysis, read_meta
from cuvet.analysis.now import Now, now
from cuvet.launch import living
from cuvet.recording.reader import KEPT_SUFFIX
from cuvet.reports import live, terminal
from cuvet.reports.ignored import is_ignored
from cuvet.reports.live import Moment, View

_REFRESH_S = 1.0
_LEAST_PAUSE_S = 0.2
_NICENESS = 10
_KEYS = {
    b"\x1b[A": "up",
    b"\x1b[B": "down",
    b"\x1bOA": "up",
    b"\x1bOB": "down",
    b"\r": "enter",
    b"\n": "enter",
    b"\x1b": "escape",
}
"""What a terminal sends for keys that are no letters: ECMA-48 cursor keys, also in application mode."""


def directory_of(what: str | None) -> Path:
    """Of a directory or a process; for None of the recorded process of this user that began last and lives. CuvetError if there is none."""
    if what is None:
        return living.newest()
    return Path(what) if not what.isdecimal() or Path(what).is_dir() else living.directory_of(int(what))


def moments(directory: Path, clock: Callable[[], float] = time.monotonic) -> Iterator[Moment]:
    """How it is whenever the next one is asked for. CuvetError if there is no recording."""
    meta = read_meta(directory)
    calls, at = None, 0.0
    entered: dict[tuple[int, int], tuple[int, float]] = {}
    for found in _looks(directory):
        seconds = clock()
        within = {(each.process, each.thread): each.number for each in found.threads if each.call is not None}
        entered = {
            key: entered[key] if key in entered and entered[key][0] == number else (number, seconds)
            for key, number in within.items()
        }
        since = {key: seconds - began for key, (_, began) in entered.items()}
        rate = (found.calls - calls) / (seconds - at) if calls is not None and seconds > at else None
        yield Moment(meta.program, found, rate, since)
        calls, at = found.calls, seconds
        with suppress(CuvetError):  # it was deleted: what was read stays
            meta = read_meta(directory)


def _looks(directory: Path) -> Iterator[Now]:
    """What is read each time. It begins anew where a recording was shortened (``--bound``): what was not read yet may not be there now."""
    analysis, kept = None, _kept(directory)
    while True:
        if analysis is None or _kept(directory) != kept:
            kept, analysis = _kept(directory), Analysis(directory, ignored=is_ignored)
            analysis.advance(running=True)  # the newest calls of a poll are delivered with the next one
        analysis.advance(running=bool(analysis.still_running()))
        analysis.require_readable()
        if _kept(directory) == kept:
            yield now(analysis)


def _kept(directory: Path) -> frozenset[int]:
    """The files beside recordings that were shortened."""
    found = set()
    for file in directory.glob(f"*{KEPT_SUFFIX}"):
        with suppress(OSError):
            found.add(file.stat().st_ino)
    return frozenset(found)


def is_interactive() -> bool:
    """Whether there is a terminal for the page and for its keys."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown")


def print_once(directory: Path) -> None:
    """What is there now, on stdout."""
    console = terminal.console(sys.stdout)
    for text in live.lines(next(moments(directory))):
        console.print(text, soft_wrap=True)


def show(directory: Path) -> None:
    """The page, until somebody quits."""
    program = read_meta(directory).program  # a mistake is told before the page is there
    looked = moments(directory)
    latest: deque[Moment | BaseException] = deque([Moment(program)], maxlen=1)
    stop = threading.Event()
    context = copy_context()  # with what `only_below` says of sources
    threading.Thread(target=lambda: context.run(_look, looked, latest, stop), daemon=True).start()
    console = terminal.console(sys.stdout)
    descriptor, view = sys.stdin.fileno(), View()
    with _one_key_at_a_time(descriptor), console.screen() as screen:
        while not stop.is_set():
            moment = latest[0]
            if isinstance(moment, BaseException):
                raise moment
            screen.update(*live.page(moment, view, console, *console.size))
            for key in _keys(descriptor):
                if key == "q":
                    stop.set()
                bottom = live.bottom(moment, view, console, *console.size)
                view = live.pressed(view, key, moment, bottom)


def _look(looked: Iterator[Moment], latest: deque[Moment | BaseException], stop: threading.Event) -> None:
    """By another thread, so that keys do not wait for it. It leaves the cores to the program."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
    try:
        while not stop.is_set():
            began = time.monotonic()
            latest.append(next(looked))
            stop.wait(max(_LEAST_PAUSE_S, _REFRESH_S - (time.monotonic() - began)))
    except BaseException as error:
        latest.append(error)


@contextmanager
def _one_key_at_a_time(descriptor: int) -> Iterator[None]:
    """The terminal gives each key at once, and is as before at the end, also if somebody ends cuvet."""
    before = termios.tcgetattr(descriptor)
    handler = signal.signal(signal.SIGTERM, _end)
    try:
        tty.setcbreak(descriptor)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTERM, handler)


def _end(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)


def _keys(descriptor: int) -> Iterator[str]:
    """The keys of up to a second; ``q`` if nobody can press any more."""
    if not select.select([descriptor], [], [], _REFRESH_S)[0]:
        return
    data = os.read(descriptor, 64)
    if not data:
        yield "q"
    while data:
        sent = next((each for each in _KEYS if data.startswith(each)), data[:1])
        data = data[len(sent) :]
        yield _KEYS.get(sent) or sent.decode("ascii", "replace")
