"""Judges many recordings, each where it lies, in processes of their own; only verdicts travel."""

from __future__ import annotations

import os
import resource
import signal
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path

import msgspec

from cuvet import CuvetError
from cuvet.analysis.verdicts import Options, Verdict, verdict_on
from cuvet.printable import valid

WORKER_BYTES = 1 << 30
"""Memory that is left for each process. One that has taken more ends after its recording, and another goes on."""
ATTEMPTS = 2
"""At a recording: a process may be killed that has nothing to do with it."""
_FORK = get_context("fork")
"""No thread runs when processes are started, and they have what is imported."""
_GOES_ON, _LAST = b"+", b"-"
"""Before an outcome: whether its process takes another recording."""
_PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that the process gets when the one that started it ends."""
DIED = "the process that judged it died twice, perhaps because there was not enough memory"


class Unreadable(msgspec.Struct, frozen=True, tag=True):
    """Why a recording has no verdict."""

    why: str


class Judged(msgspec.Struct, frozen=True, tag=True):
    verdict: Verdict


Judge = Callable[[Path, Options], Verdict]
Outcome = Judged | Unreadable
Tell = Callable[[int], None]
"""Is told how many more are done."""


def number_of_workers(recordings: int) -> int:
    """As many as there are processors for this process, and memory for."""
    return max(1, min(recordings, len(os.sched_getaffinity(0)), _available() // WORKER_BYTES))


def _available() -> int:
    """Bytes of memory, as far as /proc/meminfo tells."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return WORKER_BYTES
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), WORKER_BYTES)


def judged(
    directories: Sequence[Path],
    options: Options,
    processes: int,
    tell: Tell = lambda count: None,
    judge: Judge = verdict_on,
) -> list[Outcome]:
    """The outcome of each directory, in the same order. If a process dies, its recording is judged once more; if that one dies too,
    it is unreadable."""
    outcomes: dict[int, Outcome] = {}
    left, attempts = deque(range(len(directories))), Counter[int]()
    crew: list[_Worker] = []
    try:
        while len(outcomes) < len(directories):
            while left and len(crew) < processes:
                crew.append(_Worker(options, judge))
                _give(crew[-1], left, attempts, directories)
            ready = wait([worker.connection for worker in crew])
            for worker in [each for each in crew if each.connection in ready]:
                outcome = worker.take()
                if outcome is None and attempts[worker.number] < ATTEMPTS:
                    left.append(worker.number)
                else:
                    outcomes[worker.number] = outcome or Unreadable(why=f"{valid(directories[worker.number])}: {DIED}")
                    tell(1)
                if worker.goes_on and left:
                    _give(worker, left, attempts, directories)
                else:
                    worker.end()
                    crew.remove(worker)
    finally:
        for worker in crew:
            worker.end()
    return [outcomes[number] for number in range(len(directories))]


class _Worker:
    """A process that judges one recording after another. ``number``: of the one that it has; ``goes_on``: it can take another."""

    def __init__(self, options: Options, judge: Judge) -> None:
        self.number = -1
        self.goes_on = True
        self.connection, theirs = _FORK.Pipe()
        self._process = _FORK.Process(target=_serve, args=(theirs, options, judge), daemon=True)
        self._process.start()
        theirs.close()

    def give(self, number: int, directory: Path) -> None:
        self.number = number
        with suppress(OSError):  # it has died, which ``take`` will see
            self.connection.send_bytes(os.fsencode(directory))

    def take(self) -> Outcome | None:
        """None if the process has died."""
        try:
            answer = self.connection.recv_bytes()
        except (EOFError, OSError):
            self.goes_on = False
            return None
        self.goes_on = answer[:1] == _GOES_ON
        outcome: Outcome = msgspec.json.decode(answer[1:], type=Outcome)
        return outcome

    def end(self) -> None:
        self.connection.close()
        self._process.kill()
        self._process.join()


def _give(worker: _Worker, left: deque[int], attempts: Counter[int], directories: Sequence[Path]) -> None:
    number = left.popleft()
    attempts[number] += 1
    worker.give(number, directories[number])


def _serve(connection: Connection, options: Options, judge: Judge) -> None:
    """Ctrl-C reaches every process of a terminal, and the first one ends the others; if it is killed, the kernel does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from ctypes import CDLL  # start: only these processes need it

    CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    small = True
    while small:
        try:
            directory = Path(os.fsdecode(connection.recv_bytes()))
        except (EOFError, OSError):
            return
        told = answer(directory, options, judge)
        small = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10 < WORKER_BYTES
        connection.send_bytes((_GOES_ON if small else _LAST) + told)


def answer(directory: Path, options: Options, judge: Judge = verdict_on) -> bytes:
    """The outcome of one recording, as JSON."""
    return _encoded(_outcome(directory, options, judge), directory)


def _encoded(outcome: Outcome, directory: Path) -> bytes:
    try:
        return msgspec.json.encode(outcome)
    except ValueError as error:  # a text that is not Unicode, in a recording that somebody made up
        return msgspec.json.encode(Unreadable(why=f"{valid(directory)}: its verdict cannot be written: {error}"))


def _outcome(directory: Path, options: Options, judge: Judge) -> Outcome:
    try:
        return Judged(verdict=judge(directory, options))
    except CuvetError as error:
        return Unreadable(why=valid(str(error)))
    except OSError as error:
        return Unreadable(why=f"{valid(directory)}: {error.strerror}")
    except MemoryError:
        return Unreadable(why=f"{valid(directory)}: there is not enough memory to judge it")
    except Exception as error:  # a defect of cuvet must not cost the verdicts on the others; it is reported
        return Unreadable(
            why=f"{valid(directory)}: cuvet failed on it; please report this: {type(error).__name__}: {error}"
        )
