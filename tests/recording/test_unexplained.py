"""Calls that failed and that no rule explains: listed, by place, with the likeliest causes; of libraries in a line each."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Literal

import jsonschema
import msgspec
import pytest
from rich.console import Console

from cuvet.analysis import Analysis, Meta, analyze
from cuvet.analysis.unexplained import MOST_TOLD, likely_causes
from cuvet.catalog import Kind
from cuvet.findings import Report
from cuvet.reports import terminal
from cuvet.reports.formats import sarif
from cuvet.reports.terminal import SCHEMA_FILE

sys.path.insert(0, str(Path(__file__).parent))
import writing as w
from test_analysis import Thread, report, rules

PROGRAM, LIBRARY, SIZE = 0x400000, 0x500000, 0x10000
OWN, OF_LIBRARY = 1, 2
"""Stacks."""
FAILED = w.FAILED


def places(lines: int = 1) -> bytes:
    """The stacks of calls: of Python lines from 1 on, and of a library."""
    found = w.module(PROGRAM, PROGRAM + SIZE, PROGRAM, "/home/me/train")
    found += w.module(LIBRARY, LIBRARY + SIZE, LIBRARY, "/opt/lib/libworker.so.3")
    found += w.stack(OF_LIBRARY, [LIBRARY + 0x100, PROGRAM + 0x100]) + w.python_code(1, "/home/me/train.py", "main")
    found += w.stack(OWN, (), [(1, 1)])
    return found + b"".join(w.stack(100 + line, (), [(1, 1 + line)]) for line in range(1, lines))


def run(directory: Path, records: bytes) -> Report:
    return report(directory, records, executable="/home/me/train")


def text_of(found: Report) -> str:
    stream = io.StringIO()
    terminal.render(found, Console(file=stream, width=100))
    return stream.getvalue()


def limits(t: Thread, times: int, **fields: object) -> bytes:
    return b"".join(t.call("cuCtxGetLimit", 1, 0, status=999, flags=FAILED, **fields) for _ in range(times))


def test_what_no_rule_explains_is_listed_by_place(tmp_path: Path) -> None:
    t = Thread()
    found = run(tmp_path, places() + t.setup() + limits(t, 3, stack=OWN))
    assert rules(found) == []
    (failure,) = found.unexplained
    assert (failure.api, failure.status, failure.count, failure.library) == ("cuCtxGetLimit", 999, 3, None)
    assert failure.site.frames[0].line == 1
    assert found.stats["unexplained_failures"] == 3
    shown = text_of(found)
    assert "failed: cuCtxGetLimit returned CUDA_ERROR_UNKNOWN (999), 3 times, and no rule says why" in shown
    assert "--> /home/me/train.py:1 in main" in shown
    assert "more: cuvet explain CUDA_ERROR_UNKNOWN cuCtxGetLimit" in shown
    assert "0 errors, 0 warnings, 3 unexplained failures in 6 calls" in shown


def test_those_of_a_library_are_a_line_and_no_alarm(tmp_path: Path) -> None:
    t = Thread()
    found = run(tmp_path, places() + t.setup() + limits(t, 8, stack=OF_LIBRARY))
    (failure,) = found.unexplained
    assert (failure.library, failure.count, failure.causes) == ("libworker.so.3", 8, ())
    shown = text_of(found)
    assert "failed in libraries, which may expect it:" in shown
    assert "   cuCtxGetLimit returned CUDA_ERROR_UNKNOWN (999) in libworker.so.3, 8 times\n" in shown
    assert "0 errors, 0 warnings in 11 calls" in shown


def test_those_of_a_library_name_the_line_that_called_it(tmp_path: Path) -> None:
    t = Thread()
    stacks = places() + w.stack(9, [LIBRARY + 0x100], [(1, 7)])
    found = run(tmp_path, stacks + t.setup() + limits(t, 2, stack=9) + limits(t, 1, stack=OF_LIBRARY))
    assert [failure.count for failure in found.unexplained] == [3]
    assert "(999) in libworker.so.3, 3 times, first at /home/me/train.py:7 in main\n" in text_of(found)


def test_the_same_failure_in_several_recordings_is_listed_once(tmp_path: Path) -> None:
    for rank in ("0", "1"):
        (tmp_path / rank).mkdir()
        t = Thread()
        run(tmp_path / rank, places() + t.setup() + limits(t, 3, stack=OWN))
    (failure,) = analyze([tmp_path / "0", tmp_path / "1"]).unexplained
    assert failure.count == 6


def test_what_the_runtime_does_while_the_process_exits_is_no_failure(tmp_path: Path) -> None:
    """As every program with NVIDIA's static runtime does on a GPU, from a place that has no stack."""
    t = Thread()
    made = t.call("cuLibraryLoadData", 0x1000, 0x2000, outputs=[(0, Kind.CULIBRARY.value, 1, 0x3000)])
    exiting = t.call("cuLibraryUnload", 0x3000, status=4, flags=FAILED)
    exiting += t.call("cuDevicePrimaryCtxRelease", 0, status=4, flags=FAILED)
    found = run(tmp_path, places() + t.setup() + made + exiting)
    assert (found.findings, found.unexplained) == ((), ())
    assert "0 errors, 0 warnings in " in text_of(found)


def test_answers_are_no_failures(tmp_path: Path) -> None:
    t = Thread()
    records = places() + t.setup() + t.create()
    records += t.call("cuStreamQuery", 0x5000, status=600, objects=[(0, Kind.STREAM, 3, 1, 0x5000, 0)], stack=OWN)
    records += t.call("cuPointerGetAttribute", 1, 2, 0x1234, status=1, flags=FAILED, stack=OWN)
    records += t.call("cuGraphExecUpdate", 0, 0, 0, status=910, flags=FAILED, stack=OF_LIBRARY)
    found = run(tmp_path, records)
    assert found.unexplained == ()
    assert found.stats.get("unexplained_failures", 0) == 0


def test_what_a_rule_explains_is_not_listed_again(tmp_path: Path) -> None:
    t = Thread()
    records = places() + t.setup() + t.create() + t.destroy()
    found = run(tmp_path, records + t.synchronize(alive=False, status=400, stack=OWN))
    assert rules(found) == ["stream-use-after-destroy"]
    assert found.unexplained == ()


def test_what_follows_from_a_lost_context_is_not_listed(tmp_path: Path) -> None:
    t = Thread()
    records = places() + t.setup() + t.call("cuCtxSynchronize", status=700, flags=FAILED, stack=OWN)
    records += t.create(status=700, flags=FAILED) + t.call("cuStreamDestroy", 0, status=400, flags=FAILED, stack=OWN)
    found = run(tmp_path, records)
    assert rules(found) == ["error-sticky"]
    assert found.unexplained == ()


def test_many_places_are_counted(tmp_path: Path) -> None:
    t = Thread()
    lines = MOST_TOLD + 5
    records = places(lines) + t.setup() + limits(t, 1, stack=OWN)
    records += b"".join(limits(t, 1, stack=100 + line) for line in range(1, lines))
    found = run(tmp_path, records)
    assert len(found.unexplained) == MOST_TOLD
    assert found.stats["unexplained_failures"] == lines
    assert "5 more failed calls are not listed" in text_of(found)


def test_every_format_tells_of_them(tmp_path: Path) -> None:
    t = Thread()
    found = run(tmp_path, places() + t.setup() + limits(t, 2, stack=OWN))
    document = json.loads(msgspec.json.encode(found))
    jsonschema.validate(document, json.loads(SCHEMA_FILE.read_text()))
    notes = json.loads(sarif.of_run(found, tmp_path))["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert [note["message"]["text"] for note in notes] == ["cuCtxGetLimit returned CUDA_ERROR_UNKNOWN (999), 2 times"]


def test_causes_concern_the_call(tmp_path: Path) -> None:
    """Those that rules find are left out: the rules have looked."""
    causes = [cause.cause for cause in likely_causes("cudaHostRegister", 2)]
    assert "pinned-too-much" in causes
    assert "memory-use-after-free" not in [cause.cause for cause in likely_causes("cuMemsetD2D8", 1)]
    assert likely_causes("cuCtxGetLimit", 123456) == ()


@pytest.mark.parametrize("later", [False, True])
def test_a_driver_that_is_never_initialised(tmp_path: Path, later: bool) -> None:
    t = Thread()
    refused = [
        t.call(name, 1, 0, status=3, flags=FAILED, stack=OWN, context=w.NOT_ASKED) for name in ("cuDeviceGet",) * 3
    ]
    records = places() + b"".join(refused) + (t.call("cuInit", 0, context=0) if later else b"")
    found = run(tmp_path, records)
    assert rules(found) == ([] if later else ["device-not-initialised"])
    assert [failure.count for failure in found.unexplained] == ([3] if later else [])
    if not later:
        assert found.findings[0].because == ("this call and 2 more returned CUDA_ERROR_NOT_INITIALIZED",)


@pytest.mark.parametrize("asked", ["cuDeviceGetCount", "cuCtxGetCurrent"])
@pytest.mark.parametrize("later", [False, True])
def test_a_question_whether_the_driver_is_initialised(tmp_path: Path, asked: str, later: bool) -> None:
    t = Thread()
    records = t.call(asked, 1, status=3, flags=FAILED, stack=OWN, context=w.NOT_ASKED)
    records += t.call("cuInit", 0, context=0) if later else b""
    found = run(tmp_path, places() + records)
    assert rules(found) == ([] if later else ["device-not-initialised"])
    assert found.unexplained == ()


def test_what_was_called_before_the_initialisation_is_told_so(tmp_path: Path) -> None:
    t = Thread()
    early = t.call("cuMemAlloc", 1, 64, status=3, flags=FAILED | w.LIFECYCLE, stack=OWN, context=w.NOT_ASKED)
    found = run(tmp_path, places() + early + t.call("cuInit", 0, context=0))
    text = text_of(found)
    assert "CUDA_ERROR_NOT_INITIALIZED (3): cuInit was called only afterwards, by thread 1 at call #2" in text
    assert "no rule says why" not in text
    assert "unexplained" not in text


def test_before_the_initialisation_only_what_it_explains_is_told_so(tmp_path: Path) -> None:
    t = Thread()
    early = t.call("cuDeviceGetCount", 1, status=999, flags=FAILED, stack=OWN, context=w.NOT_ASKED)
    (failure,) = run(tmp_path, places() + early + t.call("cuInit", 0, context=0)).unexplained
    assert (failure.api, failure.reason) == ("cuDeviceGetCount", "")


@pytest.mark.parametrize(("limit", "listed"), [("MOST_PLACES", 2), ("MOST_LOOKED_UP", 2)])
def test_of_many_places_a_number_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, listed: int
) -> None:
    monkeypatch.setattr(f"cuvet.analysis.unexplained.{limit}", listed)
    t = Thread()
    found = run(tmp_path, places(4) + t.setup() + b"".join(limits(t, 2, stack=100 + line) for line in (1, 2, 3)))
    assert [failure.site.frames[0].line for failure in found.unexplained] == [2, 3]
    assert found.stats["unexplained_failures"] == 6


@pytest.mark.parametrize(
    ("name", "device", "reason"),
    [
        ("cuCoredumpGetAttribute", "emulated", "the emulated device does not have cuCoredumpGetAttribute"),
        (
            "cuDeviceGetDevResource",
            "emulated",
            "the emulated device does not have cuDeviceGetDevResource with these arguments",
        ),
        ("cuMemAlloc", "emulated", ""),
        ("cuCoredumpGetAttribute", "real", ""),
    ],
)
def test_what_is_not_emulated_is_told_so(
    tmp_path: Path, name: str, device: Literal["emulated", "real"], reason: str
) -> None:
    t = Thread()
    records = places() + t.setup() + t.call(name, 1, 0, 0, 0, 0, status=801, flags=FAILED, stack=OWN)
    w.write(tmp_path, [w.chunk(records)], executable="/home/me/train")
    found = Analysis(tmp_path).report(Meta(pid=1000, device=device))
    (failure,) = found.unexplained
    assert (failure.api, failure.reason) == (name, reason)
    assert bool(failure.causes) == (not reason)
    notes = json.loads(sarif.of_run(found, tmp_path))["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert notes[0]["message"]["text"].endswith(reason or "(801)")


def test_a_forked_child_is_told_of_the_fork_alone(tmp_path: Path) -> None:
    parent, child = Thread(1), Thread(7, at=9000)
    w.write(tmp_path, [w.chunk(parent.setup() + w.fork(2000, ticks=5000))], pid=1000, start=1)
    records = w.note(3, "") + child.call("cuDeviceGetCount", 1, status=3, flags=FAILED, context=0)
    records += child.call("cuStreamCreate", 1, 0, status=3, flags=w.LIFECYCLE | FAILED, context=0)
    w.write(tmp_path, [w.chunk(records)], pid=2000, start=2, parent=1000)
    found = Analysis(tmp_path).report(Meta(pid=1000))
    assert rules(found) == ["device-use-after-fork"]
    assert found.unexplained == ()


def test_a_library_may_ask_whether_the_driver_is_initialised(tmp_path: Path) -> None:
    t = Thread()
    asked = t.call("cuDeviceGet", 1, 0, status=3, flags=FAILED, stack=OF_LIBRARY, context=w.NOT_ASKED)
    assert rules(run(tmp_path, places() + asked)) == []


def test_a_driver_that_could_not_be_initialised(tmp_path: Path) -> None:
    t = Thread()
    records = places() + t.call("cuInit", 0, status=100, flags=FAILED, stack=OWN, context=w.NOT_ASKED)
    found = run(tmp_path, records + t.call("cuDeviceGet", 1, 0, status=3, flags=FAILED, stack=OWN, context=w.NOT_ASKED))
    assert [each.message for each in found.findings] == ["cuInit failed with CUDA_ERROR_NO_DEVICE (100)"]
    assert [(each.api, each.status) for each in found.unexplained] == [("cuInit", 100)]
    assert found.unexplained[0].causes


def test_a_cause_that_is_much_less_likely_than_the_first_is_not_told() -> None:
    for api in ("cudaStreamCreateWithFlags", "cudaGraphAddEmptyNode"):
        assert [each.cause for each in likely_causes(api, 1)] == ["argument-not-accepted"]
