"""``action.yml`` with a command: what is in the log, in the job's summary, and how the step ends."""

from __future__ import annotations

import json
import re

import pytest

from ..action import ACTION, run_step, step


def given(cuvet, command: object, **more: str) -> dict[str, str]:
    summary = cuvet.tmp_path / "summary.md"
    summary.write_text("of an earlier step\n")
    inputs = dict.fromkeys(("RUN_ARGS", "CHOOSE_ARGS", "FAIL_ON", "SARIF_FILE"), "")
    environment = {"RUN_COMMAND": f"echo begins\n{command}", "GITHUB_STEP_SUMMARY": str(summary)}
    return {**cuvet.environment, **inputs, **environment, "RUN_ARGS": "--device emulated", **more}


def test_a_finding_is_in_the_log_and_in_the_summary_and_fails_the_step(cuvet, runtime_program) -> None:
    log = cuvet.tmp_path / "run.sarif"
    command = f"{runtime_program('mistakes')} stale-stream"
    done = run_step("Run", cuvet.tmp_path / "runner", given(cuvet, command, SARIF_FILE=str(log)))
    assert done.returncode == 1, done.stderr
    first, _, *annotations = done.stdout.splitlines()
    assert first == "begins"
    assert re.match(r"::error .*title=CV201 stream-use-after-destroy::", annotations[0])
    summary = (cuvet.tmp_path / "summary.md").read_text()
    assert summary.startswith("of an earlier step\n**cuvet: 1 error, 0 warnings")
    assert json.loads(log.read_text())["runs"][0]["results"][0]["ruleId"] == "CV201"


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"CHOOSE_ARGS": "--ignore CV201"}, 0),
        ({"RUN_ARGS": "--device emulated --error-exitcode 9"}, 9),
        ({"FAIL_ON": "never"}, 2),
    ],
)
def test_the_inputs_say_what_fails(cuvet, runtime_program, inputs: dict[str, str], code: int) -> None:
    command = f"{runtime_program('mistakes')} stale-stream"
    done = run_step("Run", cuvet.tmp_path / "runner", given(cuvet, command, **inputs))
    assert done.returncode == code, done.stderr
    assert ("::error" in done.stdout) == (code == 9)


def test_a_command_without_findings_keeps_its_code_and_is_silent(cuvet, program) -> None:
    """It makes no CUDA call at all."""
    done = run_step("Run", cuvet.tmp_path / "runner", given(cuvet, f"{program('nothing')}; exit 5"))
    assert (done.returncode, done.stdout) == (5, "begins\n")


def test_every_input_that_a_step_reads_is_declared() -> None:
    text = ACTION.read_text()
    declared = re.findall(r"^  ([a-z-]+):$", text.split("inputs:\n")[1].split("\nruns:")[0], re.M)
    assert set(re.findall(r"inputs\.([a-z-]+)", text)) == set(declared)


@pytest.mark.parametrize(("name", "condition"), [("Check", "inputs.run == ''"), ("Run", "inputs.run != ''")])
def test_one_of_the_steps_is_done(name: str, condition: str) -> None:
    assert f"if: {condition}\n" in step(name)


def test_an_input_is_no_part_of_a_script() -> None:
    """What others write, as the name of a branch, would be run."""
    for name in ("Check", "Run"):
        assert "${{" not in step(name).split("run: |\n", 1)[1]
