"""What the plugin does in a session under the shim: it asks the judge after each test, and fails the test whose calls were wrong."""

from __future__ import annotations

import gc
import os
import re
import shlex
from collections import Counter
from collections.abc import Generator, Iterable
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cuvet import CuvetError
from cuvet.printable import printable
from cuvet.sizes import counted
from cuvet.testing import markers, marks
from cuvet.testing.asking import OWN_RECORDING, Judge, records_races

_SEVERITIES = ("error", "warning", "note")
_PLAIN = (Exception, pytest.fail.Exception)
"""With what a phase of a test can end, other than the session."""
_MOST_LATE = 100
_RACE = "race-"
"""With which the names of rules about races begin."""
_WITHOUT_RACES = "the marker has races=True, for which the session needs --cuvet-races"
_PASSED = pytest.StashKey[bool]()
_OF_XUNIT = re.compile(r"_(?:xunit|unittest)_\w+?_fixture_(.+)")
_PHASES: dict[str, str] = {"setup": "set-up of the test", "call": "", "teardown": "tear-down of the test"}


class Part(NamedTuple):
    """What came before an answer of the judge: a test, or words for what was outside of all tests; and what of the test, if it was not the
    test itself."""

    test: str
    during: str = ""


@dataclass
class Totals:
    """What the last lines of the session are made of. ``late``: reports that belong to no test which could still fail; ``failing``: whether
    one of them should have failed it."""

    recordings: str
    """For a shell."""
    findings: dict[str, int] = field(default_factory=dict)
    """By severity."""
    tests: int = 0
    """With findings."""
    calls: int = 0
    processes: int = 0
    late: list[str] = field(default_factory=list)
    failing: bool = False
    left_once: int = 0
    """Things that outlived their test, of places that did not do so twice."""
    problems: list[str] = field(default_factory=list)

    def count(self, severities: Iterable[str]) -> None:
        self.findings = dict(Counter(self.findings) + Counter(severities))

    def add(self, other: dict[str, Any]) -> None:
        self.findings = dict(Counter(self.findings) + Counter(other["findings"]))
        for name in ("tests", "calls", "processes", "left_once", "late", "problems"):
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
        if self.left_once:
            left = f"{counted(self.left_once, 'object')} outlived a test, of places that left nothing behind in an earlier test"
            reporter.write_line(f"cuvet: {left}: see cuvet analyze --leaks")
        reporter.write_line(f"cuvet: look again: cuvet analyze {self.recordings}")
        self._show_size(reporter)

    def _show_size(self, reporter: pytest.TerminalReporter) -> None:
        from cuvet.launch import trace
        from cuvet.reports.summary import MANY_BYTES, all_kept

        kept, session = trace.size_of_all(), Path(os.environ["CUVET_TRACE"])
        if kept >= MANY_BYTES and os.environ.get(OWN_RECORDING):
            reporter.write_line(f"cuvet: {all_kept(session.parent, kept)}")

    def _summary(self) -> str:
        if not self.calls:
            return "no CUDA call was seen"
        counts = ((self.findings.get(each, 0), each) for each in _SEVERITIES)
        found = ", ".join(counted(count, each) for count, each in counts if count or each == "error")
        tests = f" in {counted(self.tests, 'test')}" if self.tests else ""
        device = ", on the emulated device" if os.environ.get("CUVET_DEVICE_SOCKET") else ""
        return (
            f"{found}{tests}; {counted(self.calls, 'CUDA call')} of {counted(self.processes, 'process')} judged{device}"
        )


class Merged:
    """In the process that distributes tests to workers: sums what they say."""

    def __init__(self) -> None:
        self._directory = Path(os.environ["CUVET_TRACE"])
        self.totals = Totals(recordings=f"{shlex.quote(str(self._directory))}/gw*")

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
            answer = judge.found()
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
        self.totals = Totals(recordings=shlex.quote(str(self._directory)))
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
        self._ignored: dict[str, set[str]] = {}
        """By test: the rules that its markers name."""
        self._without_races: set[str] = set()
        """Tests whose markers say that races are not reported."""
        self._looks_for_leaks: bool = config.option.cuvet_leaks
        """After each test, also if it has no leaks reported: what is kept from its first use on is known only so."""
        self._blamed: set[str] = set()
        self._unknown: dict[str, str] = {}
        """Names in markers that no rule has, with a sentence about each."""

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
        self._collect()
        if named and self._judge is not None:
            self._unknown = self._judge.unknown(list(dict.fromkeys(chain.from_iterable(named.values()))))
        self._say_late()

    # What a test does.

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        if self._lost_by:
            item.add_marker(pytest.mark.skip(f"cuvet: {self._lost_by} lost the CUDA context of this process"))
        self._first = len(self._parts)
        result = yield from self._timed(item, "setup")
        self._collect()
        unknown = map(self._unknown.get, markers.ignored_rules(item))
        vain = [_WITHOUT_RACES] if _asks_in_vain(item) else []
        for mistake in filter(None, [*markers.mistakes(item), *vain, *unknown]):
            pytest.fail(f"@pytest.mark.cuvet: {mistake}", pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return self._checked(item, "call", (yield from self._timed(item, "call")))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return self._checked(item, "teardown", (yield from self._timed(item, "teardown")))

    def _timed(self, item: pytest.Item, phase: marks.Phase) -> Generator[None, Any, Any]:
        """What the phase returns; if it raises, what was found stands beside that, but is worse than a skip."""
        self._doing[:] = [Part(item.nodeid, _PHASES[phase])]
        self._write(item.nodeid, phase)
        try:
            return (yield)
        except pytest.skip.Exception:
            if told := self._look(item, phase, fail=True):
                pytest.fail(told, pytrace=False)
            raise
        except _PLAIN:
            self._look(item, phase)
            raise
        finally:
            if phase == "teardown":
                self._write(item.nodeid, "end")

    def _checked(self, item: pytest.Item, phase: marks.Phase, result: Any) -> Any:
        """The result of a phase that raised nothing, unless it fails for what was found."""
        if phase == "teardown" and self._looks_for_leaks and item.stash.get(_PASSED, False):
            self._look_for_leaks(item)
        if phase == "call":
            item.stash[_PASSED] = True
        raised = getattr(item, "_excinfo", None) or []  # there pytest keeps what a unittest.TestCase raised
        told = self._look(item, phase, fail=all(isinstance(each.value, pytest.skip.Exception) for each in raised))
        if told:
            raised.clear()
            pytest.fail(told, pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """A fixture that several tests share. If it has parameters, pytest tears it down in the set-up of a test that needs another one."""
        if fixturedef.scope == "function":
            return (yield)
        needed_by = self._doing[-1].test
        self._enter(f"set-up of {_called(fixturedef)}")
        try:
            return (yield)
        finally:
            self._leave()
            during = f"{_torn_down(fixturedef)}, which was set up for {needed_by}"
            fixturedef.addfinalizer(lambda: self._enter(during))

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        if self._doing[-1].during.startswith(f"{_torn_down(fixturedef)}, "):
            self._leave()

    def _enter(self, during: str) -> None:
        self._collect()
        self._doing.append(Part(self._doing[-1].test, during))

    def _leave(self) -> None:
        self._collect()
        self._doing.pop()

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._write("", "end")  # of all tests: whoever started pytest need not report
        if self._parts:  # else the collection failed
            self._doing[:] = [Part("after the last test")]
        self._collect()
        self._first = len(self._parts)
        self._say_late()
        if self._judge is not None:
            self.totals.problems += [f"not checked: {sentence}" for sentence in self._judge.stop()]
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

    def _look(self, item: pytest.Item, phase: marks.Phase, *, fail: bool = False) -> str:
        """The reports of what fails the test, with ``fail``; all else that was found becomes a section of the test's report."""
        self._collect()
        own = [each for each in self._pending if each["asked"] >= self._first and not self._is_ignored(each)]
        self._pending = [each for each in self._pending if each["asked"] < self._first]
        self._say_late()
        if own:
            self._blamed.add(item.nodeid)
            self.totals.count(each["finding"]["severity"] for each in own)
            item.user_properties[:] = _with_rules(item.user_properties, own)
        failing = [each for each in own if fail and each["finding"]["severity"] in self._failing]
        for each in own:
            if each not in failing:
                item.add_report_section(phase, "cuvet", self._text(each, self._parts[each["asked"]].during))
        return "\n\n".join(self._text(each, self._parts[each["asked"]].during) for each in failing)

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
        for each in self._pending:
            if self._is_ignored(each):
                continue
            severity = each["finding"]["severity"]
            self.totals.count([severity])
            self.totals.failing |= severity in self._failing
            if len(self.totals.late) < _MOST_LATE:
                self.totals.late.append(self._text(each, ", ".join(filter(None, self._parts[each["asked"]]))))
        self._pending.clear()

    def _is_ignored(self, found: Any) -> bool:
        """Whether the test that made the call has a marker for the rule, or against races."""
        test, name = self._parts[found["asked"]].test, found["finding"]["name"]
        if test in self._without_races and name.startswith(_RACE):
            return True
        return not {found["finding"]["rule"].lower(), name}.isdisjoint(self._ignored.get(test, ()))

    def _text(self, found: Any, during: str) -> str:
        """The report, with what of the test it was, and which process if it was not that of the test."""
        process = found["finding"]["site"]["process"]
        where = f"process {process}, which is not that of the test" if process != os.getpid() else ""
        return "\n".join([found["text"], *(f"   = during: {each}" for each in (during, where) if each)])

    def _write(self, test: str, phase: marks.Phase) -> None:
        try:
            marks.write(self._directory, test=test, phase=phase)
        except CuvetError as error:
            self._say(str(error))

    def _say(self, problem: str, *, failing: bool = False) -> None:
        self.totals.problems.append(problem)
        self.totals.failing |= failing

    def _collect(self) -> None:
        """Ask the judge: the answer is about the present part. If the judge has ended, that is told once, and fails the session."""
        if self._judge is None:
            return
        self._parts.append(self._doing[-1])
        try:
            answer = self._judge.found()
        except CuvetError as error:
            self._judge = None
            self._say(f"{error} ({self._doing[-1].test})", failing=True)
            return
        self._pending += answer.get("found", ())
        self.totals.calls, self.totals.processes = answer.get("calls", 0), answer.get("processes", 0)
        lost = answer.get("lost", {}).get(str(os.getpid()))
        if lost is not None and not self._lost_by:
            self._lost_by = self._parts[lost].test


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
