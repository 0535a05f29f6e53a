"""What the rules say after a call failed, or after the process died or ended."""

from functools import cache

from cuvet.model import Call, ModelView, Outcome
from cuvet.rules import rules_that_are
from cuvet.rules.rule import Ended, ExitRule, FailureRule, FaultRule, TouchRule, Violation, Violations


def explain_failure(call: Call, outcome: Outcome, model: ModelView) -> Violation | None:
    """Why a call failed that breaks no rule itself; None if that is not known. Asked after the model has observed it."""
    if outcome.status is None:
        return None
    found = (rule.explain(call, outcome.status, model) for rule in _failure_rules())
    return next((violation for violation in found if violation is not None), None)


def explain_fault(address: int, model: ModelView) -> Violation | None:
    """The violation behind a SIGSEGV at that address; None if no rule has one."""
    found = (rule.explain(address, model) for rule in rules_that_are(FaultRule))
    return next((violation for violation in found if violation is not None), None)


def explain_touch(address: int, writes: bool, model: ModelView) -> Violation | None:
    """What is wrong with host code that reads or writes guarded memory at that address now; None if nothing is."""
    found = (rule.explain(address, writes, model) for rule in rules_that_are(TouchRule))
    return next((violation for violation in found if violation is not None), None)


def at_exit(model: ModelView, ended: Ended) -> Violations:
    """What a process was found to have done wrong when it had ended, each at its ``Violation.culprit``."""
    for rule in rules_that_are(ExitRule):
        yield from rule.at_exit(model, ended)


@cache
def _failure_rules() -> tuple[type[FailureRule], ...]:
    return tuple(sorted(rules_that_are(FailureRule), key=lambda rule: not rule.asked_first))
