"""Which entry points have answers of their own, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuvet.model.call import Call
    from cuvet.model.view import ModelView

Statuses = Callable[["ModelView", "Call"], tuple[int, ...]]
Outputs = Callable[["ModelView", "Call"], dict[int, int]]

STATUSES: dict[str, Statuses] = {}
OUTPUTS: dict[str, Outputs] = {}


def returned_by(*names: str) -> Callable[[Statuses], Statuses]:
    """The decorated function says what calls of these entry points return that break no rule, the likeliest status first."""

    def register(answer: Statuses) -> Statuses:
        STATUSES.update(dict.fromkeys(names, answer))
        return answer

    return register


def written_by(*names: str) -> Callable[[Outputs], Outputs]:
    """The decorated function says what they write, where the model knows it, by parameter index."""

    def register(answer: Outputs) -> Outputs:
        OUTPUTS.update(dict.fromkeys(names, answer))
        return answer

    return register
