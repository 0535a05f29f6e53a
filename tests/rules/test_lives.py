"""The table of lives: that rows agree with the catalog, and what a mistake in one says."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import cuvet.rules
from cuvet.catalog import driver
from cuvet.catalog.roles import Kind, Verb
from cuvet.fields import TextError
from cuvet.rules import model_rules
from cuvet.rules.examples import invalid, runnable
from cuvet.rules.families import DESTROYED_TWICE, MISTAKEN, NEVER_CREATED
from cuvet.rules.lifecycle import DestroyTwice
from cuvet.rules.lives import Life, rules_of

from .simulated import SimulatedDriver

FILES = sorted(Path(cuvet.rules.__path__[0]).glob("*/life.py"))
ROWS: list[tuple[Life, str]] = [
    (module.LIFE, module.TEXTS) for module in (import_module(f"cuvet.rules.{file.parent.name}.life") for file in FILES)
]
every_row = pytest.mark.parametrize("life", [life for life, _ in ROWS], ids=lambda life: life.name)


def _kinds(program: str, verbs: set[Verb]) -> set[Kind]:
    """Kinds of objects to which calls of the program do that."""
    calls = (driver()[name] for name in re.findall(r"cu\.(cu\w+)", program))
    return {role.kind for call in calls for role in call.roles if role.verb in verbs}


@every_row
def test_what_ends_an_object_ends_it_by_the_catalog(life: Life) -> None:
    assert not life.end or _kinds(life.end, {Verb.DESTROYS}) == {life.kind}


@every_row
def test_what_uses_an_object_names_it_by_the_catalog(life: Life) -> None:
    for use in (life.use, life.another_use):
        if re.search(r"cu\.cu", use):
            assert life.kind in _kinds(use, set(Verb))


@every_row
def test_a_number_from_nowhere_is_a_mistake_where_every_object_is_seen_made(life: Life) -> None:
    cu = SimulatedDriver(__file__, 1)
    cu.cuInit(0)
    expected = NEVER_CREATED if cu.model.sees_all(life.kind) else MISTAKEN
    given = [each.family for each in life.mistakes if each.family in (NEVER_CREATED, MISTAKEN)]
    assert given in ([], [expected])


@every_row
def test_what_a_mistake_leaves_out_is_a_program_of_its_family(life: Life) -> None:
    for mistake in life.mistakes:
        (whole,) = rules_of(life._replace(mistakes=(mistake._replace(without=()),)), "")
        titles = re.findall(r"^## (.+)$", whole.VALID + whole.INVALID, flags=re.M)
        assert set(mistake.without) <= set(titles)


def test_what_one_call_ends_can_be_ended_twice() -> None:
    ended = {role.kind for call in driver().entry_points for role in call.roles if role.verb is Verb.DESTROYS}
    judged = {kind for rule in model_rules() if issubclass(rule, DestroyTwice) for kind in rule.kinds or ()}
    assert {kind.name for kind in ended - judged} == {
        "EXTERNAL_MEMORY",
        "EXTERNAL_SEMAPHORE",
        "GRAPHICS_RESOURCE",
        "TEXTURE_REFERENCE",
    }


def test_a_program_without_a_word_of_the_row_is_left_out() -> None:
    row = next(life for life, _ in ROWS if life.name == "mipmapped-array")
    with_another = row._replace(another_use="cu.cuMipmappedArrayGetLevel({}, 1)")
    titles = [
        [example.name for rule in rules_of(life, "") for example in runnable(invalid(rule))]
        for life in (row, with_another)
    ]
    assert set(titles[1]) - set(titles[0]) == {"used in another way"}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("# event-destroy-twice: right\n\n## one\na = 1\n", "event-destroy-twice: right"),
        ("# stream-destroy-twice: rihgt\n\n## one\na = 1\n", "stream-destroy-twice: rihgt"),
        ("# stream-destroy-often\n\nwhy: it is.\n", "stream-destroy-often"),
        ("## one\na = 1\n", "## one"),
    ],
)
def test_texts_of_no_rule_are_a_mistake(texts: str, message: str) -> None:
    row = next(life for life, _ in ROWS if life.name == "stream")
    with pytest.raises(ValueError, match=f"^text of no rule about the life of a stream: {message}"):
        rules_of(row, texts)


@pytest.mark.parametrize("part", ["texts", "valid", "invalid"])
def test_a_word_that_no_row_has_is_a_mistake(part: str) -> None:
    (row,) = (life for life, _ in ROWS if life.name == "pool")
    family = DESTROYED_TWICE._replace(**{part: "## one\n{nuon}\n" if part != "texts" else "summary: {nuon} is lost"})
    (rule,) = rules_of(row._replace(mistakes=(row.mistakes[0]._replace(family=family),)), "")
    with pytest.raises(TextError, match=r"^rules/families.py, pool-destroy-twice: no row has the word \{nuon\}; "):
        assert rule.summary + rule.VALID + rule.INVALID


def test_programs_are_in_the_words_of_the_row() -> None:
    row = next(life for life, _ in ROWS if life.name == "pool")
    (rule,) = rules_of(
        row._replace(mistakes=tuple(each for each in row.mistakes if each.family is DESTROYED_TWICE)), ""
    )
    assert rule.name == "pool-destroy-twice"
    assert invalid(rule)[0].program == (
        "\npool = cu.pool()\ncu.cuMemPoolDestroy(pool)\ncu.cuMemPoolDestroy(pool)  # error: [pool-destroy-twice]\n"
    )
