"""Tests whose reports are held back until it is known what was found in them, so that no test waits for the judge."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass, field
from itertools import chain
from os import waitid
from resource import getrusage
from typing import Any

import pytest

from cuvet.testing.marks import now

MOST_HELD = 1000
"""Tests; of more, the oldest are waited for."""
MOST_HELD_NS = 2 * 10**9
"""The judge is waited for if it has not said for so long what was found in a test. It may do so only when a call returns."""
_SEEN_AT_ONCE = ("pytest_runtest_logstart", "pytest_runtest_logreport", "pytest_runtest_logfinish")
_OWN = ("_pytest.", "cuvet.")


def holds(config: pytest.Config) -> bool:
    """Whether reports may come later than tests end. Nothing may depend on them that happens meanwhile: what ends the session after so many
    failures, debuggers, output that is shown at once, hooks of others; and nobody else may run tests in another way, or in several
    processes, of which one that dies takes reports with it."""
    given = vars(config.option)
    at_once = ("maxfail", "usepdb", "trace", "stepwise", "setupshow")
    if hasattr(config, "workerinput") or any(map(given.get, at_once)) or given.get("capture") == "no":
        return False
    if given.get("log_cli_level") is not None or (
        config.pluginmanager.hasplugin("logging") and config.getini("log_cli")
    ):
        return False
    hooks = config.hook
    runs = [each for each in hooks.pytest_runtest_protocol.get_hookimpls() if not (each.hookwrapper or each.wrapper)]
    looks = (each for name in _SEEN_AT_ONCE for each in getattr(hooks, name).get_hookimpls())
    return all(_module_of(each.plugin).startswith(_OWN) for each in chain(runs, looks))


def _module_of(plugin: object) -> str:
    return str(getattr(plugin, "__name__", None) or type(plugin).__module__)


class Children:
    """Processes that tests start."""

    def __init__(self) -> None:
        self._ended = self._faults()

    def any(self) -> bool:
        """Whether one lives, or has ended since this was asked last."""
        before, self._ended = self._ended, self._faults()
        try:
            waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return self._ended != before
        return True

    @staticmethod
    def _faults() -> int:
        """Page faults of those that have ended: each had some."""
        return getrusage(resource.RUSAGE_CHILDREN).ru_minflt


@dataclass
class Held:
    """A test that has run. ``first``: the number of the first answer of the judge that is about it; ``last``: of the last."""

    item: pytest.Item
    reports: list[pytest.TestReport]
    first: int
    last: int
    since_ns: int = field(default_factory=now)

    @property
    def is_old(self) -> bool:
        return now() - self.since_ns > MOST_HELD_NS

    def fail(self, phase: str, text: str) -> None:
        """The phase fails, with this report, unless it did already. (``call``: the set-up, if the test was skipped there.)"""
        report = self._of(phase)
        try:
            pytest.fail(text, pytrace=False)
        except pytest.fail.Exception as failure:
            failure.__suppress_context__ = True  # of another test, while whose failure this one is told
            report.outcome, report.longrepr = "failed", self.item.repr_failure(pytest.ExceptionInfo.from_current())

    def failed(self, phase: str) -> bool:
        """Whether the phase raised something: other than a skip, which is no better than a mistake."""
        report = self._of(phase)
        return report.failed or hasattr(report, "wasxfail")

    def add_section(self, phase: str, text: str) -> None:
        """To the report of the phase and those after it, as pytest does with what it captured."""
        for report in self.reports[self.reports.index(self._of(phase)) :]:
            report.sections.append((f"Captured cuvet {phase}", text))

    def set_properties(self, properties: list[tuple[str, Any]]) -> None:
        for report in self.reports:
            report.user_properties = list(properties)

    def skip(self, reason: str, *, ends_others: bool) -> None:
        """It counts as if it had not been run. ``ends_others``: its tear-down was also that of fixtures of other tests."""
        setup, *_, teardown = self.reports
        path, line, _ = self.item.location
        setup.outcome, setup.longrepr = "skipped", (path, (line or 0) + 1, f"Skipped: {reason}")
        if not ends_others:
            teardown.outcome, teardown.longrepr = "passed", None
        self.reports[:] = [setup, teardown]
        for report in self.reports:
            report.sections = []

    def tell(self) -> None:
        """Let pytest have the reports."""
        hook = self.item.ihook
        hook.pytest_runtest_logstart(nodeid=self.item.nodeid, location=self.item.location)
        for report in self.reports:
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=self.item.nodeid, location=self.item.location)

    def _of(self, phase: str) -> pytest.TestReport:
        return next((report for report in self.reports if report.when == phase), self.reports[0])
