"""The lists of public code that tools/fetch_corpus.py and tools/check_corpus.py read. No network, and none of that code."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

HERE = Path(__file__).parent
COMMIT = re.compile("[0-9a-f]{40}")
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
FIRST_GROUND = ("learn", "try", "sealed")
"""Nobody had looked at these repositories; of the second ground, first looks had read the newest commit of most."""


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def test_the_corpus_is_pinned() -> None:
    corpus = json.loads((HERE / "corpus.json").read_text(encoding="utf-8"))
    names = [row["repository"] for row in corpus]
    assert len(set(names)) == len(names)
    assert all(REPOSITORY.fullmatch(row["repository"]) and COMMIT.fullmatch(row["commit"]) for row in corpus)
    wanted = "cuda-samples HeCBench llm.c rmm nccl-tests CUDALibrarySamples".split()
    assert set(wanted) <= {name.split("/")[1] for name in names}


def test_first_looks_are_judged_and_at_other_repositories() -> None:
    known = {row["repository"] for row in json.loads((HERE / "corpus.json").read_text(encoding="utf-8"))}
    looks = json.loads((HERE / "first_look.json").read_text(encoding="utf-8"))
    repositories = [row for look in looks for row in look["repositories"]]
    names = {row["repository"] for row in repositories}
    assert len(names) == len(repositories) and not names & known
    assert all(COMMIT.fullmatch(row["commit"]) and row["lines"] for row in repositories)
    judged = rows("first_look.jsonl")
    places = [(row["rule"], row["repo"], row["path"], row["line"]) for row in judged]
    assert len(set(places)) == len(places)
    looked_at = {(look["look"], row["repository"]) for look in looks for row in look["repositories"]}
    causes = {(look["look"], each["cause"]) for look in looks for each in look["causes"]}
    for row in judged:
        assert (row["look"], row["repo"]) in looked_at and row["severity"] in ("error", "warning")
        assert row["verdict"] in ("true", "false", "debatable") and row["why"]
        assert ("cause" in row) is (row["verdict"] == "false")
        assert row["verdict"] != "false" or "defect" not in row
    assert {(row["look"], row["cause"]) for row in judged if "cause" in row} == causes


def test_the_page_tells_each_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE.parents[2] / "tools"))
    check_corpus = import_module("check_corpus")
    looks, judged = check_corpus.first_looks()
    page = check_corpus._first_looks()
    for look in looks:
        assert f"### Look {look['look']}" in page
    table = [line.split(" | ") for line in page if line.startswith("| `")]
    assert sum(int(cells[2]) for cells in table) == len(judged)
    said = "\n".join(page).replace("\n", " ")
    assert all(row["repository"] in said for look in looks for row in look["repositories"])
    defects = "\n".join(check_corpus._defects(check_corpus.Judged({}, [])))
    assert all(f"{row['path']}:{row['line']}`" in defects for row in judged if "defect" in row)


def test_bugfix_commits_are_complete() -> None:
    commits = rows("bugfixes.jsonl")
    assert len(commits) >= 40
    assert len({row["id"] for row in commits}) == len(commits)
    for row in commits:
        assert REPOSITORY.fullmatch(row["repo"])
        assert COMMIT.fullmatch(row["commit"])
        assert row["scope"] in ("function", "class", "program")
        assert row["line"] in row["lines"]
        assert row["what"] and row["needs"] and row["kind"]
        assert not any(PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts for path in row["paths"])


def test_the_ground_is_split_by_repository_and_unknown() -> None:
    looks = json.loads((HERE / "first_look.json").read_text(encoding="utf-8"))
    corpus = json.loads((HERE / "corpus.json").read_text(encoding="utf-8"))
    known = {row["repo"].lower() for row in rows("bugfixes.jsonl")}
    known |= {row["repository"].lower() for row in corpus}
    looked_at = {row["repository"].lower() for look in looks for row in look["repositories"]}
    names: list[str] = []
    for part, rests in (("learn", (0, 1)), ("try", (2,)), ("sealed", (3,))):
        for row in (*rows(f"ground/{part}.jsonl"), *rows(f"ground/{part}2.jsonl")):
            names.append(row["id"])
            repository = row["repo"].lower()
            assert repository not in known
            assert int(hashlib.sha256(repository.encode()).hexdigest(), 16) % 4 in rests
            assert COMMIT.fullmatch(row["commit"]) and COMMIT.fullmatch(row["parent"])
            assert row["scope"] in ("function", "class", "program")
            assert row["line"] in row["lines"] and row["what"]
            assert row["paths"] and not any(
                PurePosixPath(p).is_absolute() or ".." in PurePosixPath(p).parts for p in row["paths"]
            )
    assert len(set(names)) == len(names)
    assert not looked_at & {row["repo"].lower() for part in FIRST_GROUND for row in rows(f"ground/{part}.jsonl")}


def test_kinds_of_the_ground_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE.parents[2] / "tools"))
    about = import_module("check_corpus").ABOUT
    parts = import_module("check_ground").PARTS
    assert {row["kind"] for part in parts for row in rows(f"ground/{part}.jsonl")} <= set(about)


def test_a_commit_of_the_ground_is_taken_out_of_git_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(HERE.parents[2] / "tools"))
    ground = import_module("check_ground")
    git = tmp_path / "git" / "someone+something"

    def run(*arguments: str) -> str:
        name = ("-c", "user.name=nobody", "-c", "user.email=nobody@localhost", "-c", "commit.gpgsign=false")
        done = subprocess.run(("git", "-C", str(git), *name, *arguments), check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git.mkdir(parents=True)
    run("init", "--quiet")
    made = "void f() {\n    float *p;\n    cudaMalloc(&p, 4);\n"
    for text in (made + "}\n", made + "    cudaFree(p);\n}\n"):
        (git / "a.cu").write_text("#include <cuda_runtime.h>\n" + text, encoding="utf-8")
        run("add", "a.cu")
        run("commit", "--quiet", "--message", "a")
    row = {
        "id": "one",
        "repo": "someone/something",
        "commit": run("rev-parse", "HEAD"),
        "parent": run("rev-parse", "HEAD^"),
    }
    row |= {"paths": ["a.cu"], "line": 4, "lines": [4], "kind": "leak", "scope": "function", "what": "p is never freed"}
    monkeypatch.setattr(ground, "rows", lambda part: [row])
    monkeypatch.setattr(
        "sys.argv", ["check_ground", "learn", str(tmp_path / "files"), "--from", str(tmp_path / "git"), "--missed"]
    )
    assert ground.main() == 0
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "\tcommits\tfound\terror\twarning\tnote",
        *(f"{name}\t1\t1\t0\t1\t0" for name in ("all", "function", "leak")),
    ]


@pytest.mark.parametrize(
    ("message", "before", "after", "likely"),
    [
        ("Fix leak of the buffer", "", "    cudaFree(p);\n", True),
        ("Fix leak of the buffer", "", "    free(p);\n", False),
        ("Fix leak of the buffer", "", "    // cudaFree(p);\n", False),
        ("Speed up the loop", "", "    cudaFree(p);\n", False),
        ("Fix missing synchronization", "", "    cudaStreamSynchronize(s);\n", True),
    ],
)
def test_miner_names_commits_that_say_and_do_it(
    message: str, before: str, after: str, likely: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(HERE.parents[2] / "tools"))
    mine = import_module("mine_bugfixes")
    lines = "".join(f"-{line}\n" for line in before.splitlines()) + "".join(f"+{line}\n" for line in after.splitlines())
    score, paths = mine.changed(f"diff --git a/a.cu b/a.cu\n--- a/a.cu\n+++ b/a.cu\n@@ -1,0 +1 @@\n{lines}")
    assert (mine.said(message) >= mine.ENOUGH and score > 0 and paths == ["a.cu"]) is likely


def test_judgements_are_of_the_pinned_commits() -> None:
    commits = {
        row["repository"]: row["commit"] for row in json.loads((HERE / "corpus.json").read_text(encoding="utf-8"))
    }
    judged = rows("judged.jsonl")
    places = [(row["rule"], row["repo"], row["path"], row["line"]) for row in judged]
    assert len(set(places)) == len(places)
    for row in judged:
        assert commits[row["repo"]] == row["commit"]
        assert row["verdict"] in ("true", "false", "debatable")
        assert row["why"]
        assert row["verdict"] == "true" or "defect" not in row
