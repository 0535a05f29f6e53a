"""The texts of causes and meanings: complete, well formed, and each claim with evidence."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

import cuvet
from cuvet.findings import Evidence
from cuvet.knowledge import errors
from cuvet.knowledge.cause import Cause, Meaning, RuleCause
from cuvet.knowledge.reading import meanings_of
from cuvet.knowledge.search import all_causes
from cuvet.rules import all_rules

CAUSES = all_causes()
CUDA_ERRORS = [error for error in errors.all_errors() if error.title == "CUDA"]
MEANINGS = {api: meanings_of(api) for api in ("driver", "runtime")}
CASES = Path(cuvet.__file__).parent / "knowledge" / "public_cases.jsonl"
SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def ids(cause: Cause | RuleCause) -> str:
    return cause.id


def own(causes: tuple[Cause | RuleCause, ...]) -> list[Cause]:
    return [cause for cause in causes if isinstance(cause, Cause)]


def assert_resolves(evidence: Evidence) -> None:
    assert evidence.text and evidence.source
    if evidence.kind == "reported":
        assert evidence.source.startswith("https://")


def test_ids_are_unique() -> None:
    assert [id for id, count in Counter(cause.id for cause in CAUSES).items() if count > 1] == []


@pytest.mark.parametrize("cause", CAUSES, ids=ids)
def test_an_id_is_a_rule_or_a_new_slug(cause: Cause | RuleCause) -> None:
    assert SLUG.fullmatch(cause.id)
    assert (cause.id in {rule.name for rule in all_rules()}) == isinstance(cause, RuleCause)


@pytest.mark.parametrize("cause", own(CAUSES), ids=ids)
def test_a_cause_says_how_to_tell_how_to_mend_and_how_it_is_known(cause: Cause) -> None:
    assert cause.title and not cause.title.endswith(".")
    assert cause.why.endswith(".")
    assert cause.tell
    assert all(tell.command and tell.shows for tell in cause.tell)
    assert cause.fix
    assert cause.evidence
    for evidence in cause.evidence:
        assert_resolves(evidence)


@pytest.mark.parametrize("cause", CAUSES, ids=ids)
def test_signs_name_errors_that_exist_and_expressions_that_compile(cause: Cause | RuleCause) -> None:
    assert all(errors.named(name) is not None for name in cause.signs.errors)
    assert all(1 <= weight <= 100 for weight in cause.signs.errors.values())
    for word in cause.signs.words:
        assert not re.compile(word, re.I).search("")


def test_every_category_of_public_cases_has_a_cause() -> None:
    categories = {json.loads(line)["cause_category"] for line in CASES.read_text(encoding="utf-8").splitlines()}
    assert categories - set(chain.from_iterable(cause.cases for cause in CAUSES)) == set()


def test_no_cause_has_a_category_that_no_public_case_has() -> None:
    categories = {json.loads(line)["cause_category"] for line in CASES.read_text(encoding="utf-8").splitlines()}
    assert set(chain.from_iterable(cause.cases for cause in CAUSES)) - categories == set()


@pytest.mark.parametrize("error", CUDA_ERRORS, ids=lambda error: error.names[0])
def test_every_error_of_driver_and_runtime_has_a_cause(error: errors.Error) -> None:
    assert any(set(error.names) & set(cause.signs.errors) for cause in CAUSES)


@pytest.mark.parametrize("api", MEANINGS)
def test_every_enumerator_has_a_meaning(api: str) -> None:
    assert set(MEANINGS[api]) == {row.name for row in errors.tables()[api].enumerators}


@pytest.mark.parametrize(
    ("name", "meaning"),
    [row for meanings in MEANINGS.values() for row in meanings.items()],
    ids=lambda value: str(value)[:50],
)
def test_a_meaning_has_a_text_with_evidence_or_is_another_s(name: str, meaning: Meaning) -> None:
    if meaning.same_as is not None:
        assert meaning.same_as in MEANINGS["driver"]
        assert errors.named(meaning.same_as) is errors.named(name)
        return
    assert meaning.text.endswith(".")
    assert meaning.evidence
    for evidence in meaning.evidence:
        assert_resolves(evidence)
    assert all(belief.endswith(".") for belief in meaning.beliefs)
