"""The manual pages, which say what ``--help`` says."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cuvet import man
from cuvet.cli import COMMANDS, make_parser

from ..every import of_every

PAGES = man.pages()
FOLDER = Path(__file__).parents[2] / "man"


def shown(text: str) -> str:
    """What a reader of the page sees, as one line; no warnings of groff."""
    command = ["groff", "-man", "-ww", "-Tutf8", "-P-c", "-rLL=2000n", "-rHY=0"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    return " ".join(re.sub(".\b|\x1b\\[[0-9;]*m", "", done.stdout).split())


needs_groff = pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")


def test_the_pages_are_up_to_date() -> None:
    assert {page.name: page.read_text(encoding="ascii") for page in FOLDER.iterdir()} == PAGES
    assert set(PAGES) == {"cuvet.1", *(f"cuvet-{command}.1" for command in COMMANDS)}


@needs_groff
@of_every(COMMANDS, str)
def test_a_page_says_what_help_says(command: str) -> None:
    page = shown(PAGES[f"cuvet-{command}.1"])
    parser = man._commands(make_parser([command]))[command]
    for action in parser._actions:
        assert all(option in page for option in action.option_strings)
        help_ = parser._get_formatter()._expand_help(action) if action.help else ""
        assert " ".join(help_.split()) in page
    for line in (parser.epilog or "").split("\n")[1:]:
        assert " ".join(re.sub("^exit codes: ", "", line).split()) in page


def made(help_: str, epilog: str = "") -> str:
    parser = argparse.ArgumentParser(prog="cuvet try", description="Try.", epilog=epilog)
    parser.add_argument("--it", metavar="X", help=help_)
    return man.page(parser, make_parser())


@needs_groff
@pytest.mark.parametrize(
    "text",
    [
        r"C:\new\fB, \(aq and \*[x] stay",
        ".so /etc/passwd",
        "'sy touch here",
        "a-b --c ~/.x ^ ` ' \" 100%% × …",
        "one\n.so /etc/passwd",
    ],
)
def test_signs_of_roff_are_shown_and_do_nothing(text: str) -> None:
    read = " ".join(text.replace("%%", "%").split())
    assert f"--it X {read}" in shown(made(text))


@needs_groff
def test_lines_of_examples_stay_lines() -> None:
    page = made("x", "examples:\n  .so /etc/passwd\n  'br\n\nexit codes: 0 always;\n  1 never\nand so on\n")
    assert "EXAMPLES .so /etc/passwd 'br EXIT STATUS 0 always; 1 never and so on SEE" in shown(page)
    assert page.count("\n.br\n") == 2
