"""Fetch the public code that ``cuvet check`` is measured on: ``python tools/fetch_corpus.py FOLDER``.

The commits are pinned in tests/source/corpus: ``corpus.json`` lists repositories that are checked as a whole, ``bugfixes.jsonl``
commits that fixed a CUDA defect, of which the files before and after are wanted. Nothing of it is part of cuvet, and no test
needs it. What is in FOLDER already is not fetched again:

    FOLDER/corpus/<owner>+<name>/...                   source files only, about 550 MB
    FOLDER/bugfixes/<id>/{before,after}/<path>         about 10 MB

Needs git 2.25 or newer. Repositories are fetched without history and, where the server can, without other files.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LISTS = Path(__file__).parents[1] / "tests" / "source" / "corpus"
SOURCES = "*.cu *.cuh *.cpp *.cc *.cxx *.c *.h *.hh *.hpp *.hxx *.inl *.inc *.py *.cs".split()
GITHUB = "https://github.com/{owner}/{name}.git"


def repositories() -> list[dict[str, str]]:
    """``repository`` (owner/name), ``commit`` and its ``date``."""
    rows: list[dict[str, str]] = json.loads((LISTS / "corpus.json").read_text(encoding="utf-8"))
    return rows


def bugfixes() -> Iterator[dict[str, Any]]:
    """``id``, ``repo``, ``commit``, ``date``, ``paths``; ``line`` of the defect in the first of them, before the commit;
    ``kind`` of the defect, the ``scope`` in which it can be seen (function, class, program), ``what`` it is, and what
    finding it ``needs``."""
    for line in (LISTS / "bugfixes.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def folder_of(repository: str) -> str:
    return repository.replace("/", "+")


def git(folder: Path, *arguments: str, wanted: bool = True) -> bytes | None:
    """Standard output of git in a folder. None if it fails and is not ``wanted`` to succeed."""
    done = subprocess.run(("git", "-C", str(folder), *arguments), capture_output=True)
    if done.returncode == 0:
        return done.stdout
    if wanted:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace').strip()}")
    return None


def fetch(folder: Path, repository: str, commit: str, address: str, depth: int) -> None:
    """Make ``folder`` a repository that holds a commit and ``depth`` - 1 of its ancestors."""
    owner, name = repository.split("/")
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet")
    git(folder, "remote", "add", "origin", address.format(owner=owner, name=name))
    git(folder, "fetch", "--quiet", "--no-tags", f"--depth={depth}", "--filter=blob:none", "origin", commit)


def fetch_repository(root: Path, row: dict[str, str], address: str) -> None:
    target = root / "corpus" / folder_of(row["repository"])
    if target.exists():
        return
    print(row["repository"], row["commit"], flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as place:
        work = Path(place) / "tree"
        fetch(work, row["repository"], row["commit"], address, depth=1)
        git(work, "sparse-checkout", "set", "--no-cone", *SOURCES)
        git(work, "checkout", "--quiet", row["commit"])
        shutil.rmtree(work / ".git")
        work.rename(target)


def fetch_bugfix(root: Path, row: dict[str, Any], address: str) -> None:
    target = root / "bugfixes" / row["id"]
    if target.exists():
        return
    print(row["id"], row["repo"], row["commit"], flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as place:
        repository = Path(place) / "git"
        fetch(repository, row["repo"], row["commit"], address, depth=2)
        work = Path(place) / "pair"
        for side, commit in (("before", row["commit"] + "^"), ("after", row["commit"])):
            for path in row["paths"]:
                text = git(repository, "show", f"{commit}:{path}", wanted=False)
                if text is not None:  # else the commit adds the file, or removes it
                    file = work / side / path
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(text)
        if not work.exists():
            raise SystemExit(f"{row['id']}: none of its files is in the commit or before it")
        work.rename(target)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="where it goes")
    parser.add_argument("--from", dest="address", default=GITHUB, help="address of a mirror (default: %(default)s)")
    args = parser.parse_args()
    for repository in repositories():
        fetch_repository(args.folder, repository, args.address)
    for bugfix in bugfixes():
        fetch_bugfix(args.folder, bugfix, args.address)
    return 0


if __name__ == "__main__":
    sys.exit(main())
