"""What calls change and answer: transitions by role, and by name for the calls whose roles do not say enough; answers by name.

``plan(entry_point)`` puts together, once per entry point, what a successful call does, in the order of the verbs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.call import Call, Outcome

if TYPE_CHECKING:
    from cuvet.catalog import EntryPoint
    from cuvet.model.model import Model
    from cuvet.model.view import ModelView


class RoleTransition(Protocol):
    def __call__(self, model: Model, call: Call, outcome: Outcome, role: Role) -> None: ...


Transition = Callable[["Model", Call, Outcome], None]
Statuses = Callable[["ModelView", Call], tuple[int, ...]]
Outputs = Callable[["ModelView", Call], dict[int, int]]

STATUSES: dict[str, Statuses] = {}
OUTPUTS: dict[str, Outputs] = {}
_by_role: dict[tuple[Verb, Kind | None], RoleTransition] = {}
_instead: dict[str, Transition] = {}
_then: dict[str, list[Transition]] = {}

K = TypeVar("K")
F = TypeVar("F")


def _register(table: dict[K, F], keys: Iterable[K]) -> Callable[[F], F]:
    def register(function: F) -> F:
        table.update(dict.fromkeys(keys, function))
        return function

    return register


def for_role(verb: Verb, *kinds: Kind) -> Callable[[RoleTransition], RoleTransition]:
    """The decorated function is what a role of that verb does, to objects of these kinds (none: of all kinds)."""
    return _register(_by_role, [(verb, kind) for kind in kinds or (None,)])


def instead_of_roles(*names: str) -> Callable[[Transition], Transition]:
    """The decorated function is all that these entry points do."""
    return _register(_instead, names)


def after_roles(*names: str) -> Callable[[Transition], Transition]:
    """The decorated function is what these entry points do after what their roles say."""

    def register(transition: Transition) -> Transition:
        for name in names:
            _then.setdefault(name, []).append(transition)
        return transition

    return register


def returned_by(*names: str) -> Callable[[Statuses], Statuses]:
    """The decorated function says what calls of these entry points return that break no rule, the likeliest status first."""
    return _register(STATUSES, names)


def written_by(*names: str) -> Callable[[Outputs], Outputs]:
    """The decorated function says what they write, where the model knows it, by parameter index."""
    return _register(OUTPUTS, names)


class Plan(NamedTuple):
    """What a successful call does to the model, in order: what its roles do, then what is of the entry point."""

    of_roles: tuple[tuple[RoleTransition, Role], ...]
    others: tuple[Transition, ...]


@cache
def plan(entry_point: EntryPoint) -> Plan:
    """What a successful call of ``entry_point`` does to the model."""
    if entry_point.name in _instead:
        return Plan((), (_instead[entry_point.name],))
    steps, verbs = [], list(Verb)
    for role in sorted(entry_point.roles, key=lambda role: verbs.index(role.verb)):
        transition = _by_role.get((role.verb, role.kind)) or _by_role.get((role.verb, None))
        if transition is not None:
            steps.append((transition, role))
    return Plan(tuple(steps), tuple(_then.get(entry_point.name, ())))
