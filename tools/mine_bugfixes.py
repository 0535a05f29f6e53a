"""List commits that seem to fix the life of a CUDA object: ``python tools/mine_bugfixes.py GIT_DIRECTORY…``.

Reads the history of bare git directories, as git's clone --bare makes them, and runs nothing of what is in them. Prints a line of
JSON for each candidate, the likeliest first: the ``repo`` as the directory is called, the ``commit``, its ``parent`` and ``date``,
the first line of its message, the ``paths`` of source files whose changed lines name CUDA's objects, and the ``score``.

A candidate's message says that something leaks, is released twice or too late, is not awaited or not checked, and its changed
lines release, create, await or check an object of CUDA. Both are words only: somebody has to read the commit before it counts.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fetch_corpus import SOURCES

MOST_FILES = 12
MOST_LINES = 200
"""Changed source files and lines of a candidate: larger commits do other things too."""

ENOUGH = 4
"""What a message has to count, at least, for its changes to be read."""
SAID = {
    r"leak|double[- ]?(free|delet|destr)|freed? twice|use[- ]after|dangling|never (freed|destroyed|released)": 6,
    r"(not|n't) (being )?(freed|free|destroyed?|released?|synchroni[sz]ed?|unregister(ed)?)": 5,
    r"(miss|forg[eo]t|lack|add)\w* .{0,40}(free|destr|releas|sync|unregister|error check|status check|cleanup|clean up)": 4,
    r"life ?time|wrong (device|stream|context)|device guard|uninitiali[sz]ed|unregister|pinned|record_stream|unbound": 4,
    r"memory|\bgpu|cuda|handle|raii|race|\bsync|destr(oy|uct)|\bfree|releas|cleanup|clean up|deallocat|event|stream|error (check|handl)": 2,
    r"\bfix|\bbug|crash|segfault|hang|deadlock|invalid|illegal|corrupt|correct": 2,
}
"""What a message says, and how much it counts."""

_LIBRARY = r"cublas(Lt|Xt)?|cudnn|cusparse(Lt)?|cusolver\w*?|cufft|curand|nvrtc|nvjpeg|nccl|cutensor|cupti"
CHANGED = {
    "release": rf"\bcuda(Free\w*|\w+Destroy\w*|Destroy\w+|HostUnregister|IpcCloseMemHandle|DeviceReset)\b|\bcu(MemFree\w*"
    rf"|\w+Destroy\w*|ModuleUnload|MemHostUnregister|CtxPopCurrent\w*|MemRelease|MemUnmap|MemAddressFree)\b"
    rf"|\b({_LIBRARY})_?(Destroy\w*|CommDestroy)|\.(pop|detach|free|destroy)\(\)",
    "create": r"\bcuda(Malloc\w*|HostAlloc|\w+Create\w*|HostRegister)\b|\bcu(MemAlloc\w*|\w+Create\w*|MemHostRegister\w*)\b"
    rf"|\b({_LIBRARY})_?Create\w*|cuda\.(Stream|Event|CUDAGraph|mem_alloc|pagelocked\w*)\(",
    "wait": r"\bcu(da)?(Stream|Event|Device|Ctx|Thread)(Synchronize|WaitEvent)|wait_(stream|event)|record_stream|\.synchronize\(",
    "device": r"\bcuda(SetDevice)\b|\bcuCtx(Push|Pop|Set)Current|(CUDA|Device)\w*Guard\b|cuda\.(device|Device)\(",
    "status": r"\bcuda(GetLastError|PeekAtLastError)\b|(CHECK|TRY|ERR|SAFE)\w*\((cu|nv)[a-zA-Z]+\(",
    "call": rf"\b(cu(da)?[A-Z]\w+|({_LIBRARY})[A-Z]\w+)\(|torch\.cuda\.|cupy\.cuda|cp\.cuda\.|pycuda|numba\.cuda",
}
"""What a changed line names: the first that fits."""

GAIN = {"release": 6, "wait": 4, "device": 3, "status": 3, "call": 1}
"""What counts if more lines of the kind are added than removed; of releases, if they are removed."""

_WORDS = {re.compile(words, re.IGNORECASE): score for words, score in SAID.items()}
_NAMES = {kind: re.compile(names) for kind, names in CHANGED.items()}


class Commit(NamedTuple):
    commit: str
    parent: str
    date: str
    message: str


def git(directory: Path, *arguments: str, given: str = "") -> str | None:
    """Standard output of git; None if it fails."""
    done = subprocess.run(("git", "--git-dir", str(directory), *arguments), input=given.encode(), capture_output=True)
    return None if done.returncode else done.stdout.decode(errors="replace")


def commits(directory: Path) -> Iterator[Commit]:
    """All commits with one parent, the newest first."""
    log = git(directory, "log", "--no-merges", "--format=%H%x1f%P%x1f%as%x1f%B%x1e", "HEAD")
    if log is None:
        raise SystemExit(f"{directory} is no git directory with commits")
    for record in log.split("\x1e"):
        fields = record.strip("\n").split("\x1f")
        if len(fields) == 4 and len(fields[1]) == 40:
            yield Commit(*fields)


def said(message: str) -> int:
    """How much a message sounds like a fix; its first line counts twice."""
    subject, _, body = message.partition("\n")
    scores = (
        2 * score if words.search(subject) else score if words.search(body) else 0 for words, score in _WORDS.items()
    )
    return sum(scores)


def diffs(directory: Path, chosen: list[Commit]) -> Iterator[tuple[Commit, str]]:
    """Each commit with its changes of source files, without context."""
    at = {commit.commit: commit for commit in chosen}
    given = "".join(f"{commit}\n" for commit in at)
    options = "--stdin -r -p -U0 --no-renames --no-ext-diff --no-textconv --".split()
    text = git(directory, "diff-tree", *options, *SOURCES, given=given)
    if text is None and len(chosen) > 1:  # a snapshot can lack files
        for half in (chosen[: len(chosen) // 2], chosen[len(chosen) // 2 :]):
            yield from diffs(directory, half)
        return
    parts = re.split(r"(?m)^([0-9a-f]{40})\n", text or "")
    for commit, diff in zip(parts[1::2], parts[2::2], strict=True):
        yield at[commit], diff


def changed(diff: str) -> tuple[int, list[str]]:
    """How much a change looks like a fix of an object's life, and the files that were there before it whose changed lines name
    CUDA's objects; 0 if too much is changed."""
    files = re.split(r"(?m)^diff --git ", diff)[1:]
    lines = [[line for line in file.split("\n") if re.match(r"[+-](?!\+\+ |-- )", line)] for file in files]
    size = sum(map(len, lines))
    if len(files) > MOST_FILES or size > MOST_LINES:
        return 0, []
    balance: Counter[str] = Counter()
    paths = []
    for file, its in zip(files, lines, strict=True):
        kinds = [(named(line), 1 if line[0] == "+" else -1) for line in its]
        before = re.search(r"(?m)^--- a/(.*?)\t?$", file)
        if before and any(kind for kind, _ in kinds):
            paths.append(before[1])
            for kind, sign in kinds:
                balance[kind] += sign
    balance["release"] = abs(balance["release"] - max(balance["create"], 0))
    return sum(gain for kind, gain in GAIN.items() if balance[kind] > 0) - size // 40, paths


def named(line: str) -> str:
    """What a changed line names, if it is no comment."""
    if re.match(r"[+-]\s*(//|\*|#(?!if|el|en|def))", line):
        return ""
    return next((kind for kind, names in _NAMES.items() if names.search(line)), "")


def candidates(directory: Path, enough: int) -> list[dict[str, Any]]:
    name = directory.parent.name if directory.name == "repo" else directory.name.removesuffix(".git")
    likely = [commit for commit in commits(directory) if said(commit.message) >= enough]
    rows = []
    for commit, diff in diffs(directory, likely):
        score, paths = changed(diff)
        if paths and score > 0:
            row = commit._asdict() | {"message": commit.message.split("\n", 1)[0], "paths": paths}
            rows.append({"repo": name.replace("+", "/", 1), **row, "score": min(said(commit.message), 20) + score})
    return sorted(rows, key=lambda row: (-row["score"], row["commit"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("directories", type=Path, nargs="+", metavar="GIT_DIRECTORY")
    parser.add_argument("--enough", type=int, default=ENOUGH, help="what a message has to count (default: %(default)s)")
    args = parser.parse_args()
    for directory in args.directories:
        for row in candidates(directory, args.enough):
            print(json.dumps(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
