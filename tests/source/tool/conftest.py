"""A project in a directory of its own, and the command line in it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cuvet.cli import main
from cuvet.source.tool import workers
from cuvet.source.tool.lines import lines_of

MISTAKE = """\
void drain() {
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamSynchronize(stream));
}
"""
"""An error[stream-use-after-destroy] in line 5, column 33."""
CORRECT = """\
void drain() {
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
}
"""


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Project:
    root: Path

    def write(self, files: dict[str, str | bytes]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)

    def read(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8")

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True, capture_output=True)

    def commit(self) -> None:
        """Everything, into a repository that is made for it."""
        self.git("init", "-q")
        self.git("add", "--all")
        self.git("commit", "-qm", "all")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    workers._cache.cache_clear()
    lines_of.cache_clear()
    return Project(root)


@pytest.fixture
def check(project: Project, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """``cuvet check`` in the project's directory."""

    def run(*arguments: str) -> Done:
        code = main(["check", *arguments])
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return run
