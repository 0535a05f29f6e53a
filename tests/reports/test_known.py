from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from cuvet import CuvetError
from cuvet.findings import EarlierCall, Finding, Frame
from cuvet.reports.known import Known, read

from .findings import finding, frame, report, site


def at(line: int, function: str = "drain", folder: str = "/a") -> Frame:
    return frame(function, f"{folder}/pool.cu", line)


def lines(findings: Iterable[Finding]) -> list[int | None]:
    return [each.site.frames[0].line for each in findings]


@pytest.mark.parametrize(
    "now",
    [
        finding(at(8)),
        finding(at(80)),
        finding(at(8, folder="/another/checkout")),
        finding(at(8), message="stream#7 was destroyed before this call", severity="note"),
    ],
)
def test_what_is_in_the_baseline_is_not_new(now: Finding) -> None:
    known = Known([finding(at(8))])
    assert known.has(now) and known.new([now]) == ((), 1)


@pytest.mark.parametrize(
    "now",
    [
        finding(at(8), rule="CV202"),
        finding(at(8), api="cuStreamQuery"),
        finding(at(8, "fill")),
        finding(frame("drain", "/a/other.cu", 8)),
        finding(at(8), frame("caller", "/a/pool.cu", 3)),
        finding(),
    ],
)
def test_what_is_not_is(now: Finding) -> None:
    known = Known([finding(at(8))])
    assert not known.has(now) and known.new([now]) == ((now,), 0)


def test_a_second_one_in_the_function_is_new() -> None:
    known = Known([finding(at(8)), finding(at(30))])
    assert lines(known.new([finding(at(line)) for line in (8, 20, 30)])[0]) == [20]
    assert lines(known.new([finding(at(line)) for line in (9, 21, 31)])[0]) == [31], (
        "none is where it was: as many as there were"
    )
    assert known.new([finding(at(9)), finding(at(31))]) == ((), 2)


def test_a_race_has_two_sides() -> None:
    def race(other: str) -> Finding:
        return finding(at(8), earlier=(EarlierCall(text="wrote", site=site(at(3, other))),))

    known = Known([race("fill")])
    assert known.new([race("fill")]) == ((), 1)
    assert known.new([race("copy")])[1] == 0


def test_what_followed_from_another_is_known_too() -> None:
    known = Known([finding(at(8), consequences=(finding(at(9, "fill"), rule="CV202"),))])
    assert known.new([finding(at(9, "fill"), rule="CV202")]) == ((), 1)


def test_what_the_same_rule_says_behind_a_known_one_may_be_new() -> None:
    behind = (
        finding(at(9, "fill")),
        finding(at(30, "copy")),
        finding(at(40, "other"), rule="CV202"),
    )
    known = Known([finding(at(8), consequences=behind[:1])])
    assert known.new([finding(at(8), consequences=behind)]) == ((behind[1],), 2)


def written(folder: Path, text: bytes) -> Path:
    (folder / "base.json").write_bytes(text)
    return folder / "base.json"


def test_a_report_in_json_is_a_baseline(tmp_path: Path) -> None:
    known = read(written(tmp_path, msgspec.json.encode(report(finding(at(8))))), leaks=False)
    assert known.has(finding(at(9)))
    assert not read(written(tmp_path, msgspec.json.encode(report())), leaks=False).has(finding(at(8)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is not a baseline: it is no recording, and no report of --format json"),
        (b'{"schema": "cuvet-baseline/1", "findings": []}', "is not a baseline"),
        (b'{"findings": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "is not a baseline"),
        (msgspec.json.encode(report()).replace(b"cuvet-report/1", b"cuvet-report/9"), "its schema is cuvet-report/9"),
    ],
)
def test_what_is_no_baseline_is_told_in_one_line(tmp_path: Path, text: bytes, message: str) -> None:
    with pytest.raises(CuvetError) as caught:
        read(written(tmp_path, text), leaks=False)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("what", ["missing", "fifo", "device", "huge", "empty directory"])
def test_what_is_no_file_is_told_in_one_line(tmp_path: Path, what: str) -> None:
    path = tmp_path / "base"
    if what == "fifo":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    elif what == "huge":
        with open(path, "wb") as file:
            file.truncate(1 << 40)
    elif what == "empty directory":
        path.mkdir()
    with pytest.raises(CuvetError) as caught:
        read(path, leaks=False)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
