"""What belongs to a host thread: its stack of contexts, its capture mode, its errors."""

from __future__ import annotations

from dataclasses import dataclass, field

from cuvet.catalog import Kind
from cuvet.model.call import Call
from cuvet.model.objects import Context


@dataclass(slots=True, eq=False)
class Thread:
    """``stack``: contexts of the thread, the current one last; None where it was set to NULL. ``capture_mode``: 0 global, 1 thread-local, 2
    relaxed (cuThreadExchangeStreamCaptureMode). ``failure``: newest driver call that failed, and its status. ``not_made``: by kind of
    library object, the newest call that was to make one and failed, and its status, if none was made since."""

    stack: list[Context | None] = field(default_factory=list)
    capture_mode: int = 0
    failure: tuple[Call, int] | None = None
    not_made: dict[Kind, tuple[Call, int]] = field(default_factory=dict)
    groups: int = 0
    """How many groups of calls it has begun and not ended (NCCL), one in the other."""
    grouped: list[Call] = field(default_factory=list)
    """The calls in the outermost."""

    @property
    def current(self) -> Context | None:
        return self.stack[-1] if self.stack else None

    def push(self, context: Context | None) -> None:
        self.stack.append(context)

    def pop(self) -> None:
        if self.stack:
            self.stack.pop()

    def set_current(self, context: Context | None) -> None:
        """Replace the top of the stack; NULL pops it."""
        self.pop()
        if context is not None:
            self.push(context)
