"""Which of the model's rules a path through source code can show, and what they say of a call."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from cuvet.model import HostMemory

if TYPE_CHECKING:
    from cuvet.catalog import EntryPoint
    from cuvet.model import Call, Model, Object
    from cuvet.rules.rule import Rule, Violation

_FAMILIES = (
    "use-after-destroy",
    "destroy-twice",
    "use-after-unload",
    "unload-twice",
    "never-created",
    "use-after-context-destroy",
)
_ABOUT_DEVICES = ("-other-context", "-other-device")
SOME_DEVICE = 1 << 20
"""Numbers from here on stand for devices that are not known."""
_ALSO = frozenset(
    {
        "memory-free-twice",
        "memory-free-wrong-function",
        "memory-use-after-free",
        "memory-freed-in-kernel",
        "device-use-after-reset",
        "stream-other-context",
        "event-other-context",
        "event-elapsed-other-device",
        "event-timing-disabled",
        "host-memory-register-pinned",
        "host-memory-registered-twice",
        "host-memory-register-device-memory",
        "host-memory-unregistered-twice",
        "host-memory-unregister-pinned",
        "graph-node-use-after-graph-destroy",
        "exit-leak",
    }
)
_OF_RANGES = frozenset({"host-memory-registered-twice"})
"""They compare ranges of memory: of those whose sizes are not known, only the same beginning tells that they overlap."""
_NOT = frozenset({"library-handle-never-created"})
"""It takes all of a process's calls to say so."""


def seen_in_source(rule: type[Rule]) -> bool:
    """Whether a path through source code can show that the rule is broken. The others need sizes, flags, order between streams, or
    what other code did."""
    return rule.name in _ALSO or (rule.name.endswith(_FAMILIES) and rule.name not in _NOT)


def is_about_devices(rule: type[Rule]) -> bool:
    """Whether it depends on which device or context is current."""
    return rule.name.endswith(_ABOUT_DEVICES)


@cache
def _rules(entry_point: EntryPoint) -> tuple[type[Rule], ...]:
    from cuvet.rules import model_rules

    return tuple(rule for rule in model_rules() if seen_in_source(rule) and rule.applies_to(entry_point))


def judge(call: Call, model: Model) -> Iterator[Violation]:
    """Violations by the call that are about an object that was seen: what is not visible is never wrong."""
    for rule in _rules(call.entry_point):
        for violation in rule.check(call, model):
            if not violation.objects or (is_about_devices(rule) and _somewhere(violation, model, call)):
                continue
            if rule.name in _OF_RANGES and violation.objects[0].handle not in call.args:
                continue
            yield violation


def is_refused(violation: Violation) -> bool:
    """Whether CUDA returns an error, and nothing changes."""
    return bool(violation.outcomes) and violation.outcomes[0] > 0 and not violation.undefined


def _somewhere(violation: Violation, model: Model, call: Call) -> bool:
    """Whether it is not known of which device one of the objects is, or which device is current."""
    contexts = [each.context or each for each in violation.objects] + [model.current_context(call)]
    return any(each is None or each.device is None or each.device >= SOME_DEVICE for each in contexts)


def ended_after_context(ended: Object, call: Call, first: Call) -> Violation:
    """The call ends an object after its context, which ``first`` destroyed."""
    from cuvet.rules.lifecycle import ending, place
    from cuvet.rules.rule import Violation
    from cuvet.rules.source.destroy_after_context import SourceDestroyAfterContext

    text = f"{ended.name} is {ending(call)} after the context that it was made in"
    because = (f"the context was destroyed by {place(first)}",)
    return Violation(rule=SourceDestroyAfterContext, message=text, objects=(ended,), argument=0, because=because)


def given_to_heap(memory: Object) -> Violation:
    """Memory that CUDA knows is given to ``free`` or ``delete``."""
    from cuvet.rules.rule import Violation
    from cuvet.rules.source.freed_while_registered import SourceFreedWhileRegistered
    from cuvet.rules.source.heap_free import SourceHeapFree

    if isinstance(memory, HostMemory) and memory.registered:
        text = f"{memory.name} is freed while it is registered"
        return Violation(rule=SourceFreedWhileRegistered, message=text, objects=(memory,), argument=0)
    right = (
        "pinned: it is for cudaFreeHost"
        if isinstance(memory, HostMemory)
        else "for cudaFree, and not of the host's heap"
    )
    return Violation(rule=SourceHeapFree, message=f"{memory.name} is {right}", objects=(memory,), argument=0)
