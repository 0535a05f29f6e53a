from __future__ import annotations

from collections.abc import Callable

import pytest

from cuvet import CuvetError
from cuvet.source.tool.changes import since

from .conftest import CORRECT, MISTAKE, Done, Project

Check = Callable[..., Done]


def changed(project: Project, revision: str = "HEAD") -> dict[str, list[int] | None]:
    return {
        path.relative_to(project.root).as_posix(): lines for path, lines in since(revision, project.root).lines.items()
    }


def test_lines_that_were_changed_added_and_taken_out(project: Project) -> None:
    project.write({"a.cu": "1\n2\n3\n4\n5\n6\n"})
    project.commit()
    project.write({"a.cu": "1\nTWO\n3\n4\nnew\nnew\n6\n"})
    assert changed(project) == {"a.cu": [2, 5, 6]}
    project.write({"a.cu": "1\n2\n4\n5\n6\n"})
    assert changed(project) == {"a.cu": [2, 3]}, "the neighbours of what was taken out"


def test_names_of_files_and_text_that_looks_like_a_patch(project: Project) -> None:
    names = ("with space.cu", 'tab\t"quoted".cu', "ä.cu", "sub/b.cu")
    project.write(dict.fromkeys(names, "1\n"))
    project.commit()
    project.write(dict.fromkeys(names, "++ b/x.cu\n@@ -1 +9 @@\n"))
    assert changed(project) == {name: [1, 2] for name in names}


def test_text_without_a_line_end(project: Project) -> None:
    project.write({"a.cu": "1\n2", "b.cu": "1"})
    project.commit()
    project.write({"a.cu": "1\n++ b/c.cu", "b.cu": "2"})
    assert changed(project) == {"a.cu": [2], "b.cu": [1]}


def test_new_and_deleted_files(project: Project) -> None:
    project.write({"a.cu": "1\n", "gone.cu": "1\n", ".gitignore": "*.gen.cu\n"})
    project.commit()
    (project.root / "gone.cu").unlink()
    project.write({"new.cu": "1\n", "added.cu": "1\n", "x.gen.cu": "1\n"})
    project.git("add", "added.cu")
    assert changed(project) == {"added.cu": [1], "new.cu": None}


def test_what_the_other_branch_changed_does_not_count(project: Project) -> None:
    project.write({"a.cu": "1\n2\n3\n4\n"})
    project.commit()
    project.git("branch", "-M", "main")
    project.git("checkout", "-qb", "mine")
    project.write({"a.cu": "1\n2\n3\nMINE\n"})
    project.git("commit", "-qam", "mine")
    project.git("checkout", "-q", "main")
    project.write({"a.cu": "THEIRS\n2\n3\n4\n"})
    project.git("commit", "-qam", "theirs")
    project.git("checkout", "-q", "mine")
    assert changed(project, "main") == {"a.cu": [4]}


@pytest.mark.parametrize("revision", ["nowhere", "--output=x", ""])
def test_what_is_no_revision(project: Project, revision: str) -> None:
    project.write({"a.cu": ""})
    project.commit()
    with pytest.raises(CuvetError, match="--diff: "):
        since(revision, project.root)


def test_only_what_touches_a_changed_line_is_reported(project: Project, check: Check) -> None:
    project.write({"old.cu": MISTAKE, "a.cu": CORRECT})
    project.commit()
    assert check("--diff", "HEAD", ".").code == 0
    project.write(
        {
            "new.cu": MISTAKE,
            "a.cu": CORRECT.replace(
                "    CHECK(cudaStreamSync", "    cudaStreamDestroy(stream);\n    CHECK(cudaStreamSync"
            ),
        }
    )
    done = check("--select", "stream-*", "--diff", "HEAD", "--format", "concise", ".")
    assert done.code == 1
    assert [line.partition(" ")[0] for line in done.out.splitlines()[:-1]] == [
        "a.cu:5:33:",
        "a.cu:6:29:",
        "new.cu:5:33:",
    ]
    assert done.out.endswith("not shown: 1 not on lines that were changed\n")


def test_a_change_on_the_path_to_an_old_line_counts(project: Project, check: Check) -> None:
    project.write({"a.cu": CORRECT + "\n"})
    project.commit()
    project.write(
        {
            "a.cu": CORRECT.replace(
                "Create(&stream));\n", "Create(&stream));\n    if (quick()) cudaStreamDestroy(stream);\n"
            )
        }
    )
    done = check("--diff", "HEAD", "--format", "concise", ".")
    assert "a.cu:5:33: error[CV201]" in done.out


def test_without_a_repository(project: Project, check: Check) -> None:
    project.write({"a.cu": MISTAKE})
    done = check("--diff", "HEAD", ".")
    assert (done.code, done.err) == (2, "cuvet: --diff needs a git repository, and there is none here\n")
