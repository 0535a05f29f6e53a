"""``cuvet check`` as it is called."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuvet.source import SUFFIXES

from ...action import run_step
from .conftest import CORRECT, MISTAKE, Done, Project

Check = Callable[..., Done]
ROOT = Path(__file__).parents[3]


def test_exit_codes(project: Project, check: Check) -> None:
    project.write({"bad.cu": MISTAKE, "good.cu": CORRECT})
    assert check("good.cu").code == 0
    assert check("bad.cu").code == 1
    assert check("--error-exitcode", "7", "bad.cu").code == 7
    assert check("--error-exitcode", "0", "bad.cu").code == 0
    assert check("--error-exitcode", "7", "good.cu").code == 0
    project.write({"warned.cu": "void end(cudaStream_t stream) {\n    CHECK(cudaStreamDestory(stream));\n}\n"})
    assert check("warned.cu").code == 0
    assert check("--fail-on", "warning", "warned.cu").code == 1
    assert check("--fail-on", "warning", "--error-exitcode", "7", "warned.cu").code == 7
    assert check("--fail-on", "warning", "good.cu").code == 0


def test_only_errors_count(project: Project, check: Check) -> None:
    project.write({"a.cu": "void f() {\n    cudaDeviceSynchronize();\n}\n"})
    done = check("a.cu")
    assert (done.code, "note[CV860]" in done.out) == (0, True)


def test_a_file_that_cannot_be_read_is_more_than_a_finding(project: Project, check: Check) -> None:
    project.write({"a.cu": MISTAKE, "sub/b.cu": ""})
    (project.root / "sub/b.cu").unlink()
    (project.root / "sub/b.cu").symlink_to("/proc/self/mem")
    done = check(".")
    assert done.code == 2
    assert re.search(r"^error: sub/b\.cu: ", done.out, re.M)
    assert "error[CV201]" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gone.cu",), "cuvet: gone.cu: No such file or directory\n"),
        (("",), "cuvet: argument PATH: '' is not a path (see cuvet check -h)\n"),
        (("notes.txt",), "cuvet: no source file in notes.txt (looked for .cu "),
        (("empty",), "cuvet: no source file in empty (looked for .cu "),
        (("--cuda", "latest", "a.cu"), "cuvet: --cuda: latest is not a release of CUDA, as 12.8\n"),
        (("--cuda", "", "a.cu"), "cuvet: --cuda: '' is not a release of CUDA, as 12.8\n"),
        (("--cuda", "99.0", "a.cu"), "cuvet: --cuda: 99.0 is newer than 13."),
        (("--select", "", "a.cu"), "cuvet: --select: no rule is called '' (see cuvet rules)\n"),
        (("--select", "stream-gone", "a.cu"), "cuvet: --select: no rule is called stream-gone; did you mean"),
        (("--ignore", "CV9999", "a.cu"), "cuvet: --ignore: no rule is called CV9999 (see cuvet rules)\n"),
        (("--jobs", "0", "a.cu"), "cuvet: argument --jobs: 0 is not a number from 1 to 1024 (see cuvet check -h)\n"),
        (("--error-exitcode", "256", "a.cu"), "cuvet: argument --error-exitcode: 256 is not a number from 0 to 255"),
        (
            ("--jobs", "many", "a.cu"),
            "cuvet: argument --jobs: many is not a number from 1 to 1024 (see cuvet check -h)\n",
        ),
        (("--format", "xml", "a.cu"), "cuvet: argument --format: invalid choice: 'xml' (choose from "),
        (("--diff", "HEAD", "a.cu"), "cuvet: --diff needs a git repository, and there is none here\n"),
        (
            ("--write-baseline", "a.cu"),
            "cuvet: --write-baseline needs --baseline FILE, or baseline in the configuration\n",
        ),
        (("--baseline", "gone.json", "a.cu"), "cuvet: cannot read the baseline gone.json: No such file or directory; "),
        (("--baseline", "cut.json", "a.cu"), "cuvet: cut.json is not a baseline: Input data was truncated\n"),
        (("--baseline", "list.json", "a.cu"), "cuvet: list.json is not a baseline: Expected `object`, got `array`\n"),
        (("--baseline", "empty", "a.cu"), "cuvet: cannot read the baseline empty: Is a directory\n"),
        (("--baseline", "", "a.cu"), "cuvet: argument --baseline: '' is not a path (see cuvet check -h)\n"),
        (("--output", "empty", "a.cu"), "cuvet: cannot write the report to empty: Is a directory\n"),
        (("--output", "no/where", "a.cu"), "cuvet: cannot write the report to no/where: No such file or directory\n"),
        (
            ("--baseline", "no/where", "--write-baseline", "a.cu"),
            "cuvet: cannot write the baseline no/where: No such file",
        ),
        ((), "cuvet: the following arguments are required: PATH (see cuvet check -h)\n"),
    ],
)
def test_a_mistake_is_one_line(project: Project, check: Check, arguments: tuple[str, ...], message: str) -> None:
    project.write({"a.cu": MISTAKE, "notes.txt": "", "cut.json": "{", "list.json": "[]"})
    (project.root / "empty").mkdir()
    done = check(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(message) and done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("select = ['stream-gone']", "cuvet: select: no rule is called stream-gone; did you mean"),
        ("ignore = ['CV9999']", "cuvet: ignore: no rule is called CV9999 (see cuvet rules)\n"),
        ("baseline = 'gone.json'", "cuvet: cannot read the baseline "),
        ("exclude = ['!']", "cuvet: exclude: '!' is not a pattern as in .gitignore\n"),
        ("cuda = ", "cuvet: "),
    ],
)
def test_a_mistake_in_the_configuration_is_one_line(project: Project, check: Check, text: str, message: str) -> None:
    project.write({"a.cu": MISTAKE, ".cuvet.toml": f"[check]\n{text}\n"})
    done = check("a.cu")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(message) and done.err.count("\n") == 1


@pytest.mark.parametrize(
    "text", [b"\xff\xfe" + MISTAKE.encode("utf-16-le"), MISTAKE.encode("utf-16-be"), b"\x7fELF\0\0"]
)
def test_what_is_no_text_is_told(project: Project, check: Check, text: bytes) -> None:
    project.write({"a.cu": text})
    done = check("--format", "concise", "a.cu")
    assert done.code == 0
    assert re.search(r"^not checked: a\.cu:1.*: it is no text, or not in UTF-8$", done.out, re.M)


def test_rules_are_selected_and_left_out(project: Project, check: Check) -> None:
    project.write({"a.cu": MISTAKE})
    assert check("--select", "event-*", "a.cu").code == 0
    assert check("--ignore", "stream-use-after-destroy", "a.cu").code == 0
    assert check("--select", "event-*", "--select", "cv201", "a.cu").code == 1
    assert check("--select", "stream-*", "--ignore", "CV201", "a.cu").code == 0


def test_the_command_line_stands_above_the_configuration(project: Project, check: Check) -> None:
    project.write(
        {"a.cu": MISTAKE, "x/b.cu": MISTAKE, ".cuvet.toml": "[check]\nignore = ['CV201']\nexclude = ['x/']\n"}
    )
    assert check(".").code == 0
    done = check("--select", "CV201", "--format", "json", ".")
    assert [finding["site"]["frames"][0]["file"] for finding in json.loads(done.out)["findings"]] == ["a.cu"]


def test_findings_are_counted_by_rule(project: Project, check: Check) -> None:
    project.write(
        {"a.cu": MISTAKE + MISTAKE.replace("drain", "again"), "b.cu": MISTAKE.replace("Synchronize", "Destroy")}
    )
    done = check("--stats", ".")
    assert done.code == 1
    assert done.out == (
        "      2  CV201  error    stream-use-after-destroy  in 1 file\n"
        "      1  CV202  error    stream-destroy-twice      in 1 file\n"
        "3 errors, 0 warnings in 2 files (3 functions with CUDA)\n"
        "20 lines read, 3 paths through functions followed\n"
    )
    assert check("--stats", "--format", "json", ".").err == (
        "cuvet: --stats is for --format terminal: the other forms have every finding\n"
    )


def given(text: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cuvet", "check", *arguments]
    return subprocess.run(command, cwd=cwd, input=text, capture_output=True, text=True, check=False)


def test_standard_input_stands_for_a_file(project: Project) -> None:
    project.write({"src/a.cu": CORRECT, ".cuvet.toml": "[check.per-file-ignores]\n'*.py' = ['stream-*']\n"})
    done = given(MISTAKE, "--stdin-filename", "src/a.cu", "src", "-", cwd=project.root)
    assert done.returncode == 1
    assert (
        "--> src/a.cu:5:33 in drain\n" in done.stdout
        and "5 |     CHECK(cudaStreamSynchronize(stream));\n" in done.stdout
    )
    assert done.stdout.endswith("1 error, 0 warnings in 1 file (1 function with CUDA)\n")
    assert given(CORRECT, "-", cwd=project.root).stdout == "0 errors, 0 warnings in 1 file (1 function with CUDA)\n"
    assert "--> stdin.cu:5:33" in given(MISTAKE, "-", cwd=project.root).stdout
    assert given(MISTAKE, "--stdin-filename", "new/b.py", "-", cwd=project.root).returncode == 0, "that is no Python"


def test_the_text_of_standard_input_is_in_no_cache_for_the_file(project: Project) -> None:
    project.write({"a.cu": CORRECT})
    assert given(MISTAKE, "--stdin-filename", "a.cu", "-", cwd=project.root).returncode == 1
    assert given("", "a.cu", cwd=project.root).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--fix", "-"), "--fix cannot edit standard input"),
        (("--stdin-filename", "a.cu", "."), "--stdin-filename needs - among the paths"),
        (("--stdin-filename", "a.txt", "-"), "a.txt is not a kind of source file that cuvet check reads"),
    ],
)
def test_what_standard_input_cannot_be(project: Project, arguments: tuple[str, ...], message: str) -> None:
    project.write({"a.cu": CORRECT})
    done = given(MISTAKE, *arguments, cwd=project.root)
    assert (done.returncode, done.stderr) == (2, f"cuvet: {message}\n")


def test_the_configuration_says_how_severe_a_rule_is(project: Project, check: Check) -> None:
    project.write({"a.cu": MISTAKE, ".cuvet.toml": "[check.severity]\n'stream-*' = 'note'\nCV201 = 'warning'\n"})
    done = check("a.cu")
    assert (done.code, "warning[CV201]" in done.out) == (0, True), "the last that fits counts"
    assert check("--fail-on", "warning", "a.cu").code == 1
    project.write({".cuvet.toml": "[check.severity]\n'nothing-*' = 'note'\n"})
    done = check("a.cu")
    assert (done.code, done.err) == (2, "cuvet: severity: no rule is called nothing-* (see cuvet rules)\n")


def test_the_configuration_ignores_rules_in_files(project: Project, check: Check) -> None:
    project.write({"a.cu": MISTAKE, "tests/b.cu": MISTAKE, "tests/c.cuh": MISTAKE})
    project.write({".cuvet.toml": "[check.per-file-ignores]\n'tests/*.cu' = ['stream-*']\n"})
    done = check(".")
    assert done.out.count("error[CV201]") == 2 and "tests/b.cu" not in done.out
    assert "; not shown: 1 ignored by the configuration\n" in done.out
    project.write({".cuvet.toml": "[check.per-file-ignores]\n'!' = ['stream-*']\n"})
    assert check(".").err == "cuvet: per-file-ignores: '!' is not a pattern as in .gitignore\n"


def test_the_report_in_a_file(project: Project, check: Check) -> None:
    project.write({"a.cu": MISTAKE})
    done = check("--format", "json", "--output", "report.json", "a.cu")
    assert (done.code, done.out, done.err) == (1, "", "")
    assert json.loads(project.read("report.json"))["schema"] == "cuvet-check/1"


def test_the_second_run_says_the_same(project: Project, check: Check) -> None:
    project.write({f"{n}.cu": MISTAKE for n in range(5)})
    assert check(".") == check(".") == check("--no-cache", "--jobs", "1", ".")


@pytest.mark.parametrize("package", ["tree_sitter", "pathspec"])
def test_a_package_that_is_missing_is_named_with_the_extra(
    project: Project, check: Check, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    project.write({"a.cu": MISTAKE})
    monkeypatch.setitem(sys.modules, package, None)
    from cuvet.source.syntax.parsing import parser

    parser.cache_clear()
    done = check("--no-cache", "a.cu")
    parser.cache_clear()
    assert (done.code, done.err) == (2, f"cuvet: cuvet check needs {package}: pip install 'cuvet[check]'\n")


def test_progress_goes_to_a_terminal_and_the_report_elsewhere(project: Project) -> None:
    project.write({"a.cu": MISTAKE})
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "cuvet", "check", "--format", "concise", "a.cu"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    shown = os.read(ours, 1 << 16)
    os.close(ours)
    assert done.returncode == 1
    assert b"checking" in shown and b"1/1" in shown
    assert done.stdout.startswith(b"a.cu:5:33: error[CV201]")


def test_the_hook_takes_the_files_that_the_check_reads() -> None:
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text()
    written = re.search(r"files: (.+)$", hook, re.M)
    assert written is not None
    endings = re.search(r"\(([\w|]+)\)\$", written[1])
    assert endings is not None
    assert {f".{ending}" for ending in endings[1].split("|")} == set(SUFFIXES)
    assert re.search(written[1], "src/A.CU") and not re.search(written[1], "notes.txt")


def test_the_action_checks_what_it_is_told(project: Project, tmp_path: Path) -> None:
    project.write({"a.cu": MISTAKE, "b/c.cu": CORRECT})
    given = {"CHECKED_PATHS": "a.cu b\n", "SARIF_FILE": "out.sarif", "CHECK_ARGS": "--ignore event-*\n--jobs 1"}
    done = run_step("Check", tmp_path / "runner", {**os.environ, **given})
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("::error file=a.cu,line=5,")
    assert json.loads(project.read("out.sarif"))["runs"][0]["results"]
