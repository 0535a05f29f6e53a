"""From flight recorders to the launches that were made and not waited for."""

import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from cuvet.catalog import EntryPoint, Kind, Verb
from cuvet.catalog.kinds import FUNCTIONS
from cuvet.kernels import Dimensions
from cuvet.model.call import Word
from cuvet.recording import layout
from cuvet.recording.records import LaunchPlace, Ring, SideTables

_BEGIN_CAPTURE = frozenset({"cuStreamBeginCapture", "cuStreamBeginCaptureToGraph"})
_END_CAPTURE = "cuStreamEndCapture"
_DEFAULT_STREAMS = frozenset(range(3))
"""0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD."""


class Launched(NamedTuple):
    """``stack`` is 0, ``stream``, ``grid`` and ``block`` are None if they are not known. The launch was entered at ``after`` or later, in
    ticks. ``captured``: its stream may have joined a capture, so that its kernel did not run."""

    function: int
    stream: int | None
    stack: int
    thread: int
    number: int
    after: int
    words: tuple[Word, ...]
    grid: Dimensions | None = None
    block: Dimensions | None = None
    captured: bool = False
    graph: bool = False
    """It launched an executable graph, whose handle ``function`` is."""


class Unwaited(NamedTuple):
    """Launches that a thread made and did not wait for, oldest first, of kernels and of graphs. ``captured``: what it captured on
    the stream that a call ended the capture of, by the number of that call. ``more``: there may be others, too long ago, or of graphs."""

    launches: list[Launched]
    more: bool
    graphs: list[Launched]
    captured: dict[int, list[Launched]]


def unwaited(
    ring: Ring, tables: SideTables, entry_point: Callable[[int], EntryPoint | None], *, alone: bool = True
) -> Unwaited:
    """Launches of a thread that succeeded, without those for which the thread itself then waited. ``alone``: the process has one context,
    so that who waits for a context waits for all of them."""
    found: list[Launched] = []
    capturing: dict[int, int] = {}
    begun: dict[int, int] = {}
    captured: dict[int, list[Launched]] = {}
    after = 0
    rows = list(_in_order(ring.data["slots"]))
    more = bool(rows) and int(ring.data["slots"][rows[0]]["number"]) > 1
    for row in rows:
        slot = ring.data["slots"][row]
        after = max(after, int(slot["entered"]))
        called = entry_point(int(slot["entry_point"]))
        if called is None or int(slot["status"]) not in (0, layout.PENDING, layout.AWAITED):
            continue
        args = slot["args"].tolist()
        if int(slot["status"]) == layout.AWAITED:
            graph = called.does(Verb.LAUNCHES, to=(Kind.GRAPH_EXEC,))
            stream = args[1] if graph else _launched(ring, row, called, tables, after).stream
            found = [each for each in found if not done_with(each, stream, alone=alone)]
        elif called.does(Verb.LAUNCHES, to=FUNCTIONS):
            found.append(_launched(ring, row, called, tables, after))
        elif called.does(Verb.LAUNCHES, to=(Kind.GRAPH_EXEC,)):
            found.append(Launched(args[0], args[1], 0, ring.thread, int(slot["number"]), after, (), graph=True))
            more = True
        elif called.name in _BEGIN_CAPTURE:
            capturing[args[0]], begun[args[0]] = len(found), int(slot["number"])
        elif called.name == _END_CAPTURE:
            since = capturing.pop(args[0], 0)
            first = begun.pop(args[0], None)
            if first is not None:
                captured[int(slot["number"])] = [
                    each for each in found if each.number > first and each.stream == args[0] and not each.graph
                ]
            found = [*found[:since], *_not_captured(found[since:], args[0])]
            more = True
        elif int(slot["status"]) == 0:
            found = [_destroyed(called, args, each) for each in found if not _waits_for(called, args, each, alone)]
            capturing = dict.fromkeys(capturing, 0)
            more = more and not (alone and _waits_for_context(called))
    for stream, since in capturing.items():
        found = [*found[:since], *_not_captured(found[since:], stream)]
    kernels, graphs = ([each for each in found if each.graph is graph] for graph in (False, True))
    return Unwaited(kernels, more, graphs, captured)


def done_with(launch: Launched, stream: int | None, *, alone: bool) -> bool:
    """Whether the launch is done when the stream is."""
    return launch.stream == stream and stream is not None and (alone or stream not in _DEFAULT_STREAMS)


def _not_captured(launches: list[Launched], stream: int) -> list[Launched]:
    """Launches made while the stream captured, without its own. Other streams may have joined."""
    return [each._replace(captured=True) for each in launches if each.stream != stream]


def launched(ring: Ring, tables: SideTables, entry_point: Callable[[int], EntryPoint | None]) -> Iterator[Launched]:
    """All launches of a thread that are in its flight recorder and succeeded, oldest first."""
    for row in _in_order(ring.data["slots"]):
        slot = ring.data["slots"][row]
        called = entry_point(int(slot["entry_point"]))
        succeeded = int(slot["status"]) in (0, layout.PENDING)
        if called is not None and succeeded and called.does(Verb.LAUNCHES, to=FUNCTIONS):
            yield _launched(ring, row, called, tables, int(slot["entered"]))


def _in_order(slots: Any) -> Iterator[int]:
    used = [(number, row) for row, number in enumerate(slots["number"].tolist()) if number]
    return (row for _, row in sorted(used))


def _waits_for_context(called: EntryPoint) -> bool:
    return called.does(Verb.BLOCKS, to=(Kind.CONTEXT,))


def _waits_for(called: EntryPoint, args: list[int], launch: Launched, alone: bool) -> bool:
    """Whether a call that returned has waited for the launch. A copy to the host waits for the stream 0 of the thread ("the function
    returns only once the copy has completed": CUDA Driver API, API synchronization behavior)."""
    if alone and (_waits_for_context(called) or (called.name == "cuMemcpyDtoH" and launch.stream in _DEFAULT_STREAMS)):
        return True
    streams = (each for each in called.roles if each.verb is Verb.BLOCKS and each.kind is Kind.STREAM)
    named = {args[called.index[role.parameter]] for role in streams}
    return launch.stream in named and (alone or launch.stream not in _DEFAULT_STREAMS)


def _destroyed(called: EntryPoint, args: list[int], launch: Launched) -> Launched:
    """The launch, of which nothing is known to wait if its stream was destroyed: another may have the handle then."""
    ended = called.does(Verb.DESTROYS, to=(Kind.STREAM,)) and args[0] == launch.stream
    return launch._replace(stream=None) if ended else launch


def _launched(ring: Ring, row: int, called: EntryPoint, tables: SideTables, after: int) -> Launched:
    slot, launch = ring.data["slots"][row], ring.data["launches"][row]
    number = int(slot["number"])
    noted = int(launch["number"]) == number & 0xFFFFFFFF
    place = tables.places.get(int(launch["place"])) if noted else None
    grid, block = _shape(launch) if noted and ring.shaped else (None, None)
    if place is None:
        function = next(called.index[role.parameter] for role in called.roles if role.verb is Verb.LAUNCHES)
        handle = int(slot["args"][function]) if function < len(slot["args"]) else 0
        return Launched(handle, None, 0, ring.thread, number, after, (), grid, block)
    words = _words(place, _values(launch, ring.shaped), int(ring.data["on_host"][row]))
    return Launched(place.function, place.stream, place.stack, ring.thread, number, after, words, grid, block)


def _shape(launch: Any) -> tuple[Dimensions | None, Dimensions | None]:
    grid, block = _dimensions(launch, "grid"), _dimensions(launch, "block")
    return (grid, block) if all(grid) and all(block) else (None, None)


def _dimensions(launch: Any, name: str) -> Dimensions:
    return int(launch[f"{name}_x"]), int(launch[f"{name}_y"]), int(launch[f"{name}_z"])


def _values(launch: Any, shaped: bool) -> list[int | None]:
    """None for what could not be read. Recordings without shapes had 0 for that."""
    if not shaped:
        data = launch.tobytes()[-8 * layout.OLD_LAUNCH_WORDS :]
        return [value or None for value in struct.unpack(f"<{layout.OLD_LAUNCH_WORDS}Q", data)]
    unread = int(launch["unread"])
    return [None if unread >> number & 1 else value for number, value in enumerate(launch["words"].tolist())]


def _words(place: LaunchPlace, values: list[int | None], on_host: int) -> tuple[Word, ...]:
    parameters = [parameter for parameter, _, _ in place.words]
    return tuple(
        Word(
            parameter,
            offset,
            offset == 0 and parameters.count(parameter) == 1,
            value,
            bool(on_host >> number & 1),
            size,
        )
        for number, ((parameter, offset, size), value) in enumerate(zip(place.words, values, strict=False))
    )
