"""What is on record of a path: its calls, the rules that they broke, and the objects that were left behind."""

from dataclasses import dataclass
from typing import NamedTuple

from cuvet.catalog import Kind
from cuvet.model import Call, Object
from cuvet.rules.rule import Violation
from cuvet.source.ownership import HEAP
from cuvet.source.program import Assign, Invoke, Return

Key = tuple[int, int, int]
"""An operation on a path: block, index in the block, how often the block was passed before."""
Guards = tuple[tuple[int, int], ...]
"""Decisions (block, edge) that lead to a block, the outermost first."""


class Here(NamedTuple):
    """Where a path is: ``key`` names the operation, ``guards`` the branches around it, ``step`` counts the operations."""

    key: Key
    guards: Guards
    step: int


class SourceCall(Call, eq=False, kw_only=True):
    """A call on a path. ``written`` is what stands in the source."""

    written: Invoke
    guards: Guards
    step: int
    key: Key

    @property
    def again(self) -> bool:
        """In a repetition of a loop."""
        return self.key[2] > 0

    @property
    def asked(self) -> str:
        """As it is written."""
        return f"kernel {self.written.name}" if self.written.launch else self.written.name


@dataclass(slots=True)
class Broken:
    """A rule broken by a call. ``unless``: not if a function that is called after that one changes what is current."""

    violation: Violation
    call: SourceCall
    unless: SourceCall | None = None


@dataclass(slots=True)
class Left:
    """An object that is still there at ``end``, where the last lvalue that held it ends or holds something else. ``failed``: on a path
    on which a call of CUDA failed."""

    object: Object
    by: SourceCall
    lvalue: str
    end: Return | Assign | Invoke
    guards: Guards
    step: int
    failed: bool

    @property
    def overwritten(self) -> bool:
        """The last lvalue that held it holds something else."""
        return not isinstance(self.end, Return) and not self.freed

    @property
    def freed(self) -> bool:
        """The struct on the heap that held it is freed."""
        return isinstance(self.end, Invoke) and self.end.name in HEAP


@dataclass(slots=True)
class Unset:
    """A call ends what a variable holds that has been given no value since its declaration, which is at ``step``, within ``guards``."""

    lvalue: str
    kind: Kind
    declared: Assign
    guards: Guards
    step: int
    by: SourceCall
