from __future__ import annotations

from pathlib import Path

import pytest

from cuvet import CuvetError
from cuvet.rules.named import rules_named
from cuvet.source.tool.configuration import Configuration, read, release

from .conftest import Project


def test_the_table_in_pyproject(project: Project) -> None:
    text = '[tool.cuvet.check]\nselect = ["stream-*"]\nignore = ["CV201"]\nexclude = ["x/"]\nbaseline = "b.json"\ncuda = "12.8"\n'
    project.write({"pyproject.toml": text, "src/a.cu": ""})
    assert read([Path("src/a.cu")]) == Configuration(
        directory=project.root,
        select=("stream-*",),
        ignore=("CV201",),
        exclude=("x/",),
        baseline=project.root / "b.json",
        cuda="12.8",
    )


def test_tables_of_rules_and_of_files(project: Project) -> None:
    project.write(
        {
            ".cuvet.toml": "[check.severity]\n'memory-*' = 'note'\nCV201 = 'warning'\n[check.per-file-ignores]\n'*.cuh' = ['CV201']\n"
        }
    )
    assert read([Path()]).severity == {"memory-*": "note", "CV201": "warning"}
    assert read([Path()]).per_file_ignores == {"*.cuh": ("CV201",)}


def test_the_nearest_file_with_the_table_counts(project: Project) -> None:
    project.write(
        {"pyproject.toml": "[tool.cuvet.check]\ncuda = '11.8'\n", "a/pyproject.toml": "[tool.other]\n", "a/b/c.cu": ""}
    )
    assert read([Path("a/b")]).cuda == "11.8"
    project.write(
        {"a/.cuvet.toml": "[check]\ncuda = '12.8'\n", "a/pyproject.toml": "[tool.cuvet.check]\ncuda = '13.0'\n"}
    )
    assert read([Path("a/b")]).cuda == "12.8"
    assert read([Path("a/b"), Path("pyproject.toml")]).cuda == "11.8", "they have the upper directory in common"


def test_the_search_ends_at_the_repository(project: Project) -> None:
    project.write({".cuvet.toml": "[check]\ncuda = '12.8'\n", "a/.git/HEAD": "", "a/b.cu": ""})
    assert read([Path("a")]) == Configuration()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[check]\nselct = []\n", r"\.cuvet\.toml \[check\]: unknown key selct; did you mean select\?"),
        ("[check]\nfrobnicate = 1\n", "unknown key frobnicate; known: select"),
        ("[check]\nignore = 'CV201'\n", r"ignore is a list of strings, as \[\"CV201\"\]"),
        ("[check]\nselect = [1]\n", "select is a list of strings"),
        ("[check]\ncuda = 12.8\n", 'cuda is a string, as "12.8"'),
        ("[check]\ncuda = 'latest'\n", "cuda: latest is not a release of CUDA, as 12.8"),
        ("[check]\nseverity = 'note'\n", r"severity is a table, with lines as \"memory-\*\" = \"note\""),
        ("[check.severity]\n'memory-*' = 'fatal'\n", 'severity is a table, .* "warning"'),
        (
            "[check.per-file-ignores]\n'tests/' = 'CV201'\n",
            r'per-file-ignores is a table, with lines as "tests/" = \["CV201"\]',
        ),
        ("check = 1\n", "check is not a table"),
        ("[check\n", r"\.cuvet\.toml is not valid TOML"),
        (b"\xff", "is not valid TOML"),
    ],
)
def test_a_mistake_is_told_in_one_line(project: Project, text: str | bytes, message: str) -> None:
    project.write({".cuvet.toml": text})
    with pytest.raises(CuvetError, match=message) as caught:
        read([Path()])
    assert "\n" not in str(caught.value)


def test_words_for_rules() -> None:
    assert rules_named(["CV201"], "") == rules_named(["cv201"], "") == {"stream-use-after-destroy"}
    streams = rules_named(["stream-*"], "")
    assert "stream-destroy-twice" in streams and all(name.startswith("stream-") for name in streams)
    assert rules_named(["source-*", "CV2*"], "") >= {"source-leak", "stream-use-after-destroy"}
    with pytest.raises(CuvetError, match="--select: no rule is called stream-use-after-destory; did you mean"):
        rules_named(["stream-use-after-destory"], "--select")


@pytest.mark.parametrize("word", ["12.8", "13.0"])
def test_releases(word: str) -> None:
    assert release(word) == word


@pytest.mark.parametrize("word", ["12", "v12.8", "12.8.1", "", "１２.8"])
def test_what_is_no_release(word: str) -> None:
    with pytest.raises(CuvetError, match="is not a release"):
        release(word)
