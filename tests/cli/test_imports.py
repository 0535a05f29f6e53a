"""A command imports only what it needs: starting is what people wait for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cuvet.cli import COMMANDS

SHIM = Path(__file__).parents[2] / "src/cuvet/_native/libcuda.so.1"
HEAVY = {"numpy", "symbolic", "elftools", "lz4", "zstandard", "rich", "shtab", "msgspec", "pygments", "markdown_it"}
PROGRAM = """
import sys
from cuvet.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


def imported(*arguments: str) -> set[str]:
    """Which of the heavy packages the command line imports."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True)
    return HEAVY & set(done.stderr.split("\n")[-2].split())


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_needs_no_numbers_no_terminal_and_no_symbols(command: str) -> None:
    assert imported(command, "-h") <= {"msgspec"}


@pytest.mark.parametrize("arguments", [["--version"], ["-h"]])
def test_the_help_needs_no_numbers_no_terminal_and_no_symbols(arguments: list[str]) -> None:
    assert imported(*arguments) <= {"msgspec"}


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        ("explain 400", {"msgspec", "rich"}),
        ("explain 400 --format json", {"msgspec"}),
        ("explain CUDNN_STATUS_NOT_INITIALIZED --all", {"msgspec", "rich"}),
        ("explain CV201", {"msgspec"}),
        ("explain stream-use-after-destroy --format json", {"msgspec"}),
        ("explain image-wrong-gpu", {"msgspec"}),
        ("rules", {"msgspec", "rich"}),
        ("rules --format json", {"msgspec"}),
        ("completion bash", {"msgspec", "shtab"}),
        (f"inspect {SHIM}", {"msgspec", "rich"}),
        (f"inspect {SHIM} --format json", {"msgspec", "rich"}),
    ],
)
def test_what_a_command_imports(arguments: str, needed: set[str]) -> None:
    assert imported(*arguments.split()) <= needed


def test_the_explanation_of_a_rule_imports_no_other_noun() -> None:
    program = f"{PROGRAM}\nprint(*(name for name in sys.modules if name.startswith('cuvet.rules.')), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program, "explain", "CV201"], capture_output=True, text=True, check=True
    )
    modules = done.stderr.split("\n")[-2].split()
    assert [name for name in modules if name.count(".") == 3] == ["cuvet.rules.stream.life"]
