"""What the plugin does in a session under the shim: it asks the judge after each test, and fails the test whose calls were wrong."""

from __future__ import annotations

import gc
import os
import re
import shlex
import unittest
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from json import dumps
from os import getpid
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol

from cuvet import CuvetError
from cuvet.printable import printable
from cuvet.sizes import counted
from cuvet.testing import markers, marks
from cuvet.testing.asking import OWN_RECORDING, Judge, position, records_races
from cuvet.testing.expected import Expected
from cuvet.testing.held import MOST_HELD, Children, Held, holds

_SEVERITIES = ("error", "warning", "note")
_MOST_LATE = 100
_RACE = "race-"
"""With which the names of rules about races begin."""
_WITHOUT_RACES = "the marker has races=True, for which the session needs --cuvet-races"
_AFTER = "after "
_SHARED = ", which was set up for "
_PASSED = pytest.StashKey[bool]()
_OF_XUNIT = re.compile(r"_(?:xunit|unittest)_\w+?_fixture_(.+)")
_PHASES: dict[str, str] = {"setup": "set-up of the test", "call": "", "teardown": "tear-down of the test"}


class Part(NamedTuple):
    """What came before an answer of the judge: a test, or words for what was outside of all tests; what of the test, if it was not the
    test itself; and in which phase."""

    test: str
    during: str = ""
    phase: str = ""


@dataclass
class Totals:
    """What the last lines of the session are made of. ``late``: reports that belong to no test which could still fail; ``failing``: whether
    one of them should have failed it."""

    recordings: str
    """For a shell."""
    session: str = ""
    """The directory of the recording, if nobody else tells how large all of them are."""
    device: str = ""
    """Part of a sentence; empty for a GPU."""
    findings: dict[str, int] = field(default_factory=dict)
    """By severity."""
    tests: int = 0
    """With findings."""
    calls: int = 0
    processes: int = 0
    late: list[str] = field(default_factory=list)
    failing: bool = False
    expected: int = 0
    """Calls that failed, as their tests expect."""
    left_once: int = 0
    """Things that outlived their test, of places that did not do so twice."""
    problems: list[str] = field(default_factory=list)

    def count(self, severities: Iterable[str]) -> None:
        self.findings = dict(Counter(self.findings) + Counter(severities))

    def add(self, other: dict[str, Any]) -> None:
        self.findings = dict(Counter(self.findings) + Counter(other["findings"]))
        for name in ("tests", "calls", "processes", "expected", "left_once", "late", "problems"):
            setattr(self, name, getattr(self, name) + other[name])
        self.failing |= other["failing"]

    def show(self, reporter: pytest.TerminalReporter) -> None:
        if self.late:
            reporter.section("cuvet: found too late, or outside of all tests")
        for text in self.late:
            reporter.write_line(text)
        for problem in dict.fromkeys(self.problems):
            reporter.write_line(f"cuvet: {printable(problem)}", red=True)
        reporter.write_line(f"cuvet: {self._summary()}", red=bool(self.findings.get("error")))
        if self.expected:
            reporter.write_line(
                f"cuvet: {counted(self.expected, 'failure')} that tests expect (pytest.raises): no finding"
            )
        if self.left_once:
            left = f"{counted(self.left_once, 'object')} outlived a test, of places that left nothing behind in an earlier test"
            reporter.write_line(f"cuvet: {left}: see cuvet analyze --leaks")
        reporter.write_line(f"cuvet: look again: cuvet analyze {self.recordings}")
        self._show_size(reporter)

    def _show_size(self, reporter: pytest.TerminalReporter) -> None:
        from cuvet.launch import trace
        from cuvet.reports.summary import MANY_BYTES, all_kept

        kept = trace.size_of_all() if self.session else 0
        if kept >= MANY_BYTES:
            reporter.write_line(f"cuvet: {all_kept(Path(self.session).parent, kept)}")

    def _summary(self) -> str:
        if not self.calls:
            return "no CUDA call was seen"
        counts = ((self.findings.get(each, 0), each) for each in _SEVERITIES)
        found = ", ".join(counted(count, each) for count, each in counts if count or each == "error")
        tests = f" in {counted(self.tests, 'test')}" if self.tests else ""
        judged = f"{counted(self.calls, 'CUDA call')} of {counted(self.processes, 'process')} judged"
        return f"{found}{tests}; {judged}{self.device}"


def _totals(recordings: str) -> Totals:
    """Of a session that begins, with what its environment says: tests may change that."""
    emulated = bool(os.environ.get("CUVET_DEVICE_SOCKET"))
    return Totals(
        recordings=recordings,
        session=os.environ["CUVET_TRACE"] if os.environ.get(OWN_RECORDING) else "",
        device=", on the emulated device" if emulated else "",
    )


class Merged:
    """In the process that distributes tests to workers: sums what they say."""

    def __init__(self) -> None:
        self._directory = Path(os.environ["CUVET_TRACE"])
        self.totals = _totals(f"{shlex.quote(str(self._directory))}/gw*")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", None) or {}
        if "cuvet" in output:
            self.totals.add(output["cuvet"])

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, report: Any) -> None:
        """What the recording has of the test that ended a worker."""
        directory = self._directory / str(report.node.gateway.id)
        test = marks.running(directory)
        if test is None:
            return
        judge = Judge(directory)
        try:
            answer = judge.found(0)
        except CuvetError as error:
            self.totals.problems.append(f"{report.nodeid}: {error}")
            return
        finally:
            judge.stop()
        found = [each for each in answer["found"] if each["time_ns"] >= test.time_ns or each["finding"].get("signal")]
        report.sections += [("cuvet", each["text"]) for each in found]
        report.user_properties = _with_rules(report.user_properties, found)
        self.totals.count(each["finding"]["severity"] for each in found)
        self.totals.tests += bool(found)
        self.totals.calls += answer.get("calls", 0)
        self.totals.processes += answer.get("processes", 0)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        _fail_late(session, self.totals)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self.totals.show(terminalreporter)


class Checked:
    """In a process that runs tests."""

    def __init__(self, config: pytest.Config) -> None:
        self._directory = Path(os.environ["CUVET_TRACE"])
        self._marks = str(self._directory / marks.FILE)
        self.totals = _totals(shlex.quote(str(self._directory)))
        self._pid = getpid()
        self._expected = Expected()
        self._expected.watch()
        self._judge: Judge | None = Judge(self._directory, bound=bool(os.environ.get(OWN_RECORDING)))
        self._failing = _SEVERITIES[: _SEVERITIES.index(config.option.cuvet_fail_on) + 1]
        self._config = config
        self._parts: list[Part] = []
        """What came before each answer of the judge."""
        self._first = 0
        """The number of the first answer that is about the present test."""
        self._doing = [Part("before the first test")]
        """The present part, after those that it is in."""
        self._pending: list[Any] = []
        """Findings that no test has been told of yet."""
        self._lost_by = ""
        """The test that lost a context of this process."""
        self._lost_at: int | None = None
        """In which part that was."""
        self._ignored: dict[str, set[str]] = {}
        """By test: the rules that its markers name."""
        self._without_races: set[str] = set()
        """Tests whose markers say that races are not reported."""
        self._looks_for_leaks: bool = config.option.cuvet_leaks
        """After each test, also if it has no leaks reported: what is kept from its first use on is known only so."""
        self._blamed: set[str] = set()
        self._unknown: dict[str, str] = {}
        """Names in markers that no rule has, with a sentence about each."""
        self._holds = False
        """Tests do not wait for the judge."""
        self._is_held = False
        """The present test does not."""
        self._held: deque[Held] = deque()
        self._telling = False
        """Pytest is given the reports of one that was held."""
        self._until = 0
        """How many answers are known."""
        self._children = Children()
        self._heard: set[tuple[object, ...]] = set()
        """Findings that have come."""

    # Which tests there are.

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        named = {item.nodeid: names for item in session.items if (names := markers.ignored_rules(item))}
        self._ignored = {test: {name.lower() for name in names} for test, names in named.items()}
        self._without_races = {item.nodeid for item in session.items if markers.wanted(item, "races") is False}
        self._looks_for_leaks |= any(markers.wanted(item, "leaks") for item in session.items)
        in_vain = list(filter(_asks_in_vain, session.items))
        if in_vain and not hasattr(
            self._config, "workerinput"
        ):  # xdist takes no error of a worker: there the test fails
            raise pytest.UsageError(f"{in_vain[0].nodeid}: {_WITHOUT_RACES}")
        self._holds = self._is_held = not self._looks_for_leaks and holds(self._config)
        self._pass()
        if named and self._judge is not None:
            self._unknown = self._judge.unknown(list(dict.fromkeys(chain.from_iterable(named.values()))))
        if not self._holds:
            self._say_late()

    # What a test does.

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, Any, Any]:
        try:
            return (yield)
        finally:
            self._tell_held(wait=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run the test, and let pytest have its reports later; None if pytest is to run it, and the test waits for the judge."""
        self._is_held = self._holds and self._judge is not None
        if not self._is_held:
            self._tell_held(wait=True)
            return None
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        self._held.append(Held(item, reports, self._first, len(self._parts) - 1))
        self._tell_held(wait=len(self._held) > MOST_HELD or self._held[0].is_old)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self) -> None:
        """What pytest says while a test runs, of its subtests, comes after the reports of the tests before."""
        if not self._telling:
            self._tell_held(wait=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        __tracebackhide__ = True
        if self._lost_by:
            item.add_marker(pytest.mark.skip(self._lost_reason))
        result = yield from self._timed(item, "setup")
        if not self._is_held:
            self._collect()
        if item.get_closest_marker("cuvet") is not None:
            self._look_at_markers(item)
        return result

    def _look_at_markers(self, item: pytest.Item) -> None:
        unknown = map(self._unknown.get, markers.ignored_rules(item))
        vain = [_WITHOUT_RACES] if _asks_in_vain(item) else []
        for mistake in filter(None, [*markers.mistakes(item), *vain, *unknown]):
            pytest.fail(f"@pytest.mark.cuvet: {mistake}", pytrace=False)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        __tracebackhide__ = True
        return self._checked(item, "call", (yield from self._timed(item, "call")))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        __tracebackhide__ = True
        return self._checked(item, "teardown", (yield from self._timed(item, "teardown")))

    def _timed(self, item: pytest.Item, phase: marks.Phase) -> Generator[None, Any, Any]:
        """What the phase returns; if it raises, what was found stands beside that, but is worse than a skip."""
        self._begin(Part(item.nodeid, _PHASES[phase], phase))
        if phase == "setup":
            self._first = len(self._parts)
        __tracebackhide__ = True
        try:
            return (yield)
        except (pytest.skip.Exception, unittest.SkipTest):
            if told := self._looked(item, phase, fail=True):
                pytest.fail(told, pytrace=False)
            raise
        except (KeyboardInterrupt, pytest.exit.Exception):  # the session ends
            raise
        except BaseException:
            self._looked(item, phase)
            raise
        finally:
            if phase == "teardown":
                self._end(item.nodeid)

    def _checked(self, item: pytest.Item, phase: marks.Phase, result: Any) -> Any:
        """The result of a phase that raised nothing, unless it fails for what was found."""
        if phase == "teardown" and self._looks_for_leaks and item.stash.get(_PASSED, False):
            self._look_for_leaks(item)
        if phase == "call":
            item.stash[_PASSED] = True
        raised = getattr(item, "_excinfo", None) or []  # there pytest keeps what a unittest.TestCase raised
        told = self._looked(item, phase, fail=all(isinstance(each.value, pytest.skip.Exception) for each in raised))
        if told:
            raised.clear()
            pytest.fail(told, pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """A fixture that several tests share. If it has parameters, pytest tears it down in the set-up of a test that needs another one."""
        __tracebackhide__ = True
        if fixturedef.scope == "function":
            return (yield)
        needed_by = self._doing[-1].test
        self._enter(f"set-up of {_called(fixturedef)}")
        try:
            return (yield)
        finally:
            self._leave()
            during = f"{_torn_down(fixturedef)}{_SHARED}{needed_by}"
            fixturedef.addfinalizer(lambda: self._enter(during))

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        if self._doing[-1].during.startswith(f"{_torn_down(fixturedef)}, "):
            self._leave()

    def _enter(self, during: str) -> None:
        self._pass()
        self._doing.append(self._doing[-1]._replace(during=during))

    def _leave(self) -> None:
        self._pass()
        self._doing.pop()

    @pytest.hookimpl(trylast=True)  # fixtures can end there
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if getpid() != self._pid:  # a child that a test forked goes on as if it were pytest
            return
        self._expected.unwatch()
        self._mark("", "end")  # of all tests: whoever started pytest need not report
        if self._parts:  # else the collection failed
            self._doing[:] = [Part("after the last test")]
        self._collect()
        self._first = len(self._parts)
        self._say_late()
        if self._judge is not None:
            self.totals.problems += [f"not checked: {sentence}" for sentence in self._judge.stop()]
            self._judge = None
        self.totals.tests = len(self._blamed)
        if self._lost_by:
            self._say(f"{self._lost_by} lost the CUDA context: later tests of its process were skipped")
        if (self._directory / "unsupported").exists():
            from cuvet.launch.unsupported import sentence

            self._say(sentence(self._directory), failing=True)
        _fail_late(session, self.totals)
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["cuvet"] = asdict(self.totals)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self.totals.show(terminalreporter)

    # What was found.

    @property
    def _lost_reason(self) -> str:
        return f"cuvet: {self._lost_by} lost the CUDA context of this process"

    def _begin(self, part: Part) -> None:
        """Of a test."""
        self._mark(part.test, part.phase)
        self._doing[:] = [part]

    def _end(self, test: str) -> None:
        self._mark(test, "end")
        if self._is_held:
            self._doing[:] = [Part("", f"{_AFTER}{test}")]

    def _pass(self) -> None:
        """A part ends; what was found in it is asked, and waited for unless the test is held."""
        if self._is_held:
            self._write(self._asked())
        else:
            self._collect()

    def _mark(self, test: str, phase: str) -> None:
        """A phase begins. If the test is held, what was found before is asked."""
        asked = self._asked() if self._is_held else f'"pid": {getpid()}'
        names = self._ignored.get(test, ()) if phase != "end" else ()
        ignore = f', "ignore": {dumps(sorted(names))}' if names else ""
        self._write(f'{asked}, "test": {dumps(test)}, "phase": "{phase}"{ignore}')

    def _asked(self) -> str:
        """Members of a mark that ask about the present part."""
        self._parts.append(self._doing[-1])
        return f'{position()}, "number": {len(self._parts) - 1}'

    def _write(self, members: str) -> None:
        if getpid() != self._pid:
            return
        try:
            marks.add(self._marks, f'{{"time_ns": {marks.now()}, {members}}}')
        except CuvetError as error:
            self._say(str(error))

    def _looked(self, item: pytest.Item, phase: marks.Phase, *, fail: bool = False) -> str:
        """``_look``, unless the test is held: then what fails it shows later. A test that is expected to fail is waited for, and so is one
        that started a process: when that made its calls nobody else can tell."""
        if self._is_held and not (self._children.any() or item.get_closest_marker("xfail")):
            return ""
        return self._look(item, phase, fail=fail)

    def _tell_held(self, *, wait: bool = False) -> None:
        """Let pytest have the reports of tests of which it is known what was found in them; with ``wait`` of all."""
        if self._held and self._judge is not None:
            self._collect() if wait else self._hear_of(self._judge.told)
        while self._held and (self._held[0].last < self._until or self._judge is None):
            self._finish(self._held.popleft())

    def _finish(self, held: Held) -> None:
        """Put into the reports of a test what was found in it."""
        own, self._pending = self._taken(lambda each: held.first <= each["asked"] <= held.last)
        if self._lost_at is not None and held.first > self._lost_at:
            parts = self._parts[held.first : held.last + 1]
            held.skip(self._lost_reason, ends_others=any(_SHARED in part.during for part in parts))
        elif own:
            self._put(held, own)
        self._telling = True
        held.tell()
        self._telling = False

    def _put(self, held: Held, own: list[Any]) -> None:
        self._count(held.item, own)
        held.set_properties(held.item.user_properties)
        for phase in ("call", "teardown"):
            of_phase = [
                each for each in own if (self._parts[each["asked"]].phase == "teardown") is (phase == "teardown")
            ]
            failing = [] if held.failed(phase) else [each for each in of_phase if self._fails(each)]
            for each in of_phase:
                if each not in failing:
                    held.add_section(phase, self._told(each))
            if failing:
                held.fail(phase, "\n\n".join(map(self._told, failing)))

    def _look(self, item: pytest.Item, phase: marks.Phase, *, fail: bool = False) -> str:
        """The reports of what fails the test, with ``fail``; all else that was found becomes a section of the test's report."""
        self._collect()
        self._tell_held()
        own, self._pending = self._taken(lambda each: each["asked"] >= self._first)
        self._say_late()
        if own:
            self._count(item, own)
        failing = [each for each in own if fail and self._fails(each)]
        for each in own:
            if each not in failing:
                item.add_report_section(phase, "cuvet", self._told(each))
        return "\n\n".join(map(self._told, failing))

    def _taken(self, is_own: Callable[[Any], bool]) -> tuple[list[Any], list[Any]]:
        """Of what no test has been told of: a test's own, without what is ignored or expected there; the rest."""
        own, rest = [], []
        for each in self._pending:
            if not is_own(each):
                rest.append(each)
            elif self._expected.has(each["finding"]):
                self.totals.expected += each["finding"]["repeats"]
            elif not self._is_ignored(each):
                own.append(each)
        return own, rest

    def _count(self, item: pytest.Item, own: list[Any]) -> None:
        self._blamed.add(item.nodeid)
        self.totals.count(each["finding"]["severity"] for each in own)
        item.user_properties[:] = _with_rules(item.user_properties, own)

    def _fails(self, found: Any) -> bool:
        return found["finding"]["severity"] in self._failing

    def _look_for_leaks(self, item: pytest.Item) -> None:
        """What the test made and nobody holds any more is gone then. What a test that failed made can live in its traceback."""
        self._collect()
        getattr(item, "funcargs", {}).clear()
        gc.collect()
        self._collect()
        if self._judge is None:
            return
        numbers = range(self._first, len(self._parts))
        own = [number for number in numbers if self._parts[number].during in _PHASES.values()]  # not of shared fixtures
        answer = self._judge.left_behind(item.nodeid, own)
        told = markers.wanted(item, "leaks")
        if self._config.option.cuvet_leaks if told is None else told:
            self._pending += answer.get("found", ())
            self.totals.left_once += answer.get("once", 0)

    def _say_late(self) -> None:
        """What was found when the test that made the call had been reported, or is outside of all tests."""
        if self._held:
            return
        for each in self._pending:
            if self._is_ignored(each):
                continue
            severity = each["finding"]["severity"]
            self.totals.count([severity])
            self.totals.failing |= severity in self._failing
            if len(self.totals.late) < _MOST_LATE:
                self.totals.late.append(self._text(each, ", ".join(filter(None, self._parts[each["asked"]][:2]))))
        self._pending.clear()

    def _is_ignored(self, found: Any) -> bool:
        """Whether the test that made the call has a marker for the rule, or against races."""
        test, name = self._parts[found["asked"]].test, found["finding"]["name"]
        if test in self._without_races and name.startswith(_RACE):
            return True
        return not {found["finding"]["rule"].lower(), name}.isdisjoint(self._ignored.get(test, ()))

    def _told(self, found: Any) -> str:
        return self._text(found, self._parts[found["asked"]].during)

    def _text(self, found: Any, during: str) -> str:
        """The report, with what of the test it was, and which process if it was not that of the test."""
        process = found["finding"]["site"]["process"]
        where = f"process {process}, which is not that of the test" if process != getpid() else ""
        return "\n".join([found["text"], *(f"   = during: {each}" for each in (during, where) if each)])

    def _say(self, problem: str, *, failing: bool = False) -> None:
        self.totals.problems.append(problem)
        self.totals.failing |= failing

    def _collect(self) -> None:
        """Ask the judge, and wait: the answer is about the present part."""
        if self._judge is not None:
            self._parts.append(self._doing[-1])
            self._hear_of(partial(self._judge.found, len(self._parts) - 1))

    def _hear_of(self, ask: Callable[[], Any]) -> None:
        """If the judge has ended, that is told once, and fails the session."""
        if getpid() != self._pid:
            return
        try:
            answer = ask()
        except CuvetError as error:
            part = self._doing[-1]
            self._say(f"{error} ({part.test or part.during.removeprefix(_AFTER)})", failing=True)
            self._judge = None
            answer = self._judged_again() if self._held else None
        if answer is not None:
            self._hear(answer)

    def _judged_again(self) -> Any:
        """What a new judge says of the tests that are held, as the recording and the marks have it."""
        judge = Judge(self._directory)
        try:
            answer = judge.found(len(self._parts))
        except CuvetError:
            return None
        finally:
            judge.stop()
        self._parts.append(self._doing[-1])
        return answer

    def _hear(self, answer: Any) -> None:
        for each in answer["found"]:
            key = _identity(each["finding"])
            if key not in self._heard:
                self._heard.add(key)
                self._pending.append(each)
        self._until = answer.get("until", 0)
        self.totals.calls, self.totals.processes = answer.get("calls", 0), answer.get("processes", 0)
        self._holds &= (
            self.totals.processes < 2
        )  # by the clocks of two processes what is meant for one test could fail another
        lost = answer.get("lost", {}).get(str(self._pid))
        if lost is not None and not self._lost_by:
            self._lost_at, self._lost_by = lost, self._parts[lost].test or self._parts[lost].during


def _identity(finding: Any) -> tuple[object, ...]:
    """Equal for findings that are told twice: a call that lost a context is one again for each that shows it."""
    site = finding["site"]
    return finding["rule"], site["process"], site["thread"], site["call"], finding["message"]


def _called(fixturedef: pytest.FixtureDef[Any]) -> str:
    """``setup_class`` and the like are fixtures with a name that pytest makes; the class or module is named instead."""
    if of := _OF_XUNIT.fullmatch(fixturedef.argname):
        return f"{fixturedef.scope} {of[1]}"
    return f"fixture {fixturedef.argname} (scope {fixturedef.scope})"


def _torn_down(fixturedef: pytest.FixtureDef[Any]) -> str:
    return f"tear-down of {_called(fixturedef)}"


def _with_rules(properties: Iterable[tuple[str, object]], found: Iterable[Any]) -> list[tuple[str, object]]:
    """The properties of a test's report, of which ``cuvet`` has the codes of all rules that were found."""
    known = dict(properties).get("cuvet")
    codes = dict.fromkeys([*(str(known).split(",") if known else ()), *(each["finding"]["rule"] for each in found)])
    others = [each for each in properties if each[0] != "cuvet"]
    return [*others, ("cuvet", ",".join(codes))] if codes else others


def _asks_in_vain(item: pytest.Item) -> bool:
    """Whether a marker asks for races, and the session does not record what they show in."""
    return markers.wanted(item, "races") is True and not records_races()


def _fail_late(session: pytest.Session, totals: Totals) -> None:
    if totals.failing and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
