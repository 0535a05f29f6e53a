"""Which of the model's rules a path through source code can show, and what they say of a call."""

from collections.abc import Iterator
from functools import cache

from cuvet.catalog import EntryPoint
from cuvet.model import Call, HostMemory, Model, Object
from cuvet.rules import rules_that_are
from cuvet.rules.lifecycle import ending, place
from cuvet.rules.rule import CallRule, Violation
from cuvet.rules.source.destroy_after_context import SourceDestroyAfterContext
from cuvet.rules.source.freed_while_registered import SourceFreedWhileRegistered
from cuvet.rules.source.heap_free import SourceHeapFree

SOME_DEVICE = 0x10_0000
"""Numbers from here on stand for devices that are not known."""
_OF_RANGES = frozenset({"host-memory-registered-twice"})
"""They compare ranges of memory: of those whose sizes are not known, only the same beginning tells that they overlap."""

_OF_TOUCHES = frozenset({"race-between-streams"})
"""They compare bytes that two calls touch: of those whose sizes are not known, only the same beginning tells that they overlap."""


@cache
def _rules(entry_point: EntryPoint) -> tuple[type[CallRule], ...]:
    """Those of the model's rules that a path through source code can show."""

    return tuple(rule for rule in rules_that_are(CallRule) if rule.in_source and rule.applies_to(entry_point))


@cache
def _rules_before_ends(entry_point: EntryPoint) -> tuple[type[CallRule], ...]:
    """Those of them that say something before any object has ended."""
    return tuple(rule for rule in _rules(entry_point) if not rule.only_after_end)


def judge(call: Call, model: Model) -> Iterator[Violation]:
    """Violations by the call that are about an object that was seen: what is not visible is never wrong."""
    for rule in (_rules if model.has_ended else _rules_before_ends)(call.entry_point):
        for violation in rule.check(call, model):
            if not violation.objects or (rule.about_devices and _somewhere(violation, model, call)):
                continue
            if rule.name in _OF_RANGES and violation.objects[0].handle not in call.args:
                continue
            if rule.name in _OF_TOUCHES and not all(
                _names(each, violation.objects[0]) for each in (call, violation.earlier[0][1])
            ):
                continue
            yield violation


def is_refused(violation: Violation) -> bool:
    """Whether CUDA returns an error, and nothing changes."""
    return bool(violation.outcomes) and violation.outcomes[0] > 0 and not violation.undefined


def _names(call: Call, memory: Object) -> bool:
    """Whether the call names the beginning of the memory."""
    return memory.handle in call.args or memory.handle in call.pointers


def _somewhere(violation: Violation, model: Model, call: Call) -> bool:
    """Whether it is not known of which device one of the objects is, or which device is current."""
    contexts = [each.context or each for each in violation.objects] + [model.current_context(call)]
    return any(each is None or each.device is None or each.device >= SOME_DEVICE for each in contexts)


def ended_after_context(ended: Object, call: Call, first: Call) -> Violation:
    """The call ends an object after its context, which ``first`` destroyed."""

    text = f"{ended.name} is {ending(call)} after the context that it was made in"
    because = (f"the context was destroyed by {place(first)}",)
    return Violation(rule=SourceDestroyAfterContext, message=text, objects=(ended,), argument=0, because=because)


def given_to_heap(memory: Object) -> Violation:
    """Memory that CUDA knows is given to ``free`` or ``delete``."""

    if isinstance(memory, HostMemory) and memory.registered:
        text = f"{memory.name} is freed while it is registered"
        return Violation(rule=SourceFreedWhileRegistered, message=text, objects=(memory,), argument=0)
    right = (
        "pinned: it is for cudaFreeHost"
        if isinstance(memory, HostMemory)
        else "for cudaFree, and not of the host's heap"
    )
    return Violation(rule=SourceHeapFree, message=f"{memory.name} is {right}", objects=(memory,), argument=0)
