"""Meanings that come from one reference: the text, and what the reference says."""

from __future__ import annotations

from cuvet.findings import Evidence
from cuvet.knowledge.cause import Meaning
from cuvet.rules.evidence import documented


def meaning(text: str, says: str, *more: Evidence, source: str, beliefs: tuple[str, ...] = ()) -> Meaning:
    """``text``: the meaning in plain words. ``says``: what ``source`` says of it. ``more``: further evidence."""
    return Meaning(text=text, evidence=(documented(says, source), *more), beliefs=beliefs)


def described(text: str, *more: Evidence, source: str, beliefs: tuple[str, ...] = ()) -> Meaning:
    """A meaning that is the description of the enumerator in ``source``, in plain words."""
    return meaning(text, "the enumerator's description", *more, source=source, beliefs=beliefs)
