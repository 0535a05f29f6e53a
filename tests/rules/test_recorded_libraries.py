"""Recordings with calls of libraries: findings name the library's function and status."""

from __future__ import annotations

from pathlib import Path

from tests.recording import writing

from cuvet.analysis import analyze
from cuvet.catalog import Kind
from cuvet.findings import Finding
from cuvet.reports.terminal import result

ALIVE_AND_KNOWN = 3
KNOWN = 2


def findings(directory: Path, *calls: bytes) -> tuple[Finding, ...]:
    writing.write(directory, [writing.chunk(writing.every_entry_point()), writing.chunk(b"".join(calls))])
    report = analyze([directory])
    assert not report.not_checked
    return report.findings


def made(handle: int, *, number: int = 1) -> bytes:
    return writing.call(
        "cudnnCreate", (0x1000,), entered=10 * number, number=number, outputs=[(0, Kind.CUDNN_HANDLE, 1, handle)]
    )


def seen(handle: int, flags: int) -> list[tuple[int, Kind, int, int, int, int]]:
    return [(0, Kind.CUDNN_HANDLE, flags, 1, handle, 0)]


def test_a_destroyed_handle_is_used(tmp_path: Path) -> None:
    destroyed = writing.call("cudnnDestroy", (0x7000,), entered=20, number=2, objects=seen(0x7000, ALIVE_AND_KNOWN))
    used = writing.call(
        "cudnnSetStream", (0x7000, 0), entered=30, number=3, flags=writing.SUSPECT, objects=seen(0x7000, KNOWN)
    )
    (found,) = findings(tmp_path, made(0x7000), destroyed, used)
    assert (found.name, found.api, found.status) == ("library-handle-use-after-destroy", "cudnnSetStream", 0)
    (thing,) = found.objects
    assert thing.created is not None and thing.destroyed is not None
    assert (thing.name, thing.created.api, thing.destroyed.api) == ("cuDNN-handle#1", "cudnnCreate", "cudnnDestroy")


def test_two_threads_are_inside(tmp_path: Path) -> None:
    overlap = writing.overlap(1, 2, 1, "cudnnConvolutionForward")
    entered = writing.call(
        "cudnnSetStream",
        (0x7000, 0),
        entered=20,
        thread=2,
        flags=writing.SUSPECT,
        objects=seen(0x7000, ALIVE_AND_KNOWN),
    )
    (found,) = findings(tmp_path, made(0x7000), overlap, entered)
    assert found.name == "library-handle-shared-between-threads"
    assert found.message == "cuDNN-handle#1 is in use by thread 1, in cudnnConvolutionForward, when this thread enters"


def test_a_status_is_named_as_the_library_does(tmp_path: Path) -> None:
    """4 is CUDA_ERROR_DEINITIALIZED for the driver: nothing ends with it here."""
    failed = writing.call("cudnnCreate", (0x1000,), status=4, flags=writing.LIFECYCLE | writing.FAILED)
    later = writing.call("cudnnSetStream", (0, 0), status=2000, entered=20, number=2, flags=writing.FAILED)
    creation, use = findings(tmp_path, failed, later)
    assert (creation.name, use.name) == ("library-handle-creation-failed", "library-handle-not-made")
    program = analyze([tmp_path]).program
    assert result(use, program) == "cudnnSetStream returned CUDNN_STATUS_BAD_PARAM (2000)"
