"""What only all functions of a class together show: members that are made and never ended, ended by the wrong function, made over
what is there, destroyed by a copy.

Order between the functions is not known, so nothing depends on it; and what is not seen speaks against a finding.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cuvet.findings import Finding, ObjectReport, Site, Step
from cuvet.rules.memory.free_wrong_function import MemoryFreeWrongFunction
from cuvet.rules.source.copied_owner import SourceCopiedOwner
from cuvet.rules.source.heap_free import SourceHeapFree
from cuvet.rules.source.member_leak import SourceMemberLeak
from cuvet.rules.source.member_overwritten import SourceMemberOverwritten
from cuvet.source.result import ClassOutline, Effect, Outline

if TYPE_CHECKING:
    from cuvet.rules.rule import Rule

_ENDS = re.compile(
    r"(?i)^__del__$|free|destroy|releas|delet|dealloc|clean|final|clos|shutdown|shut_down|terminat|teardown|tear_down|reset|clear|stop|end|exit|uninit|deinit|dispos|fini"
)
_REPEATED = re.compile(
    r"(?i)^(?:apply|forward|backward|run|compute|exec|process|update|step|solve|operator|call|eval|iterate|launch|query|search|detect|render"
    r"|draw|infer|transform|encode|decode|calc|sort|reduce|scan|copy|send|recv|receive|multiply|enqueue)"
)
"""Names of functions that are called again and again."""
_HOST = "host memory"
_DEVICE = "device memory"
_RAW = re.compile(r"\*|^cuda\w+_t\b|^CU(?!DA)\w+|^cudaTextureObject_t|^cudaArray_t")
_MOVES_ONLY = re.compile(r"unique_ptr|atomic|mutex|thread|future|promise|&$|ostream|istream|fstream")


@dataclass
class Whole:
    """A class with all that the project's functions do with its members."""

    outline: ClassOutline
    defined: set[str] = field(default_factory=set)
    effects: dict[str, list[Effect]] = field(default_factory=lambda: defaultdict(list))

    @property
    def name(self) -> str:
        return self.outline.name

    def of(self, member: str, *verbs: str) -> list[Effect]:
        return [effect for effect in self.effects.get(member, ()) if effect.verb in verbs]


def findings_of(outlines: Sequence[Outline]) -> Iterator[Finding]:
    handed = {name for outline in outlines for name in outline.handed} | _ended_elsewhere(outlines)
    assigned = {name for outline in outlines for name in outline.assigned}
    for whole in _wholes(outlines):
        for member in whole.outline.members:
            if whole.of(member, "makes"):
                yield from _of_member(whole, member, handed, assigned)
        yield from _copied(whole, handed)
    touched = _touched(outlines)
    for whole in _without_definition(outlines):
        for member in whole.effects:
            if member not in assigned:
                yield from _mismatched(whole, member)
            if whole.name and (whole.name, member) not in touched and member not in handed | assigned:
                yield from _left_out(whole, member)


def _ended_elsewhere(outlines: Sequence[Outline]) -> set[str]:
    """Members that are ended through a variable of whose type there is no definition: of any class that has such a member."""
    known = {each.name for outline in outlines for each in outline.classes}
    return {member for owner, member in _touched(outlines) if owner and owner not in known}


def _wholes(outlines: Sequence[Outline]) -> Iterator[Whole]:
    """Classes that have one definition. Of others it is not known whose functions are whose."""
    classes: dict[str, list[ClassOutline]] = defaultdict(list)
    for outline in outlines:
        for each in outline.classes:
            classes[each.name].append(each)
    wholes = {name: Whole(found[0]) for name, found in classes.items() if len(found) == 1 and not found[0].broken}
    for outline in outlines:
        for owner, function in outline.functions:
            if owner in wholes:
                wholes[owner].defined.add(function)
        for effect in outline.effects:
            if effect.owner in wholes:
                wholes[effect.owner].effects[effect.member].append(effect)
    yield from wholes.values()


def _without_definition(outlines: Sequence[Outline]) -> Iterator[Whole]:
    """Classes whose definition is not in sight, and the variables of a file: as far as one file makes and ends their members."""
    known = {each.name for outline in outlines for each in outline.classes}
    for outline in outlines:
        found: dict[str, Whole] = {}
        for effect in outline.effects:
            if effect.owner not in known:
                empty = ClassOutline(
                    name=effect.owner,
                    members={},
                    declared=(),
                    undefined=(),
                    copies=True,
                    bases=True,
                    initialised=(),
                    frame=effect.frame,
                )
                found.setdefault(effect.owner, Whole(empty)).effects[effect.member].append(effect)
        yield from found.values()


def _of_member(whole: Whole, member: str, handed: set[str], assigned: set[str]) -> Iterator[Finding]:
    made = whole.of(member, "makes")
    ended = whole.of(member, "ends")
    given = whole.of(member, "gives", "sets")
    if member not in assigned and (mismatched := tuple(_mismatched(whole, member))):
        yield from mismatched
    elif not _really(ended, made) and not given and member not in handed and _complete(whole, member):
        last = _ending_function(whole)
        where = f", though {last.frame.function} ends others" if last is not None else ""
        yield _finding(
            SourceMemberLeak,
            whole,
            member,
            made[0],
            f"{made[0].kind} {whole.name}::{member} is never {_past(made[0])}{where}",
            made[0],
            last,
        )
    else:
        yield from _overwritten(whole, member, made, ended, handed)


def _mismatched(whole: Whole, member: str) -> Iterator[Finding]:
    wrong = _wrong_function(whole.of(member, "makes"), whole.of(member, "ends"), whole.of(member, "gives", "sets"))
    if wrong is not None:
        first, last, kind, counterpart = wrong
        rule: type[Rule] = SourceHeapFree if last.kind == "heap" else MemoryFreeWrongFunction
        yield _finding(rule, whole, member, last, f"{member} is {kind}, which is for {counterpart}", first, last)


def _touched(outlines: Sequence[Outline]) -> set[tuple[str, str]]:
    """(class, member) of what is ended or given away somewhere, other than when making it failed."""
    effects = [effect for outline in outlines for effect in outline.effects]
    making = {(effect.owner, effect.member, effect.function) for effect in effects if effect.verb == "makes"}
    return {
        (effect.owner, effect.member)
        for effect in effects
        if effect.verb in ("gives", "sets")
        or (effect.verb == "ends" and not (effect.guarded and (effect.owner, effect.member, effect.function) in making))
    }


def _left_out(whole: Whole, member: str) -> Iterator[Finding]:
    """A function of the same file ends another member, of the same kind and made by the same function, and leaves this one out."""
    for made in whole.of(member, "makes"):
        for other in whole.effects:
            together = any(
                each.function == made.function and each.kind == made.kind for each in whole.of(other, "makes")
            )
            ended = [each for each in whole.of(other, "ends") if each.kind == made.kind and _ENDS.search(each.function)]
            if together and ended:
                last = ended[0]
                message = f"{made.kind} {whole.name}::{member} is never {_past(made)}, though {last.frame.function} ends {other}"
                yield _finding(SourceMemberLeak, whole, member, made, message, made, last)
                return


def _really(ended: list[Effect], made: list[Effect]) -> list[Effect]:
    """Without those that only clean up when the function that made the member fails."""
    making = {effect.function for effect in made}
    return [effect for effect in ended if not (effect.guarded and effect.function in making)]


def _past(made: Effect) -> str:
    return "freed" if made.kind in (_HOST, _DEVICE) else "destroyed"


def _wrong_function(
    made: list[Effect], ended: list[Effect], given: list[Effect]
) -> tuple[Effect, Effect, str, str] | None:
    """All that is ever put into the member is of one kind, and a function frees it as another."""
    kinds = {effect.kind for effect in made}
    if not made or given or len(kinds) != 1 or any(effect.api == "cudaHostRegister" for effect in made):
        return None
    for effect in ended:
        if effect.kind == "heap" and (
            effect.guarded or any(each.guarded for each in made) or not _of_one_object(effect, made)
        ):
            continue
        if made[0].kind == _HOST and effect.kind in (_DEVICE, "heap"):
            return made[0], effect, "pinned host memory", "cudaFreeHost"
        if made[0].kind == _DEVICE and effect.kind in (_HOST, "heap"):
            return made[0], effect, "device memory", "cudaFree"
    return None


def _of_one_object(effect: Effect, made: list[Effect]) -> bool:
    """Whether all are functions of the class itself: two parameters may be two objects of the class."""
    return effect.method and all(each.method for each in made)


def _complete(whole: Whole, member: str) -> bool:
    """Whether all functions that could end the member are in sight, and its class is one that ends what it makes."""
    outline = whole.outline
    if any(_ENDS.search(name) for name in outline.undefined if name not in whole.defined):
        return False
    if outline.bases and "__del__" not in outline.declared:
        return False
    made = whole.of(member, "makes")
    if "__del__" in outline.declared or any(effect.method for effect in made):
        return "__del__" in outline.declared or _ending_function(whole) is not None
    return _ending_function(whole) is not None


def _ending_function(whole: Whole) -> Effect | None:
    """Where a function that sounds like an end ends members of the class."""
    for effects in whole.effects.values():
        for effect in effects:
            if effect.verb == "ends" and _ENDS.search(effect.function):
                return effect
    return None


def _overwritten(
    whole: Whole, member: str, made: list[Effect], ended: list[Effect], handed: set[str]
) -> Iterator[Finding]:
    """Made anew by a function that can be called again, which neither ends nor asks for what is there."""
    if (
        "[]" in whole.outline.members[member]
        or "vector" in whole.outline.members[member]
        or "array" in whole.outline.members[member]
    ):
        return
    for effect in made:
        others = [each for each in whole.effects[member] if each.function == effect.function]
        if (
            effect.method
            and not effect.guarded
            and _REPEATED.search(effect.function)
            and all(each.verb == "makes" for each in others)
            and len(others) == 1
            and ended
            and not whole.of(member, "tests")
        ):
            yield _finding(
                SourceMemberOverwritten,
                whole,
                member,
                effect,
                f"{whole.name}::{effect.function} makes {member} anew each time, and loses the one before",
                effect,
                None,
            )


def _copied(whole: Whole, handed: set[str]) -> Iterator[Finding]:
    """The compiler copies the members, and the copy's destructor ends what the original still has."""
    outline = whole.outline
    if outline.copies or outline.bases or "__del__" not in outline.declared:
        return
    if any(_MOVES_ONLY.search(kind) for kind in outline.members.values()):
        return
    for member, kind in outline.members.items():
        ended = [effect for effect in whole.of(member, "ends") if effect.function == "__del__"]
        made = [effect for effect in whole.of(member, "makes") if effect.function == "__init__"]
        if ended and made and _RAW.search(kind) and "[]" not in kind:
            message = f"{whole.name} can be copied, and each copy's destructor ends the same {member}"
            yield _finding(SourceCopiedOwner, whole, member, ended[0], message, made[0], ended[0])
            return


def _finding(
    rule: type[Rule], whole: Whole, member: str, at: Effect, message: str, made: Effect, ended: Effect | None
) -> Finding:
    dot = "." if at.frame.language in ("python", "c#") else "::"
    message, name = message.replace("::", dot), f"{whole.name}{dot}{member}"
    ends = ended if ended is not None and ended.member == member else None
    path = [Step(frame=made.frame, text=f"{made.frame.function} makes {member} here")]
    if ended is not None:
        path.append(Step(frame=ended.frame, text=f"{ended.frame.function} ends {ended.member} here"))
    return Finding(
        rule=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=message,
        api=at.api,
        site=_site(at),
        objects=(
            ObjectReport(
                kind=made.kind,
                handle="",
                generation=1,
                name=name,
                created=_site(made),
                destroyed=_site(ends) if ends else None,
            ),
        ),
        path=tuple(path),
        help=rule.help,
        evidence=rule.evidence,
    )


def _site(effect: Effect) -> Site:
    return Site(api=effect.api, call=effect.frame.line or 0, process=0, thread=0, time_ns=0, frames=(effect.frame,))
