"""The text of causes: what is read from it, and what a mistake in it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvet.fields import TextError
from cuvet.findings import Evidence
from cuvet.knowledge import reading
from cuvet.knowledge.cause import Cause, RuleCause, Signs, Tell
from cuvet.knowledge.reading import causes_in, meanings_of
from cuvet.knowledge.search import match, written

OWN = """
## driver-gone: The driver: it is gone
why: It is
  gone.
fix: Install it.
"""


def read(text: str, folder: Path) -> tuple[Cause | RuleCause, ...]:
    file = folder / "machine.txt"
    file.write_text(text)
    return causes_in(file)


def test_a_cause_has_its_text_and_signs(tmp_path: Path) -> None:
    text = f"""# A comment: of
# two lines.

DEVICES: device \\d{{1,2}}
CUDA: CUDA Driver API
{OWN}tell: `lsmod | grep a: b`: nothing: it is gone
tell: `cuvet doctor`: it says so
documented: it must be there ({{CUDA}}, cuInit())
errors: CUDA_ERROR_NO_DEVICE 40,
  SIGSEGV 5
calls: cuInit, cuDeviceGet
words: `a, b`, `({{DEVICES}})+`
belief: It is there: it is not.
cases: one, two
"""
    assert read(text, tmp_path) == (
        Cause(
            id="driver-gone",
            title="The driver: it is gone",
            why="It is gone.",
            tell=(Tell("lsmod | grep a: b", "nothing: it is gone"), Tell("cuvet doctor", "it says so")),
            fix="Install it.",
            evidence=(Evidence(kind="documented", text="it must be there", source="CUDA Driver API, cuInit()"),),
            signs=Signs(
                errors={"CUDA_ERROR_NO_DEVICE": 40, "SIGSEGV": 5},
                calls=("cuInit", "cuDeviceGet"),
                words=("a, b", r"(device \d{1,2})+"),
            ),
            beliefs=("It is there: it is not.",),
            cases=("one", "two"),
        ),
    )


def test_a_cause_of_a_rule_has_signs_only(tmp_path: Path) -> None:
    assert read("## event-other-context\nerrors: SIGSEGV 5\n\n## event-never-created\n", tmp_path) == (
        RuleCause(id="event-other-context", signs=Signs(errors={"SIGSEGV": 5}, stages=("run",))),
        RuleCause(id="event-never-created", signs=Signs(errors={}, stages=("run",))),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("## a-rule\nwhy: It is.", "a-rule: `why` is none of the fields tell, errors, calls, only_calls"),
        (OWN + "word: `a`", "driver-gone: `word` is none of the fields tell, errors"),
        (OWN + "because of it", "driver-gone: `because of it` is no field"),
        (OWN + "why: Twice.", "driver-gone: `why` stands 2 times"),
        ("## a: b\nfix: Nothing.", "a: `why` stands 0 times"),
        (OWN + "tell: lsmod: nothing", "driver-gone: tell is `command`: what it shows, not lsmod: nothing"),
        (OWN + "errors: SIGSEGV", "driver-gone: errors are `NAME weight`, not SIGSEGV"),
        (OWN + "errors: SIGSEGV often", "driver-gone: errors are `NAME weight`, not SIGSEGV often"),
        (OWN + "words: a, b", "driver-gone: words are `expression`, `expression`, not a, b"),
        (OWN + "words: `a`, b", "driver-gone: words are `expression`, `expression`, not `a`, b"),
        (OWN + "words: {OTHER}", "driver-gone: {OTHER} is not defined before the first section"),
        (OWN + "measured: it is (no_such_fact)", "driver-gone: there is no fact no_such_fact"),
        ("NAME\n" + OWN, "machine.txt: `NAME` is no field"),
    ],
)
def test_a_mistake_says_where_it_is(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(TextError, match=rf"^knowledge/{tmp_path.name}/machine.txt") as raised:
        read(text, tmp_path)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_text_of_a_meaning_is_described_by_the_reference_or_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "meanings").mkdir()
    (tmp_path / "meanings" / "own.txt").write_text("""
reference: The Manual
VERSION_8: The Older Manual

## OWN_LOST: It is lost: gone for
  ever.

## OWN_FULL: It is full.
says: it overflows
recorded: always
belief: It is empty: it is full.

## OWN_OLD: It is old.
documented: it was new ({VERSION_8})
""")
    monkeypatch.setattr(reading, "FOLDER", tmp_path)
    monkeypatch.setattr(reading, "_bad_releases", lambda: iter(()))
    found = meanings_of.__wrapped__("own")
    assert list(found) == ["OWN_LOST", "OWN_FULL", "OWN_OLD"]
    assert found["OWN_LOST"].text == "It is lost: gone for ever."
    assert [(one.text, one.source) for one in found["OWN_LOST"].evidence] == [
        ("the enumerator's description", "The Manual")
    ]
    assert [one.text for one in found["OWN_FULL"].evidence] == ["it overflows", "always"]
    assert found["OWN_FULL"].beliefs == ("It is empty: it is full.",)
    assert [(one.text, one.source) for one in found["OWN_OLD"].evidence] == [("it was new", "The Older Manual")]


def test_a_cause_of_a_rule_that_does_not_exist_is_a_mistake() -> None:
    with pytest.raises(TextError, match=r"^knowledge/causes, event-lost: no rule has this name"):
        written(RuleCause(id="event-lost", signs=Signs(errors={})))


def test_an_expression_that_cannot_be_read_is_a_mistake() -> None:
    cause = RuleCause(id="event-lost", signs=Signs(errors={}, words=("(lost",)))
    with pytest.raises(TextError, match=r"^knowledge/causes, event-lost, expressions: `\(lost`: missing \)"):
        match(cause, (), (), "it is lost")
