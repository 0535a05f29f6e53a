"""Examples that are source files, which are checked and never run, and the rules of which all examples are such."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from cuvet.rules.rule import Example, Rule, Violation

if TYPE_CHECKING:
    from cuvet.model import Call, Model


@dataclass(frozen=True, slots=True)
class Source(Example):
    """``program`` is a source file; its lines at fault are marked ``// error: [slug]`` (``#`` in Python)."""

    language: Literal["cuda", "c++", "python", "c#"] = "cuda"


def sources(examples: tuple[Example, ...]) -> tuple[Source, ...]:
    return tuple(example for example in examples if isinstance(example, Source))


def runnable(examples: tuple[Example, ...]) -> tuple[Example, ...]:
    """Those that can be run (see ``cuvet.rules.programs``)."""
    return tuple(example for example in examples if not isinstance(example, Source))


class SourceRule(Rule):
    """A rule that ``cuvet check`` alone applies: no call breaks it, but the text or a path through it does."""

    entry_points: ClassVar[frozenset[str] | None] = frozenset()
    VALID: ClassVar[tuple[Example, ...]]
    INVALID: ClassVar[tuple[Example, ...]]

    @classmethod
    def check(cls, call: Call, model: Model) -> Iterator[Violation]:
        return iter(())
