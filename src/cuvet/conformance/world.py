"""What a random program has made so far, and the ways to draw from it."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from cuvet.catalog import Kind, Verb, driver
from cuvet.catalog.kinds import OUTLIVES_CONTEXT
from cuvet.conformance.play import Player, Step, Value
from cuvet.conformance.recording import Row
from cuvet.model.statuses import STICKY

SAFE_WHEN_DEAD = {Kind.MEMORY, Kind.HOST_MEMORY, Kind.MODULE, Kind.GRAPH, Kind.TEXTURE_OBJECT, Kind.SURFACE_OBJECT}
"""Kinds whose dead handles the driver refuses (measured: free_twice, texobj_destroy_twice, use_function_after_unload, …)."""
_KEPT = OUTLIVES_CONTEXT | {Kind.HOST_MEMORY}
"""What programs go on using when its context is gone: of host memory they find out that it went with it."""
SAFE_WHEN_NULL = SAFE_WHEN_DEAD | {Kind.EVENT, Kind.CONTEXT, Kind.GRAPH_EXEC, Kind.CULIBRARY}

ENDS = {
    role.kind: (entry_point.name, role.parameter)
    for entry_point in driver().entry_points
    for role in entry_point.roles
    if role.verb is Verb.DESTROYS
} | {
    Kind.MEMORY: ("cuMemFree", "dptr"),
    Kind.HOST_MEMORY: ("cuMemFreeHost", "p"),
    Kind.MEMORY_HANDLE: ("cuMemRelease", "handle"),
    Kind.USER_OBJECT: ("cuUserObjectRelease", "object"),
}
"""The call that ends an object, and the parameter that names it; of some, what the roles do not tell: which of several, or that the
last one ends it."""

ONE_THREAD = dict.fromkeys(("gridDimX", "gridDimY", "gridDimZ", "blockDimX", "blockDimY", "blockDimZ"), 1)
"""A launch of one."""

DEAD_SHARE, NULL_SHARE, ELSEWHERE_SHARE, ODD_SHARE = 0.03, 0.02, 0.1, 0.04


@dataclass(eq=False, slots=True)
class Thing:
    """An object, or memory of ``size`` bytes at ``word``, of the context that was current. It dies with its ``parent``, but not with its
    ``source``. ``apart``: to be drawn by those only who ask for its variant."""

    kind: Kind
    word: int = 0
    context: int = 0
    device: int = 0
    size: int = 0
    parent: int = 0
    source: int = 0
    alive: bool = True
    variant: str = ""
    apart: bool = False


@dataclass(eq=False, slots=True)
class World:
    """What the program has. ``stacks`` holds the contexts of each thread, the current one last."""

    rng: random.Random
    player: Player
    devices: int
    threads: int
    things: list[Thing] = field(default_factory=list)
    stacks: dict[int, list[int]] = field(default_factory=dict)
    thread: int = 0
    over: bool = False
    capturing: list[int] = field(default_factory=list)

    def call(self, entry_point: str, /, **values: Value) -> Row:
        """Nothing is raised if the driver has no such entry point."""
        if not self.player.has(entry_point):
            raise Nothing
        row = self.player.run(Step(entry_point, values, self.thread))
        self.over = self.over or (row.status in STICKY)
        return row

    def make(self, made: Kind | Thing, entry_point: str, /, **values: Value) -> Row:
        """A call whose first output is a new object: of this kind, or like this one."""
        row = self.call(entry_point, **values)
        if row.status == 0 and row.outputs:
            like = made if isinstance(made, Thing) else Thing(made)
            new = replace(like, word=next(iter(row.outputs.values())), context=self.context, device=self.device)
            self.things.append(new)
        return row

    def met(self, context: int, device: int, variant: str, parent: int = 0) -> None:
        """A call has handed out a context, which may be known already."""
        if not any(thing.word == context for thing in self.living(Kind.CONTEXT)):
            self.things.append(Thing(Kind.CONTEXT, context, context, device, parent=parent, variant=variant))

    @property
    def context(self) -> int:
        stack = self.stacks.get(self.thread)
        return stack[-1] if stack else 0

    @property
    def device(self) -> int:
        return next((thing.device for thing in self.living(Kind.CONTEXT) if thing.word == self.context), 0)

    def living(self, kind: Kind) -> list[Thing]:
        return [thing for thing in self.things if thing.kind is kind and thing.alive]

    def pick(self, kind: Kind, variant: str | None = None) -> Thing | None:
        """One that lives, mostly of the current context; now and then a dead one if that is safe."""
        if kind in SAFE_WHEN_DEAD and self.rng.random() < DEAD_SHARE:
            dead = [thing for thing in self.things if thing.kind is kind and not thing.alive]
            if dead:
                return self.rng.choice(dead)
        found = [
            thing for thing in self.living(kind) if (not thing.apart if variant is None else thing.variant == variant)
        ]
        here = [thing for thing in found if thing.context == self.context]
        if here and self.rng.random() >= ELSEWHERE_SHARE:
            return self.rng.choice(here)
        return self.rng.choice(found) if found else None

    def thing(self, kind: Kind, variant: str | None = None) -> Thing:
        """As ``pick``; Nothing is raised if there is none."""
        found = self.pick(kind, variant)
        if found is None:
            raise Nothing
        return found

    def word(self, kind: Kind) -> int:
        """A handle of that kind; 0 if there is none, and now and then."""
        if kind in SAFE_WHEN_NULL and self.rng.random() < NULL_SHARE:
            return 0
        thing = self.pick(kind)
        return 0 if thing is None else thing.word

    def needed(self, kind: Kind) -> int:
        """As ``word``; Nothing is raised if there is none, or a 0 is not safe to pass."""
        if kind in SAFE_WHEN_NULL and self.rng.random() < NULL_SHARE:
            return 0
        return self.thing(kind).word

    def stream(self) -> int:
        roll = self.rng.random()
        return (0 if roll < 0.2 else 1 if roll < 0.23 else 2 if roll < 0.26 else self.word(Kind.STREAM)) or 0

    def some(self, chance: float) -> None:
        """Nothing is raised, but for that share of the calls: what follows is slow, or ends much."""
        if self.rng.random() > chance:
            raise Nothing

    def mostly(self, usual: int, *others: int) -> int:
        """One of ``others`` now and then."""
        return self.rng.choice(others) if others and self.rng.random() < ODD_SHARE else usual

    def any_device(self) -> int:
        """An ordinal; now and then of a device that does not exist."""
        return self.mostly(self.rng.randrange(self.devices), -1, self.devices + 7)

    def any_of(self, names: str) -> str:
        """One of the names, which are separated by blanks."""
        return self.rng.choice(names.split())

    def end(self, kind: Kind) -> None:
        """The call that ends an object of that kind."""
        word = self.needed(kind)
        name, parameter = ENDS[kind]
        if self.call(name, **{parameter: word}).status == 0:
            self.kill(kind, word)

    def kill(self, kind: Kind, word: int) -> None:
        """It, and what stands on it, is gone."""
        for thing in self.things:
            if thing.alive and ((thing.kind is kind and thing.word == word) or thing.parent == word):
                thing.alive = False

    def kill_context(self, word: int) -> None:
        for thing in self.things:
            if thing.context == word and thing.kind not in _KEPT:
                thing.alive = False
        self.kill(Kind.CONTEXT, word)


class Nothing(Exception):
    """The program has no object for this call."""


Steps = tuple[tuple[int, Callable[[World], object]], ...]
"""What a program may do next, each with its weight."""


def ends(kind: Kind) -> Callable[[World], object]:
    """The step that ends an object of that kind."""
    return lambda world: world.end(kind)


def struct(name: str, **fields: int) -> bytes:
    """Bytes of a struct of the catalog; ``a__b`` stands for the member ``a.b``."""
    return driver().pack(name, fields)


def asks(names: str, parameter: str, kind: Kind) -> Callable[[World], object]:
    """The step that calls one of the entry points about an object of that kind."""
    return lambda world: world.call(world.any_of(names), **{parameter: world.needed(kind)})
