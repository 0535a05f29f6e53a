"""Print what ``cuvet check`` finds of the bug-fix commits in tests/source/corpus/ground.

    python tools/check_ground.py PART FOLDER --from GIT_FOLDER

PART is ``learn``, ``try`` or ``sealed``, or of the second ground the same with a 2. The files before and after each commit are read
from FOLDER/<id>/{before,after}; what is not there is first taken out of GIT_FOLDER, which has the git directory of each repository as
<owner>+<name>, with .git, /.git, /repo or /repo/.git behind it, or without. A commit is found if a rule about its kind of defect
reports it before the commit, at the defect or on a path through it, and does not after it, as docs/check-bugfixes.md counts.

``--missed`` names the commits that are not found, ``--correct FILE`` writes what is said of the files after the commits: what one
version of the checker says and the one before it did not is new, and is to be judged. Of the sealed part, only totals are printed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from check_corpus import Outcome, outcome
from fetch_corpus import LISTS, folder_of

PARTS = ("learn", "try", "sealed", "learn2", "try2", "sealed2")


def rows(part: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LISTS / "ground" / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()]


def git_directory(source: Path | None, repository: str) -> Path | None:
    """The git directory of a repository (owner/name) in a folder of such; None if it is not there."""
    ends = ("", ".git", "/.git", "/repo", "/repo/.git")
    ways = [] if source is None else [source / (folder_of(repository) + end) for end in ends]
    return next((way for way in ways if (way / "objects").is_dir()), None)


def take(folder: Path, row: dict[str, Any], source: Path | None) -> None:
    """Make ``folder/before`` and ``folder/after``, if they are not there."""
    if folder.exists():
        return
    git = git_directory(source, row["repo"])
    if git is None:
        raise SystemExit(f"{row['id']}: neither {folder} nor a git directory of {row['repo']}: give one with --from")
    for side, commit in (("before", row["parent"]), ("after", row["commit"])):
        for path in row["paths"]:
            show = subprocess.run(("git", "--git-dir", str(git), "show", f"{commit}:{path}"), capture_output=True)
            if show.returncode == 0:  # else the commit adds the file, or removes it
                file = folder / side / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(show.stdout)


def outcomes(part: str, folder: Path, source: Path | None, jobs: int) -> list[Outcome]:
    commits = rows(part)
    for row in commits:
        take(folder / row["id"], row, source)
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda row: outcome(folder / row["id"], row), commits))


def summary(of: Sequence[Outcome]) -> Iterable[str]:
    yield "\t".join(("", "commits", "found", "error", "warning", "note"))
    yield _line("all", of)
    for field in ("scope", "kind"):
        for name, _ in Counter(each.row[field] for each in of).most_common():
            yield _line(name, [each for each in of if each.row[field] == name])


def _line(name: str, of: Sequence[Outcome]) -> str:
    severity = Counter(each.severity for each in of if each.before)
    numbers = (len(of), severity.total(), *(severity[each] for each in ("error", "warning", "note")))
    return "\t".join((name, *map(str, numbers)))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("folder", type=Path, help="where the files before and after the commits are, or go")
    parser.add_argument("--from", dest="source", type=Path, help="folder of git directories")
    parser.add_argument("--jobs", type=int, default=2, help="commits at a time (default: %(default)s)")
    parser.add_argument("--missed", action="store_true", help="name the commits that are not found")
    parser.add_argument("--correct", type=Path, help="file for what is said of the files after the commits")
    args = parser.parse_args()
    if args.part.startswith("sealed") and (args.missed or args.correct):
        parser.error("of the sealed part, only totals are printed")
    found = outcomes(args.part, args.folder, args.source, args.jobs)
    print(*summary(found), sep="\n")
    for each in found if args.missed else ():
        if not each.before:
            row = each.row
            still = f" (still: {', '.join(each.after)})" if each.after else ""
            print(f"{row['id']} {row['paths'][0]}:{row['line']}: {row['kind']}, {row['scope']}: {row['what']}{still}")
    if args.correct:
        said = (
            f"{o.row['id']} {f.path}:{f.line}: {f.severity}: {f.message} [{f.rule}]\n" for o in found for f in o.correct
        )
        args.correct.write_text("".join(sorted(said)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
