"""Where a function ends what a place holds."""

from collections.abc import Iterator
from functools import cached_property

from cuvet.source.calls import meaning
from cuvet.source.paths.trace import Guards
from cuvet.source.program import Function, Invoke


class Releases:
    """Of one function."""

    def __init__(self, function: Function) -> None:
        self._function = function

    @cached_property
    def _by_place(self) -> dict[str, list[tuple[Guards, int]]]:
        found: dict[str, list[tuple[Guards, int]]] = {}
        for block in self._function.blocks:
            for operation in block.operations:
                if isinstance(operation, Invoke) and not operation.launch:
                    for place in _ended(operation):
                        found.setdefault(place, []).append((block.guards, operation.start))
        return found

    def of(self, place: str, within: Guards = ()) -> bool:
        """Whether the function ends what the place holds, anywhere ``within`` these branches, under whatever condition."""
        return any(guards[: len(within)] == within for guards, _ in self._by_place.get(place, ()))

    def always(self, place: str, after: int) -> bool:
        """Whether the function ends what the place holds, whatever happens, further down than the offset ``after``: then it means to do
        so on every way out."""
        return any(not guards and start > after for guards, start in self._by_place.get(place, ()))


def _ended(call: Invoke) -> Iterator[str]:
    """The places whose contents a call ends."""
    found = meaning(call.name)
    for at, _ in found.ended if found is not None else ():
        place = call.arguments[at] if at < len(call.arguments) else None
        if isinstance(place, str):
            yield place
