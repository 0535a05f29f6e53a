"""``@pytest.mark.cuvet(leaks=…, races=…)``, and the options that they are about."""

from __future__ import annotations

import shutil
import signal
import sys

import pytest

from .conftest import PROJECT, blamed, planted


@pytest.fixture(scope="module")
def races(run_pytest):
    return run_pytest("--cuvet-races", "-rA", "test_marked_races.py")


def test_races_are_those_of_their_test(races) -> None:
    assert races.code == pytest.ExitCode.TESTS_FAILED, races.stdout + races.stderr
    assert blamed(races) == planted(races)
    assert "nothing orders the two (race-between-streams)" in races.cases["test_race_CV441"].text
    assert races.summary[0].startswith("3 errors in 3 tests; ")


def test_without_the_option_there_are_none(run_pytest) -> None:
    session = run_pytest("-k", "not TestWithout", "test_marked_races.py")
    assert (session.code, blamed(session)) == (0, {}), session.stdout


IN_VAIN = "test_race_that_is_reported_CV441"


def test_a_marker_for_races_needs_a_session_that_records_them(run_pytest) -> None:
    session = run_pytest("test_marked_races.py")
    assert session.code == pytest.ExitCode.USAGE_ERROR, session.stdout + session.stderr
    said = "the marker has races=True, for which the session needs --cuvet-races"
    assert f"ERROR: test_marked_races.py::TestWithout::{IN_VAIN}: {said}" in session.stderr.splitlines()


def test_with_workers_such_a_test_fails(run_pytest) -> None:
    session = run_pytest("-n", "2", "test_marked_races.py")
    assert session.failed == {IN_VAIN, "test_stale_CV201"}
    assert "for which the session needs --cuvet-races" in session.cases[IN_VAIN].text


def test_races_also_with_workers(run_pytest) -> None:
    session = run_pytest("--cuvet-races", "-n", "2", "test_marked_races.py")
    assert blamed(session) == planted(session), session.stdout


def test_under_cuvet_run_without_races_the_option_is_an_error(run_pytest) -> None:
    command = ("-m", "cuvet", "run", "--device", "emulated", "--", sys.executable, "-m", "pytest")
    session = run_pytest("--cuvet-races", "test_marked_races.py", command=command)
    assert session.code == pytest.ExitCode.USAGE_ERROR, session.stdout + session.stderr
    said = "ERROR: --cuvet-races: pytest was started by cuvet run without --races: add it there"
    assert said in session.stderr.splitlines()


def test_a_marker_asks_for_leaks(run_pytest) -> None:
    session = run_pytest("-rA", "test_marked_leaks.py")
    assert (session.code, blamed(session)) == (0, {"test_forgets_and_is_told": "CV941"}), session.stdout
    assert "what this place made in test_marked_leaks.py::test_forgets outlived that test, too" in session.stdout


def test_a_marker_excepts_from_the_option(run_pytest) -> None:
    session = run_pytest("--cuvet-leaks", "test_marked_leaks.py")
    told = {"test_forgets_again": "CV941", "test_forgets_and_is_told": "CV941"}
    assert (session.code, blamed(session)) == (0, told), session.stdout


def test_a_marker_of_another_form_fails_its_test(run_pytest, tmp_path) -> None:
    test = tmp_path / "test_forms.py"
    test.write_text(
        "import pytest\n"
        "@pytest.mark.cuvet(leaks='yes')\ndef test_text(): pass\n"
        "@pytest.mark.cuvet(rases=True)\ndef test_misspelt(): pass\n"
        "@pytest.mark.cuvet()\ndef test_empty(): pass\n"
        "@pytest.mark.cuvet(ignore=['CV201'], leaks=True)\ndef test_right(): pass\n"
    )
    session = run_pytest(str(test))
    assert session.failed == {"test_text", "test_misspelt", "test_empty"}
    assert "leaks=True or False, races=True or False" in session.cases["test_text"].text


DIES = """
import os, signal
import pytest
from conftest import stale

@pytest.mark.cuvet(ignore=["{}"])
def test_ignores(context):
    stale()

def test_dies(context):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("rule", "errors"), [("stream-use-after-destroy", 0), ("CV201", 0), ("CV202", 1)])
def test_what_a_marker_ignores_is_not_reported_after_a_crash(run_pytest, tmp_path, rule: str, errors: int) -> None:
    shutil.copy(PROJECT / "conftest.py", tmp_path)
    (tmp_path / "test_dies.py").write_text(DIES.format(rule))
    session = run_pytest(directory=tmp_path)
    assert session.code == 128 + signal.SIGKILL
    assert session.stderr.count("error[CV201]") == errors
    assert session.stderr.count("= during: test_dies.py::test_ignores (call)") == errors
