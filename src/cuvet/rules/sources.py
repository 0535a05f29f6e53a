"""Rules that only source code shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from cuvet.rules.rule import Rule, Violation

if TYPE_CHECKING:
    from cuvet.model import Call, ModelView


class SourceRule(Rule):
    """A rule that ``cuvet check`` alone applies: no call breaks it, but the text or a path through it does."""

    entry_points: ClassVar[frozenset[str] | None] = frozenset()

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Iterator[Violation]:
        return iter(())
