"""Living objects that are like others and that nothing has named since they were made: rows, until somebody asks for them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from cuvet.model.call import Call
from cuvet.model.objects import Object

_ROW_BITS = 32
_ROW = (1 << _ROW_BITS) - 1
_FEWEST = 8
"""A series of which fewer than one in so many is left is not worth its rows."""


@dataclass(frozen=True, slots=True)
class Series:
    """Objects like ``like`` but for handle, generation, number and the call that made them; ``call_of`` makes the call of each."""

    like: Object
    handles: Sequence[int]
    generations: Sequence[int]
    numbers: Sequence[int]
    call_of: Callable[[int], Call]

    def make(self, row: int) -> Object:
        return replace(
            self.like,
            handle=self.handles[row],
            generation=self.generations[row],
            number=self.numbers[row],
            created_by=self.call_of(row),
            children={},
        )


class Rows:
    """The rows of one kind of objects, by handle. An object is made once, by ``take``."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        """Number of the series, and row in it."""
        self._series: dict[int, Series] = {}
        self._left: dict[int, int] = {}
        """By series: how many rows are not taken yet, …"""
        self._first: dict[int, int] = {}
        """… none of which comes before this one."""
        self._added = 0

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, handle: int) -> bool:
        return handle in self._places

    def add(self, series: Series, rows: Sequence[int]) -> None:
        """Some rows of a series."""
        if rows:
            number = self._added
            self._added += 1
            self._places.update((series.handles[row], number << _ROW_BITS | row) for row in rows)
            self._series[number], self._left[number], self._first[number] = series, len(rows), rows[0]

    def take(self, handle: int) -> list[Object]:
        """The object of that handle, if it was not made yet, and what becomes too few rows with it."""
        place = self._places.pop(handle, None)
        if place is None:
            return []
        number = place >> _ROW_BITS
        series = self._series[number]
        found = [series.make(place & _ROW)]
        self._count_down(number)
        if 0 < self._left.get(number, 0) * _FEWEST < len(series.handles):
            rest = list(self._rest(number))
            found += map(series.make, rest)
            self._forget([series.handles[row] for row in rest])
        return found

    def take_all(self) -> list[Object]:
        places, self._places = self._places, {}
        series, self._series, self._left, self._first = self._series, {}, {}, {}
        return [series[place >> _ROW_BITS].make(place & _ROW) for place in places.values()]

    def keep_newest(self, parent: Object, most: int) -> None:
        """Forget the rows of objects that end with ``parent``, but for the newest."""
        numbers = {
            handle: series.numbers[place & _ROW]
            for handle, place in self._places.items()
            if (series := self._series[place >> _ROW_BITS]).like.parent is parent
        }
        kept = set(sorted(numbers.values())[-most:])
        self._forget([handle for handle, number in numbers.items() if number not in kept])

    def firsts(self) -> Iterator[tuple[int, int]]:
        """Of each series the handle of the oldest that is not taken yet, and how many there are."""
        for number, left in [*self._left.items()]:
            row = next(self._rest(number))
            self._first[number] = row
            yield self._series[number].handles[row], left

    def _rest(self, number: int) -> Iterator[int]:
        """The rows of a series that are not taken yet."""
        handles = self._series[number].handles
        for row in range(self._first[number], len(handles)):
            if self._places.get(handles[row]) == number << _ROW_BITS | row:
                yield row

    def _forget(self, handles: Sequence[int]) -> None:
        for handle in handles:
            self._count_down(self._places.pop(handle) >> _ROW_BITS)

    def _count_down(self, number: int) -> None:
        self._left[number] -= 1
        if not self._left[number]:
            del self._series[number], self._left[number], self._first[number]
