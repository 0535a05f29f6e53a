"""A model that is wrong in one way disagrees with the recordings: each mutation shows at some call that was right before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from cuvet.conformance.compare import judge
from cuvet.model import Call, Event, Model, Stream, precedence
from cuvet.model.objects import Context
from cuvet.model.threads import Thread
from cuvet.model.transitions import context as context_transitions
from cuvet.rules import rule_called
from cuvet.rules.rule import Rule, Violation

from .recordings import FILES, sessions

Mutation = Callable[[pytest.MonkeyPatch], None]
LEGACY, PER_THREAD = 1, 2


def _rule(name: str) -> type[Rule]:
    found = rule_called(name)
    assert found is not None
    return found


def _without(name: str) -> Mutation:
    def silent(cls: type[Rule], call: Call, model: Model) -> Iterator[Violation]:
        return iter(())

    return lambda patch: patch.setattr(_rule(name), "check", classmethod(silent))


def _order_of_checks_reversed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(precedence, "ORDER", precedence.ORDER[::-1])


def _context_rule_inverted(patch: pytest.MonkeyPatch) -> None:
    rule = _rule("context-none-current")
    concerns = rule.concerns
    patch.setattr(rule, "concerns", classmethod(lambda cls, call: not concerns(call)))


def _events_without_timing_have_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Event, "timing", property(lambda event: True))


def _captures_forbid_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Model, "captures_forbidding", lambda model, call: iter(()))


def _destroyed_contexts_live(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Context, "alive", property(lambda context: True), raising=False)


def _the_default_stream_is_each_threads_own(patch: pytest.MonkeyPatch) -> None:
    original = Model._stream

    def stream(model: Model, call: Call, parameter_index: int, word: int) -> Stream | None:
        return original(model, call, parameter_index, PER_THREAD if word in (0, LEGACY) else word)

    patch.setattr(Model, "_stream", stream)


def _pop_pushes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Thread, "pop", lambda thread: thread.stack.append(thread.current))


def _a_reset_ends_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(context_transitions, "_reset", lambda model, call, device, context: None)


MUTATIONS: dict[str, Mutation] = {
    "a registration of registered memory is allowed": _without("host-memory-registered-twice"),
    "memory may be freed twice": _without("memory-free-twice"),
    "the device's own pool may be destroyed": _without("pool-destroy-default"),
    "a stream that captures may be waited for": _without("capture-wait"),
    "events of other contexts are like one's own": _without("event-other-context"),
    "interprocess events are like others": _without("event-interprocess-other-context"),
    "the order of checks is reversed": _order_of_checks_reversed,
    "a context is needed where none is": _context_rule_inverted,
    "events without timing have it": _events_without_timing_have_it,
    "captures forbid nothing": _captures_forbid_nothing,
    "destroyed contexts live": _destroyed_contexts_live,
    "the default stream is each thread's own": _the_default_stream_is_each_threads_own,
    "pop pushes": _pop_pushes,
    "a reset ends nothing": _a_reset_ends_nothing,
}


@cache
def _wrong_before(file: Path, number: int) -> frozenset[int]:
    header, found = sessions(file)
    return frozenset(index for index, judged in enumerate(judge(header, found[number])) if judged.disagreement)


def _caught(mutation: Mutation) -> bool:
    """Whether some call that was right is wrong with the mutation."""
    for file in FILES:
        header, found = sessions(file)
        for number, session in enumerate(found):
            before = _wrong_before(file, number)
            with pytest.MonkeyPatch.context() as patch:
                mutation(patch)
                for index, judged in enumerate(judge(header, session)):
                    if judged.disagreement and index not in before:
                        return True
    return False


@pytest.mark.skipif(not FILES, reason="there are no recordings")
@pytest.mark.parametrize("name", MUTATIONS)
def test_the_recordings_catch(name: str) -> None:
    assert _caught(MUTATIONS[name])


@pytest.mark.skipif(not FILES, reason="there are no recordings")
def test_no_mutation_is_nothing_to_catch() -> None:
    header, found = sessions(FILES[0])
    again = frozenset(index for index, judged in enumerate(judge(header, found[0])) if judged.disagreement)
    assert again == _wrong_before(FILES[0], 0)
