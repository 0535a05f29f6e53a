from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from cuvet import CuvetError
from cuvet.source import FileResult, Options, check_source
from cuvet.source.tool import workers
from cuvet.source.tool.cache import status_of
from cuvet.source.tool.files import File
from cuvet.source.tool.workers import Checked, Job, check_files, check_here, check_one

from .conftest import CORRECT, MISTAKE, Done, Project

Check = Callable[..., Done]
JOB = Job(Options(), cached=False)


def files(project: Project, texts: dict[str, bytes]) -> list[File]:
    project.write(dict(texts))
    return [File(name, Path(name), status_of(Path(name).stat())) for name in texts]


def fake(path: Path, text: bytes, options: Options, callees: object) -> FileResult:
    """Does what the text says, in the place of the check."""
    if text.startswith(b"die"):
        os.kill(os.getpid(), signal.SIGKILL)
    if text.startswith(b"fail"):
        raise ValueError("the reason")
    if text.startswith(b"recurse"):
        return fake(path, text, options, callees)
    if text.startswith(b"grow"):
        bytearray(1 << 40)
    if text.startswith(b"miss"):
        raise CuvetError("a parser is missing")
    if text.startswith(b"tell"):
        os.write(int(text.split()[1].strip(b",")), b"%d\n" % os.getpid())
    while text.startswith((b"loop", b"tell")):
        pass
    return FileResult(file=str(path), stats={"lines": len(text)})


@pytest.fixture
def faked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes are forked, and so have it too."""
    monkeypatch.setattr(workers, "check_source", fake)
    monkeypatch.setattr(workers, "_SMALL_BYTES", 0)
    monkeypatch.setattr(workers, "_CHUNK_BYTES", 10)


@pytest.mark.usefixtures("faked")
def test_the_processes_end_with_the_first(project: Project) -> None:
    told, tell = os.pipe()
    given = files(project, dict.fromkeys(("a.cu", "b.cu"), b"tell %d, a chunk" % tell))
    first = os.fork()
    if first == 0:
        try:
            check_files(given, JOB, partial(check_here, processes=2))
        finally:
            os._exit(1)
    os.close(tell)
    with os.fdopen(told) as lines:
        ids = {int(lines.readline()) for _ in given}
    assert len(ids) == 2
    others = [os.pidfd_open(process) for process in ids]
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)
    for other in others:
        assert select.select([other], [], [], 30)[0], "it goes on"
        os.close(other)


def test_several_processes_give_what_one_gives(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_SMALL_BYTES", 0)
    monkeypatch.setattr(workers, "_CHUNK_BYTES", 300)
    given = files(project, {f"{number:02}.cu": (MISTAKE if number % 3 else CORRECT).encode() for number in range(20)})
    told: list[int] = []
    several = check_files(given, JOB, partial(check_here, processes=2), told.append)
    assert several == check_files(given, JOB, partial(check_here, processes=1))
    assert [checked.file for checked in several] == given
    assert sum(told) == 20 and len(told) > 1
    assert several[1].result == check_source(Path("01.cu"), MISTAKE.encode())


@pytest.mark.usefixtures("faked")
def test_a_process_that_dies_costs_one_file(project: Project) -> None:
    given = files(project, {f"{number:02}.cu": b"die" if number in (3, 11) else b"0123456" for number in range(16)})
    done = check_files(given, JOB, partial(check_here, processes=2))
    assert [checked.file for checked in done] == given
    assert [number for number, checked in enumerate(done) if checked.failure] == [3, 11]
    assert done[3].failure == "the process that checked it died, perhaps because there was not enough memory"
    assert done[4].result.stats == {"lines": 7}


@pytest.mark.usefixtures("faked")
@pytest.mark.parametrize("processes", [1, 2])
def test_a_defect_costs_one_file_and_is_told(project: Project, processes: int) -> None:
    given = files(project, {"a.cu": b"0123456789", "b.cu": b"fail", "c.cu": b"0123456789"})
    failures = [checked.failure or "" for checked in check_files(given, JOB, partial(check_here, processes=processes))]
    assert (failures[0], failures[2]) == ("", "")
    assert failures[1].startswith("cuvet failed on it; please report this: ValueError: the reason (test_workers.py:")


@pytest.mark.usefixtures("faked")
@pytest.mark.parametrize("processes", [1, 2])
def test_what_the_user_can_mend_ends_the_run(project: Project, processes: int) -> None:
    with pytest.raises(CuvetError, match="a parser is missing"):
        check_files(
            files(project, {"a.cu": b"0123456789", "b.cu": b"miss"}), JOB, partial(check_here, processes=processes)
        )


@pytest.mark.usefixtures("faked")
def test_a_file_that_takes_too_long(project: Project) -> None:
    (file,) = files(project, {"a.cu": b"loop\n\n"})
    checked = check_one(file, Job(Options(), cached=False, seconds=0.1))
    assert [(part.first, part.last, part.why) for part in checked.result.not_checked] == [
        (1, 3, "it takes more than 0.1 s")
    ]
    assert checked.failure is None
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)


@pytest.mark.usefixtures("faked")
def test_a_file_that_is_nested_too_deeply(project: Project) -> None:
    (file,) = files(project, {"a.cu": b"recurse"})
    (part,) = check_one(file, JOB).result.not_checked
    assert part.why == "it is nested too deeply"


@pytest.mark.usefixtures("faked")
def test_a_file_that_takes_too_much_memory(project: Project) -> None:
    done = check_files(
        files(project, {"a.cu": b"0123456789", "b.cu": b"grow      "}), JOB, partial(check_here, processes=2)
    )
    (part,) = done[1].result.not_checked
    assert part.why == "it takes more than 1 GiB of memory"


def test_a_file_that_is_too_large(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    (file,) = files(project, {"a.cu": b""})
    with open(file.path, "wb") as opened:
        opened.truncate(workers.MOST_BYTES + 1)
    (part,) = check_one(file, JOB).result.not_checked
    assert part.why == "it is larger than 10 MiB"


def test_a_file_that_cannot_be_read(project: Project) -> None:
    checked = check_one(File("gone.cu", Path("gone.cu")), JOB)
    assert checked.failure == "No such file or directory"


DEPTH, LINE = 100_000, 10_000_000
HOSTILE = {
    "line.cu": b"int x = " + b"123456789+" * (LINE // 10) + b"1; void f() { cudaFree(0); }",
    "string.cu": b'const char *s = "' + b"cudaFree(p); " * (LINE // 13) + b'";',
    "brackets.cu": b"void f() { cudaFree(" + b"(" * DEPTH + b")" * DEPTH + b"); }",
    "open.cu": b"void f() { cudaFree(0); " + b"{(" * DEPTH,
    "closed.cu": b"void f() { cudaFree(0); " + b")}" * DEPTH,
    "blocks.cu": b"void f() { cudaFree(0); " + b"{" * DEPTH + b"cudaFree(0);" + b"}" * DEPTH + b"}",
    "ifs.cu": b"void f(int a) { cudaFree(0); " + b"if (a) {" * DEPTH + b"cudaFree(0);" + b"}" * DEPTH + b"}",
    "templates.cu": b"void f() { cudaFree(0); a" + b"<a" * 20_000 + b">" * 20_000 + b" x; }",
    "conditions.cu": b"#if A\n" * DEPTH + b"void f() { cudaFree(0); }\n" + b"#endif\n" * DEPTH,
    "makers.cu": b"#if A\n" * DEPTH + b"void f(float **p) { cudaMalloc(p, 4); }\n" + b"#endif\n" * DEPTH,
    "names.cu": b"void f() { cudaFree(" + b"cuA" * (LINE // 3) + b"); }",
    "brackets.py": b"from cuda.bindings import runtime\nx = "
    + b"(" * DEPTH
    + b")" * DEPTH
    + b"\nruntime.cudaFree(0)\n",
    "brackets.cs": b"class A { void f() { cudaFree(" + b"(" * DEPTH + b")" * DEPTH + b"); } }",
    "bytes.cu": b"void f() { cudaFree(p); }" + bytes(range(256)) * 1000,
    "encoding.cu": b"void f\xff() { float *\xfe p; cudaFree(p\xff); }  // cuvet: ignore[\xff]\n",
    "zeros.cu": b"\0" * 1_000_000 + b"cudaFree(p);",
    "comments.cu": b"// cuvet: ignore[CV201]\n" * 20_000 + b"void f() { cudaFree(0); }",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_got_over(project: Project, name: str) -> None:
    """Without a crash or an end that is not reported, in the time that a check may take."""
    (file,) = files(project, {name: HOSTILE[name]})
    (checked,) = in_a_process(file)
    assert checked.failure is None
    assert checked.result.file == name


def in_a_process(file: File) -> list[Checked]:
    """It could die of the text, or take much memory with it."""
    with workers.ProcessPoolExecutor(1, initializer=workers._begin) as pool:
        return pool.submit(workers.check_chunk, [file], Job(Options(), cached=False, seconds=20)).result()


def test_hostile_text_is_reported(project: Project, check: Check) -> None:
    project.write(
        {"a.cu": MISTAKE, "b.cu": b"void f(int a) { cudaFree(0);" + b"if (a) {" * DEPTH + b"\xff" + b"}" * DEPTH}
    )
    done = check("--format", "concise", ".")
    assert done.code == 1
    assert "a.cu:5:33: error[CV201]" in done.out
