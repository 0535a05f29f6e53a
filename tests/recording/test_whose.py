"""``cuvet who``: the memory that covered an address, what lay beside it, and the launches that were given it."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path

import pytest
from tests.image.core_dumps import dump

from cuvet.catalog import Kind
from cuvet.cli import main

sys.path.insert(0, str(Path(__file__).parent))
import writing as w
from test_analysis import Thread
from test_launches import FUNCTION, LAUNCH_ARGS, MEMORY, lost, slot, started

AT = 0x7F0000000000


def recorded(directory: Path, *records: bytes, **fields: object) -> Path:
    w.write(directory, [w.chunk(b"".join(records))], **fields)
    return directory


def allocated(t: Thread, address: int = AT, size: int = 4096) -> bytes:
    return t.call("cuMemAlloc", 1, size, outputs=[(0, Kind.MEMORY, 1, address)])


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, list[str]]:
    code = main(["who", *map(str, arguments)])
    return code, capsys.readouterr().out.splitlines()


def test_every_memory_that_covered_an_address_is_told_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    t = Thread()
    recorded(tmp_path, t.setup(), allocated(t), t.call("cuMemFree", AT), allocated(t, AT - 4096, 1 << 20))
    assert said(capsys, "0x7f0000000010", tmp_path) == (
        0,
        [
            "0x7f0000000010: memory covered it 2 times, oldest first",
            "1. 16 bytes into device-memory#1: 4 KiB at 0x7f0000000000, device 0",
            "   made by cuMemAlloc [thread 1, call #4]",
            "   freed by cuMemFree [thread 1, call #5]",
            "2. 4,112 bytes into device-memory#2: 1 MiB at 0x7efffffff000, device 0",
            "   made by cuMemAlloc [thread 1, call #6]",
            "   alive when the recording ended",
        ],
    )


@pytest.mark.parametrize(
    ("address", "place"),
    [
        (AT + 4096, "at the end of"),
        (AT + 5000, "904 bytes beyond the end of"),
        (AT - 8, "8 bytes before the start of"),
    ],
)
def test_what_lay_beside_an_address_is_told_with_its_distance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], address: int, place: str
) -> None:
    t = Thread()
    recorded(tmp_path, t.setup(), allocated(t), allocated(t, AT + (4 << 20)))
    code, lines = said(capsys, hex(address), tmp_path)
    assert (code, lines[1]) == (0, f"1. {place} device-memory#1: 4 KiB at {AT:#x}, device 0")
    assert len([line for line in lines if line[0].isdigit() and ". " in line]) == 1


@pytest.mark.parametrize("distance", [2 << 20, 1 << 30])
def test_memory_that_is_megabytes_away_is_not_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], distance: int
) -> None:
    t = Thread()
    recorded(tmp_path, t.setup(), allocated(t))
    code, lines = said(capsys, f"{AT + distance:x}", tmp_path)
    assert code == 1
    assert lines == [f"{AT + distance:#x}: no memory of CUDA was here or within 1 MiB, as far as it was recorded"]


def test_a_directory_above_stands_for_its_recordings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    t = Thread()
    (tmp_path / "job/rec.1").mkdir(parents=True)
    recorded(tmp_path / "job/rec.1", t.setup(), allocated(t))
    code, lines = said(capsys, "0x7f0000000010", tmp_path)
    assert code == 0 and "16 bytes into device-memory#1" in "".join(lines)


def test_the_launches_that_were_given_it_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    t = Thread()
    records = started(t) + w.launch_place(5, FUNCTION, stack=1, words=[(0, 0), (1, 0)])
    number = t.calls + 2
    slots = {number - 1: slot("cuLaunchKernel", number - 1, *LAUNCH_ARGS)}
    ring = w.launches(number, 1, slots, {number - 1: (5, [MEMORY, 7])})
    t.calls += 1
    recorded(tmp_path, records, ring, lost(t))
    code, lines = said(capsys, hex(MEMORY + 64), tmp_path)
    assert code == 0
    assert lines[-2:] == [
        "launches that were given it, of those in the flight recorders when a context was lost:",
        "   scale at /home/me/train.py:10 in main: argument 0 = 0xd000",
    ]
    assert said(capsys, hex(MEMORY + 4096), tmp_path)[1][-1].startswith("   freed by cuMemFree")


def test_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    t = Thread()
    recorded(tmp_path, t.setup(), allocated(t), t.call("cuMemFree", AT))
    assert main(["who", "--format", "json", hex(AT), str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "cuvet-whose/1"
    assert [(each["name"], each["offset"], each["end"]) for each in found["lives"]] == [("device-memory#1", 0, "freed")]


def test_a_damaged_recording_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    t = Thread()
    made = t.setup() + allocated(t)
    w.write(tmp_path, [w.chunk(made + struct.pack("<IHH", 1 << 20, 1, 0))])
    code, lines = said(capsys, hex(AT), tmp_path)
    place = f"1000-1.cuvet: byte {w.HEADER_BYTES + 64 + len(made)}"
    assert code == 0
    assert lines[-1] == f"note: the recording is damaged: {place}: a record does not fit its chunk"


def test_a_recording_that_is_named_twice_is_read_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    t, directory = Thread(), tmp_path / "recording"
    directory.mkdir()
    recorded(directory, t.setup(), allocated(t))
    (tmp_path / "link").symlink_to(directory)
    once = said(capsys, hex(AT), directory)
    assert said(capsys, hex(AT), directory, f"{directory}/.", tmp_path / "link") == once


def test_an_end_that_was_not_recorded_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    t = Thread()
    recorded(tmp_path, t.setup(), allocated(t), allocated(t))
    assert said(capsys, hex(AT), tmp_path)[1][1:4] == [
        "1. the start of device-memory#1: 4 KiB at 0x7f0000000000, device 0",
        "   made by cuMemAlloc [thread 1, call #4]",
        "   ended by a call that is not in the recording",
    ]


@pytest.mark.parametrize("text", ["7f0000000000", "0x7f0000000000", "0X7F00_00000000"])
def test_an_address_may_be_written_as_logs_do(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    t = Thread()
    recorded(tmp_path, t.setup(), allocated(t))
    assert said(capsys, text, tmp_path)[1][0] == "0x7f0000000000: memory covered it 1 time, oldest first"


NO_ADDRESSES = ["", "0x", "xyz", "-1", "+12", " 12", "_12", "١٢", "1" + "0" * 16, "7f3e__", "0x\x1b[31m"]


@pytest.mark.parametrize("text", NO_ADDRESSES)
def test_what_is_no_address_is_refused_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert main(["who", "--", text, str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert ("has more than 64 bits" if len(text) == 17 else "is not an address in hexadecimal") in error
    assert error.count("\n") == 1
    assert "\x1b" not in error


@pytest.mark.parametrize("content", [None, b"", b"CUVETREC" + bytes(4088)])
def test_a_recording_that_cannot_be_read_is_told_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "1-1.cuvet").write_bytes(content)
    assert main(["who", "10", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_the_kernel_of_a_core_dump_was_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    t = Thread()
    recorded(tmp_path, t.setup(), allocated(t), t.call("cuMemFree", AT))
    (tmp_path / "core.nvcudmp").write_bytes(dump("_Z4copyPKfPf", struct.pack("<QQ", AT + 16, 5), (8, 8)))
    code, lines = said(capsys, tmp_path / "core.nvcudmp", tmp_path)
    assert code == 0
    assert lines[0].startswith(
        "the GPU core dump core.nvcudmp says: Warp Illegal Address in copy, 176 bytes into its code"
    )
    assert lines[1:3] == [
        "0x7f0000000010: memory covered it 1 time, oldest first",
        "1. 16 bytes into device-memory#1: 4 KiB at 0x7f0000000000, device 0",
    ]
    assert not any("0x5:" in line for line in lines)
    main(["who", "--format", "json", str(tmp_path / "core.nvcudmp"), str(tmp_path)])
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "cuvet-whose-dump/1"
    assert [each["address"] for each in told["addresses"]] == ["0x7f0000000010"]


def test_a_file_that_is_no_core_dump_is_refused_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    t = Thread()
    recorded(tmp_path, t.setup())
    (tmp_path / "core.nvcudmp").write_bytes(b"\x7fELF and no more")
    assert main(["who", str(tmp_path / "core.nvcudmp"), str(tmp_path)]) == 2
    assert "cannot read" in capsys.readouterr().err
