"""The trace of ``cuvet report --perfetto``, read by a small decoder of protocol buffers."""

from __future__ import annotations

import struct
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuvet import catalog
from cuvet.analysis import ProcessAnalysis, analyze
from cuvet.analysis.history import History
from cuvet.catalog import Kind
from cuvet.cli import main
from cuvet.findings import Report
from cuvet.reports.perfetto import trace, value_of, varint

sys.path.insert(0, str(Path(__file__).parents[1] / "recording"))
import writing as w

CONTEXT, STREAM, ADDRESS = 0xC000, 0x5000, 0x7F0000000000
EVIL = "</script>\x1b[31m\x07"
Fields = dict[int, list[Any]]
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def number(data: bytes, at: int) -> tuple[int, int]:
    """A varint and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not data[at - 1] & 0x80:
            return value, at


def fields(data: bytes) -> Fields:
    """Of a message: numbers, and bytes of what has a length."""
    found: Fields = defaultdict(list)
    at = 0
    while at < len(data):
        key, at = number(data, at)
        if key & 7 == 0:
            value, at = number(data, at)
            found[key >> 3].append(value)
        elif key & 7 == 1:
            found[key >> 3].append(struct.unpack_from("<Q", data, at)[0])
            at += 8
        else:
            assert key & 7 == 2
            length, at = number(data, at)
            assert at + length <= len(data)
            found[key >> 3].append(data[at : at + length])
            at += length
    return found


class Trace:
    """``tracks``: their names by number; ``parents`` likewise; ``events``: (type, time, track, name, annotations, flows, counter)."""

    def __init__(self, data: bytes) -> None:
        self.tracks: dict[int, str] = {}
        self.parents: dict[int, int] = {}
        self.events: list[tuple[int, int, str, str, dict[str, Any], list[int], int | None]] = []
        known: dict[int, dict[int, str]] = defaultdict(dict)
        for index, packet in enumerate(fields(data)[1]):
            found = fields(packet)
            assert found[10] == [1] and found[13] == [2 if index else 3]
            for interned in found[12]:
                for kind, entries in fields(interned).items():
                    for entry in map(fields, entries):
                        assert entry[1][0] not in known[kind]
                        known[kind][entry[1][0]] = entry[2][0].decode()
            for each in found[60]:
                self._track(fields(each))
            for each in found[11]:
                self._event(found[8][0], fields(each), known)

    def _track(self, found: Fields) -> None:
        (uuid,) = found[1]
        assert uuid not in self.tracks
        name = found[2] or [fields(each)[6][0] for each in found[3]] or [fields(each)[5][0] for each in found[4]]
        self.tracks[uuid] = name[0].decode()
        self.parents[uuid] = found[5][0] if found[5] else 0
        assert not found[5] or found[5][0] in self.tracks

    def _event(self, time: int, found: Fields, known: dict[int, dict[int, str]]) -> None:
        names = [known[2][each] for each in found[10]] + [each.decode() for each in found[23]]
        notes: dict[str, Any] = {}
        for note in map(fields, found[4]):
            (value,) = [known[29][each] for each in note[17]] + note[3] + note[4] + note[7]
            notes[known[3][note[1][0]]] = value
        counter = found[30][0] if found[30] else None
        self.events.append((found[9][0], time, self.tracks[found[11][0]], "".join(names), notes, found[47], counter))

    def slices(self, track: str) -> Iterator[tuple[int, int, int, str, dict[str, Any], list[int]]]:
        """(begin, end, depth, name, annotations, flows) of a track, as they end."""
        open_: list[tuple[int, str, dict[str, Any], list[int]]] = []
        before = 0
        for kind, time, own, name, notes, flows, _ in self.events:
            if own != track or kind not in (BEGIN, END):
                continue
            assert time >= before
            before = time
            if kind == BEGIN:
                open_.append((time, name, notes, flows))
            else:
                begin, called, said, flowing = open_.pop()
                yield begin, time, len(open_), called, said, flowing
        assert not open_

    def of(self, kind: int, track: str) -> list[Any]:
        return [each for each in self.events if each[0] == kind and each[2] == track]


def recorded(directory: Path, name: str = "main", more: bytes = b"") -> Path:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    records = (
        w.thread(1, name[:200])
        + w.python_code(1, "train.py", name)
        + w.stack(1, (0x2000,), [(1, 2)])
        + w.call("cuInit", [0], number=1, entered=1, context=0)
        + w.call("cuDevicePrimaryCtxRetain", [1, 0], number=2, entered=20, context=0, outputs=[(0, Kind.CONTEXT, 1, CONTEXT)])
        + w.call("cuMemAlloc", [1, 4096], number=3, entered=40, context=CONTEXT, outputs=[(0, Kind.MEMORY, 1, ADDRESS)], stack=1)
        + w.call("cuStreamCreate", [1, 0], number=4, entered=60, context=CONTEXT, outputs=[(0, Kind.STREAM, 1, STREAM)], stack=1)
        + w.call("cuMemsetD8Async", [ADDRESS, 0, 8, STREAM], number=5, entered=80, context=CONTEXT, stack=1, flags=w.WORK,
                 objects=[(0, Kind.MEMORY, 3, 1, ADDRESS, CONTEXT), (3, Kind.STREAM, 3, 1, STREAM, CONTEXT)])
        + more
        + w.call("cuStreamDestroy", [STREAM], number=8, entered=140, context=CONTEXT, stack=1,
                 objects=[(0, Kind.STREAM, 3, 1, STREAM, CONTEXT)])
        + w.call("cuStreamSynchronize", [STREAM], number=9, entered=160, context=CONTEXT, stack=1, status=400,
                 flags=w.ORDER | w.SUSPECT | w.FAILED, objects=[(0, Kind.STREAM, 2, 1, STREAM, CONTEXT)])
    )  # fmt: skip
    w.write(directory, [w.chunk(records)], executable="/usr/bin/train")
    return directory


def analysed(directory: Path) -> tuple[Report, list[History]]:
    found: list[History] = []

    def keep(process: ProcessAnalysis) -> None:
        found.append(process.history())

    return analyze([directory], then=keep), found


def made(directory: Path, **options: int) -> Trace:
    data, _ = trace(*analysed(directory), **options)
    return Trace(data)


def test_calls_are_slices_of_their_thread(tmp_path: Path) -> None:
    found = made(recorded(tmp_path / "rec"))
    slices = [*found.slices("main")]
    assert [each[:4] for each in slices] == [
        (1, 11, 0, "cuInit"), (20, 30, 0, "cuDevicePrimaryCtxRetain"), (40, 50, 0, "cuMemAlloc"), (60, 70, 0, "cuStreamCreate"),
        (80, 90, 0, "cuMemsetD8Async"), (140, 150, 0, "cuStreamDestroy"), (160, 170, 0, "cuStreamSynchronize"),
    ]  # fmt: skip
    *_, (_, _, _, _, notes, _) = slices
    assert notes == {
        "call": 9, "result": "CUDA_ERROR_INVALID_HANDLE (400)", "place": "train.py:2 in main (cuStreamSynchronize)", "hStream": STREAM,
    }  # fmt: skip
    (notes,) = (each[4] for each in slices if each[3] == "cuMemsetD8Async")
    assert {key: notes[key] for key in ("dstDevice", "uc", "N", "hStream")} == {
        "dstDevice": ADDRESS,
        "uc": 0,
        "N": 8,
        "hStream": STREAM,
    }


def test_a_call_within_another_is_nested_in_it(tmp_path: Path) -> None:
    outer = w.call("cuCtxSynchronize", number=6, entered=100, returned=130, context=CONTEXT, flags=w.ORDER)
    inner = w.call("cuCtxGetCurrent", [1], number=7, entered=110, returned=120, context=CONTEXT)
    found = made(recorded(tmp_path / "rec", more=outer + inner))
    assert [each[:4] for each in found.slices("main") if 100 <= each[0] < 140] == [
        (110, 120, 1, "cuCtxGetCurrent"), (100, 130, 0, "cuCtxSynchronize"),
    ]  # fmt: skip


def test_a_call_that_did_not_return_lasts_to_the_end(tmp_path: Path) -> None:
    waits = w.call(
        "cuCtxSynchronize", number=1, entered=100, context=CONTEXT, flags=w.ORDER, status=w.PENDING, thread=2
    )
    found = made(recorded(tmp_path / "rec", more=waits))
    ((begin, end, _, _, notes, _),) = found.slices("thread 2")
    assert (begin, end, notes["result"]) == (100, 170, "did not return")


def test_work_is_on_its_stream_and_leads_to_the_finding(tmp_path: Path) -> None:
    found = made(recorded(tmp_path / "rec"))
    ((_, time, _, name, notes, flows, _),) = found.of(INSTANT, "stream#1 (0x5000)")
    assert (time, name, notes["thread"], flows) == (80, "cuMemsetD8Async", 1, [1])
    ((_, time, _, name, notes, flows, _),) = found.of(INSTANT, "findings")
    assert (time, flows) == (160, [1]) and name.startswith("cuStreamSynchronize: stream#1 was destroyed")
    assert notes["rule"] == "CV201 stream-use-after-destroy" and notes["place"] == "train.py:2 in main"
    assert [each[3] for each in found.slices("main") if each[5]] == [
        "cuStreamCreate",
        "cuStreamDestroy",
        "cuStreamSynchronize",
    ]


def test_memory_has_counters(tmp_path: Path) -> None:
    more = w.call(
        "cuMemFree",
        [ADDRESS],
        number=6,
        entered=100,
        context=CONTEXT,
        objects=[(0, Kind.MEMORY, 3, 1, ADDRESS, CONTEXT)],
    )
    found = made(recorded(tmp_path / "rec", more=more))
    for track in ("memory of GPU 0", "memory of GPU 0: train.py:2 in main (cuMemAlloc)"):
        assert [(each[1], each[6]) for each in found.of(COUNTER, track)] == [(40, 4096), (100, 0)]


def test_tracks_stand_below_their_process(tmp_path: Path) -> None:
    found = made(recorded(tmp_path / "rec"))
    by_name = {name: uuid for uuid, name in found.tracks.items()}
    for name in ("main", "stream#1 (0x5000)", "memory of GPU 0"):
        assert found.tracks[found.parents[by_name[name]]] == "train"


def test_names_of_others_are_printable(tmp_path: Path) -> None:
    data, _ = trace(*analysed(recorded(tmp_path / "rec", name=EVIL)))
    found = Trace(data)
    assert "</script>\\x1b[31m\\x07" in found.tracks.values() and b"\x1b[31m" not in data


def test_a_trace_of_too_many_calls_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    more = b"".join(
        w.call("cuCtxGetCurrent", [1], number=6, entered=100 + each, returned=100 + each, context=CONTEXT)
        for each in range(30)
    )
    directory = recorded(tmp_path / "rec", more=more)
    report, histories = analysed(directory)
    data, left_out = trace(report, histories, most=10)
    found = Trace(data)
    assert len([each for each in found.events if each[0] == BEGIN]) == 10
    assert left_out == ["the trace has 10 of 37 recorded calls: those of findings, those that failed, and the longest"]
    ((_, _, _, totals, notes, _, _),) = found.of(INSTANT, "cuvet")
    assert totals.startswith("1 error, 0 warnings") and notes["left out 1"] == left_out[0]
    monkeypatch.setattr("cuvet.reports.perfetto.trace.__defaults__", (10,))
    assert main(["report", "--perfetto", str(tmp_path / "trace.pb"), str(directory)]) == 0
    assert capsys.readouterr().err == f"cuvet: {tmp_path / 'trace.pb'}: {left_out[0]}\n"
    assert (tmp_path / "trace.pb").read_bytes() == data


def test_a_trace_that_has_all_says_nothing(tmp_path: Path) -> None:
    more = b"".join(w.call("cuCtxGetCurrent", [1], number=each, entered=20 * each, context=CONTEXT) for each in (6, 7))
    report, histories = analysed(recorded(tmp_path / "rec", more=more))
    assert trace(report, histories)[1] == []


def test_processes_begin_when_they_began(tmp_path: Path) -> None:
    report, (history,) = analysed(recorded(tmp_path / "rec"))
    other = replace(history, process=2000, start_ns=history.start_ns + 5000, executable="/usr/bin/other")
    found = Trace(trace(report, [history, other])[0])
    begins = [each[1] for each in found.events if each[0] == BEGIN and each[3] == "cuInit"]
    assert begins == [1, 5001]


def test_a_recording_without_calls_has_a_trace(tmp_path: Path) -> None:
    w.write(tmp_path, [])
    found = made(tmp_path)
    assert [each[2] for each in found.events] == ["cuvet"]


@given(st.integers(0, (1 << 64) - 1))
def test_a_varint_is_read_back(value: int) -> None:
    assert number(varint(value), 0) == (value, len(varint(value)))


@given(st.integers(-(1 << 63), -1))
def test_a_negative_number_is_its_complement(value: int) -> None:
    assert number(varint(value), 0)[0] == value + (1 << 64)
    assert len(varint(value)) == 10


@pytest.mark.parametrize(
    ("name", "parameter", "word", "value"),
    [
        ("cuMemsetD8Async", "uc", 0x1FF, 0xFF),
        ("cuDeviceGet", "ordinal", (1 << 64) - 1, -1),
        ("cuMemAlloc", "bytesize", 1 << 40, 1 << 40),
        ("cublasSscal", "n", 5, 5),
    ],
)
def test_arguments_have_their_type(name: str, parameter: str, word: int, value: float) -> None:
    entry_point = catalog.recorded_entry_point(name)
    assert entry_point is not None
    found = entry_point.parameters[entry_point.index[parameter]]
    assert value_of(found, word) == value


def test_floats_are_their_bits(tmp_path: Path) -> None:
    every = [parameter for entry_point in catalog.recorded() for parameter in entry_point.parameters]
    for abi, code, bits in (("float", "<f", "<I"), ("double", "<d", "<Q")):
        parameter = next(each for each in every if each.abi == abi)
        assert value_of(parameter, struct.unpack(bits, struct.pack(code, 1.5))[0]) == 1.5


def test_a_random_order_of_ends_is_nested(tmp_path: Path) -> None:
    """What a damaged recording says of calls that overlap: no slice ends behind the one around it."""
    report, (history,) = analysed(recorded(tmp_path / "rec"))
    rng = np.random.default_rng(3)
    count = len(history.thread)
    for _ in range(50):
        shuffled = replace(
            history, entered_ns=np.sort(rng.integers(0, 50, count)), duration_ns=rng.integers(-1, 50, count)
        )
        data, _ = trace(report, [shuffled])
        assert len([*Trace(data).slices("main")]) == count
