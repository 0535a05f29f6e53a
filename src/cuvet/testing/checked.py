"""What the plugin does in a session under the shim: it asks the judge after each test, and fails the test whose calls were wrong."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cuvet import CuvetError
from cuvet.testing import marks
from cuvet.testing.asking import OWN_RECORDING, Judge

_SEVERITIES = ("error", "warning", "note")
_PLAIN = (Exception, pytest.fail.Exception)
"""With what a phase of a test can end, other than the session."""
_MOST_LATE = 100


class Span(NamedTuple):
    """A fixture of a scope that several tests share was set up or torn down, for so long."""

    what: str
    begin: int
    end: int


@dataclass
class Totals:
    """What the last lines of the session are made of. ``late``: reports that belong to no test which could still fail; ``failing``: whether
    one of them should have failed it."""

    findings: dict[str, int] = field(default_factory=dict)
    """By severity."""
    tests: int = 0
    """With findings."""
    calls: int = 0
    processes: int = 0
    late: list[str] = field(default_factory=list)
    failing: bool = False
    problems: list[str] = field(default_factory=list)
    recordings: list[str] = field(default_factory=list)

    def count(self, severities: Iterable[str]) -> None:
        self.findings = dict(Counter(self.findings) + Counter(severities))

    def add(self, other: dict[str, Any]) -> None:
        self.findings = dict(Counter(self.findings) + Counter(other["findings"]))
        for name in ("tests", "calls", "processes", "late", "problems", "recordings"):
            setattr(self, name, getattr(self, name) + other[name])
        self.failing |= other["failing"]

    def show(self, reporter: pytest.TerminalReporter) -> None:
        for text in self.late:
            reporter.section("cuvet: not during a test that could still fail")
            reporter.write_line(text)
        for problem in dict.fromkeys(self.problems):
            reporter.write_line(f"cuvet: {problem}", red=True)
        reporter.write_line(f"cuvet: {self._summary()}", red=bool(self.findings.get("error")))
        for each in self.recordings:
            reporter.write_line(f"cuvet: look again: cuvet analyze {each}")

    def _summary(self) -> str:
        if not self.calls:
            return "no CUDA call was seen"
        counts = ((self.findings.get(each, 0), each) for each in _SEVERITIES)
        found = ", ".join(_counted(count, each) for count, each in counts if count or each == "error")
        tests = f" in {_counted(self.tests, 'test')}" if self.tests else ""
        return f"{found}{tests}; {_counted(self.calls, 'CUDA call')} of {_counted(self.processes, 'process')} judged"


class Merged:
    """In the process that distributes tests to workers: sums what they say."""

    def __init__(self) -> None:
        self.totals = Totals()
        self._directory = Path(os.environ["CUVET_TRACE"])

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
        answer = judge.found()
        judge.stop()
        found = [each for each in answer["found"] if each["time_ns"] >= test.time_ns or each["finding"].get("signal")]
        report.sections += [("cuvet", each["text"]) for each in found]
        report.user_properties = _with_rules(report.user_properties, found)
        self.totals.count(each["finding"]["severity"] for each in found)
        self.totals.tests += bool(found)
        self.totals.calls += answer.get("calls", 0)
        self.totals.processes += answer.get("processes", 0)
        self.totals.recordings.append(str(directory))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        _fail_late(session, self.totals)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self.totals.show(terminalreporter)


class Checked:
    """In a process that runs tests."""

    def __init__(self, config: pytest.Config) -> None:
        self.totals = Totals()
        self._directory = Path(os.environ["CUVET_TRACE"])
        self._judge: Judge | None = Judge(self._directory, bound=bool(os.environ.get(OWN_RECORDING)))
        self._failing = _SEVERITIES[: _SEVERITIES.index(config.option.cuvet_fail_on) + 1]
        self._config = config
        self._asked: list[str] = []
        """What came before each answer of the judge, in words: a test, or what was outside of all."""
        self._first = 0
        """The number of the first answer that is about the present test."""
        self._phases: dict[str, int] = {}
        """When each phase of the present test began."""
        self._spans: list[Span] = []
        self._lost_by = ""
        """The test that lost a context of this process."""
        self._blamed: set[str] = set()

    # Which tests there are.

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        names = {name: item for item in session.items for name in ignored_rules(item)}
        if names and self._judge is not None:
            for sentence in self._judge.unknown(list(names)):
                raise pytest.UsageError(f"@pytest.mark.cuvet: {sentence}")
        self._late(self._ask("before the first test"))

    # What a test does.

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        if self._lost_by:
            item.add_marker(pytest.mark.skip(f"cuvet: {self._lost_by} lost the CUDA context of this process"))
        self._first = len(self._asked)
        self._phases.clear()
        self._spans.clear()
        return (yield from self._timed(item, "setup"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return self._checked(item, "call", (yield from self._timed(item, "call")))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return self._checked(item, "teardown", (yield from self._timed(item, "teardown")))

    def _timed(self, item: pytest.Item, phase: marks.Phase) -> Generator[None, Any, Any]:
        """What the phase returns; if it raises, what was found stands beside that, but is worse than a skip."""
        self._begin(item, phase)
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
                self._write(item, "end")

    def _checked(self, item: pytest.Item, phase: marks.Phase, result: Any) -> Any:
        """The result of a phase that raised nothing, unless it fails for what was found."""
        told = self._look(
            item, phase, fail=not getattr(item, "_excinfo", None)
        )  # a unittest.TestCase keeps what it raised there
        if told:
            pytest.fail(told, pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        what = f"fixture {fixturedef.argname} (scope {fixturedef.scope})"
        begin = marks.now()
        try:
            return (yield)
        finally:
            self._spans.append(Span(f"set-up of {what}", begin, marks.now()))
            fixturedef.addfinalizer(lambda: self._spans.append(Span(f"tear-down of {what}", marks.now(), 0)))

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        what = f"tear-down of fixture {fixturedef.argname} (scope {fixturedef.scope})"
        self._spans[:] = [each._replace(end=marks.now()) if each[::2] == (what, 0) else each for each in self._spans]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._late(self._ask("after the last test"))
        if self._judge is not None:
            self._judge.stop()
        self.totals.tests = len(self._blamed)
        self.totals.recordings = [str(self._directory)]
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
        """Ask. The reports of what fails the test, with ``fail``; all else becomes a section of the test's report."""
        answer = self._ask(item.nodeid)
        ignored = {name.lower() for name in ignored_rules(item)}
        found = [each for each in answer.get("found", ()) if not _names(each) & ignored]
        self._late({"found": [each for each in found if each["asked"] < self._first]})
        own = [each for each in found if each["asked"] >= self._first]
        if own:
            self._blamed.add(item.nodeid)
            self.totals.count(each["finding"]["severity"] for each in own)
            item.user_properties[:] = _with_rules(item.user_properties, own)
        failing = [each for each in own if fail and each["finding"]["severity"] in self._failing]
        for each in own:
            if each not in failing:
                item.add_report_section(phase, "cuvet", self._text(each))
        lost = answer.get("lost", {}).get(str(os.getpid()))
        if lost is not None and not self._lost_by:
            self._lost_by = self._asked[lost]
        return "\n\n".join(map(self._text, failing))

    def _text(self, found: Any) -> str:
        return "\n".join([found["text"], *(f"   = during: {each}" for each in self._during(found))])

    def _during(self, found: Any) -> Iterator[str]:
        """What of the test it was, if that was not the test itself, and in which process."""
        at = found["time_ns"]
        spans = [each for each in self._spans if each.begin <= at <= (each.end or at)]
        phases = [name for name, begin in self._phases.items() if begin <= at and name != "call"]
        if spans:
            yield max(spans, key=lambda each: each.begin).what
        elif phases and ("call" not in self._phases or at < self._phases["call"] or phases[-1] == "teardown"):
            yield {"setup": "set-up of the test", "teardown": "tear-down of the test"}[phases[-1]]
        process = found["finding"]["site"]["process"]
        if process != os.getpid():
            yield f"process {process}, which is not that of the test"

    def _late(self, answer: Any) -> None:
        """What was found when the test that made the call had been reported, or outside of all tests."""
        for each in answer.get("found", ()):
            severity = each["finding"]["severity"]
            self.totals.count([severity])
            self.totals.failing |= severity in self._failing
            if len(self.totals.late) < _MOST_LATE:
                self.totals.late.append(f"{each['text']}\n   = during: {self._asked[each['asked']]}")

    def _begin(self, item: pytest.Item, phase: marks.Phase) -> None:
        self._phases[phase] = marks.now()
        self._write(item, phase)

    def _write(self, item: pytest.Item, phase: marks.Phase) -> None:
        try:
            marks.write(self._directory, test=item.nodeid, phase=phase)
        except CuvetError as error:
            self._say(str(error))

    def _say(self, problem: str, *, failing: bool = False) -> None:
        self.totals.problems.append(problem)
        self.totals.failing |= failing

    def _ask(self, what: str) -> Any:
        """The judge's answer, which is about ``what`` was done since the last one. It is empty if the judge has ended: that fails the session."""
        if self._judge is None:
            return {}
        self._asked.append(what)
        try:
            answer = self._judge.found()
        except CuvetError as error:
            self._judge = None
            self._say(f"{error} ({what})", failing=True)
            return {}
        self.totals.calls, self.totals.processes = answer.get("calls", 0), answer.get("processes", 0)
        return answer


def _names(found: Any) -> set[str]:
    return {found["finding"]["rule"].lower(), found["finding"]["name"]}


def _with_rules(properties: Iterable[tuple[str, object]], found: Iterable[Any]) -> list[tuple[str, object]]:
    """The properties of a test's report, of which ``cuvet`` has the codes of all rules that were found."""
    known = dict(properties).get("cuvet")
    codes = dict.fromkeys([*(str(known).split(",") if known else ()), *(each["finding"]["rule"] for each in found)])
    others = [each for each in properties if each[0] != "cuvet"]
    return [*others, ("cuvet", ",".join(codes))] if codes else others


def ignored_rules(item: pytest.Item) -> list[str]:
    """The rules that the test's markers name. UsageError for a marker of another form."""
    names: list[str] = []
    for marker in item.iter_markers("cuvet"):
        ignore = marker.kwargs.get("ignore", ())
        is_list = isinstance(ignore, (list, tuple, set, frozenset)) and all(isinstance(each, str) for each in ignore)
        if marker.args or set(marker.kwargs) - {"ignore"} or not is_list:
            raise pytest.UsageError(f'{item.nodeid}: write @pytest.mark.cuvet(ignore=["CV101"]), with a list of rules')
        names += ignore
    return names


def _fail_late(session: pytest.Session, totals: Totals) -> None:
    if totals.failing and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _counted(count: int, noun: str) -> str:
    plural = {"process": "processes"}.get(noun, f"{noun}s")
    return f"{count:,} {noun if count == 1 else plural}"
