"""What the rules about the current context share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from cuvet.catalog.roles import Kind, Verb
from cuvet.model.objects import Context
from cuvet.rules.rule import Rule, Violation

if TYPE_CHECKING:
    from cuvet.catalog import EntryPoint
    from cuvet.model import Call, Model, Object

_MADE_IN_CONTEXT = frozenset(
    {
        Kind.STREAM,
        Kind.EVENT,
        Kind.MEMORY,
        Kind.HOST_MEMORY,
        Kind.ARRAY,
        Kind.MIPMAPPED_ARRAY,
        Kind.TEXTURE_OBJECT,
        Kind.SURFACE_OBJECT,
        Kind.MODULE,
    }
)


_ENDED_IN_CONTEXT = frozenset({Kind.TEXTURE_OBJECT})
"""Kinds whose handles are numbers that only a context makes sense of: measured for texture objects alone."""

_ABOUT_STREAM = (Verb.ON, Verb.BLOCKS)


class CurrentContextRule(Rule):
    """A rule about calls that work in the current context, and fail because of which one that is.

    Calls that the CUDA runtime makes are left out: it makes a context current itself and tries again.
    """

    outcomes: ClassVar[tuple[int, ...]]

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return any(
            (role.verb in (Verb.CREATES, Verb.ALLOCATES) and role.kind in _MADE_IN_CONTEXT and not role.parent)
            or (role.verb is Verb.DESTROYS and role.kind in _ENDED_IN_CONTEXT)
            or (role.kind in (Kind.CONTEXT, Kind.STREAM) and role.verb is Verb.BLOCKS)
            or (role.kind is Kind.CONTEXT and role.verb is Verb.USES and not role.parameter)
            for role in entry_point.roles
        )

    @classmethod
    def check(cls, call: Call, model: Model) -> Iterator[Violation]:
        if model.initialised_by is None or _on_own_stream(call):
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
    def reason(cls, call: Call, model: Model) -> tuple[str, tuple[Object, ...], tuple[str, ...]] | None:
        """Message, objects and ``because`` of what is wrong with the current context; None if nothing is."""


def contexts_elsewhere(call: Call, model: Model) -> list[tuple[Context, tuple[int, ...]]]:
    """Living contexts that are current on other threads, with these threads."""
    found = []
    for context in model.objects(Kind.CONTEXT):
        if not isinstance(context, Context):
            continue
        threads = tuple(thread for thread in model.threads_of(context) if thread != call.thread)
        if threads:
            found.append((context, threads))
    return found


def _on_own_stream(call: Call) -> bool:
    """Whether the call is about a stream that brings its context along."""
    index = call.entry_point.index
    return any(
        role.verb in _ABOUT_STREAM
        and role.kind is Kind.STREAM
        and role.parameter
        and call.args[index[role.parameter]] > 2
        for role in call.entry_point.roles
    )


def _names_the_dead(call: Call, model: Model) -> bool:
    return any(not found.alive for role in call.entry_point.roles for found in model.objects_named(call, role))
