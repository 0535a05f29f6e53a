"""How much of a file or function the rules of its text look at, so that none takes minutes for a file that somebody wrote for it."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

Each = TypeVar("Each")
MOST = 48
"""Candidates for a finding, of one file or function."""


def first(candidates: Iterable[Each]) -> Iterator[Each]:
    """As many as are looked at."""
    return islice(candidates, MOST)
