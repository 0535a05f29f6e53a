"""Which lines were changed since a revision, as git says."""

import ast
import os
import re
import subprocess
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cuvet import CuvetError

_DIFF = (
    *("diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-relative"),
    *("--ignore-submodules", "--src-prefix=a/", "--dst-prefix=b/"),
)
_HUNK = re.compile(rb"@@ -\d+(?:,(?P<removed>\d+))? \+(?P<first>\d+)(?:,(?P<added>\d+))? @@")


@dataclass(frozen=True, slots=True)
class Changes:
    """Lines, from 1 and in order, by the real path of their file; None: the whole file is new."""

    lines: dict[Path, list[int] | None]

    def touch(self, file: str, first: int, last: int | None = None) -> bool:
        """Whether one of the lines [first, last] of the file was changed."""
        path = Path(file).resolve()
        if path not in self.lines:
            return False
        changed = self.lines[path]
        if changed is None:
            return True
        at = bisect_left(changed, first)
        return at < len(changed) and changed[at] <= (first if last is None else last)


def since(revision: str, root: Path | None, option: str = "--diff") -> Changes:
    """What the working tree has changed since it left the history of ``revision``, with files that git does not know yet.

    Where lines were taken out, their neighbours count as changed. CuvetError if git cannot tell; ``option`` is what it names.
    """
    if root is None:
        raise CuvetError(f"{option} needs a git repository, and there is none here")
    if not revision or revision.startswith("-"):
        raise CuvetError(f"{option}: {revision!r} is not a revision")
    base = _git(root, option, "merge-base", revision, "HEAD").strip().decode()
    lines: dict[Path, list[int] | None] = {
        root / name: changed for name, changed in _changed(_git(root, option, *_DIFF, base))
    }
    for name in _git(root, option, "ls-files", "--others", "--exclude-standard", "-z").split(b"\0"):
        if name:
            lines[root / os.fsdecode(name)] = None
    return Changes(lines)


def _changed(patch: bytes) -> Iterator[tuple[str, list[int]]]:
    """Each file's name in a patch without context, and its changed lines."""
    lines = iter(patch.split(b"\n"))
    changed: list[int] = []
    for line in lines:
        if line.startswith(b"+++ "):
            changed = []
            if line != b"+++ /dev/null":
                yield _name(line[4:]), changed
        elif hunk := _HUNK.match(line):
            removed, first, added = int(hunk["removed"] or 1), int(hunk["first"]), int(hunk["added"] or 1)
            changed += range(first, first + added) if added else (first, first + 1)
            left = removed + added
            while left:
                left -= not next(lines).startswith(b"\\")


def _name(written: bytes) -> str:
    """What git writes after ``+++``: with a TAB behind it if it holds spaces, or quoted as in C."""
    name = ast.literal_eval("b" + written.decode("ascii")) if written.startswith(b'"') else written.removesuffix(b"\t")
    return os.fsdecode(name.removeprefix(b"b/"))


def _git(root: Path, option: str, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", root, *arguments], capture_output=True)
    except FileNotFoundError:
        raise CuvetError(f"{option} needs git, which is not installed") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0].removeprefix("fatal: ")
        hint = (
            "it and HEAD have no common history here; fetch more of it"
            if arguments[0] == "merge-base"
            else "git failed"
        )
        raise CuvetError(f"{option}: {said or hint}")
    return done.stdout
