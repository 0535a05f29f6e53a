"""Which causes an error may have, the likeliest first.

The score of a cause is a sum (``Weights``):

* the weight that its signs give to an error that was seen (1 to 100; an error after the first counts ``LATER`` of it),
* ``call`` if a function of its signs is named,
* ``says`` if one of the sentences that hardly anything else prints stands in the text, and ``says_too`` if a second does,
* ``word`` for each of its expressions that matches the text, at most ``MOST_WORDS``; ``lonely_word`` if no error, function or sentence
  speaks for the cause,
* up to ``case`` as a public case of the cause is like the text (``cuvet.knowledge.cases``); ``error_case`` if an error was seen,
  ``foreign_case`` if it is none that the cause leads to.

What speaks against a cause (``Signs``) takes it out, whatever speaks for it. A cause for which only a function speaks counts only if no
error was seen: most functions are named with errors that have other causes. Without an error, the first cause must score ``LEAST``, or
``LEAST_OF_FAILURE`` if a line that tells of a failure has its signs: below that, the text is not known. Nor is it if it shows a signal and
nothing else. ``tools/fit_explain.py`` shows how the weights were chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from cuvet.fields import TextError
from cuvet.knowledge.cases import EVERYDAY, Index, Likeness, known_cases
from cuvet.knowledge.cause import Cause, RuleCause, Signs, Tell
from cuvet.knowledge.errors import Error
from cuvet.knowledge.expressions import found_in
from cuvet.knowledge.facts_of_text import fact_named, facts_of
from cuvet.knowledge.reading import FOLDER, causes_in
from cuvet.knowledge.situation import Situation, situation
from cuvet.knowledge.terms import core, terms_of
from cuvet.rules import rule_called
from cuvet.rules.evidence import evidence_of
from cuvet.rules.headings import sections

if TYPE_CHECKING:
    from cuvet.rules.rule import Rule

LATER = 0.5
LEAST = 44
LEAST_OF_FAILURE = 26
MOST_WORDS = 3
MOST_CAUSES = 3
MUCH_LESS = 5
"""Causes are told unless all are asked for; one that scores less than a fifth of the first is not."""
_REPORTING = frozenset(
    ("GetLastError", "PeekAtLastError", "DeviceSynchronize", "StreamSynchronize", "CtxSynchronize", "EventSynchronize")
)
"""Functions that report what another did."""

_OF_SIGNAL = re.compile(r"\W*(SIG[A-Z]+|seg(mentation )?fault|bus error|access violation|core dumped)\W*", re.I)
"""Signs that say no more than that a process died of a signal."""
_FAILURE = re.compile(
    r"error|fail|fatal|exception|abort|cannot|can't|could(n't| not)|unable|not (found|supported|available|compatible|installed|detected)"
    r"|no such|missing|mismatch|invalid|undefined|unsupported|unresolved|unknown|denied|insufficient|killed|too old",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Weights:
    """What each kind of evidence counts. ``tools/fit_explain.py`` chose them."""

    call: int = 40
    says: int = 60
    says_too: int = 15
    word: int = 50
    lonely_word: int = 20
    case: int = 100
    error_case: int = 20
    foreign_case: int = 60


WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Match:
    """A cause, its score, what of the text spoke for it, and the public case of it that the text is likest."""

    cause: Cause | RuleCause
    score: int
    signs: tuple[str, ...]
    like: Likeness | None = None


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
    return any(tell.command.startswith(("cuvet run", "cuvet check")) for tell in tells)


def _shown_by(rule: type[Rule]) -> Tell:
    return Tell(
        "cuvet run -- PROGRAM", f"{rule.severity}[{rule.code}] {rule.name}, with the objects and where they were made"
    )


def rank(errors: Sequence[Error], calls: Sequence[str], text: str, cases: Index | None = None) -> list[Match]:
    """The causes for which something speaks, the likeliest first; of one score first what is the more usual where it leads to errors.

    ``cases``: with which the text is compared; if None, those that cuvet knows. Without a text, none."""
    shown = Shown.of(errors, calls, text, cases)
    return ordered([_match(cause, shown) for cause in all_causes()])


def ordered(found: Iterable[Match]) -> list[Match]:
    return sorted(
        (one for one in found if one.score), key=lambda one: (-one.score, -_usual(one.cause.signs), one.cause.id)
    )


def known(matches: Sequence[Match], errors: Sequence[Error], text: str = "") -> bool:
    """Whether the text is known: it has an error, or enough speaks for the first cause. That a process died of a signal says nothing by
    itself: more than the signal has to speak for the cause."""
    if _of_cuda(errors):
        return True
    if not matches:
        return False
    beyond = any(not _OF_SIGNAL.fullmatch(sign) for sign in matches[0].signs)
    if errors:
        return beyond
    return matches[0].score >= (LEAST_OF_FAILURE if _fails(text.lower(), matches[0].signs) else LEAST)


def _fails(lower: str, signs: Sequence[str]) -> bool:
    """Whether a line tells of a failure and has one of the signs, if there are any."""
    begin = [sign.partition("\n")[0] for sign in signs]
    return any(
        _FAILURE.search(line) and (not begin or any(sign in line for sign in begin)) for line in lower.splitlines()
    )


def shows(match: Match, line: str) -> bool:
    """Whether the line tells of a failure and has a sign of the cause that says more than that a process died of a signal."""
    signs = [sign for sign in match.signs if not _OF_SIGNAL.fullmatch(sign)]
    return bool(signs) and _fails(line.lower(), signs)


def likely(ranked: list[Match], within: int = MUCH_LESS) -> list[Match]:
    """Those that are told unless all are asked for: of the first few, those whose score is at least that part of the first's."""
    return [one for one in ranked[:MOST_CAUSES] if within * one.score >= ranked[0].score]


def _usual(signs: Signs) -> int:
    return max(signs.errors.values(), default=0)


@dataclass(frozen=True, slots=True)
class Found:
    """What of a text speaks for a cause. ``weight``: that of the error of this ``name``. ``foreign``: an error was seen, and none that the
    cause leads to; ``error``: one was seen."""

    weight: float
    name: str
    called: tuple[str, ...]
    says: tuple[str, ...]
    words: tuple[str, ...]
    like: Likeness | None
    foreign: bool
    error: bool

    @property
    def names(self) -> tuple[str, ...]:
        """For the reader: the error, a function, and what the expressions match."""
        return (*([self.name] if self.weight else []), *self.called[:1], *self.says[:2], *self.words)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a text shows, in the order of time. ``cores``: of its functions. ``like``: causes of the public cases that it is like.
    ``facts``: what it tells of the machine (``cuvet.knowledge.facts_of_text``)."""

    errors: tuple[Error, ...]
    calls: tuple[str, ...]
    cores: frozenset[str]
    lower: str
    situation: Situation
    like: Mapping[str, Likeness]
    facts: Mapping[str, str]

    @property
    def everyday(self) -> float:
        """How like an everyday message it is."""
        return self.like[EVERYDAY].share if EVERYDAY in self.like else 0

    @classmethod
    def of(cls, errors: Sequence[Error], calls: Sequence[str], text: str, cases: Index | None = None) -> Shown:
        like = (cases or known_cases()).like(terms_of(text, errors, calls)) if text else {}
        cores = frozenset(core(call) for call in calls)
        return cls(
            tuple(errors),
            tuple(calls),
            cores,
            text.lower(),
            situation(text, called=bool(cores or _of_cuda(errors))),
            like,
            facts_of(text.lower()),
        )


def match(cause: Cause | RuleCause, errors: Sequence[Error], calls: Sequence[str], text: str) -> Match:
    """How much speaks for the cause where these errors were seen and these functions called."""
    return _match(cause, Shown.of(errors, calls, text))


def _match(cause: Cause | RuleCause, shown: Shown) -> Match:
    found = found_of(cause, shown)
    return Match(cause, scored(found, WEIGHTS), found.names, found.like) if found else Match(cause, 0, ())


def found_of(cause: Cause | RuleCause, shown: Shown) -> Found | None:
    """What speaks for the cause; None if nothing does, or something speaks against it."""
    signs = cause.signs
    if _excluded(cause, shown):
        return None
    weight, name = _weight(signs, shown.errors)
    called = [call for call in signs.calls if core(call) in shown.cores]
    says = _matching(cause, signs.says, shown)
    words = _matching(cause, signs.words, shown)[:MOST_WORDS]
    like = shown.like.get(cause.id)
    if not (weight or says):
        if like and shown.everyday > like.share:
            like = None
        if not shown.situation.of_cuda or shown.situation.elsewhere:
            words, like = [], None
    if not (weight or says or words or like or (called and not shown.errors)):
        return None
    foreign = bool(shown.errors and signs.errors and not weight)
    return Found(weight, name, tuple(called), tuple(says), tuple(words), like, foreign, bool(shown.errors))


def scored(found: Found, weights: Weights) -> int:
    """The sum of what speaks for a cause."""
    called = bool(found.called) and not found.foreign
    supported = bool(found.weight or found.says or called)
    case = weights.foreign_case if found.foreign else weights.error_case if found.error else weights.case
    return round(
        found.weight
        + weights.call * called
        + weights.says * bool(found.says)
        + weights.says_too * (len(found.says) > 1)
        + (weights.word if supported else weights.lonely_word) * len(found.words)
        + (case * found.like.share if found.like else 0)
    )


def _excluded(cause: Cause | RuleCause, shown: Shown) -> bool:
    """Whether something of the text speaks against the cause; against all if it is about others' GPUs and has no error of CUDA's."""
    if shown.situation.of_others and not shown.errors:
        return True
    signs = cause.signs
    failing = shown.cores - _REPORTING
    if signs.only_calls and failing and failing.isdisjoint(map(core, signs.calls)):
        return True
    return shown.situation.excludes(signs.stages, signs.platforms) or bool(_matching(cause, signs.against, shown))


def _weight(signs: Signs, errors: Sequence[Error]) -> tuple[float, str]:
    """Of the errors, and the name of that which has it."""
    found = [
        (signs.errors[name] * (LATER if number else 1), name)
        for number, error in enumerate(errors)
        for name in error.names
        if name in signs.errors
    ]
    return max(found, default=(0, ""))


def _of_cuda(errors: Sequence[Error]) -> bool:
    return any(error.title != "signal" for error in errors)


def _matching(cause: Cause | RuleCause, expressions: tuple[str, ...], shown: Shown) -> list[str]:
    """What they match in the text, or what of it tells the facts that they name. TextError if one cannot be read."""
    found = []
    for word in expressions:
        fact = fact_named(word)
        try:
            found.append(shown.facts.get(fact) if fact else found_in(word, shown.lower))
        except re.error as error:
            raise TextError(f"knowledge/causes, {cause.id}, expressions: `{word}`: {error}") from None
    return [match for match in found if match]
