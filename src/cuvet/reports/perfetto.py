"""A recording as a trace for Perfetto: TrackEvents in protocol buffers.

Numbers of fields are those of Perfetto's sources (``protos/perfetto/trace``: ``trace_packet.proto``, ``track_event/*.proto``,
``interned_data/interned_data.proto``). How such a trace is made: perfetto.dev, Writing TrackEvent Protos Synthetically.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from cuvet.analysis.history import NO_STREAM, History
from cuvet.catalog import api_of, status_name
from cuvet.catalog.catalog import Parameter
from cuvet.findings import Finding, Report
from cuvet.printable import printable
from cuvet.recording.layout import PENDING
from cuvet.reports import summary, terminal
from cuvet.reports.memory import title, where_of
from cuvet.reports.overview import chosen_calls, offsets, sites_of
from cuvet.reports.page.memory import by_place, samples, wheres

MOST_CALLS = 200_000
"""In a trace."""
MOST_FINDINGS = 10_000
MOST_POINTS = 5000
"""Of a counter."""
_SEQUENCE = 1
_CLEARED, _NEEDS_STATE = 1, 2
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
_BYTES = 3
"""CounterDescriptor.UNIT_SIZE_BYTES."""
_FIRST_TRACK = 0xC0DE << 32
_LATE = 1 << 62

Value = int | float | str


@lru_cache(maxsize=1 << 14)
def varint(value: int) -> bytes:
    """A number of 64 bits; a negative one as its two's complement."""
    value &= (1 << 64) - 1
    if value < 0x80:
        return bytes((value,))
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def number(key: int, value: int) -> bytes:
    return varint(key << 3) + varint(value)


def fixed64(key: int, value: int) -> bytes:
    return varint(key << 3 | 1) + struct.pack("<Q", value)


def double(key: int, value: float) -> bytes:
    return varint(key << 3 | 1) + struct.pack("<d", value)


def message(key: int, *parts: bytes) -> bytes:
    data = b"".join(parts)
    return varint(key << 3 | 2) + varint(len(data)) + data


def string(key: int, text: str) -> bytes:
    return message(key, printable(text).encode())


@dataclass(slots=True)
class _Trace:
    """What has been written. Texts of ``names``, ``keys`` and ``values`` are told once, in the packet that has them first."""

    data: bytearray = field(default_factory=bytearray)
    tracks: int = _FIRST_TRACK
    names: dict[str, int] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)
    _fresh: list[bytes] = field(default_factory=list)

    def packet(self, *parts: bytes) -> None:
        flags = _NEEDS_STATE if self.data else _CLEARED | _NEEDS_STATE
        interned = message(12, *self._fresh) if self._fresh else b""
        self._fresh = []
        self.data += message(1, *parts, number(10, _SEQUENCE), number(13, flags), interned)

    def track(self, *parts: bytes, parent: int = 0) -> int:
        """A new track; its number."""
        self.tracks += 1
        above = number(5, parent) if parent else b""
        self.packet(message(60, number(1, self.tracks), above, *parts))
        return self.tracks

    def event(self, kind: int, time_ns: int, track: int, *parts: bytes) -> None:
        self.packet(number(8, time_ns), message(11, number(9, kind), number(11, track), *parts))

    def name(self, text: str) -> bytes:
        """Of an event."""
        return number(10, self._interned(self.names, 2, text))

    def note(self, key: str, value: Value, *, pointer: bool = False) -> bytes:
        """A debug annotation."""
        named = number(1, self._interned(self.keys, 3, key))
        if isinstance(value, str):
            return message(4, named, number(17, self._interned(self.values, 29, value)))
        if isinstance(value, float):
            return message(4, named, double(5, value))
        return message(4, named, number(7 if pointer else 4 if value < 0 else 3, value))

    def _interned(self, known: dict[str, int], key: int, text: str) -> int:
        found = known.get(text)
        if found is None:
            found = known[text] = len(known) + 1
            self._fresh.append(message(key, number(1, found), string(2, text)))
        return found


@dataclass(slots=True)
class _Process:
    """Tracks of a process, and what its findings are about: by thread and number of a call, the findings that it belongs to."""

    history: History
    begin: int
    track: int
    threads: dict[int, int] = field(default_factory=dict)
    streams: dict[int, int] = field(default_factory=dict)
    flows: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    places: dict[int, tuple[bytes, list[bytes]]] = field(default_factory=dict)
    """By number of the place: the name of its calls, and what is noted of where it is."""
    works: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    """By stream: (time, finding) of findings about it."""


def trace(report: Report, histories: Sequence[History], most: int = MOST_CALLS) -> tuple[bytes, list[str]]:
    """The trace, and what was left out of it, in sentences, which it has too. ``most``: calls."""
    made = _Trace()
    stored = sum(len(each.thread) for each in histories)
    left_out = [sentence for each in histories for sentence in each.left_out]
    if stored > most:
        left_out.append(
            f"the trace has {most:,} of {stored:,} recorded calls: those of findings, those that failed, and the longest"
        )
    if len(report.findings) > MOST_FINDINGS:
        left_out.append(f"the trace has the first {MOST_FINDINGS:,} of {len(report.findings):,} findings")
    findings = report.findings[:MOST_FINDINGS]
    _about(made, report, left_out)
    begins = offsets(histories)
    processes = [_process(made, history, begin) for history, begin in zip(histories, begins, strict=True)]
    _findings(made, findings, processes)
    for process in processes:
        share = max(most * len(process.history.thread) // max(stored, 1), 1)
        _calls(made, process, findings, share)
        _memory(made, process)
    return bytes(made.data), left_out


def _about(made: _Trace, report: Report, left_out: Iterable[str]) -> None:
    """An event at the beginning that says what this is."""
    track = made.track(string(2, "cuvet"))
    ((totals, _),) = summary.totals(report)
    notes = [made.note("program", " ".join(report.program.argv)), made.note("cuvet", report.tool.version)]
    notes += [made.note(f"left out {index}", sentence) for index, sentence in enumerate(left_out, 1)]
    notes += [made.note(f"not checked {index}", sentence) for index, sentence in enumerate(report.not_checked, 1)]
    made.event(_INSTANT, 0, track, made.name(totals), *notes)


def _process(made: _Trace, history: History, begin: int) -> _Process:
    program = history.executable.rpartition("/")[2] or "process"
    return _Process(history, begin, made.track(message(3, number(1, history.process), string(6, program))))


def _findings(made: _Trace, findings: Sequence[Finding], processes: Sequence[_Process]) -> None:
    """A track with an instant for each, from which arrows lead to its calls."""
    if not findings:
        return
    by_pid = {each.history.process: each for each in processes}
    track = made.track(string(2, "findings"))
    for flow, finding in enumerate(findings, 1):
        process = by_pid.get(finding.site.process)
        for site in sites_of(finding):
            if site.process in by_pid:
                by_pid[site.process].flows[site.thread, site.call].append(flow)
        for thing in finding.objects:
            if thing.kind == "stream" and process is not None:
                process.works[int(thing.handle, 16)].append((finding.site.time_ns, flow))
        notes = [
            made.note("rule", f"{finding.rule} {finding.name}"),
            made.note("severity", finding.severity),
            made.note("place", terminal.place_of(terminal.located(finding.site)) or "no stack was recorded"),
            *(made.note(f"because {index}", reason) for index, reason in enumerate(finding.because, 1)),
            *([made.note("help", finding.help)] if finding.help else []),
        ]
        time_ns = finding.site.time_ns + (process.begin if process is not None else 0)
        made.event(_INSTANT, time_ns, track, string(23, terminal.sentence(finding)), *notes, fixed64(47, flow))


def _calls(made: _Trace, process: _Process, findings: Sequence[Finding], most: int) -> None:
    """Slices of threads, and instants of streams, in the order of time."""
    history, chosen = process.history, chosen_calls(process.history, findings, most)
    last_works = _last_works(process, chosen)
    ends: dict[int, list[int]] = defaultdict(list)
    """By thread: when the slices end that have begun, the outermost first."""
    whens = zip(*(column[chosen].tolist() for column in (history.entered_ns, history.duration_ns)), strict=True)
    rows = zip(chosen.tolist(), whens, history.arguments_of(chosen), strict=True)
    for row, (entered, duration), arguments in rows:
        thread, stream = int(history.thread[row]), int(history.stream[row])
        track, open_ = _thread_track(made, process, thread), ends[thread]
        _end(made, process, track, open_, entered)
        name, notes = _described(made, process, row, arguments)
        made.event(_BEGIN, entered + process.begin, track, name, *notes)
        until = entered + duration if duration >= 0 else history.end_ns
        open_.append(min(until, open_[-1]) if open_ else until)
        if stream != NO_STREAM:
            flows = (fixed64(47, flow) for flow in last_works.get(row, ()))
            on, by = _stream_track(made, process, stream), made.note("thread", thread)
            made.event(_INSTANT, entered + process.begin, on, name, by, *flows)
    for thread, open_ in ends.items():
        _end(made, process, process.threads[thread], open_, _LATE)


def _described(made: _Trace, process: _Process, row: int, words: Sequence[int]) -> tuple[bytes, list[bytes]]:
    """The name of a slice, and its annotations and flows."""
    history, place = process.history, int(process.history.place[row])
    if place not in process.places:
        site, library = history.place_of(place)
        where = [made.note("place", where_of(site, library))] if site.frames else []
        process.places[place] = made.name(site.api), where
    name, where = process.places[place]
    thread, call = int(history.thread[row]), int(history.number[row])
    result = _result(history, place, int(history.status[row]))
    notes = [made.note("call", call), made.note("result", result), *where]
    notes += _arguments(made, history, place, words)
    return name, notes + [fixed64(47, flow) for flow in process.flows.get((thread, call), ())]


def _end(made: _Trace, process: _Process, track: int, ends: list[int], until: int) -> None:
    """Slices that end before ``until``, the innermost first."""
    while ends and ends[-1] <= until:
        made.event(_END, ends.pop() + process.begin, track)


def _last_works(process: _Process, chosen: Iterable[int]) -> dict[int, list[int]]:
    """By row: the findings before which the call was the last of those chosen that gave their stream work."""
    rows: dict[int, list[int]] = defaultdict(list)
    history = process.history
    streams = history.stream[list(chosen)].tolist() if process.works else []
    for row, stream in zip(chosen, streams, strict=False):
        if stream in process.works:
            rows[stream].append(int(row))
    found: dict[int, list[int]] = defaultdict(list)
    for stream, findings in process.works.items():
        times = [int(history.entered_ns[row]) for row in rows[stream]]
        for time_ns, flow in findings:
            at = bisect_left(times, time_ns) - 1
            if at >= 0:
                found[rows[stream][at]].append(flow)
    return found


def _thread_track(made: _Trace, process: _Process, thread: int) -> int:
    if thread not in process.threads:
        name = process.history.threads.get(thread, "") or f"thread {thread}"
        described = message(4, number(1, process.history.process), number(2, thread), string(5, name))
        process.threads[thread] = made.track(described, parent=process.track)
    return process.threads[thread]


def _stream_track(made: _Trace, process: _Process, stream: int) -> int:
    if stream not in process.streams:
        name = process.history.name_of(stream) or "stream"
        process.streams[stream] = made.track(string(2, f"{name} ({stream:#x})"), parent=process.track)
    return process.streams[stream]


def _result(history: History, place: int, status: int) -> str:
    if status == PENDING:
        return "did not return"
    entry_point = history.entry_point_of(place)
    return f"{status_name(api_of(entry_point.name if entry_point else history.api_of(place)), status)} ({status})"


def _arguments(made: _Trace, history: History, place: int, words: Sequence[int]) -> Iterator[bytes]:
    entry_point = history.entry_point_of(place)
    if entry_point is None:
        return
    for parameter, word in zip(entry_point.parameters, words, strict=False):
        if parameter.abi in ("struct", "complex"):
            continue
        pointer = "*" in parameter.type or (parameter.bytes == 8 and parameter.type.startswith(("CU", "cu")))
        yield made.note(parameter.name, value_of(parameter, word), pointer=pointer)


def value_of(parameter: Parameter, word: int) -> int | float:
    """The value of an argument, of the word that a recording has."""
    if parameter.abi == "float":
        return float(struct.unpack("<f", struct.pack("<I", word & 0xFFFFFFFF))[0])
    if parameter.abi == "double":
        return float(struct.unpack("<d", struct.pack("<Q", word))[0])
    value = word & ((1 << 8 * parameter.bytes) - 1) if 0 < parameter.bytes < 8 else word
    bits = 8 * (parameter.bytes or 8)
    return value - (1 << bits) if parameter.signed and value >> (bits - 1) & 1 else value


def _memory(made: _Trace, process: _Process) -> None:
    """A counter for each kind of memory, and for each place that held much of it."""
    for held in process.history.memory:
        whole = made.track(string(2, title(*held.heap)), message(8, number(3, _BYTES)), parent=process.track)
        rows = samples(held, MOST_POINTS)
        times = held.time_ns[rows].tolist()
        _counter(made, process, whole, times, held.bytes.cumsum()[rows].tolist())
        for place, where in enumerate(wheres(held)):
            track = made.track(
                string(2, f"{title(*held.heap)}: {where}"), message(8, number(3, _BYTES)), parent=process.track
            )
            _counter(made, process, track, times, by_place(held, place)[rows].tolist())


def _counter(made: _Trace, process: _Process, track: int, times: Sequence[int], values: Sequence[int]) -> None:
    before = 0
    for time_ns, value in zip(times, values, strict=True):
        if value != before:
            made.event(_COUNTER, time_ns + process.begin, track, number(30, value))
            before = value
