"""Which findings `cuvet run` and `cuvet analyze` report: configuration, suppressions, baselines; over the emulated device."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import msgspec
import pytest

from cuvet.findings import Report

REAL, EMULATED = ("--device", "real"), ("--device", "emulated")
FAILS = {"NULL_DRIVER_FAIL": "cuStreamSynchronize=400"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the command line."""
    (tmp_path / "project/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def test_what_is_written_suppresses_what_was_found_and_nothing_else(cuvet, runtime_program, folder: Path) -> None:
    stale = [runtime_program("mistakes"), "stale-stream"]
    first = cuvet.run((*EMULATED, "--fail-on", "error", "--write-suppressions", "s.toml"), stale)
    assert (first.code, first.rules) == (1, ["stream-use-after-destroy"])
    again = cuvet.run((*EMULATED, "--fail-on", "error", "--suppressions", "s.toml"), stale)
    assert (again.code, again.rules, again.report.stats["suppressed"]) == (0, [], 1)
    assert again.report.unused_suppressions == ()
    other = cuvet.run((*EMULATED, "--suppressions", "s.toml"), [runtime_program("follows"), "pool"])
    assert len(other.rules) == 1
    assert [each.rule for each in other.report.unused_suppressions] == ["CV201"]


def test_the_summary_says_what_was_suppressed_and_what_suppresses_nothing(cuvet, runtime_program, folder: Path) -> None:
    table = '[[suppression]]\nrule = "{}"\nfunction = "main"\nreason = "x"\n'
    (folder / "s.toml").write_text(table.format("CV201") + table.format("CV202"))
    done = cuvet("run", *EMULATED, "--suppressions", "s.toml", "--", runtime_program("mistakes"), "stale-stream")
    assert "; not shown: 1 suppressed\n" in done.stderr
    assert "note: s.toml: suppression 2: no finding of CV202 in function main\n" in done.stderr
    assert "CV201" not in done.stderr


def test_a_mistake_in_the_file_is_told_before_the_program_starts(cuvet, folder: Path) -> None:
    (folder / ".cuvet.toml").write_text("[run]\nselct = []\n")
    done = cuvet("run", *EMULATED, "--", "touch", "started")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"cuvet: {folder}/.cuvet.toml [run]: unknown key selct; did you mean select?\n"
    assert not (folder / "started").exists()
    assert cuvet("run", *EMULATED, "--config", "off", "--", "touch", "started").returncode == 0
    assert (folder / "started").exists()


@pytest.mark.parametrize("option", ["--suppressions", "--baseline", "--config"])
def test_a_file_that_is_missing_is_told_before_the_program_starts(cuvet, folder: Path, option: str) -> None:
    done = cuvet("run", *EMULATED, option, "none", "--", "touch", "started")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "none" in done.stderr
    assert not (folder / "started").exists()


def test_a_file_that_is_there_is_told_before_the_program_starts(cuvet, folder: Path) -> None:
    (folder / "s.toml").write_text("mine")
    done = cuvet("run", *EMULATED, "--write-suppressions", "s.toml", "--", "touch", "started")
    assert (done.returncode, done.stderr) == (
        2,
        "cuvet: s.toml exists: --write-suppressions overwrites nothing; name a new file\n",
    )
    assert ((folder / "s.toml").read_text(), (folder / "started").exists()) == ("mine", False)


def test_the_configuration_of_the_working_directory_chooses(cuvet, program, folder: Path) -> None:
    trace = cuvet.run(REAL, [program("stale")]).trace
    (folder / "pyproject.toml").write_text(
        '[tool.cuvet.run]\nfail-on = "warning"\n[tool.cuvet.run.severity]\nCV201 = "warning"\n'
    )
    for done in (cuvet("run", *REAL, "--", program("stale")), cuvet("analyze", trace)):
        assert done.returncode == 1
        assert "warning[CV201]" in done.stdout + done.stderr
        assert f"note: findings were chosen by {folder}/pyproject.toml [tool.cuvet.run]" in done.stdout + done.stderr


def test_a_recording_configures_nothing(cuvet, program) -> None:
    trace = cuvet.run(REAL, [program("stale")]).trace
    (trace / ".cuvet.toml").write_text("[run]\nignore = ['CV201']\n")
    assert "error[CV201]" in cuvet("analyze", trace).stdout


def test_a_configuration_of_others_turns_nothing_else(cuvet, program, folder: Path) -> None:
    """Nor does what is meant for another command."""
    (folder / ".cuvet.toml").write_text("[other]\nrun = 'touch started'\n")
    assert cuvet("run", *REAL, "--", program("stale")).returncode == 2
    (folder / ".cuvet.toml").write_text("[check]\nignore = ['CV201']\n")
    assert "error[CV201]" in cuvet("run", *REAL, "--", program("stale")).stderr
    for key in ("trace = '/tmp/x'", "protect = 'abort'", "output = 'x'", "program = ['touch', 'started']"):
        (folder / ".cuvet.toml").write_text(f"[run]\n{key}\n")
        assert cuvet("run", *REAL, "--", program("stale")).returncode == 2
    assert [path.name for path in folder.iterdir() if path.name not in (".git", ".cuvet.toml")] == []


def test_what_is_suppressed_is_not_folded_with_what_stays(cuvet, program, folder: Path) -> None:
    (folder / "s.toml").write_text('[[suppression]]\nrule = "CV201"\nfunction = "first"\nreason = "x"\n')
    path = program("two_makers")
    (both,) = cuvet.run(REAL, [path], **FAILS).report.findings
    assert both.repeats == 2
    ran = cuvet.run((*REAL, "--suppressions", "s.toml", "--fail-on", "error"), [path], **FAILS)
    (left,) = ran.report.findings
    assert left.objects[0].created.frames[0].function == "second"
    assert (ran.code, left.repeats, ran.report.stats["suppressed"], ran.report.unused_suppressions) == (1, 1, 1, ())


def test_nor_in_another_recording(cuvet, program, folder: Path) -> None:
    (folder / "s.toml").write_text('[[suppression]]\nrule = "CV201"\nfunction = "first"\nreason = "x"\n')
    one, two = (cuvet.run(REAL, [program("two_makers"), name], **FAILS).trace for name in ("first", "second"))
    whole = msgspec.json.decode(cuvet("analyze", "--format", "json", one, two).stdout, type=Report)
    assert [each.repeats for each in whole.findings] == [2]
    done = cuvet("analyze", "--suppressions", "s.toml", "--format", "json", one, two)
    report = msgspec.json.decode(done.stdout, type=Report)
    assert [each.objects[0].created.frames[0].function for each in report.findings] == ["second"]


def test_what_is_left_out_is_not_told_on_the_terminal_either(cuvet, program, folder: Path) -> None:
    (folder / "s.toml").write_text('[[suppression]]\nrule = "CV201"\nfunction = "use"\nreason = "x"\n')
    base = cuvet.run(REAL, [program("ignored")])
    (first, *_) = base.report.findings
    (folder / "base.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(base.report, findings=(first,))))
    for options in (("--suppressions", "s.toml"), ("--baseline", "base.json")):
        command = f"{program('ignored')}; exec sleep 60"
        with cuvet.on_terminal("run", *REAL, *options, "--", "sh", "-c", command) as (process, screen):
            assert "cuStreamQuery" in screen.readline(), "and not cuStreamSynchronize, which was before"
            process.terminate()
            cuvet.rest_of(screen)


@pytest.mark.parametrize("form", ["recording", "report", "several"])
def test_what_is_in_the_baseline_is_not_reported(cuvet, runtime_program, folder: Path, form: str) -> None:
    mistakes = runtime_program("mistakes")
    first = cuvet.run(EMULATED, [mistakes, "stale-stream"])
    (folder / "base.json").write_bytes(msgspec.json.encode(first.report))
    shutil.copytree(first.trace, folder / "job/rec.1")
    shutil.copytree(first.trace, folder / "job/rec.2")
    base = {"recording": first.trace, "report": "base.json", "several": "job"}[form]
    options = (*EMULATED, "--baseline", base, "--fail-on", "error")
    same = cuvet.run(options, [mistakes, "stale-stream"])
    assert (same.code, same.rules, same.report.stats["baseline"]) == (0, [], 1)
    assert cuvet("analyze", "--baseline", base, "--fail-on", "error", same.trace).returncode == 0
    assert cuvet("analyze", "--fail-on", "error", same.trace).returncode == 1


def test_what_is_not_in_the_baseline_is_reported(cuvet, program, folder: Path) -> None:
    base = cuvet.run(REAL, [program("two_makers")], **FAILS).trace
    ran = cuvet.run((*REAL, "--baseline", base, "--fail-on", "error"), [program("stale")])
    assert (ran.code, ran.rules) == (1, ["stream-use-after-destroy"])
    assert "baseline" not in ran.report.stats


def test_analyze_writes_suppressions_too(cuvet, program, folder: Path) -> None:
    trace = cuvet.run(REAL, [program("stale")]).trace
    assert cuvet("analyze", "--write-suppressions", "s.toml", trace).returncode == 0
    assert "; not shown: 1 suppressed\n" in cuvet("analyze", "--suppressions", "s.toml", trace).stdout
    assert cuvet("analyze", "--write-suppressions", "s.toml", trace).returncode == 2


def test_each_rank_writes_a_file_of_its_own(cuvet, program, folder: Path) -> None:
    ran = cuvet.run((*REAL, "--write-suppressions", "s.%r.toml"), [program("stale")], RANK="3")
    assert ran.code == 0
    assert (folder / "s.3.toml").is_file()


@pytest.mark.parametrize("form", ["concise", "github", "junit", "markdown"])
def test_a_format_is_of_both_commands(cuvet, program, folder: Path, form: str) -> None:
    options = (*REAL, "--format", form, "--output", "out", "--trace", "trace")
    done = cuvet("run", *options, "--", program("stale"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    written = (folder / "out").read_text()
    assert "CV201" in written
    again = cuvet("analyze", "--format", form, "--source-root", Path(__file__).parent, "trace")
    assert without_time(again.stdout) == without_time(written)
    assert "CV201" not in cuvet("run", *REAL, "--format", form, "--", program("nothing")).stderr


def without_time(text: str) -> str:
    return re.sub(r' timestamp="[^"]*"', "", text)
