"""Write the public cases that ``cuvet explain`` compares with: ``python tools/fit_explain.py``. With ``--weights``, print how it does with
other weights (some minutes).

Only the learned cases (``LEARNED`` of ``tests/knowledge/ground``) and the known ones (``public_cases.jsonl``) are used, and of the everyday
messages the half that calibrates. Each is asked without the cases of its own repository. The weights that were chosen stand in
``cuvet.knowledge.search``; the threshold follows from the last table.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgspec

from cuvet.knowledge.cases import Case
from cuvet.knowledge.cause import Cause, RuleCause
from cuvet.knowledge.mentions import calls_in, errors_in
from cuvet.knowledge.search import WEIGHTS, Found, Match, Shown, Weights, all_causes, found_of, ordered, scored
from cuvet.knowledge.terms import terms_of
from measure_explain import plain, question, repository, rows, shown_by, without

FILE = Path(__file__).parents[1] / "src/cuvet/knowledge/generated/cases.json"
LEARNED = ("learn", "try", "fresh", "extra", "further", "wider", "broader")
TRIED = {
    "call": (20, 30, 40),
    "says": (60, 80, 110, 140),
    "says_too": (0, 15, 30, 50),
    "word": (20, 30, 40, 50),
    "lonely_word": (10, 15, 20, 25),
    "case": (60, 80, 100, 130),
    "error_case": (20, 40, 60, 80, 100),
    "foreign_case": (20, 40, 60),
}

Asked = tuple[frozenset[str], list[tuple[Cause | RuleCause, Found]], bool]
"""The causes that are right, what speaks for each, and whether the text has an error."""


def cases() -> list[Case]:
    """Those that are learned from, and the everyday messages that calibrate."""
    found = [_case(row, (row["cause"], *row["also"])) for part in LEARNED for row in rows(part)]
    return sorted([*found, *(_case(row, ()) for row in rows("calibration"))], key=lambda case: case.url)


def _case(row: dict[str, Any], causes: Iterable[str]) -> Case:
    text = question(row)
    terms = terms_of(text, errors_in(text), calls_in(text))
    return Case(row["url"], tuple(map(plain, causes)), tuple(sorted(terms)))


def written() -> str:
    return (
        "[\n" + ",\n".join(json.dumps(msgspec.to_builtins(case), separators=(",", ":")) for case in cases()) + "\n]\n"
    )


def learned() -> list[Asked]:
    return [
        *(
            _asked(row, {plain(cause) for cause in (row["cause"], *row["also"])})
            for part in LEARNED
            for row in rows(part)
        ),
        *(_asked(row, _of_category(row["cause_category"])) for row in rows("public")),
    ]


def _of_category(category: str) -> set[str]:
    return {cause.id for cause in all_causes() if category in cause.cases}


def _asked(row: dict[str, Any], right: set[str]) -> Asked:
    errors, calls, text = shown_by(question(row))
    shown = Shown.of(errors, calls, text, without(repository(row["url"])))
    speaking = [(cause, found) for cause in all_causes() if (found := found_of(cause, shown))]
    return frozenset(right), speaking, bool(errors)


def places(asked: Sequence[Asked], weights: Weights) -> Iterator[int]:
    """Of the first cause that is right, from 1; 0 if none is among the first three."""
    for right, speaking, _ in asked:
        ids = [match.cause.id for match in _ranked(speaking, weights)[:3]]
        yield next((place for place, id in enumerate(ids, 1) if id in right), 0)


def _ranked(speaking: list[tuple[Cause | RuleCause, Found]], weights: Weights) -> list[Match]:
    return ordered(Match(cause, scored(found, weights), (), None) for cause, found in speaking)


def worth(asked: Sequence[Asked], weights: Weights) -> tuple[int, int, int]:
    """How many causes are first and among the first three; their sum decides."""
    found = list(places(asked, weights))
    first, told = sum(place == 1 for place in found), sum(map(bool, found))
    return first + told, first, told


def fitted(asked: Sequence[Asked]) -> Weights:
    """The best weights that changing one or two at a time finds, from today's."""
    best, now = WEIGHTS, worth(asked, WEIGHTS)
    print(f"{now[1]} first, {now[2]} among the first three of {len(asked)}: today's")
    improved = True
    while improved:
        improved = False
        for first, second in itertools.combinations(fields(Weights), 2):
            for values in itertools.product(TRIED[first.name], TRIED[second.name]):
                tried = replace(best, **{first.name: values[0], second.name: values[1]})
                found = worth(asked, tried)
                if found > now:
                    best, now, improved = tried, found, True
                    print(f"{now[1]} first, {now[2]} among the first three: {best}", flush=True)
    return best


def thresholds(weights: Weights) -> Iterator[str]:
    """Of texts without an error: what each threshold rejects."""
    known = [(right, _ranked(speaking, weights)) for right, speaking, error in learned() if not error]
    everyday = [_asked(row, set()) for row in rows("calibration")]
    scores = [
        0 if not (ranked := _ranked(speaking, weights)) else ranked[0].score
        for _, speaking, error in everyday
        if not error
    ]
    for least in range(20, 80, 5):
        rejected = [(right, ranked) for right, ranked in known if not ranked or ranked[0].score < least]
        wrongly = sum(bool(ranked) and ranked[0].cause.id in right for right, ranked in rejected)
        admitted = sum(score < least for score in scores)
        cases_ = f"{len(rejected)} of {len(known)} cases rejected, {wrongly} whose first cause is right"
        yield f"LEAST {least}: {cases_}; {admitted} of {len(everyday)} everyday messages"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", action="store_true", help="search for better weights")
    args = parser.parse_args()
    FILE.write_text(written(), encoding="utf-8")
    if args.weights:
        best = fitted(learned())
        print("\n".join(thresholds(best)))


if __name__ == "__main__":
    main()
