"""Calls whose refusal is an answer: of the program's own code at most a note, of a library's nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cuvet import catalog
from cuvet.catalog import Kind
from cuvet.catalog.answers import ANSWERS, ANSWERS_TO_LIBRARIES
from cuvet.findings import Report
from cuvet.recording.records import Module, PythonCode, SideTables, Stack
from cuvet.recording.sites import Sites

sys.path.insert(0, str(Path(__file__).parent))
import writing as w
from test_analysis import Thread, report, rules

LIBRARY, PEER = 0x4000, 0xD000
NO_BINARY_FOR_GPU, ALREADY_ENABLED = 209, 704
PROGRAM, PLUGIN, RUNTIME = 0x400000, 0x500000, 0x600000
"""Where the program, a library without names and one with the names of its runtime are mapped."""
SIZE = 0x10000

SOURCE = """
void cudaFuncGetAttributes(void) { __builtin_trap(); }
void cudaLaunchKernel(void) { __builtin_trap(); }
"""


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """A shared object with the names of a runtime that is linked into it: the address after the start of each function."""
    file = tmp_path_factory.mktemp("runtime") / "libplugin.so"
    (file.parent / "plugin.c").write_text(SOURCE)
    subprocess.run(["cc", "-shared", "-fPIC", "-O0", "-o", file, file.parent / "plugin.c"], check=True)
    listing = subprocess.run(["nm", file], check=True, capture_output=True, text=True).stdout
    lines = (line.split() for line in listing.splitlines())
    return {str(file): 0} | {
        words[2]: RUNTIME + int(words[0], 16) + 2 for words in lines if words[2:] and "cuda" in words[2]
    }


def modules(runtime: dict[str, int]) -> bytes:
    found = w.module(PROGRAM, PROGRAM + SIZE, PROGRAM, "/home/me/train")
    found += w.module(PLUGIN, PLUGIN + SIZE, PLUGIN, "/opt/lib/libplugin.so.2")
    return found + w.module(RUNTIME, RUNTIME + SIZE, RUNTIME, next(iter(runtime)))


def refused(directory: Path, runtime: dict[str, int], *native: int, status: int = NO_BINARY_FOR_GPU) -> Report:
    """A kernel is asked for, from that stack, of a library that has none for this GPU."""
    t = Thread()
    records = modules(runtime) + w.stack(7, native) + t.setup()
    records += t.call("cuLibraryLoadData", 1, *[0] * 7, outputs=[(0, Kind.CULIBRARY, 1, LIBRARY)])
    seen = [(1, Kind.CULIBRARY, 3, 1, LIBRARY, 0)]
    for _ in range(8):
        records += t.call("cuLibraryGetKernel", 1, LIBRARY, 2, objects=seen, status=status, stack=7, flags=w.FAILED)
    return report(directory, records, executable="/home/me/train")


def severities(found: Report) -> list[tuple[str, str, str]]:
    return [(finding.name, finding.severity, finding.api) for finding in found.findings]


def test_a_library_that_asks_is_answered(tmp_path: Path, runtime: dict[str, int]) -> None:
    """Its runtime has no names. Since it could be a launch, it is listed."""
    found = refused(tmp_path, runtime, PLUGIN + 0x100, PROGRAM + 0x100)
    assert severities(found) == []
    assert [(each.library, each.status, each.count) for each in found.unexplained] == [("libplugin.so.2", 209, 8)]


def test_a_library_that_asks_by_name_is_answered(tmp_path: Path, runtime: dict[str, int]) -> None:
    """As NCCL asks for the attributes of kernels that it does not hold for this GPU."""
    assert severities(refused(tmp_path, runtime, runtime["cudaFuncGetAttributes"], PROGRAM + 0x100)) == [
        ("library-image-refused", "note", "cudaFuncGetAttributes")
    ]
    (of_library := tmp_path / "library").mkdir()
    found = refused(of_library, runtime, runtime["cudaFuncGetAttributes"], PLUGIN + 0x100)
    assert severities(found) == []
    assert found.unexplained == ()


def test_a_launch_that_is_refused_has_failed(tmp_path: Path, runtime: dict[str, int]) -> None:
    """Whoever launches."""
    for number, caller in enumerate((PROGRAM, PLUGIN)):
        (directory := tmp_path / str(number)).mkdir()
        found = refused(directory, runtime, runtime["cudaLaunchKernel"], caller + 0x100)
        assert severities(found) == [("library-image-refused", "error", "cudaLaunchKernel")]


def test_the_programs_own_look_up_has_failed(tmp_path: Path, runtime: dict[str, int]) -> None:
    found = refused(tmp_path, runtime, PROGRAM + 0x100)
    assert severities(found) == [("library-image-refused", "error", "cuLibraryGetKernel")]


def test_a_question_that_fails_otherwise_has_no_answer(tmp_path: Path, runtime: dict[str, int]) -> None:
    found = refused(tmp_path, runtime, PLUGIN + 0x100, PROGRAM + 0x100, status=999)
    assert rules(found) == []
    assert found.stats["unexplained_failures"] == 8


def enabled_twice(directory: Path, runtime: dict[str, int], caller: int) -> Report:
    t = Thread()
    records = modules(runtime) + w.stack(7, [caller + 0x100]) + t.setup()
    records += t.call("cuDevicePrimaryCtxRetain", 1, 1, outputs=[(0, Kind.CONTEXT, 1, PEER)])
    peer = [(0, Kind.CONTEXT, 3, 1, PEER, 0)]
    for status in (0, ALREADY_ENABLED):
        records += t.call("cuCtxEnablePeerAccess", PEER, 0, objects=peer, status=status, stack=7)
    return report(directory, records, executable="/home/me/train", gpus=2)


def test_a_library_expects_that_peer_access_is_enabled(tmp_path: Path, runtime: dict[str, int]) -> None:
    found = enabled_twice(tmp_path, runtime, PLUGIN)
    assert rules(found) == []
    assert found.unexplained == ()
    (own := tmp_path / "own").mkdir()
    assert severities(enabled_twice(own, runtime, PROGRAM)) == [
        ("context-peer-enabled-twice", "note", "cuCtxEnablePeerAccess")
    ]


CODES = {
    1: PythonCode("/home/me/train.py", "main"),
    2: PythonCode("/usr/lib/python3/site-packages/cuda/bindings/driver.py", "call"),
    3: PythonCode("/usr/lib/python3/site-packages/cupy/cuda/device.py", "enable"),
}
PACKAGES = "/usr/lib/python3/site-packages"


@pytest.mark.parametrize(
    ("path", "python", "expected"),
    [
        ("", [1], False),
        ("/home/me/train", [1], False),
        ("/opt/lib/libplugin.so.2", [], True),
        ("/opt/lib/libtorch_cuda.so", [1], True),
        ("", [2, 1], False),
        (f"{PACKAGES}/cuda/bindings/_driver.cpython-311-x86_64-linux-gnu.so", [1], False),
        (f"{PACKAGES}/cupy/cuda/device.cpython-311-x86_64-linux-gnu.so", [1], True),
        ("", [3, 1], True),
    ],
)
@pytest.mark.parametrize("start", [(), (0x5100,)], ids=["", "from main on"])
def test_who_calls(path: str, python: list[int], expected: bool, start: tuple[int, ...]) -> None:
    mapped = [Module(0x1000, 0x2000, 0x1000, "", path)] if path else []
    mapped.append(Module(0x5000, 0x6000, 0x5000, "", "/lib/x86_64-linux-gnu/libc.so.6"))
    stack = Stack(((0x1100,) if path else ()) + start, tuple((code, 1) for code in python))
    tables = SideTables(modules=mapped, stacks={1: stack}, codes=CODES)
    assert Sites(tables, "/home/me/train").is_of_library(1) is expected
    assert not Sites(tables).is_of_library(1)


def test_every_name_is_an_entry_point() -> None:
    known = {entry_point.name for entry_point in (*catalog.recorded(), *catalog.runtime().entry_points)}
    assert ANSWERS.keys() | ANSWERS_TO_LIBRARIES.keys() <= known
    assert not ANSWERS.keys() & ANSWERS_TO_LIBRARIES.keys()
