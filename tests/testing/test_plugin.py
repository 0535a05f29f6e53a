"""``pytest --cuvet``: which test fails, and what is said of it."""

from __future__ import annotations

import json
import re
import shutil
import signal
import stat

import pytest

from .conftest import PROJECT, blamed, planted


@pytest.fixture(scope="session")
def mistakes(run_pytest):
    return run_pytest("-rA", "test_planted.py", "test_whose.py")


def test_each_mistake_is_that_of_its_own_test(mistakes) -> None:
    assert mistakes.code == pytest.ExitCode.TESTS_FAILED, mistakes.stdout + mistakes.stderr
    assert blamed(mistakes) == planted(mistakes)
    assert len(set(blamed(mistakes).values())) >= 12
    assert len(mistakes.cases) - len(planted(mistakes)) >= 10


def test_those_that_make_none_are_as_they_were(mistakes) -> None:
    others = {name: case.outcome for name, case in mistakes.cases.items() if name not in planted(mistakes)}
    assert {name: outcome for name, outcome in others.items() if outcome != "passed"} == {"test_skipped": "skipped"}


def test_a_test_fails_with_the_report_of_the_finding(mistakes) -> None:
    text = mistakes.cases["test_stream_CV201"].text
    lines = text.splitlines()
    assert lines[0].startswith("Failed: error[CV201]: cuStreamSynchronize: stream#")
    assert any(line.startswith("  --> test_planted.py:") and "in test_stream_CV201" in line for line in lines)
    assert "was destroyed here by cuStreamDestroy" in text
    assert "= during:" not in text


def test_that_it_failed_by_itself_stays_what_it_is(mistakes) -> None:
    for name in ("test_also_fails_CV201", "test_fails_as_well_CV201"):
        case = mistakes.cases[name]
        assert case.outcome == "failure"
        assert case.text.startswith("AssertionError: by itself")
    assert mistakes.stdout.count("Captured cuvet call") >= 2


def test_what_is_expected_to_fail_may(mistakes) -> None:
    assert mistakes.cases["test_expected_to_fail_CV201"].outcome == "skipped"
    assert "XFAIL test_whose.py::test_expected_to_fail_CV201" in mistakes.stdout


def test_a_test_that_skips_itself_fails_for_what_it_did_before(mistakes) -> None:
    for name in ("test_skips_itself_CV201", "test_skips_CV201"):
        assert mistakes.cases[name].outcome == "failure"


@pytest.mark.parametrize(
    ("name", "outcome", "during"),
    [
        ("test_first_with_fixture_CV201", "failure", "set-up of fixture wrong_set_up (scope module)"),
        ("test_own_fixture_CV201", "failure", "set-up of the test"),
        ("test_own_fixture_at_its_end_CV201", "error", "tear-down of the test"),
        (
            "test_last_of_the_module_CV201",
            "error",
            "tear-down of fixture wrong_tear_down (scope module), which was set up for test_whose.py::test_second_with_fixture",
        ),
        (
            "test_of_each[second_CV202]",
            "failure",
            "tear-down of fixture first_is_torn_down_wrong (scope module), which was set up for test_whose.py::test_of_each[first]",
        ),
        ("test_of_class_CV201", "failure", "set-up of class TestOfClass"),
        ("test_subprocess_CV401", "failure", "which is not that of the test"),
        ("test_subprocess_of_a_shell_CV401", "failure", "which is not that of the test"),
    ],
)
def test_what_was_done_beside_the_test_is_said(mistakes, name: str, outcome: str, during: str) -> None:
    case = mistakes.cases[name]
    assert case.outcome == outcome
    (said,) = [line for line in case.text.splitlines() if line.startswith("   = during: ")]
    assert said.endswith(during)


def test_the_summary_counts_and_names_the_recording(mistakes) -> None:
    (summary,), (again,) = mistakes.summary, mistakes.says("cuvet: look again: cuvet analyze ")
    assert summary.startswith(f"{len(planted(mistakes)) - 1} errors, 1 warning in {len(planted(mistakes))} tests; ")
    assert summary.endswith(" CUDA calls of 4 processes judged, on the emulated device")
    (recording,) = mistakes.recordings
    assert again == str(recording)


def test_marks_say_what_was_tested_when(mistakes) -> None:
    (recording,) = mistakes.recordings
    marks = recording / "marks.jsonl"
    assert stat.S_IMODE(marks.stat().st_mode) == 0o600
    lines = [json.loads(line) for line in marks.read_text().splitlines()]
    of_one = [each["phase"] for each in lines if each.get("test") == "test_planted.py::test_streams"]
    assert of_one == ["setup", "call", "teardown", "end"]
    times = [each["time_ns"] for each in lines]
    assert times == sorted(times)


def test_correct_tests_pass(run_pytest) -> None:
    session = run_pytest("test_correct.py")
    assert session.code == 0, session.stdout
    assert {case.outcome for case in session.cases.values()} == {"passed"}
    assert blamed(session) == {}
    assert session.summary[0].startswith("0 errors; ")
    assert session.stderr == ""


@pytest.mark.parametrize("arguments", [(), ("--maxfail=99",)], ids=["held", "waiting"])
def test_whatever_a_test_does_to_its_process_the_others_are_judged(run_pytest, arguments: tuple[str, ...]) -> None:
    session = run_pytest("test_odd.py", *arguments)
    assert session.code == pytest.ExitCode.TESTS_FAILED
    assert blamed(session) == planted(session)
    assert session.failed == set(planted(session))
    assert session.summary
    assert "Traceback" not in session.stderr


def test_what_another_test_raises_is_not_part_of_a_failure(run_pytest) -> None:
    session = run_pytest("test_raised.py")
    assert blamed(session) == planted(session)
    (failed,) = (session.cases[name] for name in session.failed)
    assert "ValueError" not in failed.text
    assert "another exception" not in session.stdout


@pytest.mark.parametrize("option", ["no:logging", "no:debugging"])
def test_parts_of_pytest_that_are_off_are_not_needed(run_pytest, option: str) -> None:
    assert run_pytest("-p", option, "test_correct.py", "-k", "shared").code == 0


OTHERS_RUN = """
def pytest_configure(config):
    config.pluginmanager.register(Runs())

class Runs:
    def pytest_runtest_protocol(self, item, nextitem):
        print("told:", item.name)
"""
OTHERS_LOOK = """
import pytest

current = []

def pytest_runtest_logstart(nodeid, location):
    print("told:", nodeid)
    current[:] = [nodeid]

@pytest.fixture(autouse=True)
def was_told(request):
    assert current == [request.node.nodeid]
"""


@pytest.mark.parametrize("plugin", [OTHERS_RUN, OTHERS_LOOK], ids=["run", "look"])
def test_others_that_run_tests_or_look_at_reports_do_so_in_time(run_pytest, tmp_path, plugin: str) -> None:
    (tmp_path / "conftest.py").write_text(plugin)
    (tmp_path / "test_two.py").write_text("def test_one(): pass\ndef test_two(): pass")
    session = run_pytest(directory=tmp_path)
    assert session.code == 0
    assert session.stdout.count("told: ") == 2


SUBTESTS = """
def test_first(context): pass

def test_second(context, subtests):
    for number in range(2):
        with subtests.test(number=number):
            pass
"""


def test_subtests_stand_behind_the_tests_that_ran_before_them(run_pytest, tmp_path) -> None:
    shutil.copy(PROJECT / "conftest.py", tmp_path)
    (tmp_path / "test_parts.py").write_text(SUBTESTS)
    session = run_pytest("-v", directory=tmp_path)
    assert session.code == 0, session.stdout
    told = re.findall(r"::(\w+) (?:SUB)?PASSED(?:\(number=(\d)\))?", session.stdout)
    assert told == [("test_first", ""), ("test_second", "0"), ("test_second", "1"), ("test_second", "")]


@pytest.mark.parametrize("arguments", [(), ("--maxfail=9",)], ids=["held", "waiting"])
def test_a_failure_that_the_test_expects_is_counted_and_no_finding(run_pytest, arguments: tuple[str, ...]) -> None:
    session = run_pytest("test_expected.py", *arguments)
    assert session.code == pytest.ExitCode.TESTS_FAILED
    assert blamed(session) == planted(session)
    assert session.failed == set(planted(session))
    assert session.says("cuvet: 9 failures")
    assert session.summary[0].startswith("5 errors in 5 tests; ")


def test_what_no_test_can_be_blamed_for_fails_the_session(run_pytest) -> None:
    session = run_pytest("test_imported.py")
    assert session.code == pytest.ExitCode.TESTS_FAILED
    assert session.failed == set()
    assert "   = during: before the first test" in session.stdout.splitlines()
    assert session.summary[0].startswith("1 error; ")


def test_what_is_found_while_later_tests_run_fails_its_own_test(run_pytest) -> None:
    session = run_pytest("test_late.py")
    assert session.code == pytest.ExitCode.TESTS_FAILED
    assert session.failed == {"test_wrong"}
    assert blamed(session) == {"test_wrong": "CV201"}


def test_what_is_found_when_its_test_has_been_reported_names_that_test(run_pytest) -> None:
    session = run_pytest("test_late.py", "--maxfail=9")
    assert session.code == pytest.ExitCode.TESTS_FAILED
    assert session.failed == set()
    during = [line for line in session.stdout.splitlines() if line.startswith("   = during: ")]
    assert during == ["   = during: test_late.py::test_wrong"]


def test_who_lost_the_context_is_named_and_the_others_are_skipped(run_pytest) -> None:
    session = run_pytest("test_lost.py", "test_plain.py")
    assert session.code == pytest.ExitCode.TESTS_FAILED
    outcomes = {name: case.outcome for name, case in session.cases.items()}
    skipped = dict.fromkeys(("test_after", "test_after_that", "test_nothing_is_loaded"), "skipped")
    assert outcomes == {"test_before": "passed", "test_loses_it": "failure", **skipped}
    assert blamed(session) == {"test_loses_it": "CV901"}
    reason = "cuvet: test_lost.py::test_loses_it lost the CUDA context of this process"
    assert session.cases["test_after"].text.startswith(reason)


def test_warnings_are_shown_and_fail_only_on_request(mistakes, run_pytest) -> None:
    assert mistakes.cases["test_only_a_warning_CV412"].outcome == "passed"
    assert [line for line in mistakes.stdout.splitlines() if line.startswith("warning[CV412]")]
    session = run_pytest("--cuvet-fail-on", "warning", "test_warning.py")
    assert session.code == pytest.ExitCode.TESTS_FAILED
    assert session.cases["test_too_large"].outcome == "failure"


def test_if_a_test_ends_pytest_the_report_comes_from_the_recording(run_pytest) -> None:
    session = run_pytest("test_leaves.py")
    assert session.code == 1
    assert "cuvet: pytest ended in test_leaves.py::test_leaves (call)" in session.stderr
    assert "error[CV201]" in session.stderr


def test_if_a_signal_ends_pytest_the_report_comes_from_the_recording(run_pytest) -> None:
    session = run_pytest("test_dies.py")
    assert session.code == 128 + signal.SIGKILL
    assert "cuvet: SIGKILL ended pytest in test_dies.py::test_dies (call)" in session.stderr
    assert "error[CV201]: cuStreamSynchronize: stream#1" in session.stderr


def test_a_call_that_kills_on_a_gpu_is_not_made(run_pytest, null_driver) -> None:
    session = run_pytest(
        "--noconftest", "test_real.py",
        device="real", LD_LIBRARY_PATH=str(null_driver), NULL_DRIVER_SIGNAL="cuStreamSynchronize=11",
    )  # fmt: skip
    assert session.code == pytest.ExitCode.TESTS_FAILED, session.stderr
    assert {name: case.outcome for name, case in session.cases.items()} == {
        "test_stale": "failure",
        "test_next": "passed",
    }
    assert "cuvet did not make the call (--protect)" in session.cases["test_stale"].text


@pytest.mark.parametrize(
    ("configured", "code", "said"),
    [
        (
            'severity = { "stream-*" = "warning" }\nignore = ["stream-destroy-twice"]',
            0,
            "cuvet: 0 errors, 1 warning in 1 test; ",
        ),
        ("ignroe = []", 2, "cuvet: "),
    ],
)
def test_the_configuration_of_run_counts(run_pytest, tmp_path, configured: str, code: int, said: str) -> None:
    shutil.copy(PROJECT / "conftest.py", tmp_path)
    shutil.copy(PROJECT / "test_planted.py", tmp_path)
    (tmp_path / "pyproject.toml").write_text(f"[tool.cuvet.run]\n{configured}\n")
    session = run_pytest("-k", "stream_twice or test_stream_CV201", directory=tmp_path)
    assert session.code == code, session.stdout + session.stderr
    assert said in session.stdout + session.stderr


def test_without_a_gpu_one_line_says_what_to_do(run_pytest) -> None:
    session = run_pytest("test_plain.py", device="real", CUDA_VISIBLE_DEVICES="", LD_LIBRARY_PATH="")
    assert session.code == 2
    assert session.stdout == ""
    assert session.stderr.startswith("cuvet: no GPU: ")
    assert session.stderr.endswith("; --cuvet-device emulated needs none\n")


def test_if_the_judge_ends_the_session_fails(run_pytest) -> None:
    session = run_pytest("test_unjudged.py")
    assert session.code == pytest.ExitCode.TESTS_FAILED
    assert session.failed == {"test_stale_CV201"}  # judged again from the recording
    assert session.cases.keys() == {"test_stale_CV201", "test_first", "test_second"}
    said = "the process that judges has ended: what was called since then is not judged (test_unjudged.py::test_first)"
    assert said in session.says("cuvet: ")


def test_if_the_judge_can_no_longer_be_asked_the_session_fails(run_pytest) -> None:
    session = run_pytest("test_closes.py")
    assert session.code == pytest.ExitCode.TESTS_FAILED
    assert session.failed == set(), session.stdout
    said = "the program closed the descriptors by which the process that judges is asked: what was called since then is not judged"
    assert session.says(f"cuvet: {said}") == [" (test_closes.py::test_closes_all)"]
    assert "Traceback" not in session.stdout + session.stderr


def test_workers_have_recordings_of_their_own(run_pytest) -> None:
    session = run_pytest("-n2", "--dist", "load", "-rA", "test_planted.py", "test_whose.py")
    assert session.code == pytest.ExitCode.TESTS_FAILED
    of_shared = {name for name, case in session.cases.items() if "(scope module)" in case.text}
    depends = of_shared | {  # on who runs what
        "test_first_with_fixture_CV201",
        "test_last_of_the_module_CV201",
        "test_of_each[second_CV202]",
    }
    assert set(blamed(session)) - depends == set(planted(session)) - depends
    assert of_shared and of_shared <= set(blamed(session))
    assert f" of {2 + 3} processes judged" in session.summary[0]
    (recording,) = session.recordings
    assert set(session.says(f"cuvet: look again: cuvet analyze {recording}/")) == {"gw*"}
    assert {path.parent.name for path in recording.glob("*/*.cuvet")} == {"gw0", "gw1"}
    assert [path.name for path in recording.glob("*.cuvet")] == []


def test_a_worker_that_dies_is_told_with_what_it_did(run_pytest) -> None:
    session = run_pytest("-n2", "test_dies.py")
    assert session.code == pytest.ExitCode.TESTS_FAILED
    assert len(session.failed) == 1
    assert "crashed while running 'test_dies.py::test_dies'" in session.stdout
    assert "error[CV201]: cuStreamSynchronize: stream#" in session.stdout
    assert session.summary[0].startswith("1 error in 1 test; ")


def test_what_was_not_judged_is_said(run_pytest) -> None:
    session = run_pytest("test_correct.py", "-k", "streams", CUVET_LIMIT=str(128 << 10))
    assert session.code == 0, session.stdout
    (said,) = session.says("cuvet: not checked: ")
    assert "were dropped" in said and said.endswith("its recording had reached its size limit")


def test_what_tests_leave_behind_is_a_warning_if_two_do(run_pytest) -> None:
    session = run_pytest("--cuvet-leaks", "-rA", "test_leaks.py")
    assert session.code == 0, session.stdout
    assert blamed(session) == {"test_forgets_again": "CV941"}
    (warning,) = [line for line in session.stdout.splitlines() if line.startswith("warning[CV941]")]
    assert "outlives the test that made it (exit-leak)" in warning
    assert "   = repeats: 1 more like this one" in session.stdout.splitlines()
    assert session.summary[0].startswith("0 errors, 1 warning in 1 test; ")
    (left,) = [line for line in session.says("cuvet: ") if "outlived" in line]
    assert left.startswith("3 objects outlived a test, ")


def test_without_the_flag_nothing_is_different(run_pytest) -> None:
    session = run_pytest("--noconftest", "test_plain.py", cuvet=False)
    assert session.code == 0, session.stdout
    assert "cuvet:" not in session.stdout
    assert session.recordings == []


@pytest.mark.parametrize("option", ["--cuvet-leaks", "--cuvet-races", "--cuvet-device=emulated"])
def test_without_the_flag_its_other_options_are_a_mistake(run_pytest, option: str) -> None:
    session = run_pytest("--noconftest", "test_plain.py", option, cuvet=False)
    assert session.code == pytest.ExitCode.USAGE_ERROR
    assert session.stderr.splitlines() == [
        f"ERROR: {option.partition('=')[0]} does nothing without --cuvet: add that",
        "",
    ]


def test_without_the_flag_other_options_of_a_project_do_nothing(run_pytest) -> None:
    session = run_pytest("--noconftest", "test_plain.py", cuvet=False, PYTEST_ADDOPTS="--cuvet-leaks")
    assert session.code == 0, session.stdout


def test_the_marker_is_known_without_the_flag(run_pytest) -> None:
    session = run_pytest("--collect-only", "-q", "test_whose.py", cuvet=False)
    assert session.code == 0, session.stdout


def test_an_unknown_rule_is_an_error(run_pytest, tmp_path) -> None:
    test = tmp_path / "test_names.py"
    test.write_text(
        "import pytest\n"
        "@pytest.mark.cuvet(ignore=['stream-use-after-destory'])\ndef test_misspelt(): pass\n"
        "@pytest.mark.cuvet('CV201')\ndef test_no_list(): pass\n"
        "@pytest.mark.cuvet(ignore='CV201')\ndef test_a_string(): pass\n"
        "@pytest.mark.cuvet(ignore=['CV201'])\ndef test_right(): pass\n"
    )
    session = run_pytest(str(test))
    assert session.failed == {"test_misspelt", "test_no_list", "test_a_string"}
    unknown = "no rule is called 'stream-use-after-destory'; did you mean stream-use-after-destroy? (see cuvet rules)"
    assert f"@pytest.mark.cuvet: {unknown}" in session.cases["test_misspelt"].text
    assert 'write @pytest.mark.cuvet(ignore=["CV101"]), with a list of rules' in session.cases["test_a_string"].text


def test_a_session_starts_itself_again_once(run_pytest) -> None:
    session = run_pytest("test_plain.py", CUVET_TESTING="1")
    assert session.code == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: --cuvet: this process runs without cuvet's shim: LD_PRELOAD had no effect on it" in session.stderr


def test_pytest_that_a_program_calls_cannot_be_started_again(run_pytest) -> None:
    program = "import pytest, sys; sys.exit(pytest.main([*sys.argv[1:], '-q']))"
    session = run_pytest("test_plain.py", command=("-c", program))
    assert session.code == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: --cuvet: pytest was called by a program with arguments of its own" in session.stderr


IN_A_SHELL = """
import os, shlex, sys
cuvet, mistake = shlex.join([sys.executable, "-m", "cuvet"]), shlex.join([sys.executable, "-c", sys.argv.pop(1)])
lines = f'eval "$({cuvet} env --device emulated)"; {mistake}; exec {sys.executable} -m pytest "$@"'
os.execv("/bin/sh", ["sh", "-c", lines, "sh", *sys.argv[1:]])
"""
MISTAKE = """
from cuda.bindings import driver as cu
cu.cuInit(0)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(0)[1])
stream = cu.cuStreamCreate(0)[1]
print(cu.cuStreamDestroy(stream), cu.cuStreamDestroy(stream))
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_what_a_recorded_shell_did_before_is_not_part_of_a_session(run_pytest, workers) -> None:
    if workers:
        pytest.importorskip("xdist")
    session = run_pytest("test_correct.py::test_streams", *workers, command=("-c", IN_A_SHELL, MISTAKE))
    assert session.code == 0, session.stdout
    assert "CV202" not in session.stdout
    assert len(session.recordings) == 2
