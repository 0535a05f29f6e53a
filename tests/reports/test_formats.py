"""The registry of formats: one line, one module, and the options follow."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

import pytest

from cuvet import reports
from cuvet.cli import COMMANDS, make_parser

FOLDER = Path(reports.__file__).parent / "formats"


def choices(command: str) -> list[str]:
    """What ``--format`` of a command takes."""
    commands = next(a for a in make_parser([command])._actions if isinstance(a, argparse._SubParsersAction))
    option = commands.choices[command]._option_string_actions.get("--format")
    return list(option.choices) if option is not None and option.choices else []


def test_every_module_is_a_line_of_the_registry() -> None:
    assert {file.stem for file in FOLDER.glob("[!_]*.py")} == set(reports.FORMATS)
    for name in reports.FORMATS:
        assert callable(import_module(f"cuvet.reports.formats.{name}").write)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_choices_of_a_command_are_those_of_the_registry(command: str) -> None:
    assert choices(command) == [name for name, commands in reports.FORMATS.items() if command in commands]


def test_no_format_is_of_a_command_that_does_not_exist() -> None:
    assert {command for commands in reports.FORMATS.values() for command in commands} <= set(COMMANDS)


def test_a_line_more_is_a_choice_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(reports.FORMATS, "table", ("doctor", "rules"))
    assert choices("doctor") == choices("rules") == ["terminal", "json", "table"]
    assert "table" not in choices("run")
