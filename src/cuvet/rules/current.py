"""What the rules about the current context share."""

from abc import abstractmethod
from typing import ClassVar

from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView, Object
from cuvet.model.current import needs_context
from cuvet.model.objects import Context
from cuvet.model.precedence import Stage
from cuvet.rules.occasions import without_context
from cuvet.rules.rule import CallRule, Violation, Violations


class CurrentContextRule(CallRule):
    """A rule about calls that work in the current context, and fail because of which one that is.

    Calls that the CUDA runtime makes are left out: it makes a context current itself and tries again.
    """

    only_for_failed = True
    stage = Stage.CONTEXT
    only_when = without_context
    outcomes: ClassVar[tuple[int, ...]]

    @classmethod
    def concerns(cls, call: Call) -> bool:
        """Whether the call is one that the rule is about."""
        return needs_context(call)

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        if model.initialised_by is None or not cls.concerns(call):
            return
        found = cls.reason(call, model)
        if found is not None and not _names_the_dead(call, model):
            message, objects, because = found
            yield Violation(
                rule=cls,
                message=message,
                objects=objects,
                because=because,
                outcomes=cls.outcomes,
                only_if_failed=True,
                driver_only=True,
            )

    @classmethod
    @abstractmethod
    def reason(cls, call: Call, model: ModelView) -> tuple[str, tuple[Object, ...], tuple[str, ...]] | None:
        """Message, objects and ``because`` of what is wrong with the current context; None if nothing is."""


def contexts_elsewhere(call: Call, model: ModelView) -> list[tuple[Context, tuple[int, ...]]]:
    """Living contexts that are current on other threads, with these threads."""
    found = []
    for context in model.objects(Kind.CONTEXT):
        if not isinstance(context, Context):
            continue
        threads = tuple(thread for thread in model.threads_of(context) if thread != call.thread)
        if threads:
            found.append((context, threads))
    return found


def _names_the_dead(call: Call, model: ModelView) -> bool:
    return any(not found.alive for role in call.entry_point.roles for found in model.objects_named(call, role))
