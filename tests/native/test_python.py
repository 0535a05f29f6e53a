"""Python frames of calls made from Python, on every CPython that is installed."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.native.conftest import SHIM, Bench

PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
MINORS = range(10, 15)


def interpreters() -> list[Path]:
    found = {sys.version_info.minor: Path(sys.executable)}
    for minor in MINORS:
        for path in sorted(PYENV.glob(f"3.{minor}.*/bin/python3.{minor}")):
            found[minor] = path
        if on_path := shutil.which(f"python3.{minor}"):
            found.setdefault(minor, Path(on_path))
    return [found[minor] for minor in sorted(found)]


SCRIPT = """
import ctypes, threading

cuda = ctypes.CDLL("libcuda.so.1")
stream = ctypes.c_uint64()
context = ctypes.c_uint64()

class Grüße:
    def create(self):
        return cuda.cuStreamCreate(ctypes.byref(stream), 1)  # line 10

def generator():
    yield Grüße().create()

def outer():
    assert [value for value in generator()] == [0]

cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
outer()
thread = threading.Thread(
    target=lambda: cuda.cuStreamDestroy_v2(stream),
)
thread.start()
thread.join()
"""


@pytest.mark.parametrize(
    "python", interpreters(), ids=lambda path: path.name if path.name.startswith("python3.") else "this"
)
def test_python_frames_come_with_file_name_and_line(bench: Bench, python: Path) -> None:
    script = bench.folder / "größe_日本.py"
    script.write_text(SCRIPT, encoding="utf-8")
    run = bench.run([str(python), str(script)], PYTHONUTF8="1", LC_ALL="C.UTF-8")
    assert run.returncode == 0, run.stderr

    def frames(name: str) -> list[tuple[str, str, int]]:
        recording = run.trace.recording
        frames = [(recording.codes[code], line) for code, line in recording.stacks[run.trace.one(name).stack].python]
        return [(Path(code.file).name, code.name, line) for code, line in frames]

    qualified = python_has_qualified_names(python)
    created = frames("cuStreamCreate")
    assert created[0] == (script.name, "Grüße.create" if qualified else "create", 10)
    assert created[1] == (script.name, "generator", 13)
    assert (script.name, "outer", 16) in created
    assert created[-1] == (script.name, "<module>", 20)
    destroyed = frames("cuStreamDestroy")
    assert destroyed[0] == (script.name, "<lambda>", 22)
    assert destroyed[-1][0] == "threading.py"
    assert run.trace.recording.stacks[run.trace.one("cuStreamCreate").stack].native


def python_has_qualified_names(python: Path) -> bool:
    """CPython 3.10 keeps only the plain name in a code object."""
    minor = sys.version_info.minor if python == Path(sys.executable) else int(python.name.partition("3.")[2])
    return minor >= 11


ALTERNATING = """
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
event, context = ctypes.c_uint64(), ctypes.c_uint64()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
create, place = cuda.cuEventCreate, ctypes.byref(event)
for turn in range(12):
    create(place, 0)  # line 10
    create(place, 0)
    for file in ("a.py", "b.py"):
        exec(compile("create(place, 0)", file, "exec"))
"""


def test_lines_and_code_objects_in_turn(bench: Bench) -> None:
    """The native frames are the same; of the code that is compiled each time, one object takes the place of another."""
    script = bench.folder / "script.py"
    script.write_text(ALTERNATING)
    run = bench.run([sys.executable, str(script)])
    assert run.returncode == 0, run.stderr
    recording = run.trace.recording
    frames = [recording.stacks[call.stack].python[0] for call in run.trace.named("cuEventCreate")]
    places = [(Path(recording.codes[code].file).name, line) for code, line in frames]
    assert places == [("script.py", 10), ("script.py", 11), ("a.py", 1), ("b.py", 1)] * 12


def test_an_extension_that_released_the_gil_is_seen_all_the_same(bench: Bench) -> None:
    """ctypes.CDLL releases the GIL around each call; another thread keeps the interpreter busy meanwhile."""
    script = bench.folder / "busy.py"
    script.write_text(
        "import ctypes, sys, threading\n"
        "cuda = ctypes.CDLL('libcuda.so.1')\n"
        "stop = False\n"
        "def spin():\n"
        "    while not stop: [object() for _ in range(100)]\n"
        "thread = threading.Thread(target=spin)\n"
        "thread.start()\n"
        "cuda.cuInit(0)\n"
        "handle = ctypes.c_uint64()\n"
        "def create(): cuda.cuStreamCreate(ctypes.byref(handle), 1)\n"
        "for _ in range(2000): create()\n"
        "stop = True\n"
        "thread.join()\n"
    )
    run = bench.run([sys.executable, str(script)], LD_LIBRARY_PATH=str(SHIM.parent))
    assert run.returncode == 0, run.stderr
    recording = run.trace.recording
    stacks = {call.stack for call in run.trace.named("cuStreamCreate")}
    lines = {tuple(line for _, line in recording.stacks[stack].python) for stack in stacks}
    assert lines == {(10, 11)}


LATE = """
#include <semaphore.h>
#include <stdlib.h>
static handle module, function;
static sem_t ending, launched;
void prepare(void) {
    start();
    CHECK(cuModuleLoadData(&module, "image") == 0 && cuModuleGetFunction(&function, module, "kernel") == 0);
}
void let_launch(void) { sem_post(&ending); sem_wait(&launched); }
void launch_late(void) {
    cuCtxSetCurrent(context);
    sem_wait(&ending);
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0) == 0);
    sem_post(&launched);
}
"""


@pytest.mark.parametrize(
    "python", interpreters(), ids=lambda path: path.name if path.name.startswith("python3.") else "this"
)
def test_a_thread_that_runs_on_while_the_interpreter_ends_may_launch(bench: Bench, python: Path) -> None:
    """Its state is freed when modules are; the debugging allocator overwrites what is freed."""
    library = bench.compile(LATE, "-shared", "-fPIC", str(SHIM), name="late.so")
    script = bench.folder / "late.py"
    script.write_text(
        "import ctypes, sys, threading\n"
        f"late = ctypes.CDLL({str(library)!r})\n"
        "late.prepare()\n"
        "started = threading.Event()\n"
        "def work():\n"
        "    started.set()\n"
        "    late.launch_late()\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "started.wait()\n"
        "class Last:\n"
        "    def __del__(self, let_launch=late.let_launch): let_launch()\n"
        "sys.last = Last()\n"
        "print('done')\n"
    )
    run = bench.run([str(python), str(script)], PYTHONMALLOC="debug")
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr
