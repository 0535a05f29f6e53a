"""Nothing that somebody else wrote reaches a terminal as it is, in whatever form and wherever it stood."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import msgspec
import pytest
from rich.text import Text

from cuvet.cli import main
from cuvet.findings import MachineCause
from cuvet.printable import in_short, printable, printable_json, valid
from cuvet.reports.formats import json as documents
from cuvet.reports.terminal import console

sys.path.insert(0, str(Path(__file__).parents[1] / "recording"))
import writing

HOSTILE = "a\x1b]0;t\x07\x9b31m\u202eb\r\nc\x7f\u2028d"
"""ESC, BEL, CSI of C1, right-to-left override, line breaks, DEL, line separator."""
META = {
    "argv": [HOSTILE],
    "pid": 1000,
    "gpus": [HOSTILE],
    "driver": HOSTILE,
    "notes": [HOSTILE],
    "machine": [{"cause": HOSTILE, "verdict": HOSTILE, "evidence": [HOSTILE], "fix": HOSTILE}],
}


def unprintable(text: str) -> set[str]:
    return {c for c in text.replace("\n", "") if not c.isprintable()}


@pytest.mark.parametrize("form", ["terminal", "json", "sarif"])
def test_what_a_foreign_recording_says_is_escaped(tmp_path: Path, capfd: pytest.CaptureFixture[str], form: str) -> None:
    (tmp_path / "meta.json").write_text(json.dumps(META))
    writing.write(tmp_path, [writing.chunk(writing.note(1, HOSTILE))])
    assert main(["analyze", "--format", form, str(tmp_path)]) == 0
    said = "".join(capfd.readouterr())
    assert unprintable(said) == set()
    assert "a\\x1b]0" in said or "a\\u001b]0" in said


@pytest.mark.parametrize(
    "arguments",
    [
        [HOSTILE],
        ["run", f"--{HOSTILE}"],
        ["run", "--", HOSTILE],
        ["run", "--device", HOSTILE, "--", "true"],
        ["analyze", HOSTILE],
        ["explain", f"CV{HOSTILE}"],
        ["check", HOSTILE],
        ["inspect", HOSTILE],
    ],
)
def test_an_error_that_repeats_an_argument_is_one_line(capfd: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(arguments) != 0
    said = "".join(capfd.readouterr())
    assert unprintable(said) == set()
    assert said.startswith("cuvet: ")
    assert said.count("\n") == 1


def test_a_console_escapes_what_its_caller_forgot_and_keeps_the_colours() -> None:
    kept = HOSTILE.replace("\x07", "").replace("\r", "")  # rich itself drops these two
    out = io.StringIO()
    console(out, "always").print(Text("x", style="red").append(HOSTILE, style="blue"), soft_wrap=True)
    assert Text.from_ansi(out.getvalue()).plain.rstrip("\n") == "x" + printable(kept)
    assert out.getvalue().startswith("\x1b[31mx")


def test_json_says_the_same_with_its_characters_escaped() -> None:
    cause = MachineCause(cause=HOSTILE, verdict="µ 😀", evidence=("\U000e0001",), fix="")
    text = documents.text(cause)
    assert unprintable(text) == set()
    assert msgspec.json.decode(text, type=MachineCause) == cause
    assert "µ 😀" in text


def test_printable_text_is_left_alone() -> None:
    assert printable("µs → straße (日本)") == "µs → straße (日本)"
    assert printable_json('{\n  "a": "µ"\n}') == '{\n  "a": "µ"\n}'
    assert printable("\ud800") == "\\ud800"


def test_a_byte_that_is_not_utf_8_has_one_form(capfd: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"/nowhere/a\xff")
    assert (printable(name), valid(name)) == ("/nowhere/a\\xff",) * 2
    for command in (["inspect"], ["analyze"], ["check"], ["run", "--"], ["explain"], ["doctor", "--"]):
        assert main([*command, name]) != 0
        assert "a\\xff" in capfd.readouterr().err


LONG = "float, " * 20


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("scan<float, 4>", "scan<float, 4>"),
        (f"a::scan<{LONG}b<c>>::operator()<x->y, 3>", "a::scan<…>::operator()<…>"),
        (f"scan<4, sum<float, {LONG}int>, b<c<d>>>", "scan<4, sum<…>, b<…>>"),
        (f"a<{LONG}b>::operator<< <c>", "a<…>::operator<< <…>"),
        (f"my_operator<{LONG}b>::f<c>", "my_operator<…>::f<…>"),
        (f"<core::Map<{LONG}b> as Iterator>::next", "<core::Map<…> as Iterator>::next"),
        ("x" * 121, "x" * 120 + "…"),
        ("a<" * 61, "a<" * 60 + "…"),
        ("a>" * 61, "a>" * 60 + "…"),
        ("x" * 130 + "><c", "x" * 120 + "…"),
        ("<" + "a" * 130 + ">", "<" + "a" * 119 + "…"),
    ],
)
def test_of_a_long_name_the_innermost_arguments_of_templates_are_left_out(name: str, short: str) -> None:
    assert in_short(name) == short
