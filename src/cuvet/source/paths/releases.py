"""Where a function ends what an lvalue holds."""

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
    def _by_lvalue(self) -> dict[str, list[tuple[Guards, int]]]:
        found: dict[str, list[tuple[Guards, int]]] = {}
        for block in self._function.blocks:
            for operation in block.operations:
                if isinstance(operation, Invoke) and not operation.launch:
                    for lvalue in _ended(operation):
                        found.setdefault(lvalue, []).append((block.guards, operation.start))
        return found

    def of(self, lvalue: str, within: Guards = ()) -> bool:
        """Whether the function ends what the lvalue holds, anywhere ``within`` these branches, under whatever condition."""
        return any(guards[: len(within)] == within for guards, _ in self._by_lvalue.get(lvalue, ()))

    def always(self, lvalue: str, after: int) -> bool:
        """Whether the function ends what the lvalue holds, whatever happens, further down than the offset ``after``: then it means to do
        so on every way out."""
        return any(not guards and start > after for guards, start in self._by_lvalue.get(lvalue, ()))


def _ended(call: Invoke) -> Iterator[str]:
    """The lvalues whose contents a call ends."""
    found = meaning(call.name)
    for at, _ in found.ended if found is not None else ():
        lvalue = call.argument(at)
        if isinstance(lvalue, str):
            yield lvalue
