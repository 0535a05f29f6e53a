"""What only all functions of a class together show: members that are made and never ended, ended by the wrong function, made over
what is there; and, by ``cuvet.source.project.members``, ended by who must not.

Order between the functions is not known, so nothing depends on it; and what is not seen speaks against a finding.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from cuvet.catalog import Kind
from cuvet.findings import Finding, Severity
from cuvet.rules.memory.free_wrong_function import MemoryFreeWrongFunction
from cuvet.rules.rule import Rule
from cuvet.rules.source.heap_free import SourceHeapFree
from cuvet.rules.source.member_leak import SourceMemberLeak
from cuvet.rules.source.member_overwritten import SourceMemberOverwritten
from cuvet.source.calls import meaning, resets_device
from cuvet.source.languages.cpp_text import holds_several
from cuvet.source.ownership import WRONG_FUNCTION, ends_its_object, is_fixture
from cuvet.source.project.left_out import (
    asked_by,
    given_like_another,
    left_out,
    past,
    really,
    touched,
    variables_left_out,
)
from cuvet.source.project.members import aliased, copied, ended_twice, not_made, not_owned
from cuvet.source.project.statics import destroyed_with
from cuvet.source.project.throwing import lost_if_thrown, throwing
from cuvet.source.project.wholes import Whole, by_one_name, finding_of, whole_classes, with_inner, without_definition
from cuvet.source.result import Attempt, Constructor, Effect, Outline

_REPEATED = re.compile(
    r"(?i)^(?:apply|forward|backward|run|compute|exec|process|update|step|solve|operator|call|eval|iterate|launch|query|search|detect|render"
    r"|draw|infer|transform|encode|decode|calc|sort|reduce|scan|copy|send|recv|receive|multiply|enqueue)"
)
"""Names of functions that are called again and again."""
_WORD = re.compile(r"[A-Za-z_]\w*")
_POINTER = re.compile(r"\*|(?i:ptr|pointer)")
"""The type of a member that may hold an address: ``float *``, ``CUdeviceptr``, ``std::unique_ptr<float>``."""
_VECTORS = re.compile(r"\b(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]\s*\*")
"""Memory of elements that hold numbers and no pointer: ``float4 *``."""
_HOST = "host memory"
_DEVICE = "device memory"


def findings_of(outlines: Sequence[Outline]) -> Iterator[Finding]:
    outlines = with_inner(by_one_name(outlines))
    handed = {name for outline in outlines for name in outline.handed} | _ended_elsewhere(outlines)
    assigned = {name for outline in outlines for name in outline.assigned}
    lasting = {name for outline in outlines for it in outline.objects for name in destroyed_with(it.type)}
    constructors: dict[str, list[Constructor]] = defaultdict(list)
    for outline in outlines:
        for each in outline.constructors:
            constructors[each.owner].append(each)
    attempts: dict[str, list[Attempt]] = defaultdict(list)
    for outline in outlines:
        for attempt in outline.attempts:
            attempts[attempt.owner].append(attempt)
    throws = throwing(outlines) if attempts else frozenset()
    for whole in whole_classes(outlines):
        for member in whole.outline.members:
            if whole.of(member, "makes"):
                yield from _of_member(whole, member, handed, assigned, lasting)
        for member in whole.outline.shared:
            if member not in assigned:
                yield from _mismatched(whole, member)
        yield from copied(whole)
        yield from aliased(whole)
        yield from not_owned(whole)
        yield from not_made(whole, constructors[whole.name])
        yield from ended_twice(whole, constructors[whole.name])
        yield from lost_if_thrown(whole, attempts[whole.name], throws)
    handled = touched(outlines)
    for whole in without_definition(outlines):
        for member in whole.effects:
            if member not in assigned and "." not in member:
                yield from _mismatched(whole, member)
            untouched = (
                whole.name
                and handled.isdisjoint((whole.name, each) for each in _around(member))
                and (handed | assigned).isdisjoint((*_around(member), member.rpartition(".")[2]))
            )
            missed = tuple(left_out(whole, member)) if untouched else ()
            yield from missed or _lost_anew(whole, member)
    yield from variables_left_out(outlines, handled, handed | assigned)


def _around(member: str) -> Iterator[str]:
    """The member, and those that it is within."""
    while member:
        yield member
        member = member.rpartition(".")[0]


def _ended_elsewhere(outlines: Sequence[Outline]) -> set[str]:
    """Members that are ended through a variable of whose type there is no definition: of any class that has such a member."""
    known = {each.name for outline in outlines for each in outline.classes}
    ended = {member for owner, member in touched(outlines) if owner and owner not in known}
    shown = (effect for outline in outlines for effect in outline.effects if effect.verb == "shows")
    inner = {
        effect.within[-1]
        for outline in outlines
        for effect in outline.effects
        if effect.within and effect.verb in ("ends", "gives")
    }
    return ended | inner | {effect.member for effect in shown if f"{effect.function}()" in ended}


def _of_member(whole: Whole, member: str, handed: set[str], assigned: set[str], lasting: set[str]) -> Iterator[Finding]:
    made = whole.of(member, "makes")
    ended = whole.of(member, "ends")
    given = whole.of(member, "gives", "sets")
    if member not in assigned and (mismatched := tuple(_mismatched(whole, member))):
        yield from mismatched
    elif (
        not (really(ended, made, whole.run_at_end) or given or member in handed)
        and (severity := _how_complete(whole, member, lasting))
        and _missed(whole, made[0])
    ):
        last = _ending_function(whole, made[0].owner)
        where = f", though {last.frame.function} ends others" if last is not None else ""
        message = f"{made[0].kind} {whole.name}::{member} is never {past(made[0])}{where}"
        yield finding_of(SourceMemberLeak, whole, member, made[0], message, made[0], last, severity=severity)
    elif not ended and not whole.of(member, "sets") and member not in handed | assigned:
        yield from given_like_another(whole, member)
    else:
        yield from _overwritten(whole, member, made, ended, handed)


def _given_away(whole: Whole, member: str) -> list[Effect]:
    """Where it is given to somebody, or set to something else; not where an element of it is filled that is a vector of CUDA."""
    vectors = _VECTORS.search(whole.outline.members.get(member, "")) is not None
    return [each for each in whole.of(member, "gives", "sets") if not (vectors and each.verb == "sets" and each.within)]


def _missed(whole: Whole, made: Effect) -> bool:
    """Modules end with their context, and contexts with the process: one is missed where others are ended. Nothing of CUDA's own is missed
    where the destructor ends all that the context has (CUDA Driver API, cuCtxDestroy; CUDA Runtime API, cudaDeviceReset)."""
    known = meaning(made.api)
    if (
        known is not None
        and known.entry_point.api in ("driver", "runtime")
        and any(_ends_all(each) for each in whole.of("", "calls"))
    ):
        return False
    return made.kind not in (Kind.MODULE.noun, Kind.CONTEXT.noun) or any(
        effect.verb == "ends" and effect.kind == made.kind for effects in whole.effects.values() for effect in effects
    )


def _ends_all(effect: Effect) -> bool:
    return effect.kind == Kind.CONTEXT.noun or resets_device(effect.api)


def _mismatched(whole: Whole, member: str) -> Iterator[Finding]:
    kind = whole.outline.members.get(member, "")
    if kind and not _POINTER.search(kind):
        return  # a struct, with members of either kind
    wrong = _wrong_function(whole.of(member, "makes"), whole.of(member, "ends"), _given_away(whole, member))
    if wrong is not None:
        first, last, kind, counterpart = wrong
        rule: type[Rule] = SourceHeapFree if last.kind == "heap" else MemoryFreeWrongFunction
        severity: Severity | None = "note" if last.kind == "heap" and not last.method else None
        message = f"{member} is {kind}, which is for {counterpart}"
        yield finding_of(rule, whole, member, last, message, first, last, severity=severity)


def _wrong_function(
    made: list[Effect], ended: list[Effect], given: list[Effect]
) -> tuple[Effect, Effect, str, str] | None:
    """All that is ever put into the member is of one kind, and a function frees it as another."""
    kinds = {effect.kind for effect in made}
    if not made or given or len(kinds) != 1 or any(effect.api == "cudaHostRegister" for effect in made):
        return None
    if any(effect.within for effect in (*made, *ended)):
        return None  # another member within it may be meant each time
    rightly = [effect for effect in ended if effect.kind in kinds]
    for effect in ended:
        if (effect.guarded or effect.left_before) and not all(_asks_no_more(effect, right) for right in rightly):
            continue  # a condition tells them apart
        if effect.kind == "heap" and (
            effect.guarded or any(each.guarded for each in made) or not _of_every_object(effect, made, ended)
        ):
            continue
        if made[0].kind == _HOST and effect.kind in (_DEVICE, "heap"):
            return made[0], effect, *WRONG_FUNCTION[Kind.HOST_MEMORY]
        if made[0].kind == _DEVICE and effect.kind in (_HOST, "heap"):
            return made[0], effect, *WRONG_FUNCTION[Kind.MEMORY]
    return None


def _asks_no_more(effect: Effect, other: Effect) -> bool:
    """Whether all that the conditions of the effect ask is known, and asked for the other one too."""
    asked = asked_by(effect)
    return bool(asked) and not effect.left_before and asked <= asked_by(other)


def _of_every_object(effect: Effect, made: list[Effect], ended: list[Effect]) -> bool:
    """Whether the member is made in whatever object of the class the function may have. All are functions of the class itself, or none is:
    then two parameters may be two objects, and another function must free the member as what it is."""
    if effect.method:
        return all(each.method for each in made)
    others = (each for each in ended if each.function != effect.function)
    return not any(each.method for each in made) and any(each.kind == made[0].kind for each in others)


def _how_complete(whole: Whole, member: str, lasting: set[str]) -> Severity | None:
    """``warning`` if all functions that could end the member are in sight, and its class is one that ends what it makes; ``note`` if it is
    only certain that the end of the object does not end what its beginning made. Classes ``lasting`` have objects that last as long as the
    program."""
    outline = whole.outline
    if whole.name in lasting:
        return None
    unseen = [name for name in outline.undefined if name not in whole.defined and ends_its_object(name)]
    if not unseen and _ends_what_it_makes(whole, member):
        return "warning"
    begun = any(effect.method and effect.function == "__init__" for effect in whole.of(member, "makes"))
    alone = not outline.bases or outline.frame.language not in ("python", "c#")
    seen = "__del__" in whole.defined or (not unseen and "__del__" not in outline.declared and alone)
    return "note" if begun and seen else None


def _ends_what_it_makes(whole: Whole, member: str) -> bool:
    outline = whole.outline
    if outline.bases and "__del__" not in outline.declared:
        return False
    made = whole.of(member, "makes")
    if "__del__" in outline.declared or any(effect.method for effect in made):
        return "__del__" in outline.declared or _ending_function(whole) is not None
    return _ending_function(whole) is not None


def _ending_function(whole: Whole, owner: str = "") -> Effect | None:
    """Where a function that sounds like an end ends members of the class. ``owner``: not one of another class that is derived from it."""
    for effects in whole.effects.values():
        for effect in effects:
            if (
                effect.verb == "ends"
                and ends_its_object(effect.function)
                and effect.owner in (owner or effect.owner, whole.name)
            ):
                return effect
    return None


def _overwritten(
    whole: Whole, member: str, made: list[Effect], ended: list[Effect], handed: set[str]
) -> Iterator[Finding]:
    """Made anew by a function that can be called again, which neither ends nor asks for what is there."""
    if holds_several(whole.outline.members[member]) or is_fixture(whole.outline.declared):
        return
    yield from _lost_anew(whole, member)
    for effect in made if ended and not whole.of(member, "tests") else ():
        here = {effect.function, *whole.own_calls[effect.function]}
        alone = sum(each.function in here for each in whole.effects[member]) == 1 and not _once(whole, effect)
        if effect.method and not effect.guarded and _REPEATED.search(effect.function) and alone:
            message = f"{whole.name}::{effect.function} makes {member} anew each time, and loses the one before"
            yield finding_of(SourceMemberOverwritten, whole, member, effect, message, effect, None)


def _once(whole: Whole, made: Effect) -> bool:
    """Whether a member, or a function of the class, decides that the function returns before."""
    asked = (text.partition(" ")[0] for text, _ in made.left_before)
    own = {*whole.outline.members, *whole.outline.declared}
    return any(name in own for text in asked for name in _WORD.findall(text))


def _lost_anew(whole: Whole, member: str) -> Iterator[Finding]:
    """Made anew by a function that is sure to find an object there: it makes a larger one, or it ends the others before it makes them."""
    for effect in whole.of(member, "makes"):
        here = [each for each in whole.effects[member] if each.function == effect.function]
        called = whole.own_calls[effect.function]
        if any(each.function in called for each in whole.of(member, "ends")) or any(
            each is not effect and not _only_hands_out(whole, each, effect) for each in here
        ):
            continue
        renewed = _renewed(whole, effect)
        if effect.grows:
            message = f"{whole.name}::{effect.function} makes {member} anew for another size, and loses the one before"
            yield finding_of(SourceMemberOverwritten, whole, member, effect, message.removeprefix("::"), effect, None)
        elif renewed is not None:
            message = f"{effect.frame.function} makes {member} anew, and ends {renewed.member} before, but not {member}"
            yield finding_of(SourceMemberOverwritten, whole, member, effect, message, effect, renewed)
        else:
            continue
        return


def _only_hands_out(whole: Whole, effect: Effect, made: Effect) -> bool:
    """Whether the function returns or copies the member after it has made it, or where it returns before it makes it, though the destructor
    ends it, or a function that it calls: whoever gets it does not own it."""
    elsewhere = any((text, not truth) in made.left_before for text, truth in effect.under)
    after = (effect.frame.line or 0) > (made.frame.line or 0)
    at_end = {"__del__", *whole.own_calls["__del__"]}
    ended = any(each.function in at_end for each in whole.of(made.member, "ends"))
    return (after or elsewhere) and ended and (effect.verb == "shows" or (effect.verb == "gives" and not effect.api))


def _renewed(whole: Whole, made: Effect) -> Effect | None:
    """Where the function ends another of the members that it makes later, of the same kind; None if it does so to fewer than two."""
    found: list[Effect] = []
    for other, effects in whole.effects.items():
        here = [each for each in effects if each.function == made.function and each.frame.file == made.frame.file]
        lines = [each.frame.line or 0 for each in here if each.verb == "makes" and each.kind == made.kind]
        first = next((each for each in here if each.verb == "ends"), None)
        if other != made.member and lines and first is not None and (first.frame.line or 0) < min(lines):
            found.append(first)
    before = [each for each in found if (each.frame.line or 0) < (made.frame.line or 0)]
    return before[0] if len(before) > 1 else None
