"""Where a function ends what a place holds."""

from __future__ import annotations

from cuvet.source.calls import meaning
from cuvet.source.paths.trace import Guards
from cuvet.source.program import Call, Function


def releases(function: Function, place: str, within: Guards = ()) -> bool:
    """Whether the function ends what the place holds, anywhere ``within`` these branches, under whatever condition."""
    return any(
        isinstance(operation, Call) and _ends_place(operation, place)
        for block in function.blocks
        if block.guards[: len(within)] == within
        for operation in block.operations
    )


def releases_always(function: Function, place: str, after: int) -> bool:
    """Whether the function ends what the place holds, whatever happens, further down than the offset ``after``: then it means to do so
    on every way out."""
    return any(
        isinstance(operation, Call) and operation.start > after and _ends_place(operation, place)
        for block in function.blocks
        if not block.guards
        for operation in block.operations
    )


def _ends_place(call: Call, place: str) -> bool:
    found = None if call.launch else meaning(call.name)
    return found is not None and any(at < len(call.arguments) and call.arguments[at] == place for at, _ in found.ended)
