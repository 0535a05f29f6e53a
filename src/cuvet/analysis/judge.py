"""Judges one call after another with the model: what the rules say about it, and what its failure means.

The driver also judges the model. If a rule accuses a call that returned success, and no evidence shows that such a call can succeed
(``Rule.can_succeed``), the rule is wrong about this program. The judge drops and counts the finding (``Judge.contradicted``), and
the model learns that the objects of the call exist (``Model.accept``).
"""

import dataclasses
import math
import os
from collections import deque

from cuvet.analysis.calls import RecordedCall, site_of
from cuvet.analysis.diagnosis import finding
from cuvet.analysis.driver_log import Failure
from cuvet.analysis.folding import Findings, cause_of
from cuvet.analysis.unexplained import Failed, Failures
from cuvet.catalog.answers import ASK_WHETHER_INITIALISED, answers
from cuvet.catalog.results import DEINITIALIZED, NOT_INITIALIZED, NOT_READY
from cuvet.catalog.roles import ENDS
from cuvet.model import Model, Outcome, Stream
from cuvet.model.precedence import Stage
from cuvet.model.touching import touches_memory
from cuvet.printable import valid
from cuvet.recording.ordering import is_notable
from cuvet.recording.reader import Clock
from cuvet.recording.records import CallRecord
from cuvet.recording.sites import Meeting
from cuvet.recording.symbols import NativeFrame
from cuvet.rules.afterwards import explain_failure
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import Violation
from cuvet.rules.unmade import kind_not_made, lacks

MOST_FAILURES = 10_000
NOT_MADE = "cuvet run --protect did not make the call"
_SUCCESS = Outcome(0)
_ORDINARY = (None, 0, NOT_READY)
"""Outcomes that are no failure."""


_MOST_RECENT = 256
"""Calls of a thread."""
_MOST_OF_NAME = 200
"""Letters of a function's or file's name in a sentence."""
_MOST_MISSING = 1 << 12
"""Pairs of streams."""


class Judge:
    """Judges the calls of one process, in their order."""

    def __init__(self, findings: Findings, clock: Clock) -> None:
        self.contradicted = 0
        self.ended = False
        """Whether cuvet ended the process at a call (``--protect=abort``)."""
        self.failures: list[Failure] = []
        """The first ``MOST_FAILURES`` driver calls that failed, in the order in which they are judged."""
        self.cudnn_failures: list[Failure] = []
        """The first ``MOST_FAILURES`` cuDNN calls that failed, likewise."""
        self.handles_not_made: list[RecordedCall] = []
        """Calls that were to make a library's handle and failed, for another reason than their arguments; likewise."""
        self.unexplained = Failures()
        self._findings = findings
        self._clock = clock
        self._inside_until: dict[int, float] = {}
        """By thread: the ticks at which the last call of a library returned of which it is known what it touches."""
        self._succeeding_until: dict[int, float] = {}
        """By thread: until when, in ticks, it was in a call of a library that another library made and that succeeded."""
        self._recent: dict[int, deque[tuple[int, int]]] = {}
        """By thread: the numbers and stacks of its last calls, as far as races are looked for."""
        self._told_until: dict[int, float] = {}
        """By thread: the ticks at which the last call of a library returned that a rule said something about; infinite if it did not."""
        self._missing: dict[tuple[int, int], tuple[int, RecordedCall]] = {}
        """By the numbers of two streams: for which work of the first the second does not wait, and the call that showed it."""

    def judge(self, model: Model, call: RecordedCall, record: CallRecord) -> bool:
        """Whether a rule says something about the call, or about its failure. ``record`` has when it was made."""
        outcome = call.outcome
        self.ended |= call.refused == "ended"
        failed = None if outcome.status in _ORDINARY else outcome.status
        if call.injected and failed is not None:  # there is nothing to explain, and the model goes on from there
            model.observe(call, outcome)
            return True
        if failed is not None:
            self._note_failure(call, failed, self._clock.ns(record.returned) - call.time_ns)
        of_library = call.entry_point.api != "driver"
        call.inner = not of_library and record.entered < self._inside_until.get(record.thread, 0)
        explained = not of_library and record.entered < self._told_until.get(record.thread, 0)
        touches = model.touches is not None and touches_memory(call.entry_point)
        if not explained and (is_notable(record) or of_library or touches):
            explained = self._predict(model, call, outcome)
        if not call.refused:
            model.observe(call, outcome)
        if outcome.status == 0:  # what the call wrote is in the model now; a call that made something lives as long
            call.outcome = _SUCCESS
        inside = not of_library and record.entered < self._succeeding_until.get(record.thread, 0)
        followed = inside and failed == DEINITIALIZED  # libraries end their objects while the process exits, too
        if not (explained or failed is None or call.refused or followed):
            explained = self._explain(model, call, outcome)
        if of_library and outcome.status == 0:
            if touches:
                _extend(self._inside_until, record.thread, record.returned)
            if call.is_of_library():
                _extend(self._succeeding_until, record.thread, record.returned)
        if of_library and explained:  # what goes wrong inside follows from it
            _extend(self._told_until, record.thread, record.returned or math.inf)
        if not explained and call.refused:
            self.unexplained.add(call, outcome.status or 0, call.is_of_library(), NOT_MADE)
        elif not explained and failed is not None:
            self._keep_unexplained(model, call, failed)
        if model.touches is not None:
            self._recent.setdefault(call.thread, deque(maxlen=_MOST_RECENT)).append((call.number, call.stack))
        return explained

    def _note_failure(self, call: RecordedCall, status: int, duration_ns: int) -> None:
        api = call.entry_point.api
        logged = {"driver": self.failures, "cudnn": self.cudnn_failures}.get(api)
        if logged is not None and len(logged) < MOST_FAILURES:
            logged.append(Failure(call.process, call.thread, call.number, call.name, status, duration_ns))
        not_made = api != "driver" and kind_not_made(call, status) is not None
        if not_made and len(self.handles_not_made) < MOST_FAILURES:
            self.handles_not_made.append(call)

    def _predict(self, model: Model, call: RecordedCall, outcome: Outcome) -> bool:
        """Whether a rule says something about the call, if only that the runtime expects its failure."""
        lost = model.sticky_error(call)
        status = None if call.refused else outcome.status  # what the driver said of it
        if lost is not None and not call.refused and (outcome.status == lost[1] or _is_cleaning_up(call, outcome)):
            return False  # whatever the call was given: it fails with its context, which ``explain_failure`` says
        found = model.violations(call, succeeded=status == 0 and not call.kept)
        if not found:
            return False
        for violation in found:
            if violation.contradicted(call, status):
                self.contradicted += 1
                model.accept(call, violation)
        standing = [each for each in found if each.stands(call, status)]
        if any(each.rule.answers for each in standing) and _answers_library(call, outcome.status):
            standing = [each for each in standing if not each.rule.answers]
        standing = [self._with_first(call, each) for each in _with_cause(model, call, standing)]
        for violation in [each for each in standing if each.rule.stage is Stage.PROCESS] or standing:
            if not (violation.driver_only and site_of(call).api != call.name):
                self.report(call, violation, violation.rule.answers and outcome.status in answers(call.asked))
        return bool(standing)

    def _with_first(self, call: RecordedCall, violation: Violation) -> Violation:
        """A race that would not be if an earlier one had been prevented follows from that."""
        edge = violation.edge
        if edge is None:
            return violation
        work, first = self._missing.get((edge.other, edge.waits), (-1, call))
        if edge.work <= work:
            again = (first.stack, first.entry_point) == (call.stack, call.entry_point)
            likewise = frozenset({violation.rule.name})
            return violation if again else dataclasses.replace(violation, cause=first, cause_rules=likewise)
        if len(self._missing) >= _MOST_MISSING:
            self._missing.clear()
        self._missing[edge.other, edge.waits] = (edge.work, call)
        return violation

    def _explain(self, model: Model, call: RecordedCall, outcome: Outcome) -> bool:
        failure = explain_failure(call, outcome, model)
        if failure is not None:
            self.report(call, failure)
        return failure is not None

    def _keep_unexplained(self, model: Model, call: RecordedCall, status: int) -> None:
        """A failure, unless it is an answer, or follows from a fork, from the loss of a context or from the end of the process: of that
        ``exit-call-after-shutdown`` tells what is the program's, and the rest is what runtimes do in every process that exits."""
        forked = status == NOT_INITIALIZED and model.initialised_before_fork is not None
        follows = forked or status == DEINITIALIZED or model.sticky_error(call) is not None
        if not follows and status not in answers(call.asked):
            self.unexplained.add(call, status, call.is_of_library())

    def refused(self, model: Model) -> tuple[RecordedCall, int] | None:
        """The first call that failed in a process without a successful cuInit, and how many did. Only the end shows that the driver was
        never initialised: libraries ask it earlier whether it is, and programs too."""
        first = model.initialised_by
        if first is None:
            refused = self.unexplained.take(lambda each: _is_uninitialised(each) and not each.by_library)
            return (refused[0].call, sum(each.count for each in refused)) if refused else None
        self.unexplained.take(lambda each: _is_uninitialised(each) and each.call.name in ASK_WHETHER_INITIALISED)
        for failed in self.unexplained.all():
            if _is_uninitialised(failed) and failed.call.time_ns < first.time_ns:
                failed.reason = f"cuInit was called only afterwards, by {place(first)}"
        return None

    def _meeting(self, call: RecordedCall, violation: Violation) -> Meeting | None:
        """Of a race, the function of a library that made both calls, if its thread made no call outside of that function in between."""
        other = violation.earlier[0][1] if violation.edge is not None and violation.earlier else None
        if not isinstance(other, RecordedCall) or call.sites is None or other.thread != call.thread:
            return None
        recent = self._recent.get(call.thread, ())
        if not recent or recent[0][0] > other.number:
            return None
        found = call.sites.shared(call.stack, other.stack)
        between = (stack for number, stack in recent if other.number < number < call.number)
        return found if found and all(call.sites.passes(stack, found.caller) for stack in between) else None

    def report(self, call: RecordedCall, violation: Violation, answer: bool = False) -> None:
        """Add the finding to those of all processes. ``answer``: the call's status is an answer and no failure."""
        blamed = violation.culprit if isinstance(violation.culprit, RecordedCall) else call
        shared = self._meeting(blamed, violation)
        if shared is not None:
            violation = _of_one_function(violation, shared.frame)
        key: tuple[object, ...] = (violation.rule.code, blamed.process)
        if not violation.rule.of_process:
            key += (blamed.stack or blamed.thread if shared is None else shared, blamed.entry_point.id)
        key += tuple(each.stack if shared is None else each.entry_point.id for _, each in violation.earlier[:1])
        fold = self._findings.add(
            key,
            lambda: finding(blamed, violation, answer=answer),
            cause_of(violation),
            call,
            violation.message,
            violation.times,
        )
        if fold not in blamed.reported:
            blamed.reported += (fold,)


def _of_one_function(violation: Violation, frame: NativeFrame) -> Violation:
    name, file = (valid(text[:_MOST_OF_NAME]) for text in (frame.function, os.path.basename(frame.module)))
    fix = f"{violation.help}; if one call of {name} did both, that is for {file} to do"
    if any(isinstance(each, Stream) and each.legacy for each in violation.objects):
        fix += ", and until it does, call it with the default stream"
    because = (*violation.because, f"both are called by {name} ({file})")
    return dataclasses.replace(violation, because=because, help=fix)


def _extend(until: dict[int, float], thread: int, returned: float) -> None:
    """Calls of libraries that are made inside of another's return before it does."""
    until[thread] = max(until.get(thread, 0), returned)


def _answers_library(call: RecordedCall, status: int | None) -> bool:
    """Whether a library asked, as far as that can be told, and this is what it may be answered."""
    return status in answers(call.asked, to_library=True) and call.is_of_library()


def _with_cause(model: Model, call: RecordedCall, violations: list[Violation]) -> list[Violation]:
    """What is wrong with an argument that is nothing follows from the failure of the call that should have made it."""
    lack = lacks(call, model) if violations and call.entry_point.api == "driver" else None
    if lack is None:
        return violations
    return [
        dataclasses.replace(each, cause=lack.maker) if each.argument == lack.argument and not each.cause else each
        for each in violations
    ]


def _is_uninitialised(failed: Failed) -> bool:
    return failed.status == NOT_INITIALIZED and failed.call.entry_point.api == "driver"


def _is_cleaning_up(call: RecordedCall, outcome: Outcome) -> bool:
    """Whether a call in a lost context fails to end an object: it is often one that could not be made."""
    entry_point = call.entry_point
    return entry_point.api == "driver" and entry_point.does(*ENDS) and outcome.status not in _ORDINARY
