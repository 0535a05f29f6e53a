"""Classes with all that the functions of a project do with their members, and findings about these."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from cuvet.findings import Finding, Frame, ObjectReport, Severity, Step
from cuvet.rules.rule import Rule
from cuvet.source.callees import made_by_type
from cuvet.source.ownership import ends_its_object
from cuvet.source.result import ClassOutline, Effect, Outline
from cuvet.source.sites import finding, site

_MOST_ANCESTORS = 5
_RESETS = re.compile(r"(?i)reset_?(?!all\b)\w")
"""Something is reset, not all that there is."""
_TYPE = re.compile(r"([A-Za-z_]\w*)\s*(?:<.*>)?[\s*&\[\]]*$")
"""The class that a type names."""


@dataclass
class Whole:
    """A class with all that the project's functions do with its members."""

    outline: ClassOutline
    defined: set[str] = field(default_factory=set)
    effects: dict[str, list[Effect]] = field(default_factory=lambda: defaultdict(list))
    heirs: set[str] = field(default_factory=set)
    """Classes that are derived from it, and do something with its members."""
    own_calls: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """By function: those of the same object that it calls, where one of the two sounds like an end."""

    @property
    def name(self) -> str:
        return self.outline.name

    @property
    def run_at_end(self) -> set[str]:
        """Functions that those which end the object call of it. With the destructor in sight, a reset of something only begins it anew."""
        begins_anew = "__del__" in self.defined
        return {
            name
            for function, called in self.own_calls.items()
            if ends_its_object(function) and not (begins_anew and _RESETS.match(function))
            for name in called
        }

    def of(self, member: str, *verbs: str) -> list[Effect]:
        return [effect for effect in self.effects.get(member, ()) if effect.verb in verbs]


def whole_classes(outlines: Sequence[Outline]) -> Iterator[Whole]:
    """Classes that have one definition. Of others it is not known whose functions are whose."""
    classes: dict[str, list[ClassOutline]] = defaultdict(list)
    for outline in outlines:
        for each in outline.classes:
            classes[each.name].append(each)
    having = _Having(outlines)
    wholes = {name: Whole(found[0]) for name, found in classes.items() if len(found) == 1 and not found[0].broken}
    for outline in outlines:
        for owner, function in outline.functions:
            if owner in wholes:
                wholes[owner].defined.add(function)
        for owner, function, called in outline.own_calls:
            if owner in wholes:
                wholes[owner].own_calls[function].add(called)
        for effect in outline.effects:
            owner = having.of(effect)
            if owner in wholes:
                wholes[owner].effects[effect.member].append(effect)
                wholes[owner].heirs.update({effect.owner} - {owner})
    for whole in wholes.values():
        _see_through(whole)
        _learn_makers(whole)
        yield whole


def by_one_name(outlines: Sequence[Outline]) -> list[Outline]:
    """The outlines, with classes that have one definition by its name, where a name stands for the same type in all files."""
    definitions = Counter(each.name for outline in outlines for each in outline.classes)
    types: dict[str, set[str]] = defaultdict(set)
    for outline in outlines:
        for name, kind in outline.synonyms.items():
            types[name].add(kind)
    one = {name: next(iter(kinds)) for name, kinds in types.items() if len(kinds) == 1 and name not in definitions}
    found: dict[str, str] = {}
    for name, kind in one.items():
        for _ in range(_MOST_ANCESTORS):
            kind = one.get(kind, kind)
        if definitions[kind] == 1:
            found[name] = kind
    return [_renamed(outline, found) for outline in outlines] if found else list(outlines)


def _renamed(outline: Outline, synonyms: dict[str, str]) -> Outline:
    if synonyms.keys().isdisjoint(effect.owner for effect in outline.effects):
        return outline
    replace = msgspec.structs.replace
    effects = tuple(replace(it, owner=synonyms.get(it.owner, it.owner)) for it in outline.effects)
    return replace(outline, effects=effects)


def with_inner(outlines: Sequence[Outline]) -> list[Outline]:
    """The outlines, in which what is done with a member of a member is also done with the inner one of its own class. Where no type says
    which class that is, and where a member is set, which sets no other, the effect keeps the names ``within``."""
    having = _Having(outlines)
    return [
        msgspec.structs.replace(outline, effects=tuple(each for it in outline.effects for each in _inner(it, having)))
        if any(effect.within for effect in outline.effects)
        else outline
        for outline in outlines
    ]


def _inner(effect: Effect, having: "_Having") -> tuple[Effect, ...]:
    found = effect
    for name in effect.within:
        kind = _TYPE.search(having.type_of(found))
        if kind is None or not having.knows(kind[1]):
            return (effect,)
        found = msgspec.structs.replace(found, owner=kind[1], member=name, within=(), method=False)
    if not effect.within:
        return (effect,)
    outer = effect if effect.verb == "sets" else msgspec.structs.replace(effect, within=())
    return outer, found


class _Having:
    """Which class has a member: the one whose function names it, or one that it is derived from."""

    def __init__(self, outlines: Sequence[Outline]) -> None:
        self._members: dict[str, dict[str, str]] = defaultdict(dict)
        self._parents: dict[str, set[str]] = defaultdict(set)
        for outline in outlines:
            for each in outline.classes:
                self._members[each.name].update(each.members)
            for name, parent in outline.parents.items():
                self._parents[name].add(parent)

    def knows(self, name: str) -> bool:
        return name in self._members

    def type_of(self, effect: Effect) -> str:
        """Of the member; empty if it is not known."""
        return self._members.get(self.of(effect), {}).get(effect.member, "")

    def of(self, effect: Effect) -> str:
        owner = effect.owner
        for _ in range(_MOST_ANCESTORS):
            parents = self._parents.get(owner, set())
            if effect.member in self._members.get(owner, ()) or len(parents) != 1:
                break
            (owner,) = parents
        return owner if effect.member in self._members.get(owner, ()) else effect.owner


def _learn_makers(whole: Whole) -> None:
    """A function that is named as if it created things, and is given the address of a handle, makes one of its type."""
    for member, effects in whole.effects.items():
        kind = whole.outline.members.get(member, "").rpartition("::")[2].strip()
        made = made_by_type(kind)
        for at, effect in enumerate(effects):
            if effect.verb == "asks":
                effects[at] = msgspec.structs.replace(
                    effect,
                    verb="makes" if made else "gives",
                    kind=made[0] if made else "",
                    api=made[1] if made else effect.api,
                )


def _see_through(whole: Whole) -> None:
    """What is done with what a function shows is done with the member."""
    shown = {
        f"{effect.function}()": effect.member
        for effects in whole.effects.values()
        for effect in effects
        if effect.verb == "shows"
    }
    for call, member in shown.items():
        for effect in whole.effects.pop(call, ()):
            whole.effects[member].append(msgspec.structs.replace(effect, member=member))


def without_definition(outlines: Sequence[Outline]) -> Iterator[Whole]:
    """Classes that have no definition in sight or several, and the variables of a file: as far as one file makes and ends their members."""
    definitions = Counter(each.name for outline in outlines for each in outline.classes)
    known = {name for name, count in definitions.items() if count == 1}
    having = _Having(outlines)
    for outline in outlines:
        found: dict[str, Whole] = {}
        for effect in outline.effects:
            if having.of(effect) not in known:
                empty = ClassOutline(name=effect.owner, members={}, copies=True, bases=True, frame=effect.frame)
                inner = (
                    effect if not effect.owner else msgspec.structs.replace(effect, member=full_name(effect), within=())
                )
                found.setdefault(effect.owner, Whole(empty)).effects[inner.member].append(inner)
        for whole in found.values():
            _learn_makers(whole)
            yield whole


def full_name(effect: Effect) -> str:
    """Of the member, and of what is named within it."""
    return ".".join((effect.member, *effect.within))


def ending_step(effect: Effect) -> tuple[Frame, str]:
    return effect.frame, f"{effect.frame.function} ends {effect.member} here"


def finding_of(
    rule: type[Rule],
    whole: Whole,
    member: str,
    at: Effect,
    message: str,
    made: Effect,
    ended: Effect | None,
    steps: Sequence[tuple[Frame, str]] = (),
    severity: Severity | None = None,
) -> Finding:
    dot = "." if at.frame.language in ("python", "c#") else "::"
    message, name = message.replace("::", dot), f"{whole.name}{dot}{member}".removeprefix(dot)
    ends = ended if ended is not None and ended.member == member else None
    if not steps:
        steps = ((made.frame, f"{made.frame.function} makes {member} here"), *((ending_step(ended),) if ended else ()))
    it = ObjectReport(
        kind=made.kind,
        handle="",
        generation=1,
        name=name,
        created=site(made.api, made.frame),
        destroyed=site(ends.api, ends.frame) if ends else None,
    )
    path = tuple(Step(frame=each, text=text) for each, text in steps)
    return finding(rule, message, site(at.api, at.frame), objects=(it,), path=path, severity=severity)
