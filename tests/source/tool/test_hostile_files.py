"""What a repository of somebody else may hold: files that never end or that nobody writes to, and names of files that are not its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cuvet.source.tool import workers
from cuvet.source.tool.files import File
from cuvet.source.tool.workers import Job, check_one

from .conftest import CORRECT, MISTAKE, Done, Project

Check = Callable[..., Done]


def place(path: Path, what: str) -> None:
    """Put a file there that must not be read as one."""
    path.unlink(missing_ok=True)
    if what == "fifo":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    else:
        with open(path, "wb") as file:
            file.truncate(1 << 40)


WHY = {"fifo": "not a regular file", "device": "not a regular file", "huge": "it is larger than "}


@pytest.mark.parametrize("what", WHY)
@pytest.mark.parametrize("name", [".cuvet.toml", "pyproject.toml", ".gitignore", "known.json"])
def test_what_is_no_ordinary_file_is_refused_in_one_line(project: Project, check: Check, name: str, what: str) -> None:
    project.write({"a.cu": CORRECT, ".git/HEAD": ""})
    if name == "known.json":
        project.write({".cuvet.toml": "[check]\nbaseline = 'known.json'\n"})
    place(project.root / name, what)
    done = check(".")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert name in done.err
    assert WHY[what] in done.err or (what == "device" and "outside of" in done.err)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".cuvet.toml", "a = " + "[" * 100_000),
        (".cuvet.toml", "a = " + "{a = " * 100_000),
        ("known.json", '{"schema": "cuvet-baseline/1", "more": ' + "[" * 100_000 + "]" * 100_000 + "}"),
    ],
)
def test_what_is_nested_too_deeply_is_refused_in_one_line(project: Project, check: Check, name: str, text: str) -> None:
    project.write({"a.cu": CORRECT, name: text})
    done = check("a.cu", *(("--baseline", name) if name == "known.json" else ()))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert name in done.err
    assert "nested too deeply" in done.err


@pytest.mark.parametrize("written", [(), ("--write-baseline",)])
@pytest.mark.parametrize("name", ["../known.json", "/etc/passwd", "link/known.json", "loop", "../project2/known.json"])
def test_a_baseline_outside_of_the_repository_is_not_touched(
    project: Project, check: Check, name: str, written: tuple[str, ...]
) -> None:
    outside = project.root.parent / "known.json"
    outside.write_text("secret")
    project.write({"a.cu": MISTAKE, ".git/HEAD": "", ".cuvet.toml": f"[check]\nbaseline = '{name}'\n"})
    (project.root / "link").symlink_to("..")
    (project.root / "loop").symlink_to("loop")
    done = check(*written, "a.cu")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "baseline" in done.err
    assert "outside of" in done.err
    assert outside.read_text() == "secret"


def test_a_baseline_that_the_user_names_may_be_anywhere(project: Project, check: Check) -> None:
    project.write({"a.cu": MISTAKE, ".git/HEAD": "", "sub/.cuvet.toml": "[check]\nbaseline = '../known.json'\n"})
    check("--baseline", "../known.json", "--write-baseline", "a.cu")
    assert check("--baseline", "../known.json", "a.cu").code == 0
    project.write({"sub/b.cu": MISTAKE})
    check("--write-baseline", "sub")
    assert check("sub").code == 0


@pytest.mark.parametrize("what", ["fifo", "device"])
def test_a_baseline_is_not_written_to_what_is_no_file(project: Project, check: Check, what: str) -> None:
    project.write({"a.cu": MISTAKE})
    place(project.root / "known.json", what)
    done = check("--baseline", "known.json", "--write-baseline", "a.cu")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "not a regular file" in done.err


@pytest.mark.parametrize("what", WHY)
def test_what_is_no_ordinary_source_is_named(project: Project, check: Check, what: str) -> None:
    project.write({"a.cu": CORRECT})
    place(project.root / "b.cu", what)
    assert check(".").code == 0
    done = check("a.cu", "b.cu")
    assert done.code == 0
    assert "not checked: b.cu" in done.out


@pytest.mark.parametrize("what", ["fifo", "device"])
def test_nothing_but_what_is_no_file(project: Project, check: Check, what: str) -> None:
    place(project.root / "b.cu", what)
    done = check("b.cu")
    assert (done.code, done.out) == (2, "")
    assert done.err == "cuvet: b.cu is not a regular file: cuvet check reads source files and directories of them\n"


@pytest.mark.parametrize("what", ["fifo", "device"])
def test_a_source_that_was_a_file_when_it_was_found(project: Project, what: str) -> None:
    place(project.root / "a.cu", what)
    checked = check_one(File("a.cu", Path("a.cu")), Job(workers.Options(), cached=False))
    assert checked.failure == "not a regular file"


def test_a_link_to_itself_is_one_line(project: Project, check: Check) -> None:
    project.write({"a.cu": CORRECT})
    (project.root / "loop").symlink_to("loop")
    for arguments in (["loop"], ["loop", "a.cu"]):
        done = check(*arguments)
        assert done.code == 2
        assert len(done.err.splitlines()) == 1
        assert "loop" in done.err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a." * 100_000 + "a = 1", "line 1 has more than 500 dots"),
        ("[" + "a." * 100_000 + "a]", "line 1 has more than 500 dots"),
        ("a = " + "1" * 100_000, "is not valid TOML"),
        ("[check]\n" + "a" * 900_000 + " = 1", "unknown key aaa"),
        (f"[check]\nselect = {['x*'] * 100_000}", "select has more than 5,000 entries"),
        (f"[check]\nselect = ['{'*a' * 100_000}']", "select has an entry of more than 1,000 characters"),
        (f"[check.severity]\n'{'*a' * 100_000}' = 'note'", "severity has an entry of more than 1,000 characters"),
        ("[check]\nselect = " + "[" * 200 + "]" * 200, "select is a list of strings"),
    ],
    ids=range(8),
)
def test_what_would_take_long_is_refused_in_one_short_line(project: Project, check: Check, text: str, why: str) -> None:
    project.write({"a.cu": CORRECT, ".cuvet.toml": text})
    done = check("a.cu")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert ".cuvet.toml" in done.err and why in done.err
    assert len(done.err) < 1000
