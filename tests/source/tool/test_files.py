from __future__ import annotations

import inspect
import os
import sys
from pathlib import Path

import pytest

from cuvet import CuvetError
from cuvet.source.tool.files import find

from .conftest import Project


def names(*paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    return [file.name for file in find([Path(path) for path in paths], exclude).files]


def test_source_files_are_found_in_the_order_of_their_names(project: Project) -> None:
    project.write(dict.fromkeys(("b.cu", "a/z.cpp", "a/b/c.py", "c.cs", "notes.txt", "Makefile", "D.CU"), ""))
    assert names(".") == ["D.CU", "b.cu", "c.cs", "a/z.cpp", "a/b/c.py"]


def test_hidden_directories_and_those_of_packages_are_left_out(project: Project) -> None:
    skipped = (".git/a.cu", ".cache/a.cu", "node_modules/a.cu", "__pycache__/a.py", "lib/site-packages/a.py")
    project.write(dict.fromkeys(("a.cu", "env/pyvenv.cfg", "env/bin/a.py", *skipped), ""))
    assert names(".") == ["a.cu"]


def test_what_gitignore_names_is_left_out(project: Project) -> None:
    project.write(
        {
            ".gitignore": "build/\n*.gen.cu\n!keep.gen.cu\n/top.cu\n",
            "sub/.gitignore": "!b.gen.cu\nlocal.cu\n",
            **dict.fromkeys(("build/a.cu", "sub/build/a.cu", "a.gen.cu", "keep.gen.cu", "top.cu", "sub/top.cu"), ""),
            **dict.fromkeys(("sub/b.gen.cu", "sub/local.cu", "local.cu"), ""),
        }
    )
    assert names(".") == ["keep.gen.cu", "local.cu", "sub/b.gen.cu", "sub/top.cu"]


def test_patterns_of_directories_above_count_in_a_repository(project: Project) -> None:
    project.write({".gitignore": "*.gen.cu\nout/\n", ".git/info/exclude": "mine.cu\n", ".git/HEAD": ""})
    project.write(
        dict.fromkeys(("sub/deep/a.cu", "sub/deep/a.gen.cu", "sub/deep/mine.cu", "out/b.cu", "out/b.gen.cu"), "")
    )
    assert names("sub/deep") == ["sub/deep/a.cu"]
    assert names("out") == ["out/b.cu", "out/b.gen.cu"], "it was asked for, although its name is ignored"


def test_a_file_that_is_named_is_found_whatever_patterns_say(project: Project) -> None:
    project.write({".gitignore": "*.cu\n", "a.cu": "", "b.cpp": ""})
    assert names("a.cu") == ["a.cu"]
    assert names(".") == ["b.cpp"]


def test_excluded_patterns_stand_above_those_of_git(project: Project) -> None:
    project.write({".gitignore": "!third_party/\n", "third_party/a.cu": "", "src/a.cu": "", "src/b_generated.cu": ""})
    assert names(".", exclude=("third_party/", "*_generated.cu")) == ["src/a.cu"]


def test_a_line_that_is_no_pattern_is_passed_over_as_git_does(project: Project) -> None:
    project.write({".gitignore": "!\nfoo\\\nb.cu\n", "a.cu": "", "b.cu": ""})
    assert names(".") == ["a.cu"]
    with pytest.raises(CuvetError, match="'!' is not a pattern"):
        names(".", exclude=("!",))


def test_each_file_once_and_no_loop(project: Project) -> None:
    project.write({"src/a.cu": "", "src/b.cu": ""})
    (project.root / "src/again.cu").symlink_to("a.cu")
    (project.root / "src/self.cu").symlink_to("self.cu")
    (project.root / "src/up").symlink_to("..")
    (project.root / "src/gone.cu").symlink_to("nowhere.cu")
    os.mkfifo(project.root / "src/pipe.cu")
    assert names("src", "src/a.cu", ".") == ["src/a.cu", "src/b.cu"]


def test_what_is_not_checked_is_told(project: Project) -> None:
    project.write({"a.cu": "", "notes.txt": ""})
    (project.root / "gone.cu").symlink_to("nowhere")
    os.mkfifo(project.root / "pipe.cu")
    skipped = dict(find([Path("a.cu"), Path("notes.txt"), Path("pipe.cu"), Path()]).skipped)
    assert skipped["notes.txt"] == "not a kind of source file that cuvet check reads"
    assert skipped["pipe.cu"] == "not a regular file"
    assert skipped["gone.cu"] == "No such file or directory"


@pytest.mark.parametrize(
    ("path", "message"),
    [("gone.cu", "gone.cu: No such file"), ("empty", "no source file in empty"), ("loop.cu", "loop.cu: ")],
)
def test_paths_without_a_file_are_a_mistake(project: Project, path: str, message: str) -> None:
    (project.root / "empty").mkdir()
    (project.root / "loop.cu").symlink_to("loop.cu")
    with pytest.raises(CuvetError, match=message):
        names(path)


def test_names_that_are_no_text_can_be_reported(project: Project) -> None:
    Path(os.fsdecode(b"\xff\n.cu")).write_bytes(b"")
    (file,) = find([Path()]).files
    assert file.name == "\\xff\n.cu"
    assert file.path.exists()


def test_absolute_paths_are_shown_from_the_working_directory(project: Project) -> None:
    project.write({"src/a.cu": ""})
    assert names(str(project.root)) == ["src/a.cu"]
    assert names("../project") == ["../project/src/a.cu"]


def test_a_tree_deeper_than_the_stack(project: Project) -> None:
    project.write({"d/" * 300 + "a.cu": ""})
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 150)
    try:
        assert len(names(".")) == 1
    finally:
        sys.setrecursionlimit(limit)
