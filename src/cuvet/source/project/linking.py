"""What files know of each other: functions that one defines and another calls."""

from collections import defaultdict
from collections.abc import Sequence

from cuvet.source.result import Outline, Summaries


def linked(outlines: Sequence[Outline]) -> dict[str, Summaries]:
    """By file: the functions of other files that it calls and that make or end objects for it, or of which it was guessed that they
    did. Where several files define a function of that name, the one in the same folder."""
    offers: dict[str, dict[str, Summaries]] = defaultdict(dict)
    for outline in outlines:
        for name, summaries in outline.offers.items():
            offers[name][outline.file] = {name: summaries}
    guessed = {name for outline in outlines for name in outline.guessed}
    defining: dict[str, list[str]] = defaultdict(list)
    for outline in outlines:
        for name in {name for _, name in outline.functions} & (offers.keys() | guessed):
            defining[name].append(outline.file)
    found: dict[str, Summaries] = {}
    for outline in outlines:
        for name in (offers.keys() & outline.calls) | (defining.keys() & outline.guessed):
            file = _nearest(defining[name], outline.file)
            found.setdefault(outline.file, {}).update(offers[name].get(file, {name: {}}))
    return found


def _nearest(files: list[str], caller: str) -> str:
    """The only file, or the only one in the caller's folder; empty if there is none."""
    if len(files) > 1:
        folder = caller.rpartition("/")[0]
        files = [file for file in files if file.rpartition("/")[0] == folder]
    return files[0] if len(files) == 1 else ""
