"""The text of examples: what is read from it, and what a mistake in it says."""

from __future__ import annotations

import pytest

from cuvet.fields import TextError
from cuvet.rules.examples import Example, Source, invalid, valid
from cuvet.rules.rule import Rule


def rule(text: str) -> type[Rule]:
    return type("Written", (Rule,), {"__module__": "cuvet.rules.noun.wrong", "VALID": text, "INVALID": ""})


def test_a_program_stands_below_its_title() -> None:
    assert valid(rule("\n## one: a thing\na = 1\n\nb = 2\n\n## two\nc = 3\n")) == (
        Example("one: a thing", "\na = 1\n\nb = 2\n"),
        Example("two", "\nc = 3\n"),
    )


def test_what_is_special_stands_in_brackets_and_the_note_below() -> None:
    text = "## one [devices=2, no-setup]\nnote: why: so\na = 1\n## two [c#]\nint b;\nnote: of the program\n"
    assert valid(rule(text)) == (
        Example("one", "\na = 1\n", devices=2, note="why: so", setup=False),
        Source("two", "\nint b;\nnote: of the program\n", language="c#"),
    )


def test_what_many_programs_have_around_them_is_left_out() -> None:
    text = "## one [python cupy]\nruntime.a()\n## two [c# method]\nvoid Run() {\n\n    B();\n}\n"
    assert valid(rule(text)) == (
        Source("one", "\nfrom cupy.cuda import runtime\n\nruntime.a()\n", language="python"),
        Source(
            "two",
            "\nusing static ManagedCuda.DriverAPINativeMethods;\n\nclass Worker {\n    void Run() {\n\n        B();\n    }\n}\n",
            language="c#",
        ),
    )


def test_lines_of_the_preprocessor_are_no_titles() -> None:
    (example,) = valid(rule("## one [cuda]\n#if A\n# define B a ## b\n#endif\n"))
    assert example.program == "\n#if A\n# define B a ## b\n#endif\n"


def test_there_may_be_none() -> None:
    assert invalid(rule("## one\na = 1\n")) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\n## one\nb = 2\n", "text before the first `## title`: a = 1"),
        ("## one\n\n## two\nb = 2\n", "example `one`: an example is a title with a program below it"),
        ("## \nb = 2\n", "example ``: an example is a title with a program below it"),
        ("## one [rust]\nb = 2\n", r"example `one`: \[rust\] is neither a language \(python driver, .*, c#\) nor"),
        ("## one []\nb = 2\n", r"example `one`: \[\] is neither"),
        ("## one [cuda, devices=2]\nb = 2\n", r"example `one`: \[cuda, devices=2\] is neither"),
        ("## one [devices=two]\nb = 2\n", r"example `one`: \[devices=two\] is neither .* nor made of devices=N and"),
    ],
)
def test_a_mistake_says_in_which_rule_and_example_it_is(text: str, message: str) -> None:
    with pytest.raises(TextError, match=f"^rules/noun/wrong.py, noun-wrong, VALID.*{message}") as raised:
        valid(rule(text))
    assert "\n" not in str(raised.value)
