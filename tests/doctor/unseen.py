"""How many broken machines that it was not made for ``cuvet doctor`` finds, and whether it leaves healthy ones alone.

``python -m tests.doctor.unseen`` prints it. ``unseen.json`` has the machines, most of them of public cases, as ``build_root`` describes
roots, with ``says`` in place of ``expect``: words that one error or warning must have in its verdict or evidence. Healthy ones have none.
All were written down before doctor was changed for any of them. The names' hashes cut them into halves: ``seen`` ones were looked at
while doctor was changed, ``kept`` ones after they had been measured once.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from cuvet.doctor.probe import Conclusion, examine

from . import build_root

HALVES = ("seen", "kept")


def problems(name: str, root: Path) -> list[Conclusion]:
    """The errors and warnings about the machine."""
    found = (conclusion for each in examine(build_root.build(name, root)) for conclusion in each.conclusions)
    return [conclusion for conclusion in found if conclusion.severity in ("error", "warning")]


def names_it(conclusion: Conclusion, words: list[str]) -> bool:
    text = "\n".join((conclusion.verdict, *conclusion.evidence)).lower()
    return all(word.lower() in text for word in words)


def names(half: str, *, broken: bool) -> list[str]:
    return [name for name, case in build_root.UNSEEN.items() if case["half"] == half and ("says" in case) == broken]


def main() -> None:
    for half in HALVES:
        found, silent = 0, 0
        for name in (*names(half, broken=True), *names(half, broken=False)):
            words = build_root.UNSEEN[name].get("says")
            with tempfile.TemporaryDirectory() as folder:
                reported = problems(name, Path(folder))
            named = [conclusion for conclusion in reported if words and names_it(conclusion, words)]
            found, silent = found + bool(named), silent + (not words and not reported)
            others = [f"{each.cause}: {each.verdict}" for each in reported if each not in named]
            if (words and not named) or others:
                print(
                    f"{'missed' if words and not named else 'beside' if words else 'false alarm'} {name}",
                    *others,
                    sep="\n    ",
                )
        broken, healthy = len(names(half, broken=True)), len(names(half, broken=False))
        print(f"{half}: {found} of {broken} broken machines found, {silent} of {healthy} healthy ones silent")


if __name__ == "__main__":
    main()
