"""A command imports only what it needs: starting is what people wait for."""

from __future__ import annotations

import ast
import os
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


@pytest.mark.parametrize("form", ["terminal", "json"])
def test_a_program_without_cuda_calls_is_not_analysed(form: str, tmp_path: Path) -> None:
    program = f"{PROGRAM}\nprint(*(name for name in sys.modules if name.startswith('cuvet.')), file=sys.stderr)"
    run = ["run", "--device", "emulated", "--trace", str(tmp_path / "trace"), "--format", form, "--", "true"]
    done = subprocess.run([sys.executable, "-c", program, *run], capture_output=True, text=True, check=True)
    *_, packages, modules, _ = done.stderr.split("\n")
    assert HEAVY & set(packages.split()) <= {"msgspec"}
    analysing = ("cuvet.analysis", "cuvet.catalog", "cuvet.model", "cuvet.recording", "cuvet.rules", "cuvet.source")
    assert [name for name in modules.split() if name.startswith(analysing)] == []
    assert len(modules.split()) < 55


ASKS = """
import subprocess, sys
there, start = set(sys.modules), subprocess.Popen
def Popen(*arguments, **options):
    print(*(name for name in sys.modules if name not in there), file=sys.stderr)
    return start(*arguments, **options)
subprocess.Popen = Popen
"""


def test_libcuda_is_asked_before_what_runs_programs_is_imported(tmp_path: Path) -> None:
    """That takes its time too."""
    run = ["run", "--device", "real", "--trace", str(tmp_path / "trace"), "--", "true"]
    environ = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    command = [sys.executable, "-c", f"{ASKS}{PROGRAM}print(*sys.modules, file=sys.stderr)", *run]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=True)
    before, *_, after = (set(line.split()) for line in done.stderr.splitlines())
    assert "cuvet.doctor.asking" in before
    assert not {"cuvet.launch.session", "cuvet.doctor.state", "msgspec", "tempfile"} & before
    assert len([name for name in before if name.startswith("cuvet")]) < 15
    assert "cuvet.launch.session" in after
    assert not {"cuvet.launch.emulated", "cuvet.device", "cuvet.doctor.machine"} & after


@pytest.mark.parametrize("arguments", ["rules", "explain 400", "explain CV201"])
def test_what_a_start_makes_is_not_searched_for_cycles(arguments: str) -> None:
    program = f"{PROGRAM}\nimport gc\nprint(sum(each['collections'] for each in gc.get_stats()), file=sys.stderr)"
    before = "import sys\nfrom cuvet.cli import main\nimport gc\n"
    before += "print(sum(each['collections'] for each in gc.get_stats()), file=sys.stderr)"
    command = [sys.executable, "-c", program, *arguments.split()]
    total = int(subprocess.run(command, capture_output=True, text=True, check=True).stderr.split("\n")[-2])
    started = int(subprocess.run([sys.executable, "-c", before], capture_output=True, text=True, check=True).stderr)
    assert total - started <= 2


def test_what_is_there_at_the_end_is_not_searched_for_cycles() -> None:
    program = "import atexit, gc, sys\natexit.register(lambda: print(gc.get_freeze_count(), file=sys.stderr))"
    command = [sys.executable, "-c", f"{program}{PROGRAM}", "rules"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stderr.split("\n")[-2]) > 10_000


def test_the_explanation_of_a_rule_imports_no_other_noun() -> None:
    program = f"{PROGRAM}\nprint(*(name for name in sys.modules if name.startswith('cuvet.rules.')), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program, "explain", "CV201"], capture_output=True, text=True, check=True
    )
    modules = done.stderr.split("\n")[-2].split()
    assert [name for name in modules if name.count(".") == 3] == ["cuvet.rules.stream.life"]


PACKAGE = Path(__file__).parents[2] / "src/cuvet"
AS_NEEDED = tuple(
    PACKAGE / name
    for name in ("commands", "conformance/__main__.py", "__init__.py", "api.py", "notebook.py", "testing")
)
"""Commands: every start imports their modules, and what one needs is imported when it runs. What programs import: they pay for it."""


def in_functions(file: Path) -> list[str]:
    """The lines that import cuvet's own modules, or the standard library's, in a function and do not say why."""
    text = file.read_text().splitlines()
    functions = (node for node in ast.walk(ast.parse("\n".join(text))) if isinstance(node, ast.FunctionDef))
    found = {
        node.lineno: node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    third_party = {"lz4", "pathspec", "rich", "shtab", "symbolic", "tree_sitter", "zstandard"}
    return [
        f"{file.relative_to(PACKAGE)}:{number}: {text[number - 1].strip()}"
        for number, name in found.items()
        if str(name).partition(".")[0] not in third_party and "# start: " not in text[number - 1]
    ]


def test_an_import_in_a_function_is_one_that_start_time_needs() -> None:
    files = [file for file in PACKAGE.rglob("*.py") if not any(file.is_relative_to(each) for each in AS_NEEDED)]
    assert [line for file in files for line in in_functions(file)] == []
