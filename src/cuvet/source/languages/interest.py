"""Which text of a function is of interest: whatever touches no variable that CUDA's calls take is skipped."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from cuvet.source.calls import meaning

WORD = re.compile(rb"[A-Za-z_]\w*")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_FLAG = re.compile(rb"\b([A-Za-z_]\w*)\s*=\s*(?:true|false|True|False)\b")
NOT_NAMES = frozenset(
    b"self cls this base int str len range None null True False true false new out ref in var IntPtr ctypes".split()
)


@dataclass(frozen=True, slots=True)
class Interest:
    """Of a function's text: ``names`` are the variables that CUDA's calls take, ``at`` the offsets of all words that make a
    statement worth a look, in order."""

    names: frozenset[bytes]
    at: list[int]
    several: frozenset[bytes] = frozenset()
    """Names that stand for several variables, which are not told apart."""


def find_interest(
    text: bytes,
    start: int,
    end: int,
    names: set[bytes],
    copies: re.Pattern[bytes],
    sites: Iterable[int],
    others: frozenset[bytes],
) -> Interest:
    """``names`` grows by what is copied to or from one of them (``copies`` finds target and source) and by flags, which branches ask.
    ``others`` are words of interest that name no variable, ``sites`` further offsets."""
    names |= {match[1] for match in _FLAG.finditer(text, start, end)}
    pairs = [(set(WORD.findall(match[1])), set(WORD.findall(match[2]))) for match in copies.finditer(text, start, end)]
    follow_copies(names, pairs, NOT_NAMES)
    found = {
        match.start() for match in WORD.finditer(text, start, end) if match.group() in names or match.group() in others
    }
    return Interest(frozenset(names), sorted(found | set(sites)))


def follow_copies(
    names: set[bytes], pairs: list[tuple[set[bytes], set[bytes]]], besides: frozenset[bytes] = frozenset()
) -> None:
    """``names`` grows by all words of each pair of texts, of which one is set to the other, that shares one with it; not by ``besides``."""
    for _ in range(3):
        before = len(names)
        for target, source in pairs:
            if not names.isdisjoint(target | source):
                names |= target | source
        names -= besides
        if len(names) == before:
            return


def handles(api: str) -> tuple[int, ...]:
    """Positions of an entry point's parameters that are handles, or get one."""
    found = meaning(api)
    return tuple(at for at, _ in (*found.made, *found.ended, *found.named)) if found is not None else ()
