"""Exit codes for scripts, and comments that take findings back."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

REAL = ("--device", "real")
EMULATED = ("--device", "emulated")
PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize(
    ("options", "name", "code"),
    [
        (("--fail-on", "error"), "stale", 1),
        (("--fail-on", "warning"), "stale", 1),
        (("--fail-on", "error", "--error-exitcode", "9"), "stale", 9),
        (("--fail-on", "warning"), "correct", 4),
        (("--require-cuda",), "correct", 4),
        (("--require-cuda",), "nothing", 1),
        (("--require-cuda", "--error-exitcode", "9"), "nothing", 9),
        (("--error-exitcode", "9"), "nothing", 0),
        ((), "nothing", 0),
    ],
)
def test_the_exit_code_that_is_asked_for(cuvet, program, options: tuple[str, ...], name: str, code: int) -> None:
    argv = [program(name), *(["4"] if name == "correct" else [])]
    assert cuvet("run", *REAL, *options, "--", *argv).returncode == code


@pytest.mark.parametrize(("least", "code"), [("error", 0), ("warning", 1)])
def test_a_warning_is_no_error(cuvet, runtime_program, least: str, code: int) -> None:
    ran = cuvet.run((*EMULATED, "--fail-on", least), [runtime_program("follows"), "pool"])
    assert (ran.code, [finding.severity for finding in ran.report.findings]) == (code, ["warning"])


def test_analyze_gives_the_code_too(cuvet, program) -> None:
    stale, nothing = (cuvet.run(REAL, [program(name)]).trace for name in ("stale", "nothing"))
    codes = [
        cuvet("analyze", *options, trace).returncode
        for trace in (stale, nothing)
        for options in ((), ("--fail-on", "error"), ("--require-cuda", "--error-exitcode", "7"))
    ]
    assert codes == [0, 1, 7, 0, 0, 7]


def compiled(folder: Path, null_driver: Path, **comments: str) -> Path:
    """The program with these comments in its source."""
    source = (PROGRAMS / "ignored.c").read_text()
    for place, comment in comments.items():
        source = source.replace(f"COMMENT {place.replace('_', ' ')}", comment)
    (folder / "ignored.c").write_text(source)
    libraries = [f"-I{PROGRAMS}", f"-L{null_driver}", "-l:libcuda.so.1", "-pthread"]
    subprocess.run(["cc", "-g", "-O0", "-o", folder / "ignored", folder / "ignored.c", *libraries], check=True)
    return folder / "ignored"


@pytest.mark.parametrize(
    ("comment", "why"),
    [
        ("cuvet: ignore", "the comment names no rule: write cuvet: ignore[RULE] reason"),
        ("cuvet: ignore[cv201, CV999]", "no rule is called CV999 (see cuvet rules)"),
        ("cuvet: ignore[stream-gone]", "no rule is called stream-gone (see cuvet rules)"),
        ("cuvet: ignore[CV301] another rule", ""),
        ("cuvet: ignore[CV201] it ends here", ""),
    ],
)
def test_a_comment_that_names_no_rule_is_told(cuvet, null_driver, comment: str, why: str) -> None:
    path = compiled(cuvet.tmp_path, null_driver, ABOVE=comment)
    ran = cuvet.run(REAL, [path])
    assert ran.report.hints == ((f"{path}.c:14: {why}",) if why else ())


@pytest.mark.parametrize(
    ("comments", "left"),
    [
        ({}, ["cuStreamSynchronize", "cuStreamQuery"]),
        ({"AT_THE_CALL": "cuvet: ignore[stream-use-after-destroy] it ends here"}, ["cuStreamQuery"]),
        ({"AT_A_CALLER": "cuvet: ignore[cv201]"}, ["cuStreamQuery"]),
        ({"ABOVE": "cuvet: ignore[CV201, CV999]"}, ["cuStreamSynchronize"]),
        ({"ABOVE": "cuvet: ignore[CV301]"}, ["cuStreamSynchronize", "cuStreamQuery"]),
        ({"ABOVE": "cuvet: ignore"}, ["cuStreamSynchronize", "cuStreamQuery"]),
    ],
)
def test_comments_take_findings_back(cuvet, null_driver, comments: dict[str, str], left: list[str]) -> None:
    path = compiled(cuvet.tmp_path, null_driver, **comments)
    ran = cuvet.run((*REAL, "--fail-on", "error"), [path])
    assert [finding.api for finding in ran.report.findings] == left
    assert ran.report.stats.get("ignored", 0) == 2 - len(left)


def test_the_summary_says_how_many_were_taken_back(cuvet, null_driver) -> None:
    both = dict.fromkeys(("AT_A_CALLER", "ABOVE"), "cuvet: ignore[stream-use-after-destroy]")
    trace = cuvet.tmp_path / "rec"
    done = cuvet(
        "run", *REAL, "--trace", trace, "--fail-on", "error", "--", compiled(cuvet.tmp_path, null_driver, **both)
    )
    assert done.returncode == 0
    assert done.stderr.startswith("0 errors, 0 warnings in ")
    assert "; not shown: 2 ignored by comments\n" in done.stderr
    again = cuvet("analyze", "--source-root", cuvet.tmp_path, trace)
    assert "; not shown: 2 ignored by comments\n" in again.stdout
    assert cuvet("analyze", trace).stdout.count("error[CV201]") == 2  # sources of others are not read


@pytest.mark.parametrize("before", [(), ("before",)], ids=["after", "before"])
def test_a_comment_at_one_caller_leaves_the_others(cuvet, program, before: tuple[str, ...]) -> None:
    ran = cuvet.run((*REAL, "--fail-on", "error"), [program("ignored_caller"), *before])
    (finding,) = ran.report.findings
    assert (ran.code, finding.repeats, ran.report.stats["ignored"]) == (1, 1, 1)
    assert finding.site.frames[1].line == (15 if before else 17)


def test_what_is_ignored_is_not_told_on_the_terminal_either(cuvet, null_driver) -> None:
    path = compiled(cuvet.tmp_path, null_driver, AT_THE_CALL="cuvet: ignore[stream-use-after-destroy]")
    with cuvet.on_terminal("run", *REAL, "--", "sh", "-c", f"{path}; exec sleep 60") as (process, screen):
        assert "cuStreamQuery" in screen.readline()
        process.terminate()
        assert "1 ignored by comments" in cuvet.rest_of(screen)
