"""``make mutants``: what it changes, and that it tells what no test notices from what one does."""

from __future__ import annotations

import ast
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
