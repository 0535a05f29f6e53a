"""Text of fields."""

from __future__ import annotations

import pytest

from cuvet.fields import bracketed, fields, paragraphs


def test_a_value_goes_on_in_indented_lines() -> None:
    text = """
    why: it is: so
      and so
    fix: do  this

    end: here
    """
    assert fields(text) == [("why", "it is: so and so"), ("fix", "do this"), ("end", "here")]


def test_one_field_may_go_on() -> None:
    assert fields("why: it is\n  so\n") == [("why", "it is so")]


@pytest.mark.parametrize("text", ["", "\n    \n"])
def test_there_may_be_none(text: str) -> None:
    assert fields(text) == []


def test_a_line_that_is_no_field_is_named() -> None:
    with pytest.raises(ValueError, match=r"^`and so` is no field `name: value`"):
        fields("why: it is\nand so\n")


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("text (source)", ("text", "source")),
        ("f(x) fails (ld.so(8), manual)", ("f(x) fails", "ld.so(8), manual")),
        ("text (cublasDestroy())", ("text", "cublasDestroy()")),
    ],
)
def test_the_last_parentheses_are_the_source(value: str, parts: tuple[str, str]) -> None:
    assert bracketed(value) == parts


@pytest.mark.parametrize("value", ["text", "text (source) more", "text source)", "(source)", ""])
def test_a_value_without_source_is_named(value: str) -> None:
    with pytest.raises(ValueError, match="does not end in its source in parentheses"):
        bracketed(value)


def test_a_paragraph_keeps_its_lines() -> None:
    text = """
    checks: it is
      so:

      * one
        thing
      * other
    limits:
      none
      known
    """
    assert paragraphs(text) == [("checks", "it is\nso:\n\n* one\n  thing\n* other"), ("limits", "none\nknown")]
    assert fields(text)[1] == ("limits", "none known")
