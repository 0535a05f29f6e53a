"""All objects, by kind, handle and generation."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import TypeVar

from cuvet.catalog.roles import Kind
from cuvet.model.objects import Object

T = TypeVar("T", bound=Object)

GENERATIONS = 4
"""How many former objects of one handle are remembered."""
REMEMBERED = 1 << 14
"""How many handles of a kind are remembered that name nothing any more; those that have done so for longest are forgotten."""
_HANDLE_BITS = 64


class ObjectTable:
    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        size = max(Kind) + 1
        self._newest: list[dict[int, Object]] = [{} for _ in range(size)]
        self._older: list[dict[int, list[Object]]] = [{} for _ in range(size)]
        self._live: list[dict[Object, int]] = [{} for _ in range(size)]
        """Living objects, each with the key of its handle."""
        self._dead: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(size)]
        """Keys of handles of which the newest object is dead, in the order in which they died."""
        self._count = [0] * size

    def add(self, cls: type[T], kind: Kind, handle: int, generation: int, scope: int = 0) -> T:
        """A new object of that handle, of the handle's next generation if ``generation`` is 0. ``scope`` is the handle of the context in
        which the handle means this object, 0 if it does in all."""
        key = handle | scope << _HANDLE_BITS
        previous = self._newest[kind].get(key)
        if previous is not None:
            older = self._older[kind].setdefault(key, [])
            older.append(previous)
            del older[:-GENERATIONS]
        self._count[kind] += 1
        created = cls(
            kind=kind,
            handle=handle,
            generation=generation or (1 if previous is None else previous.generation + 1),
            number=self._count[kind],
        )
        self._newest[kind][key] = created
        self._live[kind][created] = key
        self._dead[kind].pop(key, None)
        return created

    def count(self, kind: Kind) -> int:
        """How many objects of that kind there have been."""
        return self._count[kind]

    def counts(self) -> tuple[int, ...]:
        """How many objects there have been, by kind."""
        return tuple(self._count)

    def alive(self) -> tuple[int, ...]:
        """How many objects live, by kind."""
        return tuple(map(len, self._live))

    def skip(self, counts: tuple[int, ...]) -> None:
        """So many more objects of each kind have been made and ended as others before them."""
        self._count = [made + more for made, more in zip(self._count, counts, strict=True)]

    def find(self, kind: Kind, handle: int, generation: int = 0, scope: int = 0) -> Object | None:
        """The object of that handle and generation; the newest if ``generation`` is 0."""
        key = handle | scope << _HANDLE_BITS
        newest = self._newest[kind].get(key)
        if newest is None or not generation or newest.generation == generation:
            return newest
        older = self._older[kind].get(key, ())
        return next((found for found in older if found.generation == generation), None)

    def named(self, handle: int) -> tuple[Object, ...]:
        """The newest objects of any kind that have this handle, by kind."""
        return tuple(newest[handle] for newest in self._newest if handle in newest)

    def all(self, kind: Kind, alive: bool) -> Iterator[Object]:
        """Objects of that kind, oldest first: the living, or all that are remembered."""
        if alive:
            return iter(tuple(self._live[kind]))
        remembered = [*self._newest[kind].values()]
        for older in self._older[kind].values():
            remembered += older
        return iter(sorted(remembered, key=lambda found: found.number))

    def end(self, object: Object) -> None:
        """``object`` is not alive any more."""
        kind = object.kind
        key = self._live[kind].pop(object, None)
        if key is None or self._newest[kind].get(key) is not object:
            return
        self._dead[kind][key] = None
        if len(self._dead[kind]) > self._remembered:
            oldest, _ = self._dead[kind].popitem(last=False)
            del self._newest[kind][oldest]
            self._older[kind].pop(oldest, None)
