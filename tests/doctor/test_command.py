"""``cuvet doctor`` as users call it, with compiled libraries in the driver's place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from cuvet.doctor.probe import all_probes
from cuvet.reports.doctor import SCHEMA_FILE


def doctor(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": "/dev/null", **variables}
    return subprocess.run(
        [sys.executable, "-m", "cuvet", "doctor", *arguments], capture_output=True, text=True, env=environ
    )


@pytest.fixture
def python(tmp_path: Path) -> str:
    """An interpreter without packages."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "pyvenv.cfg").write_text("home = /nonexistent\n")
    (tmp_path / "bin/python").symlink_to(os.path.realpath(sys.executable))
    return str(tmp_path / "bin/python")


def test_a_machine_whose_driver_answers_is_healthy(libraries: Path, python: str) -> None:
    found = doctor("--python", python, LD_LIBRARY_PATH=str(libraries))
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("healthy: driver 580.95.05, CUDA 13.0, A, B\n")
    assert "error[" not in found.stdout and "warning[" not in found.stdout


def test_the_verdict_comes_first_then_what_was_found_then_what_mends_it(libraries: Path, python: str) -> None:
    found = doctor("--python", python, LD_LIBRARY_PATH=str(libraries), CUDA_VISIBLE_DEVICES="", STATUS="100")
    verdict = "no GPU is visible: CUDA_VISIBLE_DEVICES is set and empty"
    assert found.returncode == 1
    assert found.stdout.startswith(f"1 error: {verdict}\n")
    lines = found.stdout.splitlines()
    start = lines.index(f"error[device-none-visible]: {verdict}")
    facts = [line.split(":")[0].strip() for line in lines[start + 1 :] if line.startswith("   = ")]
    assert facts[:5] == ["= found", "= found", "= found", "= help", "= more"]
    assert "   = help: unset CUDA_VISIBLE_DEVICES" in lines


def test_json_is_that_of_the_schema(libraries: Path, python: str) -> None:
    schema = json.loads(SCHEMA_FILE.read_text())
    for variables, code in (({}, 0), ({"STATUS": "999"}, 1)):
        found = doctor("--format", "json", "--python", python, LD_LIBRARY_PATH=str(libraries), **variables)
        report = json.loads(found.stdout)
        jsonschema.Draft202012Validator(schema).validate(report)
        assert (found.returncode, report["healthy"]) == (code, code == 0)
        assert [each["probe"] for each in report["probes"]] == [probe.name for probe in all_probes()]


def test_verbose_shows_what_every_probe_looked_at(libraries: Path, python: str) -> None:
    out = doctor("-v", "--python", python, LD_LIBRARY_PATH=str(libraries)).stdout
    for probe in all_probes():
        assert f"\n{probe.name}: {probe.title}\n" in out


def test_a_program_of_python_is_taken_for_its_interpreter(python: str, tmp_path: Path) -> None:
    script = tmp_path / "train"
    script.write_text(f"#!{python}\n")
    script.chmod(0o755)
    for arguments in ([str(script)], [python, "train.py"]):
        subject = json.loads(doctor("--format", "json", "--", *arguments).stdout)["subject"]
        assert (subject["program"], subject["python"]) == (arguments[0], python)
    subject = json.loads(doctor("--format", "json", "--", "/bin/sh").stdout)["subject"]
    assert (subject["program"], subject["python"]) == ("/bin/sh", None)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--python", "/nonexistent/python"), "cuvet: /nonexistent/python: command not found\n"),
        (("--", "nonexistent-program", "--its-option"), "cuvet: nonexistent-program: command not found\n"),
        (("--", "/etc/passwd"), "cuvet: /etc/passwd: not executable\n"),
        (
            ("--output", "/dev/null/file"),
            "cuvet: cannot write the report to /dev/null/file: Not a directory\n",
        ),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments: tuple[str, ...], line: str) -> None:
    found = doctor(*arguments)
    assert (found.returncode, found.stdout, found.stderr) == (2, "", line)


def test_bytes_that_are_no_text_are_shown_escaped(libraries: Path, python: str) -> None:
    variables = {"LD_LIBRARY_PATH": str(libraries), "STATUS": "100", "CUDA_VISIBLE_DEVICES": "\udcff"}
    assert "CUDA_VISIBLE_DEVICES is \\udcff" in doctor("--python", python, **variables).stdout
    found = json.loads(doctor("--format", "json", "--python", python, **variables).stdout)
    assert "CUDA_VISIBLE_DEVICES=\\udcff" in str([each["conclusions"] for each in found["probes"]]).replace(
        "\\\\", "\\"
    )


def test_a_libcuda_that_kills_its_process_is_an_error_not_an_end(libraries: Path, python: str) -> None:
    found = doctor("--python", python, LD_LIBRARY_PATH=str(libraries), DIE="1")
    assert found.returncode == 1
    assert "error[driver-does-not-start]" in found.stdout
