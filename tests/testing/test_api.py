"""``import cuvet``: blocks that are watched, marks, and what the commands do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import cuvet
from cuvet.analysis import Analysis, read_meta
from cuvet.testing import marks
from cuvet.testing.judge import unknown

from .conftest import HANGS_S, HERE, environment_of

WATCHES = """
import json, sys, threading
sys.path.insert(0, sys.argv[1])
import cuvet
from conftest import ok, stale
from cuda.bindings import driver as cu

def names(found):
    return [each.name for each in found]

def twice():
    memory = ok(cu.cuMemAlloc(64))
    ok(cu.cuMemFree(memory))
    cu.cuMemFree(memory)

def in_a_thread():
    def run():
        ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))
        stale()
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()

said = {"active": cuvet.active()}
ok(cu.cuInit(0))
ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))
cuvet.mark("begin\\n")
stale()
with cuvet.watch() as outer:
    in_a_thread()
    with cuvet.watch() as inner:
        twice()
        twice()
    with cuvet.watch(raises=True) as correct:
        ok(cu.cuStreamDestroy(ok(cu.cuStreamCreate(0))))
said |= {"outer": names(outer.findings), "inner": names(inner.findings), "correct": correct.text}
said["repeats"] = [each.repeats for each in inner.findings]
try:
    with cuvet.watch(raises=True):
        stale()
except cuvet.WatchError as error:
    said["raised"], said["text"] = names(error.findings), str(error)
try:
    with cuvet.watch(raises=True):
        stale()
        raise KeyError("own")
except KeyError:
    said["own"] = True
said["all"] = names(cuvet.found())
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, object], Path]:
    """What the program says, and the directory of its recording."""
    directory = tmp_path_factory.mktemp("watched")
    trace = directory / "trace"
    run = [sys.executable, "-m", "cuvet", "run", "--device", "emulated", "--trace", trace, "--"]
    done = subprocess.run(
        [*run, sys.executable, "-c", WATCHES, str(HERE / "project")],
        env=environment_of(directory),
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), trace


STALE, TWICE = "stream-use-after-destroy", "memory-free-twice"


def test_a_block_has_the_findings_of_its_calls(watched) -> None:
    said, _ = watched
    assert said["active"] is True
    assert said["inner"] == [TWICE, TWICE]
    assert said["outer"] == [STALE, TWICE, TWICE]
    assert said["correct"] == ""


def test_a_block_raises_on_request_and_leaves_other_exceptions_alone(watched) -> None:
    said, _ = watched
    assert said["raised"] == [STALE]
    assert str(said["text"]).startswith("error[CV201]: cuStreamSynchronize: stream#")
    assert said["own"] is True


def test_all_that_was_found(watched) -> None:
    said, _ = watched
    assert sorted(said["all"]) == [TWICE, TWICE, *[STALE] * 4]


def test_a_mark_is_a_line_beside_the_recording(watched) -> None:
    _, trace = watched
    (line,) = (trace / marks.FILE).read_text().splitlines()
    assert json.loads(line)["mark"] == "begin\n"
    assert marks.running(trace) is None


CLOSES = """
import os, cuvet
with cuvet.watch():
    pass
os.closerange(3, 1000)
try:
    with cuvet.watch():
        pass
except cuvet.CuvetError as error:
    print(error)
"""


def test_a_program_that_closes_all_descriptors_is_told_so(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "cuvet", "run", "--device", "emulated", "--output", os.devnull, "--"]
    done = subprocess.run(
        [*run, sys.executable, "-c", CLOSES],
        env=environment_of(tmp_path),
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert done.stdout.startswith("the program closed the descriptors by which the process that judges is asked: ")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_recording_is_analysed(watched) -> None:
    _, trace = watched
    report = cuvet.analyze(trace)
    assert {finding.name for finding in report.findings} == {STALE, TWICE}
    assert report.stats["processes"] == 1


def test_a_process_that_has_ended_is_not_read_again_and_again(watched) -> None:
    _, trace = watched
    analysis = Analysis(trace)
    for ended in (False, True, True):
        analysis.advance(running=True)
        assert [process.has_ended for process in analysis.processes()] == [ended]
    names = [finding.name for finding in analysis.report(read_meta(trace)).findings]
    assert names == [finding.name for finding in cuvet.analyze(trace).findings]


def test_where_nothing_is_recorded_one_line_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUVET_TRACE", str(tmp_path))
    assert not cuvet.active()
    cuvet.mark("here")
    assert list(tmp_path.iterdir()) == []
    for use in (cuvet.found, lambda: cuvet.watch().__enter__()):
        with pytest.raises(
            cuvet.CuvetError, match=r"^this process is not recorded: start the program with cuvet run -- "
        ):
            use()


def test_it_is_imported_when_it_is_used() -> None:
    program = "import sys, cuvet; print(*(name for name in sys.modules if name.startswith(('cuvet', 'msgspec'))))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["cuvet"]


@pytest.mark.parametrize("name", ["analyse", "api_", "_watched"])
def test_what_is_not_there_is_said_as_python_says_it(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'cuvet' has no attribute '{name}'"):
        getattr(cuvet, name)


def test_all_that_is_promised_is_there() -> None:
    assert [name for name in cuvet.__all__ if not hasattr(cuvet, name)] == []


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("cv201", STALE),
        (STALE, STALE),
        ("CV410", None),
        ("CUDA_ERROR_INVALID_HANDLE", None),
        ("step 1\nRuntimeError: CUDA error: an illegal memory access was encountered\n", None),
    ],
)
def test_what_is_known_is_explained(text: str, cause: str | None) -> None:
    found = cuvet.explain(text)
    assert found.known
    assert cause is None or [each.id for each in found.causes] == [cause]


@pytest.mark.parametrize(("text", "api"), [("", None), ("no such words", None), ("400", "fortran")])
def test_what_is_not_known_is_an_error(text: str, api: str | None) -> None:
    with pytest.raises(cuvet.CuvetError):
        cuvet.explain(text, api=api)


def test_every_rule_is_explained() -> None:
    from cuvet.rules import all_rules

    said = {rule.code: cuvet.explain(rule.code).causes for rule in all_rules()}
    assert [code for code, causes in said.items() if len(causes) != 1 or not (causes[0].why and causes[0].fix)] == []


def test_sources_are_checked(tmp_path: Path) -> None:
    source = tmp_path / "program.py"
    source.write_text(
        "from cuda.bindings import driver as cu\n"
        "def run():\n"
        "    err, stream = cu.cuStreamCreate(0)\n"
        "    cu.cuStreamDestroy(stream)\n"
        "    cu.cuStreamSynchronize(stream)\n"
    )
    errors = [each.name for each in cuvet.check([source]).findings if each.severity == "error"]
    assert errors == [STALE]
    assert [each.name for each in cuvet.check([source], ignore=["stream-*"]).findings if each.severity == "error"] == []
    with pytest.raises(cuvet.CuvetError, match="No such file"):
        cuvet.check([tmp_path / "absent.py"])


def test_names_of_rules() -> None:
    assert unknown(["CV201", "cv201", STALE]) == {}
    (said,) = unknown(["CV9999\x1b[31m"]).values()
    assert said.isprintable()


@pytest.mark.parametrize(
    ("lines", "running"),
    [
        ([], None),
        (['{"time_ns": 1, "pid": 2, "test": "a", "phase": "end"}'], None),
        (
            [
                '{"time_ns": 1, "pid": 2, "test": "a", "phase": "setup"}',
                '{"time_ns": 2, "pid": 2, "test": "a", "phase": "call"}',
            ],
            marks.Running("a", "call", 1),
        ),
        (
            ['{"time_ns": 1, "pid": 2, "test": "a", "phase": "call"}', '{"time_ns": 2, "pid": 2, "mark": "b"}'],
            marks.Running("a", "call", 1),
        ),
        (["[" * 100_000, "{}", "\x00", '{"test": 1, "phase": [], "time_ns": {}}', "7"], None),
    ],
)
def test_which_test_was_running(tmp_path: Path, lines: list[str], running: marks.Running | None) -> None:
    (tmp_path / marks.FILE).write_text("".join(f"{line}\n" for line in lines))
    assert marks.running(tmp_path) == running


def test_marks_that_are_no_file_are_not_read(tmp_path: Path) -> None:
    assert marks.running(tmp_path) is None
    (tmp_path / marks.FILE).symlink_to("/dev/zero")
    assert marks.running(tmp_path) is None
    with pytest.raises(cuvet.CuvetError, match="the mark could not be written"):
        marks.write(tmp_path, mark="here")


def test_a_number_and_a_single_path_are_taken(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("int main() { return 0; }\n")
    assert cuvet.explain(400).known
    assert cuvet.check(str(tmp_path)).stats == cuvet.check([tmp_path]).stats
    with pytest.raises(cuvet.CuvetError, match="no path to check"):
        cuvet.check([])


def test_what_is_imported_late_is_listed() -> None:
    assert {"watch", "found", "check"} <= set(dir(cuvet))
