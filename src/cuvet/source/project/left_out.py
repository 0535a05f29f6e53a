"""Members, and variables of files, that are left out where others are ended that were made beside them."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from cuvet.catalog import Kind
from cuvet.findings import Finding, Severity
from cuvet.rules.source.member_leak import SourceMemberLeak
from cuvet.source.ownership import ends_its_object
from cuvet.source.project.wholes import Whole, finding_of, full_name
from cuvet.source.result import ClassOutline, Effect, Outline

_VARIABLE = re.compile(r"\w+(?:(?:\.|->)\w+)*")
_IS_SET = re.compile(r"^([\w.>-]+)!=(?:NULL|nullptr|0L?)$")
_FAILURE = re.compile(r"(?i)err|stat|fail|ret|result|code|abort|succe|ok\b")
_MEMORY = frozenset({Kind.HOST_MEMORY.noun, Kind.MEMORY.noun})


def touched(outlines: Sequence[Outline]) -> set[tuple[str, str]]:
    """(class, member) of what is ended or given away somewhere, other than when making it failed. Of what is within a variable it is the
    variable."""
    made: dict[tuple[str, str], list[Effect]] = defaultdict(list)
    effects = [effect for outline in outlines for effect in outline.effects]
    for effect in effects:
        if effect.verb == "makes":
            made[effect.owner, effect.member].append(effect)
    return {
        (effect.owner, full_name(effect) if effect.owner else effect.member)
        for effect in effects
        if effect.verb in ("gives", "asks", "sets")
        or (effect.verb == "ends" and not _cleans_up(effect, made.get((effect.owner, effect.member), [])))
    }


def left_out(whole: Whole, member: str) -> Iterator[Finding]:
    """A function of the same file ends another member, of the same kind and made by the same function, and leaves this one out; or it ends
    all others that this function made, of any kind, and two at least."""
    for made in whole.of(member, "makes"):
        beside = [
            other
            for other in whole.effects
            if other != member and any(each.function == made.function for each in whole.of(other, "makes"))
        ]
        ended = {
            other: [each for each in whole.of(other, "ends") if ends_its_object(each.function)] for other in beside
        }
        alike = [
            each for other in beside for each in ended[other] if each.kind == made.kind == _kind(whole, other, made)
        ]
        within = member.rpartition(".")[0]
        level = [other for other in beside if other.rpartition(".")[0] == within]
        all_others = (
            [each for each in ended[level[0]] if all(_ends(each.function, ended[other]) for other in level)]
            if len(level) > 1
            else []
        )
        if alike or all_others:
            yield _never_ended(whole, made, [*alike, *all_others][0], None if alike else "note")
            return


def _kind(whole: Whole, member: str, made: Effect) -> str:
    """Of what the function that made the other member makes in this one."""
    return next((each.kind for each in whole.of(member, "makes") if each.function == made.function), "")


def _ends(function: str, ended: list[Effect]) -> bool:
    return any(each.function == function for each in ended)


def given_like_another(whole: Whole, member: str) -> Iterator[Finding]:
    """The class ends another member that the same functions make and give to the same ones, as far as they are seen: so these do not
    end it."""
    gives = _given(whole, member)
    for made in whole.of(member, "makes")[:1] if gives else ():
        for other in whole.effects:
            last = next((each for each in whole.of(other, "ends") if ends_its_object(each.function)), None)
            alike = other != member and gives == _given(whole, other) and _made(whole, member) == _made(whole, other)
            if last is not None and last.method and alike and last.function not in {function for function, _ in gives}:
                yield _never_ended(whole, made, last)
                return


def _given(whole: Whole, member: str) -> list[tuple[str, str]]:
    return sorted((each.function, each.api) for each in whole.of(member, "gives"))


def _made(whole: Whole, member: str) -> set[tuple[str, str]]:
    return {(each.function, each.kind) for each in whole.of(member, "makes")}


def _never_ended(whole: Whole, made: Effect, last: Effect, severity: Severity | None = None) -> Finding:
    name = f"{whole.name}::{made.member}".removeprefix("::")
    message = f"{made.kind} {name} is never {past(made)}, though {last.frame.function} ends {last.member}"
    return finding_of(SourceMemberLeak, whole, made.member, made, message, made, last, severity=severity)


def variables_left_out(
    outlines: Sequence[Outline], handled: Collection[tuple[str, str]], handed: Collection[str]
) -> Iterator[Finding]:
    """Variables of a file that no function ends, though one ends another object of the kind, made by the same function."""
    given = {member for _, member in handled} | set(handed)
    for outline in outlines:
        told: set[str] = set()
        for made in outline.effects:
            named_by = outline.variables.get(made.member)
            if made.verb != "makes" or made.owner or named_by is None or made.member in given | told:
                continue
            last = _ends_another(outline, made, named_by)
            if last is not None:
                told.add(made.member)
                empty = ClassOutline(name="", members={}, copies=True, bases=True, frame=made.frame)
                yield _never_ended(Whole(empty), made, last)


def _ends_another(outline: Outline, made: Effect, named_by: Collection[str]) -> Effect | None:
    """Where a function that sounds like an end, and does not name the variable, ends what was made beside it."""
    beside = {
        (each.owner, each.member)
        for each in outline.effects
        if each.verb == "makes" and each.function == made.function and each.kind == made.kind
    }
    for each in outline.effects:
        if (
            each.verb == "ends"
            and each.kind == made.kind
            and (each.owner, each.member) in beside
            and ends_its_object(each.function)
            and each.function not in named_by
        ):
            return each
    return None


def really(ended: list[Effect], made: list[Effect], run_at_end: Collection[str]) -> list[Effect]:
    """Without those that only clean up when the function that made the member fails, and those behind which it makes another one always.
    Functions ``run_at_end`` are called to end all."""
    return [
        effect
        for effect in ended
        if effect.function in run_at_end or not (_cleans_up(effect, made) or _is_renewed(effect, made))
    ]


def _is_renewed(ended: Effect, made: list[Effect]) -> bool:
    return any(
        each.function == ended.function
        and each.frame.file == ended.frame.file
        and not (each.guarded or each.left_before)
        and (each.frame.line or 0, each.frame.column or 0) > (ended.frame.line or 0, ended.frame.column or 0)
        for each in made
    )


def _cleans_up(ended: Effect, made: list[Effect]) -> bool:
    """Whether the member is ended where it was made, and not whenever it was."""
    same = [effect for effect in made if effect.function == ended.function]
    asked = asked_by(ended)
    always = any(asked and asked <= asked_by(effect) for effect in same) or _asks_flag(ended)
    return ended.guarded and bool(same) and not always


def asked_by(effect: Effect) -> set[tuple[str, bool]]:
    """What the conditions around it ask, whatever the variables in them are by then: two loops over the same are two of the same."""
    return {(text.partition(" ")[0], truth) for text, truth in effect.under}


def _asks_flag(ended: Effect) -> bool:
    """Whether it hangs on a variable that is true, and nothing around it sounds like a failure."""
    asked = [_IS_SET.sub(r"\1", text.partition(" ")[0]) for text, _ in ended.under]
    flag = bool(asked) and ended.under[-1][1] and _VARIABLE.fullmatch(asked[-1]) is not None
    return flag and not any(_FAILURE.search(text) for text in asked)


def past(made: Effect) -> str:
    return "freed" if made.kind in _MEMORY else "destroyed"
