"""All objects, by kind, handle and generation."""

from bisect import insort
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TypeVar

from cuvet.catalog.roles import Kind
from cuvet.model.objects import Object
from cuvet.model.series import Rows, Series

T = TypeVar("T", bound=Object)

GENERATIONS = 4
"""How many former objects of one handle are remembered."""
REMEMBERED = 1 << 14
"""How many handles of a kind are remembered that name nothing any more; those that have done so for longest are forgotten."""
_HANDLE_BITS = 64
_KINDS = max(Kind) + 1
_NO_ROWS = Rows()
"""Of all kinds that have none: most tables have a few kinds of objects."""


class ObjectTable:
    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        size = _KINDS
        self._newest: list[dict[int, Object]] = [{} for _ in range(size)]
        self._older: list[dict[int, list[Object]]] = [{} for _ in range(size)]
        self._live: list[dict[Object, int]] = [{} for _ in range(size)]
        """Living objects, each with the key of its handle."""
        self._dead: list[OrderedDict[int, None] | None] = [None] * size
        """Keys of handles of which the newest object is dead, in the order in which they died."""
        self._rows: list[Rows] = [_NO_ROWS] * size
        """Living objects that nobody has asked for. They have a number, and are counted."""
        self._with_rows: list[Kind] = []
        self._kinds: list[Kind] = []
        """Those of which there has been an object that is no row, in order."""
        self._parents: dict[Object, set[Kind]] = {}
        """Which kinds of those end with an object."""
        self._out_of_order: set[Kind] = set()
        """Kinds of which the living objects do not stand in the order of their numbers."""
        self._count = [0] * size

    def add(self, cls: type[T], kind: Kind, handle: int, generation: int, scope: int = 0) -> T:
        """A new object of that handle, of the handle's next generation if ``generation`` is 0. ``scope`` is the handle of the context in
        which the handle means this object, 0 if it does in all."""
        key = handle | scope << _HANDLE_BITS
        previous = self.find(kind, handle, 0, scope)
        self._count[kind] += 1
        created = cls(
            kind=kind,
            handle=handle,
            generation=generation or (1 if previous is None else previous.generation + 1),
            number=self._count[kind],
        )
        self._put(key, created, previous)
        return created

    def _put(self, key: int, created: Object, previous: Object | None) -> None:
        kind = created.kind
        if previous is not None:
            older = self._older[kind].setdefault(key, [])
            older.append(previous)
            del older[:-GENERATIONS]
        if not self._newest[kind] and kind not in self._kinds:
            insort(self._kinds, kind)
        self._newest[kind][key] = created
        self._live[kind][created] = key
        if dead := self._dead[kind]:
            dead.pop(key, None)

    def add_series(self, series: Series) -> None:
        """Objects that are counted already. Their handles mean the same in all contexts, and none of them names a living object."""
        kind = series.like.kind
        if series.like.parent is not None:
            self._parents.setdefault(series.like.parent, set()).add(kind)
        newest = self._newest[kind]
        named = [row for row, handle in enumerate(series.handles) if handle in newest]
        for row in named:
            self._add_late(series.make(row))
        if self._rows[kind] is _NO_ROWS:
            self._rows[kind] = Rows()
            insort(self._with_rows, kind)
        rows = range(len(series.handles))
        self._rows[kind].add(series, [row for row in rows if series.handles[row] not in newest] if named else rows)

    def _add_late(self, made: Object) -> None:
        """An object that was counted when others were not made yet that are in the table."""
        self._put(made.handle, made, self._newest[made.kind].get(made.handle))
        self._out_of_order.add(made.kind)
        if made.parent is not None:
            made.parent.children[made] = None

    def _make(self, kind: Kind, handle: int) -> list[Object]:
        """The object of a row, and those that are made with it."""
        made = self._rows[kind].take(handle)
        for each in made:
            self._add_late(each)
        return made

    def make_all(self, kind: Kind) -> None:
        """Make the objects of all rows of a kind, and put the living in the order of their numbers, also below their parents."""
        for made in self._rows[kind].take_all():
            self._add_late(made)
        if kind not in self._out_of_order:
            return
        self._out_of_order.remove(kind)
        live = self._live[kind] = dict(sorted(self._live[kind].items(), key=lambda item: item[0].number))
        children: dict[Object, list[Object]] = {}
        for found in live:
            if found.parent is not None:
                children.setdefault(found.parent, []).append(found)
        for parent, several in children.items():
            own = iter(several)
            parent.children = {next(own) if child.kind is kind else child: None for child in parent.children}

    def make_children(self, parent: Object) -> None:
        """``parent`` ends now, with all that belongs to it: make those of its children that will be remembered, forget the others."""
        for kind in self._parents.pop(parent, ()):
            self._rows[kind].keep_newest(parent, self._remembered)
            self.make_all(kind)

    def living(self, kind: Kind) -> Iterator[tuple[Object, int]]:
        """The living objects of a kind, oldest first, each with how many there are in its place: one that is like others stands for the
        rows of all of them."""
        stands_for = {}
        for handle, count in self._rows[kind].firsts():
            first, *others = self._make(kind, handle)
            stands_for[first] = count - len(others)
        for found in sorted(self._live[kind], key=lambda found: found.number):
            yield found, stands_for.get(found, 1)

    def count(self, kind: Kind) -> int:
        """How many objects of that kind there have been."""
        return self._count[kind]

    def counts(self) -> tuple[int, ...]:
        """How many objects there have been, by kind."""
        return tuple(self._count)

    def alive(self) -> tuple[int, ...]:
        """How many objects live, by kind."""
        return tuple(len(live) + len(rows) for live, rows in zip(self._live, self._rows, strict=True))

    def skip(self, counts: tuple[int, ...]) -> None:
        """So many more objects of each kind have been made and ended as others before them."""
        self._count = [made + more for made, more in zip(self._count, counts, strict=True)]

    def find(self, kind: Kind, handle: int, generation: int = 0, scope: int = 0) -> Object | None:
        """The object of that handle and generation; the newest if ``generation`` is 0."""
        key = handle | scope << _HANDLE_BITS
        newest = self._newest[kind].get(key)
        if newest is None and key in self._rows[kind]:
            self._make(kind, key)
            newest = self._newest[kind][key]
        if newest is None or not generation or newest.generation == generation:
            return newest
        older = self._older[kind].get(key, ())
        return next((found for found in older if found.generation == generation), None)

    def known(self, kind: Kind, handles: Sequence[int]) -> list[int]:
        """Those of some handles that name or have named an object."""
        newest, rows = self._newest[kind], self._rows[kind]
        return [handle for handle in handles if handle in newest or handle in rows]

    def named(self, handle: int) -> tuple[Object, ...]:
        """The newest objects of any kind that have this handle, by kind."""
        for kind in self._with_rows:
            if handle in self._rows[kind]:
                self._make(kind, handle)
        return tuple(newest[handle] for kind in self._kinds if handle in (newest := self._newest[kind]))

    def all(self, kind: Kind, alive: bool) -> Iterator[Object]:
        """Objects of that kind, oldest first: the living, or all that are remembered."""
        self.make_all(kind)
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
        dead = self._dead[kind]
        if dead is None:
            dead = self._dead[kind] = OrderedDict()
        dead[key] = None
        if len(dead) > self._remembered:
            oldest, _ = dead.popitem(last=False)
            del self._newest[kind][oldest]
            self._older[kind].pop(oldest, None)
