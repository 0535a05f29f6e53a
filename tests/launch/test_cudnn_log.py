"""cuDNN's log beside the findings: entries as cuDNN 9.28.0 wrote them on a machine without a GPU."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from cuvet.analysis import cudnn_log
from cuvet.analysis.cudnn_log import Entry
from cuvet.analysis.driver_log import Failure
from cuvet.findings import Finding, Site

EMULATED = ("--device", "emulated")
NOT_INITIALIZED, BAD_PARAM = 1001, 2000
NO_DEVICES = "CUDNN_STATUS_NOT_INITIALIZED; Reason: cudaGetDeviceCount(&count) != cudaSuccess"
REAL = """
I! CuDNN (v92800 42) function cudnnCreate() called:
i!     handle: location=host; addr=0x7f98315a97b0;
i! Time: 2026-11-21T11:31:05.196178 (0d+0h+0m+0s since start)
i! Process=17042; Thread=17042; GPU=NULL; Handle=NULL; StreamId=NULL.


E! CuDNN (v92800 42) function cudnnCreate() called:
e!     Info: Traceback contains 1 message(s)
e!         Error: CUDNN_STATUS_NOT_INITIALIZED; Reason: cudaGetDeviceCount(&count) != cudaSuccess
e! Time: 2026-11-21T11:31:05.196339 (0d+0h+0m+0s since start)
e! Process=17042; Thread=17042; GPU=NULL; Handle=NULL; StreamId=NULL.


E! CuDNN (v92800 42) function cudnnSetTensor4dDescriptor() called:
e!         Error: CUDNN_STATUS_BAD_PARAM; Reason: (n <= 0) || (c <= 0) || (h <= 0) || (w <= 0)
e! Time: 2026-11-21T11:31:05.197818 (0d+0h+0m+0s since start)
e! Process=17042; Thread=17042; GPU=NULL; Handle=NULL; StreamId=NULL.
"""
PROGRAM = """
import ctypes, os, threading

ctypes.CDLL("libcudnn.so.9").cudnnSetStream(None, None)
path = os.environ["CUDNN_LOGDEST_DBG"].replace("%i", str(os.getpid()), 1)
with open(path, "w") as log:
    log.write(f'''
E! CuDNN (v92800 42) function cudnnSetStream() called:
e!         Error: CUDNN_STATUS_BAD_PARAM; Reason: handle == nullptr
e! Time: 2026-11-21T11:31:05.197818 (0d+0h+0m+0s since start)
e! Process={os.getpid()}; Thread={threading.get_native_id()}; GPU=NULL; Handle=NULL; StreamId=NULL.
''')
"""
"""The emulated cuDNN has no log: the program writes what the real one would."""


def entry(reason: str, name: str = "cudnnCreate", thread: int = 1, status: str = "CUDNN_STATUS_BAD_PARAM") -> str:
    return (
        f"\nE! CuDNN (v92800 42) function {name}() called:\ne!         Error: {status}; Reason: {reason}\n"
        "e! Time: 2026-11-21T11:31:05.197818 (0d+0h+0m+0s since start)\n"
        f"e! Process=1000; Thread={thread}; GPU=NULL; Handle=NULL; StreamId=NULL.\n\n"
    )


def failed(number: int, name: str = "cudnnCreate", thread: int = 1, *, process: int = 1000) -> Failure:
    return Failure(process, thread, number, name, BAD_PARAM, 0)


def said(directory: Path, log: str, failures: list[Failure]) -> list[list[str]]:
    """The reasons attached to a finding about each of the failures."""
    (directory / cudnn_log.FILE).write_text(log)
    sites = [Site(api="x", call=each.number, process=each.process, thread=each.thread, time_ns=0) for each in failures]
    findings = [Finding(rule="CV0", name="x", severity="error", message="x", api="x", site=site) for site in sites]
    attached = cudnn_log.attach(directory, findings, failures)
    return [[line.partition("Reason: ")[2] for line in each.library_log] for each in attached]


def test_what_cudnn_wrote() -> None:
    assert list(cudnn_log.read(REAL)) == [
        Entry(17042, 17042, "cudnnCreate", (NO_DEVICES,)),
        Entry(
            17042,
            17042,
            "cudnnSetTensor4dDescriptor",
            ("CUDNN_STATUS_BAD_PARAM; Reason: (n <= 0) || (c <= 0) || (h <= 0) || (w <= 0)",),
        ),
    ]


@pytest.mark.parametrize(
    ("log", "failures", "words"),
    [
        (entry("a"), [failed(3)], [["a"]]),
        (entry("a") + entry("b"), [failed(3), failed(5)], [["a"], ["b"]]),
        # one was not logged, or not recorded: which?
        (entry("a"), [failed(3), failed(5)], [[], []]),
        (entry("a") + entry("b"), [failed(3)], [[]]),
        # of another function that is still known
        (entry("a") + entry("b", "cudnnDestroy"), [failed(3), failed(4), failed(5, "cudnnDestroy")], [[], [], ["b"]]),
        # of another thread, process, status
        (entry("a", thread=2) + entry("b"), [failed(3), failed(3, thread=2)], [["b"], ["a"]]),
        (entry("a"), [failed(3, process=1001)], [[]]),
        (entry("a", status="CUDNN_STATUS_INTERNAL_ERROR"), [failed(3)], [[]]),
        # cut off, or run into another
        (entry("a").partition("e! Time")[0] + entry("b"), [failed(3)], [["b"]]),
        (entry("a").partition("e! Time")[0] + "e! Process=1000; Thread=1; GPU=NULL.\n", [failed(3)], [[]]),
        (entry("a").replace("e! Time", "e! Time: x\ne! Time"), [failed(3)], [[]]),
        ("\0\xff\n" * 10 + "e!  Error: X; Reason: a\n", [failed(3)], [[]]),
    ],
)  # fmt: skip
def test_an_entry_is_shown_only_if_it_is_certain_whose_it_is(
    tmp_path: Path, log: str, failures: list[Failure], words: list[list[str]]
) -> None:
    assert said(tmp_path, log, failures) == words


def kept(directory: Path, destination: str, since_ns: int = 0) -> str:
    cudnn_log.keep(directory, {"CUDNN_LOGDEST_DBG": destination}, [17042, 17043], since_ns)
    path = directory / cudnn_log.FILE
    return path.read_text() if path.exists() else ""


def test_only_the_errors_are_kept(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(REAL)
    copy = kept(tmp_path, str(tmp_path / "a.log"))
    assert list(cudnn_log.read(copy)) == list(cudnn_log.read(REAL))
    assert "I!" not in copy


def test_each_process_can_have_its_log(tmp_path: Path) -> None:
    for process in ("17042", "17043", "17044"):
        (tmp_path / f"{process}-%i.log").write_text(f"E! {process}\n")
    assert kept(tmp_path, f"{tmp_path}/%i-%i.log") == "E! 17042\nE! 17043\n"


@pytest.mark.parametrize("destination", ["", "stdout", "stderr", "absent", ".", "/dev/zero", "a\0b"])
def test_what_is_no_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, destination: str) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("stdout", "stderr"):
        Path(name).write_text(REAL)
    assert kept(tmp_path, destination) == ""


def test_a_pipe_is_left_to_its_reader(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with open(os.open(pipe, os.O_RDWR), "wb", buffering=0) as writer:
        writer.write(b"E! x\n")
        assert kept(tmp_path, str(pipe)) == ""


def test_a_log_of_an_earlier_run_is_not_read(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(REAL)
    os.utime(log, (1, 1))
    assert kept(tmp_path, str(log), time.time_ns()) == ""


def test_a_long_log_is_read_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "a.log"
    log.write_text("I! x\n" * 100 + "E! a\n")
    monkeypatch.setattr(cudnn_log, "MOST_READ", 504)
    assert kept(tmp_path, str(log)) == ""
    monkeypatch.setattr(cudnn_log, "MOST_READ", 505)
    monkeypatch.setattr(cudnn_log, "MOST_KEPT", 4)
    assert kept(tmp_path, str(log)) == "E! a"


def test_a_run_quotes_the_log(cuvet, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    ran = cuvet.run(EMULATED, [sys.executable, script], CUDNN_LOGDEST_DBG=str(tmp_path / "cudnn-%i.log"))
    assert ran.rules == ["library-handle-null"], ran.stderr
    assert ran.report.findings[0].library_log == ("CUDNN_STATUS_BAD_PARAM; Reason: handle == nullptr",)
    again = cuvet("analyze", ran.trace).stdout
    assert "   = cuDNN: CUDNN_STATUS_BAD_PARAM; Reason: handle == nullptr\n" in again
