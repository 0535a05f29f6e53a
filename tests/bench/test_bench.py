"""The bench runs where there is no GPU, and docs/cost.md says what it measured. No test looks at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tools")]

import on_gpu  # noqa: E402
from measuring import Limits, NotHere, compared, quartiles, rounds  # noqa: E402
from rows import ROWS, Figure, Goal  # noqa: E402

import cost_page  # noqa: E402

ALL = {what: figure for row in ROWS for what, figure in row.figures.items()}


def bench(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "bench" / "bench.py"), *arguments]
    return subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)


def test_the_page_says_what_was_measured() -> None:
    text = cost_page.PAGE.read_text()
    assert cost_page.page(text, json.loads(cost_page.FIGURES.read_text())) == text
    assert set(cost_page.TABLE.findall(text)) and {row.part for row in ROWS} == {
        part for _, part, _ in cost_page.TABLE.findall(text)
    }


def test_kept_figures_belong_to_rows_and_say_where_they_were_taken() -> None:
    for what, figure in json.loads(cost_page.FIGURES.read_text()).items():
        assert figure["unit"] == ALL[what].unit
        assert {"rounds", "machine", "gpu", "driver", "date", "commit"} <= set(figure)


@pytest.mark.parametrize(
    "only",
    ["a driver that does nothing", "calls that make or end", "launches and copies", "full recording of 2", "device: a"],
)
def test_a_row_is_measured_without_a_gpu(only: str, tmp_path: Path) -> None:
    kept = tmp_path / "figures.json"
    done = bench("--only", only, "--rounds", "1", "--scale", "0.00001", "--output", str(kept))
    assert done.returncode == 0, done.stderr
    figures = json.loads(kept.read_text())
    assert set(figures) == {what for row in ROWS for what in row.figures if any(only in each for each in row.figures)}
    assert all(figure["rounds"] == 1 for figure in figures.values())


def test_rows_that_need_a_gpu_are_said_to_be_skipped(tmp_path: Path) -> None:
    kept = tmp_path / "figures.json"
    done = bench("--only", "gpu", "--output", str(kept), PATH=str(tmp_path))
    assert done.returncode == 0
    assert json.loads(kept.read_text()) == {}
    for what in (what for row in ROWS if row.gpus for what in row.figures):
        assert f"{what}: skipped, needs " in done.stderr


def test_figures_measured_elsewhere_are_taken_over(tmp_path: Path) -> None:
    kept, other = tmp_path / "figures.json", tmp_path / "other.json"
    first, second = list(ALL)[:2]
    kept.write_text(json.dumps({first: {"unit": "ns"}, second: {"unit": "ns"}, "of a row that is gone": {}}))
    other.write_text(json.dumps({second: {"unit": "s"}}))
    assert bench("--merge", str(other), "--output", str(kept)).returncode == 0
    assert json.loads(kept.read_text()) == {first: {"unit": "ns"}, second: {"unit": "s"}}


def test_a_word_that_no_row_has_is_a_mistake() -> None:
    done = bench("--only", "no such row")
    assert (done.returncode, done.stderr) == (2, "no row has 'no such row': see --list\n")


def test_a_part_is_chosen_by_its_name_and_rows_by_a_word_of_theirs() -> None:
    def chosen(only: str) -> list[str]:
        return bench("--list", "--only", only).stdout.splitlines()

    assert chosen("calls") == [f"calls: {what}" for row in ROWS if row.part == "calls" for what in row.figures]
    with_events = [row for row in ROWS if any("two timing" in what for what in row.figures)]
    assert chosen("two timing") == [f"programs: {what}" for row in with_events for what in row.figures]
    assert 0 < len(with_events) < len(ROWS)


def test_the_difference_is_taken_within_a_round() -> None:
    found = [{"bare": {"x": bare}, "checked": {"x": bare + 1}} for bare in (10.0, 20.0, 40.0)]
    assert compared(found, "x") == {
        "bare": [15, 20, 30],
        "checked": [16, 21, 31],
        "checked added": [1, 1, 1],
        "checked ratio": quartiles([1.1, 1.05, 1.025]),
        "rounds": 3,
    }


def test_every_mode_runs_once_a_round_and_a_row_at_least_once() -> None:
    runs: list[str] = []
    modes = {mode: lambda mode=mode: runs.append(mode) or {"x": 1.0} for mode in ("bare", "checked")}
    assert len(rounds(modes, Limits(rounds=4, seconds=1000))) == 4
    assert sorted(runs) == ["bare"] * 4 + ["checked"] * 4
    assert len(rounds(modes, Limits(rounds=4, seconds=0))) == 1


TURNS = """
import json, os, sys
print("warm", flush=True)
for line in sys.stdin:
    print(json.dumps({"turns with cuvet": [2.0 if "CUVET_TRACE" in os.environ else 1.0]}), flush=True)
"""


def test_processes_with_and_without_cuvet_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(tmp_path, "script.py").write_text(TURNS)
    monkeypatch.setattr(on_gpu, "HERE", tmp_path)
    found = on_gpu.in_turns("script.py", ("json",), Limits(rounds=3, seconds=1000, scale=0.1), pairs=2)
    assert found == [{"bare": {"turns with cuvet": 1}, "checked": {"turns with cuvet": 2}}] * 4
    with pytest.raises(NotHere, match="this Python has no module_that_nobody_has"):
        on_gpu.in_turns("script.py", ("module_that_nobody_has",), Limits(rounds=1, seconds=0))


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        (Goal("checked added", 5), "≤ +5 ns: met"),
        (Goal("checked added", 4), "≤ +4 ns: not met"),
        (Goal("checked ratio", 1.5), "≤ 1.5 ×: met"),
        (Goal("checked", 16, least=True), "≥ 16 ns: not met"),
        (Goal("full", 1), "≤ 1 ns"),
    ],
)
def test_a_goal_is_compared_with_the_median(goal: Goal, said: str) -> None:
    kept = {"bare": [9, 10, 11], "checked": [14, 15, 16], "checked added": [4, 5, 6], "checked ratio": [1.4, 1.5, 1.6]}
    assert cost_page.goal_of(Figure("ns", goal)) + cost_page.verdict(kept, goal) == said
