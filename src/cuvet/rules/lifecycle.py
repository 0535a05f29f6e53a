"""What the rules about an object's life share: one base for each way of naming an object that is not there.

A rule of this family is a base with a ``kind``. A dead object belongs to exactly one of them:

* ended by a call on itself: ``UseAfterDestroy``, or ``DestroyTwice`` when it is destroyed again;
* ended with its context, module or library: ``ParentGone``;
* ended by a device reset: the rule ``device-use-after-reset``.

A handle that names no object is zero (``NullHandle``) or was never handed out (``NeverCreated``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from cuvet.catalog.roles import ENDS, INTRODUCES, Kind, Role, Verb
from cuvet.model.precedence import Stage
from cuvet.rules.rule import CRASH, CallRule, Violation, Violations

if TYPE_CHECKING:  # start: a page of a rule needs no objects
    from cuvet.model import Call, ModelView, Object

NAMES = frozenset(Verb) - INTRODUCES
USES = NAMES - ENDS

_BUILT_IN_STREAMS = range(3)
"""NULL, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD."""


@dataclass(frozen=True, slots=True)
class Named:
    """An object as a call names it. ``object`` is None when the model has never seen the handle."""

    role: Role
    argument: int
    handle: int
    object: Object | None


def named(call: Call, model: ModelView, kind: Kind, verbs: frozenset[Verb] = NAMES) -> Iterator[Named]:
    """Objects of a kind that the call names, in the order of its roles. A parameter with several roles is named once.

    Handles in structs and arrays are included; built-in streams are not.
    """
    done: set[tuple[int, str]] = set()
    for role in call.entry_point.roles:
        if role.kind is not kind or role.verb not in verbs or not role.parameter:
            continue
        argument = call.entry_point.index[role.parameter]
        if (argument, role.field) in done:
            continue
        done.add((argument, role.field))
        if role.field or role.count:
            for member in model.objects_named(call, role):
                yield Named(role, argument, member.handle, member)
        elif kind is not Kind.STREAM or call.args[argument] not in _BUILT_IN_STREAMS:
            handle = call.args[argument]
            found = model.object_of(call, argument, kind) if handle or kind is Kind.CUFFT_PLAN else None
            yield Named(role, argument, handle, found)


def named_among(call: Call, model: ModelView, kinds: Iterable[Kind], verbs: frozenset[Verb] = NAMES) -> Iterator[Named]:
    """Objects of several kinds that the call names, kind by kind."""
    for kind in sorted(kinds):
        yield from named(call, model, kind, verbs)


def was_seen_made(call: Call, use: Named) -> bool:
    """Whether the shim saw the call that made the object, which the recording may lack."""
    seen = call.seen.get(use.argument)
    return seen is not None and seen.generation > 0


def a(noun: str) -> str:
    """The noun with its article."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def place(call: Call) -> str:
    """``thread 4711 at call #17``, for ``because`` lines."""
    return f"thread {call.thread} at call #{call.number}"


def written(call: Call) -> str:
    """The name of the call as the program wrote it, as far as it is known: of the runtime, or of the driver."""
    return call.asked


def ending(call: Call) -> str:
    """The word for what the call did to the objects that it ended: destroyed, unloaded, freed, reset."""
    if call.name in ("cuModuleUnload", "cuLibraryUnload"):
        return "unloaded"
    if by_reset(call):
        return "reset"
    return "freed" if any(role.verb is Verb.FREES for role in call.entry_point.roles) else "destroyed"


def by_reset(call: Call) -> bool:
    """Whether the call is a device reset."""
    return any(role.verb is Verb.RESETS for role in call.entry_point.roles)


def root(dead: Object) -> Object:
    """The object whose own end ended ``dead``: itself, or its module, or the context of that."""
    while dead.killed_by is not None:
        dead = dead.killed_by
    return dead


def chain(dead: Object) -> tuple[str, ...]:
    """How a dead object ended, from the object itself to the one whose end began it."""
    lines = []
    while dead.killed_by is not None and dead.destroyed_by is not None:
        parent = dead.killed_by
        how = "destroyed" if parent.killed_by is not None and by_reset(dead.destroyed_by) else ending(dead.destroyed_by)
        lines.append(f"{dead.name} died because {parent.name} was {how}")
        dead = parent
    if dead.destroyed_by is not None:
        lines.append(f"{dead.name} was {ending(dead.destroyed_by)} by {place(dead.destroyed_by)}")
    return tuple(lines)


class LifeRule(CallRule):
    """A rule about objects of one kind. ``outcomes``, ``undefined`` and ``only_if_failed`` are those of its violations."""

    kind: ClassVar[Kind]
    outcomes: ClassVar[tuple[int, ...]] = ()
    outcomes_of: ClassVar[Mapping[str, tuple[int, ...]]] = {}
    """Of entry points where they are others."""
    undefined: ClassVar[bool] = True
    only_if_failed: ClassVar[bool] = False
    only_for_dead = True
    stage = Stage.HANDLE

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" in vars(cls) and "kinds" not in vars(cls):
            cls.kinds = frozenset({cls.kind})

    @classmethod
    def violation(cls, call: Call, use: Named, message: str, *others: Object) -> Violation:
        """What the rule says about an object that the call names. ``others`` are further objects that it is about."""
        dead = use.object
        return Violation(
            rule=cls,
            message=message,
            objects=others if dead is None else (dead, *others),
            argument=use.argument,
            because=() if dead is None else chain(dead),
            outcomes=cls.outcomes_of.get(call.name, cls.outcomes),
            undefined=cls.undefined,
            only_if_failed=cls.only_if_failed,
        )


def _ended_by_calls(
    call: Call, model: ModelView, kinds: Iterable[Kind], verbs: frozenset[Verb], roots: frozenset[Kind] = frozenset()
) -> Iterator[tuple[Named, Object, str]]:
    """Objects that the call names and that an earlier call ended, on themselves or on what they are of, with the word for how."""
    for use in named_among(call, model, kinds, verbs):
        dead = use.object
        if dead is None or dead.destroyed_by is None:
            continue
        if dead.killed_by is None or dead.killed_by.kind in roots:
            yield use, dead, ending(dead.destroyed_by)


class UseAfterDestroy(LifeRule):
    """A call names an object that an earlier call destroyed, or with it the object of a kind in ``roots`` that it is of."""

    in_source = True
    only_after_end = True
    verbs = USES
    roots: ClassVar[frozenset[Kind]] = frozenset()

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for use, dead, how in _ended_by_calls(call, model, cls.kinds or (), USES, cls.roots):
            yield cls.violation(call, use, f"{dead.name} was {how} before this call")


class DestroyTwice(LifeRule):
    """A call destroys an object that an earlier call destroyed."""

    in_source = True
    only_after_end = True
    verbs = ENDS
    fix = "remove-call"

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for use, dead, how in _ended_by_calls(call, model, cls.kinds or (), ENDS):
            yield cls.violation(call, use, f"{dead.name} was already {how}")


class ParentGone(LifeRule):
    """A call uses or destroys an object that ended with another one, of a kind in ``roots``.

    ``kinds`` are the kinds of roles that may name such an object (a launch takes functions and kernels). ``kills``: those of the roots
    after whose end a call can also kill the process; it was measured to do so in some runs.
    """

    in_source = True
    only_after_end = True
    verbs = NAMES
    roots: ClassVar[frozenset[Kind]] = frozenset({Kind.CONTEXT})
    kills: ClassVar[frozenset[Kind]] = frozenset()

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for use in named_among(call, model, cls.kinds or ()):
            dead = use.object
            if dead is None or dead.kind is not cls.kind or dead.killed_by is None or dead.destroyed_by is None:
                continue
            if by_reset(dead.destroyed_by):
                continue
            first = root(dead)
            if first.kind in cls.roots:
                message = f"{dead.name} ended when {first.name} was {ending(dead.destroyed_by)}"
                found = cls.violation(call, use, message, first)
                yield replace(found, outcomes=(*found.outcomes, CRASH)) if first.kind in cls.kills else found


class NullHandle(LifeRule):
    """A call is given zero where an object is wanted."""

    verbs = NAMES
    undefined = False

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for use in named(call, model, cls.kind):
            if use.handle == 0 and not use.role.null:
                yield cls.violation(call, use, f"the {cls.kind.noun} handle is NULL")


class NeverCreated(LifeRule):
    """A call is given a handle that no call of this process handed out, or the handle of something else, and fails.

    A handle may have been made in ways that cannot be seen, so a call that succeeds with it is never reported. ``mistaken``: the outcomes
    for a living object of another kind, where they were measured, what was measured first.
    """

    in_source = True
    verbs: ClassVar[frozenset[Verb]] = NAMES
    undefined = False
    only_if_failed = True
    mistaken: ClassVar[Mapping[Kind, tuple[int, ...]]] = {}

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for use in named(call, model, cls.kind, cls.verbs):
            if use.handle == 0 or use.object is not None or was_seen_made(call, use):
                continue
            others = tuple(other for other in model.kinds_of(use.handle) if other.alive)
            if others:
                other = others[-1]
                found = cls.violation(call, use, f"{use.handle:#x} is {other.name}, not {a(cls.kind.noun)}", other)
                yield replace(found, outcomes=cls.mistaken.get(other.kind, found.outcomes))
                continue
            elsewhere = next((each for each in model.objects(cls.kind) if each.handle == use.handle), None)
            if elsewhere is not None and elsewhere.context is not None:
                message = f"{use.handle:#x} is {elsewhere.name} in {elsewhere.context.name}, which is not current"
                yield cls.violation(call, use, message, elsewhere, elsewhere.context)
            elif model.sees_all(cls.kind):
                yield cls.violation(call, use, f"{use.handle:#x} was never handed out as {a(cls.kind.noun)}")
