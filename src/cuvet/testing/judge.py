"""The process that judges the calls of a program while it runs, and says on request what it has found.

It is started without the shim, reads the recording, and serves one other process by its stdin and stdout: a line asks, a line answers. It
ends when its stdin does. Who does not want to wait writes marks with numbers (``marks.py``), and learns later, by lines that nobody asked
for, what was found before each of them.
"""

from __future__ import annotations

import difflib
import io
import os
import select
import sys
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from cuvet.findings import Finding, Frame
from cuvet.meta import Meta, read_meta
from cuvet.numeric import import_numpy
from cuvet.regular import open_regular
from cuvet.testing import marks

if TYPE_CHECKING:
    from cuvet.analysis import Analysis
    from cuvet.analysis.calls import RecordedCall
    from cuvet.launch.bound import Bound
    from cuvet.recording.records import CallRecord

_POLL_S = 0.2
_SOON_S = 0.02
"""Between polls while somebody waits for what was found up to some call."""
_PAUSES_S = (0, 0, 0.06, 0)
"""Between the polls for an answer. What is newer than 50 ms is held back if a poll finds that threads go on with calls (``SLACK_NS``)."""


class Question(msgspec.Struct, kw_only=True, omit_defaults=True):
    """``rules``: names of which it is asked whether there are such rules. ``test``: one that has ended, of which it is asked what it left
    behind: what the process ``pid`` made in it, and lives; ``parts``: the numbers of the answers that were about this test. ``stop``: the
    judge is to end. Without these it is asked what was found, for the answer with this ``number``, or with the next."""

    rules: tuple[str, ...] = ()
    test: str = ""
    pid: int = 0
    parts: frozenset[int] = frozenset()
    number: int | None = None
    stop: bool = False


class Mark(msgspec.Struct, frozen=True):
    """A mark with the ``number`` of an answer: what was found before it is asked. ``ticks``: when the process ``pid`` wrote it; ``calls``:
    how many calls its threads had made then."""

    number: int
    pid: int
    ticks: int
    calls: dict[int, int]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A finding, when its call was made, and the terminal's report of it. ``asked``: the number of the first answer before which the call
    had been made, from 0; who asks at the end of each test knows by it, and without clocks, whose call it was. ``time_ns``: of
    CLOCK_MONOTONIC, as good as the clock samples of the recording; 0 if that is not known."""

    finding: Finding
    asked: int
    time_ns: int
    text: str


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``asked``: false if this is told by itself. ``until``: the number behind that of the newest answer about what was found; 0 if this is
    no such answer. ``found``: since the last answer, or what a test left behind. ``once``: how many things it left behind that are made at
    places which left nothing behind in an earlier test: they may be kept from the first use on. ``calls``, ``processes``: how many were
    recorded until now. ``lost``: processes in which a context was lost and lives, with the answer before which that showed. ``unknown``:
    names that no rule has, each with a sentence. ``not_checked``: in the last answer, what could not be judged."""

    asked: bool = True
    until: int = 0
    found: tuple[Found, ...] = ()
    once: int = 0
    calls: int = 0
    processes: int = 0
    lost: dict[int, int] = {}
    unknown: dict[str, str] = {}
    not_checked: tuple[str, ...] = ()


class Watcher:
    """Follows the recording in a directory. ``asker``: the process that asks. ``bound``: its size is bounded."""

    def __init__(self, directory: Path, asker: int, *, bound: bool) -> None:
        import_numpy()
        from cuvet.analysis import Analysis
        from cuvet.cli import make_parser
        from cuvet.commands.run import DEFAULT_BOUND
        from cuvet.launch.bound import Bound
        from cuvet.recording.generated_code import Run
        from cuvet.reports import choice

        self._choice = choice.of(make_parser(("run",)).parse_args(["run", "--", "pytest"]))
        self._meta: Meta = read_meta(directory)
        self._analysis: Analysis = Analysis(
            directory, Run(time.time_ns(), self._meta.argv), self._choice.hides, before=self._before
        )
        self._bound: Bound = Bound(DEFAULT_BOUND if bound else None)
        self._answers = self._calls = 0
        self._left: dict[Frame, str] = {}
        """The first test that left something behind, by the place where that was made."""
        self._until: dict[tuple[int, int], list[tuple[int, int]]] = {}
        """By process and thread: how many calls it had made, and at which answer, where that was more than before."""
        self._asker = asker
        self._marks = Marks(directory, asker)
        self._open: deque[Mark] = deque()
        """Of what was found before them it is not known that that is all."""
        self._newest = 0
        """The ``ticks`` of the newest mark."""
        self._found: list[Found] = []
        """What was found before marks, and is not told yet."""
        self._of_others: list[Finding] = []
        """Those of processes other than the asker."""

    def poll(self) -> int:
        """Judge what is new; how many calls were read so far."""
        self._analysis.advance(running=True)
        processes = self._analysis.processes()
        self._bound.look_at([process.recording for process in processes])
        return sum(process.calls_read for process in processes)

    @property
    def is_awaited(self) -> bool:
        return bool(self._open)

    def _read_marks(self) -> None:
        for mark in self._marks.new():
            for thread, number in mark.calls.items():
                self._note(self._asker, thread, number)
            self._newest = mark.ticks
            self._answers = mark.number + 1
            self._open.append(mark)

    def _note(self, pid: int, thread: int, number: int) -> None:
        until = self._until.setdefault((pid, thread), [])
        if not until or until[-1][0] < number:
            until.append((number, self._answers))

    def _before(self, pid: int, call: CallRecord) -> None:
        """Before a call is judged: all is known that came before the marks which were written before it."""
        if pid != self._asker:
            return
        if call.entered > self._newest:
            self._read_marks()
        while self._open and self._open[0].ticks < call.entered:
            self._close()

    def _close(self) -> None:
        """The oldest mark: all that was found before it is known, of the process that wrote it."""
        self._take(self._open.popleft().number, only_askers=True)

    def _take(self, asked: int, *, only_askers: bool = False) -> None:
        """What was found before this answer, and was not known before the one before. Of other processes it is known only when somebody
        waits."""
        found = [*self._of_others, *filter(None, map(self._choice.told, self._analysis.take()))]
        self._of_others = [each for each in found if only_askers and each.site.process != self._asker]
        self._found += [self._told(each, asked) for each in found if each not in self._of_others]

    def known(self) -> Answer | None:
        """What was found before marks of which it was not known before; None if there are none."""
        self._read_marks()
        asked, known = self._answers, self._known()
        before, self._calls = self._calls, self.poll()
        if self._calls == before:  # all that was read is judged
            while self._open and self._open[0].number < asked:
                self._close()
        until = self._known()
        return self._answer(until, asked=False) if until > known else None

    def _known(self) -> int:
        return self._open[0].number if self._open else self._answers

    def answer(self, number: int | None) -> Answer:
        """What was found up to now."""
        for pause_s in _PAUSES_S:
            if pause_s:
                time.sleep(pause_s)
            before, self._calls = self._calls, self.poll()
            if self._calls == before:  # what is held back is judged only by a poll that finds no more
                break
        self._read_marks()
        while self._open:
            self._close()
        asked = self._answers = self._answers if number is None else number
        for process in self._analysis.processes():
            for thread, calls in process.recording.calls_of_thread.items():
                self._note(process.recording.pid, thread, calls)
        self._answers += 1
        self._take(asked)
        return self._answer(self._answers)

    def _answer(self, until: int, *, asked: bool = True) -> Answer:
        processes = self._analysis.processes()
        lost = {process.recording.pid: call for process in processes if (call := process.lost_by()) is not None}
        found, self._found = self._found, []
        return Answer(
            until=until,
            asked=asked,
            found=tuple(found),
            calls=sum(max(process.recording.calls_made, process.calls_read) for process in processes),
            processes=len(processes),
            lost={pid: self._asked(pid, call.thread, call.number) for pid, call in lost.items()},
        )

    def left_behind(self, question: Question) -> Answer:
        """After a test. What is made at the same place is one finding."""
        from cuvet.reports.terminal import located

        def is_of_test(call: RecordedCall) -> bool:
            return self._asked(question.pid, call.thread, call.number) in question.parts

        found: dict[Frame, Finding] = {}
        once = 0
        processes = [each for each in self._analysis.processes() if each.recording.pid == question.pid]
        for each in processes[-1].alive(is_of_test, "{} outlives the test that made it") if processes else ():
            place = next(iter(located(each.site)), None)
            if place is None or self._choice.told(each) is None:
                continue
            first = self._left.setdefault(place, question.test)
            if first == question.test:
                once += 1
            elif place in found:
                found[place] = replace(found[place], repeats=found[place].repeats + 1)
            else:
                because = (f"what this place made in {first} outlived that test, too",)
                found[place] = replace(each, severity="warning", because=because)
        told = (self._told(each, self._answers) for each in found.values())
        return Answer(found=tuple(told), once=once)

    def _told(self, finding: Finding, asked: int) -> Found:
        """``asked``: the number of the answer before which it was found; the call may have been made before an earlier one."""
        from cuvet.reports import terminal
        from cuvet.reports.selection import fitting

        out, site = io.StringIO(), finding.site
        terminal.render_finding(finding, self._meta.program, terminal.console(out, "never"), fitting(finding))
        return Found(
            finding=finding,
            asked=min(asked, self._asked(site.process, site.thread, site.call)),
            time_ns=self._time(site.process, site.time_ns),
            text=out.getvalue().rstrip(),
        )

    def _asked(self, pid: int, thread: int, call: int) -> int:
        """The number of the first answer before which a thread is known to have made its call of that number."""
        until = self._until.get((pid, thread), [])
        at = bisect_left(until, (call,))
        return until[at][1] if at < len(until) else self._answers

    def _time(self, pid: int, time_ns: int) -> int:
        """Of CLOCK_MONOTONIC, from nanoseconds since the first record of a process."""
        headers = (each.recording.header for each in self._analysis.processes() if each.recording.pid == pid)
        header = next(headers, None)
        return 0 if header is None else int(header["clock"][0][1]) + time_ns

    def stop(self) -> tuple[str, ...]:
        """What could not be judged, one sentence each."""
        from cuvet.analysis.unseen import not_seen

        self._bound.stop()
        processes = self._analysis.processes()
        said = (sentence for each in processes for sentence in (*each.not_checked, *not_seen(each.recording)))
        return tuple(dict.fromkeys([*said, *self._analysis.unreadable.values(), *self._bound.notes]))


def _answer(watcher: Watcher, question: Question) -> Answer:
    if question.rules:
        return Answer(unknown=unknown(question.rules))
    if question.stop:
        return Answer(not_checked=watcher.stop())
    return watcher.left_behind(question) if question.test else watcher.answer(question.number)


def unknown(names: Iterable[str]) -> dict[str, str]:
    """Those that are neither the code nor the name of a rule, with a sentence about each."""
    from cuvet.rules import all_rules

    known = {name.lower(): name for rule in all_rules() for name in (rule.code, rule.name)}
    sentences = {}
    for name in names:
        if name.lower() not in known:
            near = difflib.get_close_matches(name.lower(), known, n=1)
            hint = f"; did you mean {known[near[0]]}?" if near else ""
            sentences[name] = f"no rule is called {name!r}{hint} (see cuvet rules)"
    return sentences


class Marks:
    """Marks with numbers, as a process writes them."""

    def __init__(self, directory: Path, asker: int) -> None:
        self._asker = asker
        self._path = directory / marks.FILE
        self._file: io.FileIO | None = None
        self._rest = b""

    def new(self) -> Iterator[Mark]:
        """Those since this was asked last."""
        data = self._read()
        if not data:
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if b'"number"' in line:
                with suppress(msgspec.MsgspecError):  # else it is a mark of the program, with such a name
                    mark = _decode_mark(line)
                    if mark.pid == self._asker:
                        yield mark

    def _read(self) -> bytes:
        if self._file is None:
            try:
                self._file = io.FileIO(open_regular(self._path, follow=False))
            except OSError:  # there are none yet
                return b""
        return self._file.read() or b""


_decode_mark = msgspec.json.Decoder(Mark).decode


def main() -> int:
    """``DIR PID [bound]``."""
    watcher = Watcher(Path(sys.argv[1]), int(sys.argv[2]), bound=sys.argv[3:] == ["bound"])
    decode, rest, due = msgspec.json.Decoder(Question).decode, b"", time.monotonic()
    while True:
        if select.select([0], [], [], max(0, due - time.monotonic()))[0]:
            data = os.read(0, 1 << 16)
            if not data:
                watcher.stop()
                return 0
            *lines, rest = (rest + data).split(b"\n")
            for question in map(decode, lines):
                _write(_answer(watcher, question))
                if question.stop:
                    return 0
        if time.monotonic() >= due:
            if (known := watcher.known()) is not None:
                _write(known)
            due = time.monotonic() + (_SOON_S if watcher.is_awaited or known else _POLL_S)


def _write(answer: Answer) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()
