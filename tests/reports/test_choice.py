"""`[tool.cuvet.run]` and the options above it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from cuvet import CuvetError
from cuvet.cli import parse
from cuvet.findings import Finding, FirstFailure, Report
from cuvet.reports import choice, verdict

from .findings import finding, frame, report

USE = finding(frame("drain", "/a/pool.cu", 8))
TWICE = finding(frame("close", "/a/pool.cu", 9), rule="CV202")
CONTEXT = finding(frame("main", "/a/main.cu", 3), rule="CV101", severity="warning")
EVERY = report(USE, TWICE, CONTEXT)

Write = Callable[[str], None]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "deep/er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep/er")
    return tmp_path


def chosen(*options: str, of: Report = EVERY) -> Report:
    return choice.of(parse(["analyze", *options, "DIR"])).of(of)


def rules(*options: str) -> list[str]:
    return [each.rule for each in chosen(*options).findings]


def test_without_a_configuration_all_findings_are_reported() -> None:
    made = chosen()
    assert made.findings == EVERY.findings
    assert (made.configuration, made.stats, made.unused_suppressions) == (None, EVERY.stats, ())


CONFIGURED = """
select = ["stream-*"]
ignore = ["CV202"]
fail-on = "warning"
severity = {"stream-*" = "warning"}
"""


@pytest.mark.parametrize("file", ["pyproject.toml", ".cuvet.toml"])
def test_the_nearest_file_with_the_table_chooses(project: Path, file: str) -> None:
    table = "[tool.cuvet.run]" if file == "pyproject.toml" else "[run]"
    (project / file).write_text(table + CONFIGURED)
    args = parse(["analyze", "DIR"])
    made = choice.of(args).of(EVERY)
    assert [(each.rule, each.severity) for each in made.findings] == [("CV201", "warning")]
    assert (args.fail_on, made.stats["unselected"]) == ("warning", 2)
    assert made.configuration == f"{project / file} {table}"


@pytest.mark.parametrize("text", ["[tool.cuvet.check]\nselect = ['CV202']\n", "[tool.other]\nx = 1\n", "[broken\n"])
def test_other_tables_choose_nothing(project: Path, text: str) -> None:
    (project / "pyproject.toml").write_text(text)
    assert chosen() == EVERY


def test_a_file_above_the_repository_chooses_nothing(project: Path) -> None:
    (project / "deep/.git").mkdir()
    (project / ".cuvet.toml").write_text("[run]\nignore = ['CV201']\n")
    assert chosen() == EVERY


def test_options_stand_above_the_configuration(project: Path) -> None:
    (project / ".cuvet.toml").write_text("[run]" + CONFIGURED)
    assert rules("--select", "CV2*") == ["CV201", "CV202"]
    assert rules("--ignore", "CV201") == []
    args = parse(["analyze", "--fail-on", "error", "DIR"])
    choice.of(args)
    assert args.fail_on == "error"


def test_the_configuration_can_be_another_or_none(project: Path) -> None:
    (project / ".cuvet.toml").write_text("[run]\nignore = ['CV201']\n")
    other = project / "other.toml"
    other.write_text("[run]\nignore = ['CV202']\n")
    assert rules("--config", "off") == ["CV201", "CV202", "CV101"]
    assert rules("--config", str(other)) == ["CV201", "CV101"]
    for name, message in (("none.toml", "no such file"), ("deep", "Is a directory")):
        with pytest.raises(CuvetError, match=message):
            chosen("--config", str(project / name))
    other.write_text("[check]\n")
    with pytest.raises(CuvetError, match=r"other\.toml has no table \[run\]"):
        chosen("--config", str(other))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("selct = []", "unknown key selct; did you mean select?"),
        ("baseline = 'x'", "unknown key baseline; known: select, ignore, severity, fail-on, suppressions"),
        ("trace = '/tmp/x'", "unknown key trace"),
        ("select = 'CV201'", 'select is a list of strings, as ["stream-*"]'),
        ("select = ['CV9999']", "select: no rule is called CV9999"),
        ("ignore = ['stream-use-after-destory']", "ignore: no rule is called stream-use-after-destory; did you mean"),
        ("fail-on = 'note'", 'fail-on is "error" or "warning"'),
        ("fail-on = ['error']", 'fail-on is "error" or "warning"'),
        ("severity = {CV201 = 'fatal'}", 'severity is a table, with lines as "memory-*" = "note"'),
        ("severity = {CV9999 = 'note'}", "severity: no rule is called CV9999"),
        ("suppressions = 'x.toml'", "suppressions is a list of names of files and of tables"),
        ("suppressions = [3]", "suppressions is a list of names of files and of tables"),
        ("suppressions = [{rule = 'CV201'}]", "suppressions 1: reason is missing"),
        ("suppressions = [{rule = 'CV201', reason = 'x', line = 3}]", "suppressions 1: unknown key line"),
        ("a." * 100_000 + "a = 1", "line 2 has more than 500 dots"),
        ("select = " + "1" * 100_000, "is not valid TOML"),
        ("suppressions = ['none.toml']", "none.toml: no such file"),
        ("suppressions = ['/etc/passwd']", "suppressions '/etc/passwd' is outside of"),
        ("suppressions = ['../x.toml']", "suppressions '../x.toml' is outside of"),
        ("suppressions = ['link.toml']", "suppressions 'link.toml' is outside of"),
        ("suppressions = ['a\\u0000b']".replace("'", '"'), "is outside of"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_key(project: Path, text: str, message: str) -> None:
    (project / "link.toml").symlink_to("/etc/passwd")
    (project / ".cuvet.toml").write_text(f"[run]\n{text}\n")
    with pytest.raises(CuvetError) as caught:
        chosen()
    assert message in str(caught.value)
    assert str(project) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "root:" not in str(caught.value)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("pyproject.toml", "[tool.cuvet]\nignore = []", "tool.cuvet.ignore; keys stand below [tool.cuvet.run] or"),
        ("pyproject.toml", "[tool.cuvet.rnu]\nignore = []", "tool.cuvet.rnu; keys stand below [tool.cuvet.run] or"),
        (".cuvet.toml", "fail-on = 'error'\n[run]", "unknown key fail-on; keys stand below [run] or [check]"),
    ],
)
def test_a_key_in_no_command_s_table_is_a_mistake(project: Path, file: str, text: str, message: str) -> None:
    (project / file).write_text(f"{text}\n")
    with pytest.raises(CuvetError) as caught:
        chosen()
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{project / file}: unknown key ")


@pytest.mark.parametrize("what", ["fifo", "device", "huge"])
def test_what_is_no_ordinary_file_is_refused(project: Path, what: str) -> None:
    file = project / "pyproject.toml"
    if what == "fifo":
        os.mkfifo(file)
    elif what == "device":
        file.symlink_to("/dev/zero")
    else:
        with open(file, "wb") as opened:
            opened.truncate(1 << 40)
    with pytest.raises(CuvetError, match=r"cannot read .*pyproject\.toml"):
        chosen()


@pytest.mark.skipif(os.geteuid() == 0, reason="root can look into every directory")
def test_a_directory_above_that_is_closed_has_no_configuration(project: Path) -> None:
    (project / ".cuvet.toml").write_text("[run]\nignore = ['CV201']\n")
    (project / ".git").rmdir()
    project.chmod(0o600)
    try:
        assert chosen() == EVERY
    finally:
        project.chmod(0o700)


def test_tables_and_files_of_the_configuration_suppress(project: Path) -> None:
    (project / "s.toml").write_text('[[suppression]]\nrule = "CV202"\nfunction = "close"\nreason = "x"\n')
    table = '{rule = "CV201", file = "pool.cu", reason = "x"}, {rule = "CV101", function = "fill", reason = "x"}'
    (project / ".cuvet.toml").write_text(f'[run]\nsuppressions = ["s.toml", {table}]\n')
    made = chosen()
    assert [each.rule for each in made.findings] == ["CV101"]
    assert made.stats["suppressed"] == 2
    assert [each.function for each in made.unused_suppressions] == ["fill"]
    assert chosen(of=report(stats={"calls": 0})).unused_suppressions == (), "the program did nothing"


def test_suppressions_of_options_stand_beside_those_of_the_configuration(project: Path) -> None:
    (project / "s.toml").write_text('[[suppression]]\nrule = "CV202"\nreason = "x"\n')
    (project / ".cuvet.toml").write_text('[run]\nsuppressions = [{rule = "CV201", reason = "x"}]\n')
    assert rules("--suppressions", str(project / "s.toml")) == ["CV101"]
    assert rules("--suppressions", str(project / "s.toml"), "--config", "off") == ["CV201", "CV101"]


def test_what_is_left_out_does_not_fail(project: Path) -> None:
    (project / ".cuvet.toml").write_text('[run]\nfail-on = "error"\nignore = ["CV201"]\n')
    args = parse(["analyze", "DIR"])
    made = choice.of(args)
    assert verdict.exit_code(args, made.of(EVERY)) == 1
    assert verdict.exit_code(args, made.of(report(USE, CONTEXT))) is None


def severities(*findings: Finding) -> list[str]:
    return [each.severity for each in chosen(of=report(*findings)).findings]


def test_a_note_about_an_answer_stays_one(project: Path) -> None:
    (project / ".cuvet.toml").write_text('[run.severity]\n"stream-*" = "warning"\nCV202 = "note"\n')
    answered = finding(*USE.site.frames, severity="note")
    assert severities(USE, answered, TWICE, CONTEXT) == ["warning", "note", "note", "warning"]


def test_a_consequence_has_the_severity_too(project: Path) -> None:
    (project / ".cuvet.toml").write_text('[run.severity]\nCV202 = "note"\n')
    (it,) = chosen(of=report(finding(*USE.site.frames, consequences=(TWICE,)))).findings
    assert (it.severity, it.consequences[0].severity) == ("error", "note")


def test_in_a_directory_that_was_deleted_there_is_no_configuration(project: Path) -> None:
    (project / ".cuvet.toml").write_text("[run]\nignore = ['CV201']\n")
    os.rmdir(Path.cwd())
    assert chosen() == EVERY


@pytest.mark.parametrize(
    ("options", "is_there"),
    [((), True), (("--ignore", "CV101"), True), (("--ignore", "CV201"), False), (("--select", "CV101"), False)],
)
def test_a_first_failure_is_a_finding_of_the_report_only_if_that_is_chosen(
    options: tuple[str, ...], is_there: bool
) -> None:
    first = FirstFailure(process=1, text="", time_ns=0, finding=True)
    made = chosen(*options, of=msgspec.structs.replace(EVERY, first_failure=first)).first_failure
    assert made is not None
    assert made.finding == is_there


def test_nor_if_it_is_suppressed(project: Path) -> None:
    (project / "s.toml").write_text('[[suppression]]\nrule = "CV201"\nreason = "x"\n')
    first = FirstFailure(process=1, text="", time_ns=0, finding=True)
    of = msgspec.structs.replace(EVERY, first_failure=first)
    made = chosen("--suppressions", str(project / "s.toml"), of=of).first_failure
    assert made is not None
    assert not made.finding
