"""``make mutants``: what it changes, and that it tells what no test notices from what one does."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def mutants(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import mutants

    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    return mutants


SOURCE = """
LIMIT = 3


def f(a, b):
    if a < LIMIT and b:
        return max(a, 1)
    raise ValueError(f"{a + 1}")
"""


def test_each_mutant_is_one_change_that_can_be_compiled(mutants: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOURCE)
    found = mutants.mutants_of(tmp_path / "a.py")
    assert [(each.line, each.shown, each.function[1]) for each in found] == [
        (2, "3  →  4", ""),
        (6, "a < LIMIT  →  a <= LIMIT", "f"),
        (6, "a < LIMIT and b  →  False", "f"),
        (6, "a < LIMIT and b  →  a < LIMIT or b", "f"),
        (6, "a < LIMIT and b  →  a < LIMIT", "f"),
        (6, "a < LIMIT and b  →  b", "f"),
        (7, "return max(a, 1)  →  return None", "f"),
        (7, "max(a, 1)  →  min(a, 1)", "f"),
        (7, "1  →  2", "f"),
    ]
    for each in found:
        text = SOURCE.encode()[: each.start] + each.text.encode() + SOURCE.encode()[each.end :]
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(SOURCE))


def test_what_is_no_source_is_one_line() -> None:
    tool = [sys.executable, str(ROOT / "tools/mutants.py"), "tests"]
    ended = subprocess.run(tool, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].endswith("tests is no source below src/cuvet")


def test_a_process_that_a_test_starts_loads_the_changed_source(tmp_path: Path) -> None:
    file = "src/cuvet/signals.py"
    text = (ROOT / file).read_bytes()
    mutant = {"file": file, "start": 0, "end": len(text), "text": "CHANGED = True"}
    (tmp_path / "mutant.json").write_text(json.dumps(mutant))
    paths = os.pathsep.join((str(ROOT / "tools"), str(ROOT / "tools/mutants_site")))
    environment = {**os.environ, "PYTHONPATH": paths, "MUTANT": str(tmp_path / "mutant.json")}
    program = "import cuvet.signals as one, cuvet.regular as other; print(vars(one).get('CHANGED'), other.__file__)"
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True", str(ROOT / "src/cuvet/regular.py")]


def test_which_lines_a_process_executes_is_written_with_its_test(tmp_path: Path) -> None:
    paths = os.pathsep.join((str(ROOT / "tools"), str(ROOT / "tools/mutants_site")))
    environment = {**os.environ, "PYTHONPATH": paths, "MUTANTS_LINES": str(tmp_path), "MUTANTS_TEST": "test_a.py::test"}
    program = "import cuvet.signals; cuvet.signals.signal_name(11)"
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    (written,) = (json.loads(file.read_text()) for file in tmp_path.iterdir())
    assert written["test"] == "test_a.py::test"
    assert written["lines"][str(ROOT / "src/cuvet/signals.py")]


def test_mutants_of_several_places_are_drawn_together(
    mutants: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is tried with the tests about its own place."""
    asked: list[tuple[str, set[str]]] = []

    def try_all(todo: list[Path], folders: list[str], jobs: int) -> list[object]:
        asked.append((folders[0], {Path(str(each)).name for each in todo}))
        return []

    for name in ("model", "recording"):
        (tmp_path / "src/cuvet" / name).mkdir(parents=True)
        (tmp_path / "src/cuvet" / name / f"{name}.py").write_text(SOURCE)
    monkeypatch.setattr(mutants, "try_all", try_all)
    monkeypatch.setattr(mutants, "measure", lambda folders: None)
    monkeypatch.setattr(mutants, "tries", lambda drawn, known: [each.file for each in drawn])
    monkeypatch.setattr(sys, "argv", ["mutants", "src/cuvet/model", "src/cuvet/recording", "--count", "17"])
    assert mutants.main() == 0
    assert asked == [("tests/model", {"model.py"}), ("tests/recording", {"recording.py"})]
    assert "all: 17 of 17 killed (100.0%), of 18 possible; seed 1" in capsys.readouterr().out
