"""Members that are ended by who must not: by a copy, by an alias, for a caller, or without ever having had a value."""

import re
from collections.abc import Iterator, Sequence
from itertools import product

from cuvet.findings import Finding
from cuvet.rules.source.copied_owner import SourceCopiedOwner
from cuvet.rules.source.kept_after_end import SourceKeptAfterEnd
from cuvet.rules.source.member_aliased import SourceMemberAliased
from cuvet.rules.source.member_not_owned import SourceMemberNotOwned
from cuvet.rules.source.member_uninitialized import SourceMemberUninitialized
from cuvet.source.languages.cpp import HANDLE
from cuvet.source.languages.cpp_text import holds_several
from cuvet.source.ownership import adopts, says_who_owns
from cuvet.source.project.wholes import Whole, ending_step, finding_of
from cuvet.source.result import Constructor, Effect

_WORD = re.compile(r"[A-Za-z_]\w*")
_MORE_THAN_AN_OWNER = 4
"""Members."""
_CLOSES = re.compile(
    r"(?i)(?:close|stop|shut_?down|finish|destroy|release|free|clear|clean_?up|dispose|de_?init|finali[sz]e|tear_?down|end)"
)
"""Names of functions after which the object is destroyed."""
_OF_NULL = frozenset({"NULL", "nullptr", "this"})
_MOVES_ONLY = re.compile(r"unique_ptr|atomic|mutex|thread|future|promise|&$|ostream|istream|fstream")


def copied(whole: Whole) -> Iterator[Finding]:
    """The compiler copies the members, and the copy's destructor ends what the original still has."""
    outline = whole.outline
    if outline.copies or (outline.bases and not outline.defaulted) or "__del__" not in outline.declared:
        return
    if any(_MOVES_ONLY.search(kind) for kind in outline.members.values()):
        return
    for member, kind in outline.members.items():
        own = [effect for effect in whole.of(member, "makes", "ends") if effect.owner == whole.name]
        ended = [effect for effect in own if effect.verb == "ends" and effect.function == "__del__"]
        made = [effect for effect in own if effect.verb == "makes" and effect.function == "__init__"]
        if ended and made and HANDLE.search(kind) and "[]" not in kind:
            message = f"{whole.name} can be copied, and each copy's destructor ends the same {member}"
            yield finding_of(SourceCopiedOwner, whole, member, ended[0], message, made[0], ended[0])
            return


def ended_twice(whole: Whole, constructors: Sequence[Constructor]) -> Iterator[Finding]:
    """A method ends what the constructor made, and leaves the member; the destructor ends it again, whatever happened before."""
    for member, kind in whole.outline.members.items():
        effects = whole.effects.get(member, [])
        if holds_several(kind) or {effect.verb for effect in effects} - {"makes", "ends", "tests", "shows"}:
            continue
        made, ended = whole.of(member, "makes"), whole.of(member, "ends")
        last = next((effect for effect in ended if effect.function == "__del__"), None)
        first = next((each for each in ended if each.method and _CLOSES.match(each.function)), None)
        if last is None or first is None or {effect.function for effect in made} != {"__init__"}:
            continue
        asked = {name for text, _ in last.under for name in _WORD.findall(text.partition(" ")[0])} | {
            other for other in whole.effects if any(each.function == "__del__" for each in whole.of(other, "tests"))
        }
        if asked - _OF_NULL - {member} or any(first.function in constructor.words for constructor in constructors):
            continue
        message = f"`{member}` still holds what {first.frame.function} ended here, and ~{whole.name} ends it again"
        yield finding_of(SourceKeptAfterEnd, whole, member, first, message, made[0], last)


def not_made(whole: Whole, constructors: Sequence[Constructor]) -> Iterator[Finding]:
    """A function makes a member, a constructor gives it no value, and the destructor ends it always."""
    outline = whole.outline
    for member, kind in outline.members.items():
        made = [effect for effect in whole.of(member, "makes") if effect.method]
        ended = [effect for effect in whole.of(member, "ends") if effect.function == "__del__"]
        asked = [effect for effect in whole.of(member, "tests") if effect.function == "__del__"]
        if not made or not ended or asked or not HANDLE.search(kind) or "[]" in kind or member in outline.initialised:
            continue
        touching = {effect.function for effect in whole.effects[member]}.union(outline.declared, {member})
        for constructor in constructors:
            of_base = outline.bases and constructor.calls  # a function of the base, perhaps, which calls what makes it
            if touching.isdisjoint(constructor.words) and not of_base and _holds_for(whole, ended[0], constructor):
                message = f"~{whole.name} ends {member}, to which a constructor gives no value"
                steps = ((constructor.frame, f"this constructor does not mention {member}"), ending_step(ended[0]))
                yield finding_of(SourceMemberUninitialized, whole, member, ended[0], message, made[0], ended[0], steps)
                return


def _holds_for(whole: Whole, ended: Effect, constructor: Constructor) -> bool:
    """Whether the conditions of the end ask only for other members that the constructor fills."""
    for text, truth in (*ended.under, *ended.left_before):
        asked = set(_WORD.findall(text.partition(" ")[0]))
        if not truth or len(asked) != 1 or not asked <= constructor.fills:
            return False
        if not all(HANDLE.search(whole.outline.members.get(name, "")) for name in asked):
            return False
    return True


def aliased(whole: Whole) -> Iterator[Finding]:
    """A member is set to another one, and a function ends both."""
    for member in whole.outline.members:
        for alias in whole.of(member, "sets"):
            if alias.within or alias.value not in whole.outline.members or _goes_on(whole, alias):
                continue
            for first, second in product(whole.of(alias.value, "ends"), whole.of(member, "ends")):
                if _together(alias, first, second) and _stay(whole, alias, first, second):
                    message = f"{member} is what {alias.value} is, and {second.frame.function} ends both"
                    step = (alias.frame, f"{member} is set to {alias.value} here")
                    steps = (step, ending_step(first), ending_step(second))
                    yield finding_of(SourceMemberAliased, whole, member, second, message, first, second, steps)
                    return


def _goes_on(whole: Whole, alias: Effect) -> bool:
    """Whether the function that hands the member's value over gives the member another one afterwards."""
    line = alias.frame.line or 0
    others = whole.of(alias.value, "sets", "clears", "makes")
    return any(each.function == alias.function and (each.frame.line or 0) >= line for each in others)


def not_owned(whole: Whole) -> Iterator[Finding]:
    """A class that is more than an owner of one handle ends a member that it is only ever given."""
    members = whole.outline.members
    if len(members) < _MORE_THAN_AN_OWNER or says_who_owns(" ".join(members)):
        return
    for member, kind in members.items():
        given = whole.of(member, "borrows")
        ended = [
            effect for effect in whole.of(member, "ends") if effect.method and not says_who_owns(str(effect.under))
        ]
        if not given or not ended or "*" in kind or not HANDLE.search(kind):
            continue
        setting, ending = {effect.function for effect in given}, {effect.function for effect in ended}
        elsewhere = {each.function for each in whole.of(member, "sets", "makes")} - setting or whole.of(member, "gives")
        if elsewhere or setting & ending or any(adopts(name) for name in setting):
            continue
        message = f"{ended[0].frame.function} ends {member}, which {given[0].frame.function} got from its caller"
        steps = ((given[0].frame, f"{member} is set to a parameter here"), ending_step(ended[0]))
        yield finding_of(SourceMemberNotOwned, whole, member, ended[0], message, given[0], ended[0], steps)


def _together(*effects: Effect) -> bool:
    """Whether all of them happen in one build, and no other conditions are around them."""
    conditions = {condition for effect in effects for condition in effect.under}
    return all(text.startswith("#if") and (text, not truth) not in conditions for text, truth in conditions)


def _stay(whole: Whole, alias: Effect, first: Effect, second: Effect) -> bool:
    """Whether one other function ends both members, and changes neither before."""
    ends = (first, second)
    both = (*whole.effects[alias.member], *whole.effects[alias.value])
    others = [effect for effect in both if effect.function == first.function and effect not in ends]
    last = max(effect.frame.line or 0 for effect in ends)
    return (
        first.function == second.function != alias.function
        and all(effect.method for effect in (alias, *ends))
        and all(effect.verb == "clears" and (effect.frame.line or 0) > last for effect in others)
    )
