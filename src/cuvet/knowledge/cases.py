"""Public cases whose cause is established, and which of them a text is like.

``generated/cases.json`` has them (``tools/fit_explain.py``): the thread, its causes and the terms of what it shows, no text of it. Some are
everyday messages, whose cause is none that cuvet knows: they show which terms are common, and what is not about CUDA.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Set
from functools import cache
from pathlib import Path

import msgspec

EVERYDAY = ""
"""Instead of the cause of a message that is none of CUDA's."""
ALSO = 0.6
"""How much a case speaks for a cause that is right as well, of 1."""


_FEWEST = 2
"""One word in common says nothing."""


class Case(msgspec.Struct, frozen=True):
    """A thread at ``url``. ``causes``: the established one, then those that are right as well; none of an everyday message.
    ``terms``: see ``cuvet.knowledge.terms``."""

    url: str
    causes: tuple[str, ...]
    terms: tuple[str, ...]


class Likeness(msgspec.Struct, frozen=True):
    """Of the case that is likest: 0 (nothing in common) to 1 (the same terms), and its thread."""

    share: float
    url: str


class Index:
    """Finds the cases that a text is like: the cosine of their terms, each weighted by how few cases have it."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self.cases = tuple(cases)
        self._having: dict[str, list[int]] = {}
        for position, case in enumerate(self.cases):
            for term in case.terms:
                self._having.setdefault(term, []).append(position)
        self._rarity = {term: self._rare(len(having)) for term, having in self._having.items()}
        self._lengths = [self._length(case.terms) for case in self.cases]

    def _rare(self, having: int) -> float:
        return math.log((len(self.cases) + 1) / (having + 0.5))

    def _length(self, terms: Iterable[str]) -> float:
        rarest = self._rare(0)
        return math.sqrt(sum(self._rarity.get(term, rarest) ** 2 for term in terms))

    def like(self, terms: Set[str]) -> dict[str, Likeness]:
        """Each cause of a case that shares an error, a function or ``_FEWEST`` words with the text, and how like the likest of its cases
        is; of everyday messages under ``EVERYDAY``."""
        common = [0.0] * len(self.cases)
        terms_shared = [0] * len(self.cases)
        for term in sorted(terms & self._having.keys()):
            weight = self._rarity[term] ** 2
            for position in self._having[term]:
                common[position] += weight
                terms_shared[position] += 1 if _is_word(term) else _FEWEST
        length = self._length(sorted(terms))
        found: dict[str, Likeness] = {}
        for position, case in enumerate(self.cases):
            if terms_shared[position] < _FEWEST:
                continue
            share = common[position] / (length * self._lengths[position])
            for number, cause in enumerate(case.causes or (EVERYDAY,)):
                speaks = share * ALSO if number else share
                if cause not in found or found[cause].share < speaks:
                    found[cause] = Likeness(speaks, case.url)
        return found


def _is_word(term: str) -> bool:
    return ":" not in term


@cache
def known_cases() -> Index:
    """Those that cuvet knows."""
    file = Path(__file__).parent / "generated" / "cases.json"
    return Index(msgspec.json.decode(file.read_bytes(), type=tuple[Case, ...]))
