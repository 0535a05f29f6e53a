"""Tests whose reports are held back until it is known what was found in them, so that no test waits for the judge."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

MOST_HELD = 1000
"""Tests; of more, the oldest are waited for."""
MOST_HELD_NS = 2 * 10**9
"""The judge is waited for if it has not said for so long what was found in a test. It may do so only when a call returns."""
_RUNNER = "_pytest.runner"


def holds(config: pytest.Config) -> bool:
    """Whether reports may come later than tests end. Nothing may depend on them that happens meanwhile: what ends the session after so many
    failures, debuggers, output that is shown at once; and nobody else may run tests in another way, or in several processes, of which
    one that dies takes reports with it."""
    option = config.option
    if hasattr(config, "workerinput") or option.maxfail or option.usepdb or option.trace or option.capture == "no":
        return False
    if getattr(option, "stepwise", False) or config.getini("log_cli") or option.log_cli_level is not None:
        return False
    runs = (
        each for each in config.hook.pytest_runtest_protocol.get_hookimpls() if not (each.hookwrapper or each.wrapper)
    )
    return {getattr(each.plugin, "__name__", "") for each in runs} <= {_RUNNER, ""}


class Children:
    """Processes that tests start."""

    def __init__(self) -> None:
        self._ended = self._faults()

    def any(self) -> bool:
        """Whether one lives, or has ended since this was asked last. One that leaves the process group of pytest, as the judge does, is
        seen when it has ended."""
        before, self._ended = self._ended, self._faults()
        try:
            os.waitid(os.P_PGID, os.getpgrp(), os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return self._ended != before
        return True

    @staticmethod
    def _faults() -> int:
        """Page faults of those that have ended: each had some."""
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt


@dataclass
class Held:
    """A test that has run. ``first``: the number of the first answer of the judge that is about it; ``last``: of the last."""

    item: pytest.Item
    reports: list[pytest.TestReport]
    first: int
    last: int
    since_ns: int = field(default_factory=time.monotonic_ns)

    @property
    def is_old(self) -> bool:
        return time.monotonic_ns() - self.since_ns > MOST_HELD_NS

    def fail(self, phase: str, text: str) -> None:
        """The phase fails, with this report, unless it did already. (``call``: the set-up, if the test was skipped there.)"""
        report = self._of(phase)
        try:
            pytest.fail(text, pytrace=False)
        except pytest.fail.Exception:
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

    def skip(self, reason: str) -> None:
        """It counts as if it had not been run."""
        setup, *_, teardown = self.reports
        path, line, _ = self.item.location
        setup.outcome, setup.longrepr = "skipped", (path, (line or 0) + 1, f"Skipped: {reason}")
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
