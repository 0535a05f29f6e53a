"""Which causes an error may have, the likeliest first.

The score of a cause is a sum:

* the weight that its signs give to an error that was seen (1 to 100; of several errors, the largest),
* ``CALL`` if a function of its signs is named,
* ``WORD`` for each of its expressions that matches the text, at most ``MOST_WORDS``; ``FOREIGN_WORD`` if it leads to errors, and one
  that it does not lead to was seen.

A cause for which only a function speaks counts only if no error was seen: most functions are named with errors that have other causes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from cuvet.fields import TextError
from cuvet.knowledge.cause import Cause, RuleCause, Signs, Tell
from cuvet.knowledge.errors import Error
from cuvet.knowledge.reading import FOLDER, causes_in
from cuvet.rules import rule_called
from cuvet.rules.evidence import evidence_of
from cuvet.rules.headings import sections

if TYPE_CHECKING:
    from cuvet.rules.rule import Rule

CALL = 30
WORD = 40
FOREIGN_WORD = 15
MOST_WORDS = 3
MOST_CAUSES = 3
"""That are told unless all are asked for; one that scores less than a third of the first is not."""
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")


@dataclass(frozen=True, slots=True)
class Match:
    """A cause, its score, and what of the text spoke for it."""

    cause: Cause | RuleCause
    score: int
    signs: tuple[str, ...]


@cache
def all_causes() -> tuple[Cause | RuleCause, ...]:
    """Those of every file in ``causes/``."""
    return tuple(cause for file in sorted((FOLDER / "causes").glob("*.txt")) for cause in causes_in(file))


def cause_named(id: str) -> Cause | RuleCause | None:
    return next((cause for cause in all_causes() if cause.id == id.lower()), None)


def written(cause: Cause | RuleCause) -> Cause:
    """The cause with its text; that of a ``RuleCause`` is its rule's, whose module alone is imported. TextError if there is no such rule.

    How to tell: what the cause says, then what ``cuvet run`` prints, unless the cause says that."""
    if isinstance(cause, Cause):
        return cause

    rule = rule_called(cause.id)
    if rule is None:
        raise TextError(
            f"knowledge/causes, {cause.id}: no rule has this name; correct it, or write a title: `## {cause.id}: title`"
        )
    return Cause(
        id=cause.id,
        title=rule.summary,
        why=sections(rule)["Why it is wrong"],
        tell=(*cause.tell, *(() if _runs(cause.tell) else (_shown_by(rule),))),
        fix=rule.help,
        evidence=evidence_of(rule),
        signs=cause.signs,
        beliefs=cause.beliefs,
        cases=cause.cases,
    )


def _runs(tells: tuple[Tell, ...]) -> bool:
    return any(tell.command.startswith("cuvet run") for tell in tells)


def _shown_by(rule: type[Rule]) -> Tell:
    return Tell(
        "cuvet run -- PROGRAM", f"{rule.severity}[{rule.code}] {rule.name}, with the objects and where they were made"
    )


def rank(errors: Sequence[Error], calls: Sequence[str], text: str) -> list[Match]:
    """The causes for which something speaks, the likeliest first; of one score first what is the more usual where it leads to errors."""
    found = [match(cause, errors, calls, text) for cause in all_causes()]
    return sorted(
        (one for one in found if one.score), key=lambda one: (-one.score, -_usual(one.cause.signs), one.cause.id)
    )


def likely(ranked: list[Match]) -> list[Match]:
    """Those that are told unless all are asked for."""
    return [one for one in ranked[:MOST_CAUSES] if 3 * one.score >= ranked[0].score]


def _usual(signs: Signs) -> int:
    return max(signs.errors.values(), default=0)


def match(cause: Cause | RuleCause, errors: Sequence[Error], calls: Sequence[str], text: str) -> Match:
    """How much speaks for the cause where these errors were seen and these functions called."""
    signs = cause.signs
    seen = signs.errors.keys() & {name for error in errors for name in error.names}
    weight, name = max(((signs.errors[name], name) for name in seen), default=(0, ""))
    cores = {_core(call) for call in calls}
    called = [call for call in signs.calls if _core(call) in cores]
    words = _words(cause, text.lower())[:MOST_WORDS]
    if not (weight or words or (called and not errors)):
        return Match(cause, 0, ())
    foreign = bool(errors and signs.errors and not weight)
    score = weight + CALL * bool(called and not foreign) + (FOREIGN_WORD if foreign else WORD) * len(words)
    return Match(cause, score, (*([name] if weight else []), *called[:1], *words))


def _words(cause: Cause | RuleCause, lower: str) -> list[str]:
    """What its expressions match in the text, which is in lower case. TextError if one cannot be read."""
    found = []
    for word in cause.signs.words:
        if not _SPECIAL.search(word):
            found += [word] if word.lower() in lower else []
            continue
        try:
            match = re.search(word, lower, re.I)
        except re.error as error:
            raise TextError(f"knowledge/causes, {cause.id}, words: `{word}`: {error}") from None
        if match:
            found.append(match[0])
    return found


def _core(call: str) -> str:
    """The same for the driver's and the runtime's function, and for all its versions: ``EventRecord``."""
    return re.sub(r"^(?:cuda|cu)(?=[A-Z])|(?:_v\d+)?(?:_pt[ds][sz])?$", "", call)
