"""What ``import cuvet`` offers to Python programs. Nothing is imported before it is used; the analysis runs in a process of its own.

``active``, ``mark``, ``watch`` and ``found`` are for a program that runs under cuvet (``cuvet run -- python PROGRAM``, ``pytest --cuvet``);
``analyze``, ``check`` and ``explain`` do what the commands of these names do, anywhere.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cuvet import CuvetError, WatchError
from cuvet.testing import marks
from cuvet.testing.asking import Judge, is_recorded

if TYPE_CHECKING:
    from cuvet.findings import Finding, Report
    from cuvet.knowledge.explanation import Explanation
    from cuvet.source.tool.report import CheckReport
    from cuvet.testing.judge import Found

_LONGEST_MARK = 1000
_NOT_RECORDED = (
    "this process is not recorded: start the program with cuvet run -- python PROGRAM, or its tests with pytest --cuvet"
)


def active() -> bool:
    """Whether the CUDA calls of this process are recorded."""
    return is_recorded()


def mark(name: str) -> None:
    """Write a line beside the recording that says when the program got here (``marks.jsonl``, docs/recordings.md). Nothing is written where
    nothing is recorded, so that marks can stay in a program. ``name``: the first 1000 characters of it.

    Raises CuvetError if the line cannot be written.
    """
    if is_recorded():
        marks.write(Path(os.environ["CUVET_TRACE"]), mark=name[:_LONGEST_MARK])


@dataclass
class Seen:
    """What was found in a block. Both are empty until the block has ended."""

    findings: tuple[Finding, ...] = ()
    text: str = ""
    """The report on them, as it is shown in a terminal."""


@contextmanager
def watch(*, raises: bool = False) -> Iterator[Seen]:
    """Collect the findings about CUDA calls that are made in the block: of all threads of the process, and of processes that it started.

    ``raises``: raise WatchError at the end of the block if there is a finding of severity error. An exception of the block itself is left
    as it is. Raises CuvetError if the process is not recorded.
    """
    recorded = _recorded()
    begin, seen = recorded.ask(), Seen()
    try:
        yield seen
    finally:
        _fill(seen, recorded, begin)
    if raises and any(finding.severity == "error" for finding in seen.findings):
        raise WatchError(seen.text, seen.findings)


def _fill(seen: Seen, recorded: _Recorded, begin: int) -> None:
    end = recorded.ask()
    found = [each for each in recorded.found if begin < each.asked <= end]
    seen.findings = tuple(each.finding for each in found)
    seen.text = "\n\n".join(each.text for each in found)


def found() -> tuple[Finding, ...]:
    """All that was found so far in this process, and in others with the same recording: those that it started, and that started it. What
    shows only at the end of a process is not in it. Raises CuvetError if the process is not recorded."""
    recorded = _recorded()
    recorded.ask()
    return tuple(each.finding for each in recorded.found)


@dataclass
class Fault:
    """Calls that fail in a block of ``fail``. ``count``: how many have failed so far."""

    _number: int
    _ended: int | None = None

    @property
    def count(self) -> int:
        return int(_shim().cuvet_injected(self._number)) if self._ended is None else self._ended


@contextmanager
def fail(function: str, *, status: str | int, nth: int = 1, every: bool = False) -> Iterator[Fault]:
    """Let calls of a function fail in the block, before they reach the driver, so that a test can show what the program does then.

    ``function``: of the CUDA runtime (``cudaMalloc``; only one that makes, ends or uses an object, or gives a stream work, and not where
    the runtime is linked into the program), of the driver or of a library. ``status``: the name or the number of what it returns.
    ``nth``: which of its calls in the block, from 1, in any thread of the process; ``every``: all that follow, too. Blocks do not nest.

    Raises CuvetError if the process is not recorded, if the function or the status is not known, and at the end of the block if it was
    left without an exception and no call had failed: then the test would have shown nothing.
    """
    from cuvet.inject.named import fault_text

    text = fault_text(function, status, nth, 0 if every else nth)
    if not is_recorded():
        raise CuvetError(_NOT_RECORDED)
    if not _failing.acquire(blocking=False):
        raise CuvetError("calls fail already, in another block of cuvet.fail: such blocks do not nest")
    try:
        yield from _fail(function, text, nth)
    finally:
        _failing.release()


def _fail(function: str, text: str, nth: int) -> Iterator[Fault]:
    shim = _shim()
    fault = Fault(int(shim.cuvet_inject(text.encode())))
    if not fault._number:
        raise CuvetError(
            f"{function} cannot be made to fail in this process: it has made no CUDA call yet (make one before), or its calls are "
            "not recorded"
        )
    failed = False
    try:
        yield fault
    except BaseException:
        failed = True
        raise
    finally:
        fault._ended = fault.count
        shim.cuvet_inject(b"")
        if not failed and not fault._ended:
            raise CuvetError(
                f"no call of {function} was made to fail: the block made fewer than {nth}, the runtime is linked in, or it is a function "
                "that only asks or sets something"
            )


def _shim() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


class _Recorded:
    """What the judge of this process has said so far."""

    def __init__(self) -> None:
        self.found: list[Found] = []
        self.judge = Judge(Path(os.environ["CUVET_TRACE"]))
        self._answers = 0
        self._lock = threading.Lock()

    def ask(self) -> int:
        """The number of the answer."""
        import msgspec

        from cuvet.testing.judge import Answer

        with self._lock:
            for line in self.judge.ask():
                self.found += msgspec.json.decode(line, type=Answer).found
                self._answers += 1
            return self._answers - 1


_watched: _Recorded | None = None
_starting = threading.Lock()
_failing = threading.Lock()
"""Of the block in which calls fail."""


def _recorded() -> _Recorded:
    """That of this process: a child that was forked has another."""
    global _watched
    if not is_recorded():
        raise CuvetError(_NOT_RECORDED)
    with _starting:
        if _watched is None or _watched.judge.pid != os.getpid():
            _watched = _Recorded()
            atexit.register(_watched.judge.stop)
        return _watched


def analyze(path: str | os.PathLike[str], *, leaks: bool = False, memory: bool = False) -> Report:
    """The report on a recording, as ``cuvet analyze`` makes it. ``path``: its directory, or one above several. ``leaks``: also what was
    never freed; ``memory``: also what held memory. Raises CuvetError if there is no recording, or only damaged ones."""
    from cuvet.numeric import import_numpy

    import_numpy()
    from cuvet import analysis
    from cuvet.reports.ignored import is_ignored, without_ignored

    return without_ignored(analysis.analyze([Path(path)], leaks=leaks, memory=memory, ignored=is_ignored))


def explain(text: str | int, *, api: str | None = None) -> Explanation:
    """What an error's name, number or message means, or the errors in a log (a text of several lines), and what causes them, as ``cuvet
    explain`` says it; the cause that a rule finds, by its code or name. ``api``: whose a name or number is, for example ``cudnn``. Raises
    CuvetError if nothing is known about it."""
    from cuvet.knowledge import APIS, explanation, logs
    from cuvet.rules import rule_called

    if api is not None and api not in APIS:
        raise CuvetError(f"api is {api!r}: it must be one of {', '.join(APIS)}")
    words = str(text).strip()
    if "\n" in words:
        said = explanation.explain_log("text", logs.read(os.fsencode(words)))
    else:
        rule = rule_called(words)
        of_rule = explanation.explain_rule(rule) if rule else None
        said = (
            explanation.explain_cause(rule.name if rule else words) or of_rule or explanation.explain_text(words, api)
        )
    if said is None or not said.known:
        raise CuvetError(f"nothing is known to cuvet about {words[:200]!r}")
    return said


def check(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> CheckReport:
    """The findings in source code, as ``cuvet check`` makes them, in this process. ``paths``: files, and directories with those below
    them; or one of these.
    ``select``, ``ignore``: names, codes or patterns of rules. Raises CuvetError for a path that there is not, for an unknown rule, and
    where the extra ``cuvet[check]`` is not installed."""
    from cuvet.source.tool import session

    given = (paths,) if isinstance(paths, str | os.PathLike) else paths
    if not given:
        raise CuvetError("there is no path to check")
    request = session.Request(
        paths=tuple(map(Path, given)), select=tuple(select), ignore=tuple(ignore), processes=1, cached=False
    )
    todo = session.plan(request)
    return session.report(todo, session.check(todo))
