"""Print how well ``cuvet explain`` names the causes of public cases: ``python tools/measure_explain.py learn try everyday``.

A part is a file of ``tests/knowledge/ground`` or ``everyday``; its README says where they come from. A case is asked as a user would ask:
the lines that the thread shows, and the function that failed, if they do not name it. A cause is right if it is the one that the thread
establishes or another that the case says is right as well; ``strictly``: only the former. Of the everyday messages, which CUDA has
nothing to do with, explain should admit that it does not know them; half of them, by hash, calibrated the threshold (``everyday``: the
other half). Each case is asked without what cuvet has learned from its own repository.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cuvet.knowledge import explanation, logs
from cuvet.knowledge.cases import Index, known_cases
from cuvet.knowledge.errors import Error
from cuvet.knowledge.mentions import calls_in, errors_in

GROUND = Path(__file__).parents[1] / "tests/knowledge/ground"
PUBLIC = GROUND.parent / "public_cases.jsonl"
TOLD = 3
"""So many causes count as told."""


@dataclass(frozen=True)
class Answer:
    """``told``: the ids of the causes that explain tells of the case, the first ``TOLD``; none if it says that it does not know."""

    row: dict[str, Any]
    told: tuple[str, ...]

    def place(self, right: set[str]) -> int:
        """Of the first that is right, from 1; 0 if none is told."""
        return next((place for place, id in enumerate(self.told, 1) if id in right), 0)

    @property
    def established(self) -> set[str]:
        return {plain(self.row["cause"])}

    @property
    def right(self) -> set[str]:
        return self.established | set(map(plain, self.row["also"]))


def plain(cause: str) -> str:
    """Its id: cases name causes that were new to cuvet ``new:id``."""
    return cause.removeprefix("new:")


def rows(part: str) -> list[dict[str, Any]]:
    """The cases of a part. ``everyday``: the half that is measured; ``calibration``: the other half."""
    file = PUBLIC if part == "public" else GROUND / f"{'everyday' if part == 'calibration' else part}.jsonl"
    found = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    if part in ("everyday", "calibration"):
        return [row for row in found if measured(row) == (part == "everyday")]
    return found


UNKNOWN = ("everyday", "calibration", "everyday_more")
"""Parts of messages that explain should admit not to know."""


def measured(row: dict[str, Any]) -> bool:
    return hashlib.sha256(row["url"].encode()).digest()[0] % 2 == 0


def question(row: dict[str, Any]) -> str:
    shown, call = (row["error"], row["api_call"]) if "error" in row else (row["shown"], row.get("call"))
    return f"{shown} {call}" if call and (call not in shown or "error" in row) else str(shown)


def shown_by(text: str) -> tuple[tuple[Error, ...], tuple[str, ...], str]:
    """Errors, functions and text that the causes are looked for in, as the command sees them."""
    if "\n" not in text:
        return errors_in(text), calls_in(text), text
    log = logs.read(text.encode())
    return log.errors, log.calls, log.text


def asked(text: str, cases: Index | None = None) -> tuple[str, ...]:
    """As the command answers a text: of several lines it is a log."""
    log = logs.read(text.encode()) if "\n" in text else None
    found = explanation.explain_log("-", log, cases=cases) if log else explanation.explain_text(text, cases=cases)
    return tuple(cause.id for cause in found.causes[:TOLD]) if found else ()


@cache
def answers(part: str) -> list[Answer]:
    return [Answer(row, asked(question(row), without(repository(row["url"])))) for row in rows(part)]


@cache
def without(repository_: str) -> Index:
    """The cases that cuvet knows, but those of the repository."""
    return Index(case for case in known_cases().cases if repository(case.url) != repository_)


def repository(url: str) -> str:
    """``owner/name`` of a thread on GitHub, in lower case."""
    return "/".join(url.split("/")[3:5]).lower()


def figures(part: str) -> Iterator[str]:
    """Lines: of everyday messages how many are admitted, of cases how many have their cause first and among the first three."""
    found = answers(part)
    if part in UNKNOWN:
        admitted = sum(not one.told for one in found)
        right = sum("bad_alloc" in one.row["shown"] and one.told[:1] == ("host-memory-exhausted",) for one in found)
        yield f"{part}: {len(found)} messages; said not to be known {share(admitted, found)}; std::bad_alloc rightly explained {right}"
        return
    yield f"{part}: {len(found)} cases; {_counts(found)}"


def families(part: str) -> Iterator[str]:
    by_family: dict[str, list[Answer]] = defaultdict(list)
    for one in answers(part):
        by_family[one.row["family"]].append(one)
    for family, found in sorted(by_family.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        yield f"  {family}: {len(found)}; {_counts(found)}"


def _counts(found: list[Answer]) -> str:
    places = [one.place(one.right) for one in found]
    strictly = [one.place(one.established) for one in found]
    silent = sum(not one.told for one in found)
    return (
        f"first {share(sum(place == 1 for place in places), found)}, among the first three {share(sum(map(bool, places)), found)}; "
        f"strictly {share(sum(place == 1 for place in strictly), found)} and {share(sum(map(bool, strictly)), found)}; "
        f"said not to be known {silent}"
    )


def share(count: int, of: list[Answer]) -> str:
    return f"{count} ({100 * count / max(len(of), 1):.0f} %)"


def failures(part: str) -> Iterator[str]:
    for one in answers(part):
        if part in UNKNOWN:
            if one.told:
                yield f"  {one.row['url']}: {', '.join(one.told)}"
        elif one.place(one.right) != 1:
            yield f"  {one.row['url']}: {plain(one.row['cause'])} is at {one.place(one.right) or '-'}: {', '.join(one.told)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", metavar="PART", nargs="+", help="a file of the ground, or calibration")
    parser.add_argument("--families", action="store_true", help="also by the topic of the cases")
    parser.add_argument("--failures", action="store_true", help="also the cases whose cause is not first, by address")
    args = parser.parse_args()
    for part in args.parts:
        lines = [*figures(part), *(families(part) if args.families else ()), *(failures(part) if args.failures else ())]
        print("\n".join(lines))


if __name__ == "__main__":
    main()
