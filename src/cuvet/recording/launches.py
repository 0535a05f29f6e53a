"""From flight recorders to the launches that were made and not waited for."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from cuvet.catalog import EntryPoint, Kind, Verb
from cuvet.catalog.kinds import FUNCTIONS
from cuvet.model.call import Word
from cuvet.recording import layout
from cuvet.recording.records import LaunchPlace, Ring, SideTables


class Launched(NamedTuple):
    """``stack`` is 0, ``stream`` None if they are not known. The launch was entered at ``after`` or later, in ticks."""

    function: int
    stream: int | None
    stack: int
    thread: int
    number: int
    after: int
    words: tuple[Word, ...]


def unwaited(ring: Ring, tables: SideTables, entry_point: Callable[[int], EntryPoint | None]) -> list[Launched]:
    """Launches of a thread that succeeded, oldest first, without those for which the thread itself then waited by context or stream."""
    found: list[Launched] = []
    after = 0
    for row in _in_order(ring.data["slots"]):
        slot = ring.data["slots"][row]
        after = max(after, int(slot["entered"]))
        called = entry_point(int(slot["entry_point"]))
        if called is None or int(slot["status"]) not in (0, layout.PENDING):
            continue
        if called.does(Verb.LAUNCHES, to=FUNCTIONS):
            found.append(_launched(ring, row, called, tables, after))
        elif int(slot["status"]) == 0:
            found = [launch for launch in found if not _waits_for(called, slot["args"].tolist(), launch.stream)]
    return found


def _in_order(slots: Any) -> Iterator[int]:
    used = [(number, row) for row, number in enumerate(slots["number"].tolist()) if number]
    return (row for _, row in sorted(used))


def _waits_for(called: EntryPoint, args: list[int], stream: int | None) -> bool:
    """Whether a call that returned has waited for work on the stream."""
    for role in called.roles:
        if role.verb is Verb.BLOCKS and role.kind is Kind.CONTEXT:
            return True
        if role.verb is Verb.BLOCKS and role.kind is Kind.STREAM:
            return stream is not None and args[called.index[role.parameter]] == stream
    return False


def _launched(ring: Ring, row: int, called: EntryPoint, tables: SideTables, after: int) -> Launched:
    slot, launch = ring.data["slots"][row], ring.data["launches"][row]
    number = int(slot["number"])
    place = tables.places.get(int(launch["place"])) if int(launch["number"]) == number & 0xFFFFFFFF else None
    if place is None:
        function = next(called.index[role.parameter] for role in called.roles if role.verb is Verb.LAUNCHES)
        handle = int(slot["args"][function]) if function < len(slot["args"]) else 0
        return Launched(handle, None, 0, ring.thread, number, after, ())
    words = _words(place, launch["words"].tolist(), int(ring.data["on_host"][row]))
    return Launched(place.function, place.stream, place.stack, ring.thread, number, after, words)


def _words(place: LaunchPlace, values: list[int], on_host: int) -> tuple[Word, ...]:
    parameters = [parameter for parameter, _ in place.words]
    return tuple(
        Word(parameter, offset, offset == 0 and parameters.count(parameter) == 1, value, bool(on_host >> number & 1))
        for number, ((parameter, offset), value) in enumerate(zip(place.words, values, strict=False))
    )
