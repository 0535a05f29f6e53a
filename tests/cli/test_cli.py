from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import cuvet
from cuvet.cli import COMMANDS, main
from cuvet.rules import all_rules

ROOT = Path(__file__).parents[2]


def cuvet_process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cuvet", *arguments], capture_output=True, text=True, env={**os.environ, **environment}
    )


def test_version() -> None:
    process = cuvet_process("--version")
    assert (process.returncode, process.stdout, process.stderr) == (0, f"cuvet {cuvet.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "cuvet: no command: use cuvet run -- PROGRAM to check a program (see cuvet -h)"),
        (("explian",), "cuvet: unknown command explian; did you mean explain? (see cuvet -h)"),
        (("frobnicate",), "cuvet: unknown command frobnicate (see cuvet -h)"),
        (
            ("--format", "json", "rules"),
            "cuvet: unknown option --format; the options of a command follow it (see cuvet -h)",
        ),
        (("rules", "--fromat", "json"), "cuvet: unknown option --fromat; did you mean --format? (see cuvet rules -h)"),
        (("rules", "--form", "json"), "cuvet: unknown option --form; did you mean --format? (see cuvet rules -h)"),
        (("run", "--foo"), "cuvet: unknown option --foo (see cuvet run -h)"),
        (("rules", "extra"), "cuvet: unexpected argument extra (see cuvet rules -h)"),
        (("explain", "CV999999"), "cuvet: no error, cause or rule is called CV999999 (see cuvet rules)"),
        (
            ("explain", "stream-use-after-destry"),
            "cuvet: no error, cause or rule is called stream-use-after-destry; did you mean stream-use-after-destroy",
        ),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments: tuple[str, ...], line: str) -> None:
    process = cuvet_process(*arguments)
    assert process.returncode == 2
    assert process.stdout == ""
    assert process.stderr.startswith(line)
    assert process.stderr.count("\n") == 1


def test_a_deleted_directory_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cuvet", "check", "."]
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *command], cwd=gone, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "cuvet: the current directory was deleted: change to another one\n"


@pytest.mark.parametrize("arguments", ["rules", "rules --format json", "explain CV201", "completion bash"])
def test_output_that_cannot_be_written_is_one_line(arguments: str) -> None:
    command = f"{sys.executable} -m cuvet {arguments}"
    full = subprocess.run(["sh", "-c", f"{command} >/dev/full"], capture_output=True, text=True)
    assert (full.returncode, full.stderr) == (2, "cuvet: cannot write: No space left on device\n")
    closed = subprocess.run(["sh", "-c", f"{command} >&-"], capture_output=True, text=True)
    assert (closed.returncode, closed.stderr) == (0, "")
    unread = subprocess.run(
        ["bash", "-c", f"{command} | true; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True
    )
    assert unread.stderr == ""


@pytest.mark.parametrize("encoding", ["latin1", "ascii", "ascii:strict"])
def test_what_the_encoding_does_not_have_is_escaped(encoding: str) -> None:
    plain = cuvet_process("explain", "400", PYTHONIOENCODING=encoding)
    assert (plain.returncode, plain.stderr) == (0, "")
    assert "cudaErrorInvalidResourceHandle" in plain.stdout and " \\u2192 " in plain.stdout
    words = "cudaErrorInvalidValue → 😀"
    found = cuvet_process("explain", "--format", "json", words, PYTHONIOENCODING=encoding)
    assert (found.returncode, json.loads(found.stdout)["asked"]) == (0, words)
    unknown = cuvet_process("explain", "→😀", PYTHONIOENCODING=encoding)
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert unknown.stderr.startswith("cuvet: no error, cause or rule is called \\u2192\\ud83d\\ude00")


def test_what_the_encoding_has_is_written_as_it_is() -> None:
    assert " → " in cuvet_process("explain", "400", PYTHONIOENCODING="utf-8").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_and_the_exit_codes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([command, "-h"])
    out = capsys.readouterr().out
    assert exit_.value.code == 0
    examples, codes = out.split("examples:")[1].split("exit codes: ")
    assert f"cuvet {command}" in examples
    assert "2 " in codes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", ""], "nothing to explain: WHAT is empty (see cuvet explain -h)"),
        (["explain", "", " "], "nothing to explain: WHAT is empty (see cuvet explain -h)"),
        (["explain", "/dev/null"], "no error of CUDA or its libraries was found in /dev/null"),
        (["explain", "/dev"], "cannot read /dev: Is a directory"),
        (["analyze", ""], "argument DIR: '' is not a path (see cuvet analyze -h)"),
        (["inspect", ""], "argument FILE: '' is not a path (see cuvet inspect -h)"),
        (["doctor", "--python", ""], "'': command not found"),
        (["doctor", "--", ""], "'': command not found"),
        (["doctor", "--output", ""], "argument --output: '' is not a path (see cuvet doctor -h)"),
    ],
)
def test_a_name_that_names_nothing_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr() == ("", f"cuvet: {message}\n")


def test_make_demo_shows_no_warning_of_pip() -> None:
    asked = subprocess.run(["make", "-n", "demo"], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    (install,) = (line for line in asked.splitlines() if " pip install " in line)
    assert "-qq --disable-pip-version-check" in install


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["-h"])
    out = capsys.readouterr().out
    assert [command for command in COMMANDS if f"\n    {command}" in out] == list(COMMANDS)


def test_rules_are_listed_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [[rule.code, rule.severity, rule.name] for rule in all_rules()]


def test_rules_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == [rule.name for rule in all_rules()]


@pytest.mark.parametrize("word", ["CV201", "cv201", "stream-use-after-destroy"])
def test_explain(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", word]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# CV201 stream-use-after-destroy\n")
    for heading in ("What it checks", "Why it is wrong", "Use instead", "Limits", "What is known", "Wrong", "Right"):
        assert f"\n## {heading}\n" in out
    assert "# error: [stream-use-after-destroy]" in out


def test_explain_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "CV201", "--format", "json"]) == 0
    rule = json.loads(capsys.readouterr().out)
    assert rule["name"] == "stream-use-after-destroy"
    assert list(rule["sections"]) == ["What it checks", "Why it is wrong", "Use instead", "Limits"]
    assert rule["valid"]
    assert rule["invalid"]


def test_explain_with_colour_is_rendered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "CV201", "--color", "always"]) == 0
    out = capsys.readouterr().out
    assert "\x1b[" in out
    assert "## What it checks" not in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert [command for command in COMMANDS if command in script] == list(COMMANDS)
    assert "device-memory" in script


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("ru", ["run", "rules"]),
        ("run --fail", ["--fail-on"]),
        ("run --fail-on ", ["error", "warning"]),
        ("analyze --req", ["--require-cuda"]),
        ("run --write", ["--write-suppressions"]),
        ("analyze --format ", ["terminal", "json", "sarif", "concise", "github", "junit", "markdown"]),
        ("analyze --verb", ["--verbose"]),
    ],
)
def test_bash_completes(words: str, completed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "bash"])
    last = len(words.split(" "))
    quoted = " ".join(f"'{word}'" for word in words.split(" "))
    script = (
        capsys.readouterr().out
        + f"\nCOMP_WORDS=(cuvet {quoted}); COMP_CWORD={last}; _shtab_cuvet"
        + '; printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(["bash", "--norc"], input=script, capture_output=True, text=True)
    assert done.stdout.split() == completed


def test_a_closed_pipe_is_silent() -> None:
    command = f"{sys.executable} -m cuvet explain --all 400 --format json | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode in (0, 128 + signal.SIGPIPE), done.stderr) == (True, "")
