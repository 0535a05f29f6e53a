from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cuvet.findings import Finding
from cuvet.source import FileResult, Options, Outline, check_source
from cuvet.source.tool import cache
from cuvet.source.tool.cache import Cache
from cuvet.source.tool.files import File
from cuvet.source.tool.workers import Job, check_one

from .conftest import CORRECT, MISTAKE, Done, Project

Check = Callable[..., Done]


@pytest.fixture
def kept(tmp_path: Path) -> Callable[[], list[Path]]:
    return lambda: sorted((tmp_path / "cache/cuvet/check").glob("??/*"))


def test_a_result_comes_back_as_it_was(project: Project) -> None:
    result = check_source(Path("a.cu"), MISTAKE.encode())
    assert result.findings
    store = Cache(Options())
    key = store.key("a.cu", MISTAKE.encode())
    assert store.get(key) is None
    store.put(key, result)
    assert store.get(key) == result


def test_keys_depend_on_content_name_and_options(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    store, older = Cache(Options()), Cache(Options(cuda="12.8"))
    keys = [store.key("a.cu", b"x"), store.key("b.cu", b"x"), store.key("a.cu", b"y"), older.key("a.cu", b"x")]
    keys += [store.key("a.cux", b""), store.key("a.cu", b"")]
    cache._tool.cache_clear()
    monkeypatch.setattr(cache.cuvet, "__version__", "0.0.0")
    keys.append(Cache(Options()).key("a.cu", b"x"))
    cache._tool.cache_clear()
    assert len(set(keys)) == len(keys)


def test_an_unchanged_file_is_not_checked_again(
    project: Project, kept: Callable[[], list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"a.cu": MISTAKE})
    file, job = File("a.cu", Path("a.cu")), Job(Options())
    first = check_one(file, job)
    assert len(kept()) == 1
    monkeypatch.setattr("cuvet.source.tool.workers.check_source", forbidden)
    assert check_one(file, job) == first
    project.write({"a.cu": CORRECT})
    assert check_one(file, job).failure is not None
    assert check_one(file, Job(Options(), cached=False)).failure is not None


def forbidden(*given: object) -> FileResult:
    raise AssertionError("checked again")


def test_an_unchanged_file_is_not_read_again(
    project: Project, check: Check, monkeypatch: pytest.MonkeyPatch, kept: Callable[[], list[Path]]
) -> None:
    project.write({"a.cu": MISTAKE, "b.cu": "int main() {}\n"})
    monkeypatch.setattr(cache, "_UNSETTLED_NS", -1)
    first = check(".")
    assert len(kept()) == 2, "a result, and how the two files were"
    with monkeypatch.context() as without:
        without.setattr("cuvet.source.tool.workers.check_one", forbidden)
        assert check(".") == first == check("a.cu", "b.cu")
    for path in kept():
        path.write_bytes(b"\xc1")
    assert check(".") == first
    project.write({"b.cu": "int mains() {}\n"})
    os.replace("b.cu", "c.cu")
    assert "1 error, 0 warnings in 2 files" in check(".").out


@pytest.mark.parametrize("restored", [False, True])
def test_a_change_of_the_same_size_is_seen(
    project: Project, check: Check, monkeypatch: pytest.MonkeyPatch, restored: bool
) -> None:
    monkeypatch.setattr(cache, "_UNSETTLED_NS", -1)
    project.write({"a.cu": MISTAKE})
    before = os.stat("a.cu")
    assert check("a.cu").code == 1
    project.write({"a.cu": MISTAKE.replace("cudaStreamSynchronize(s", "cudaStreamSynchronize_s")})
    if restored:
        os.utime("a.cu", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert check("a.cu").code == 0


def test_a_file_that_was_just_changed_is_read_again(project: Project, check: Check) -> None:
    """Its next change could leave it with the same size and the same time."""
    project.write({"a.cu": MISTAKE})
    check("a.cu")
    assert Cache(Options()).seen() == {}


def test_results_are_readable_by_the_user_alone(project: Project, check: Check, kept: Callable[[], list[Path]]) -> None:
    project.write({"a.cu": MISTAKE})
    check("a.cu")
    (path,) = kept()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_file_without_cuda_is_not_kept(project: Project, check: Check, kept: Callable[[], list[Path]]) -> None:
    project.write({"a.cpp": "int main() {}\n"})
    check("a.cpp")
    assert kept() == []


def test_without_the_cache_nothing_is_written(project: Project, check: Check, tmp_path: Path) -> None:
    project.write({"a.cu": MISTAKE})
    assert check("--no-cache", "a.cu").code == 1
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("damage", [b"", b"\x81", b"\xc1" * 40])
def test_a_damaged_result_is_computed_again(
    project: Project, check: Check, kept: Callable[[], list[Path]], damage: bytes
) -> None:
    project.write({"a.cu": MISTAKE})
    before = check("a.cu")
    (path,) = kept()
    path.write_bytes(damage)
    assert check("a.cu") == before
    assert path.read_bytes() != damage


def test_a_cache_that_cannot_be_written_is_done_without(project: Project, check: Check, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the directory should be")
    project.write({"a.cu": MISTAKE})
    assert check("a.cu").code == 1


def test_what_is_not_used_for_long_is_deleted(project: Project, check: Check, kept: Callable[[], list[Path]]) -> None:
    project.write({"a.cu": MISTAKE, "b.cu": CORRECT})
    check(".")
    long_ago = time.time() - cache.UNUSED_S - 1
    stamp = kept()[0].parents[1] / "pruned"
    for path in (*kept(), stamp):
        os.utime(path, (long_ago, long_ago))
    check("a.cu")
    assert len(kept()) == 1, "the result that was used just now stays"


def test_a_result_holds_all_of_a_finding() -> None:
    """A field of ``Finding`` that is not encoded would be lost in the second run only."""
    result = check_source(Path("a.cu"), MISTAKE.encode())
    (finding,) = result.findings
    assert isinstance(finding, Finding) and finding.path and finding.evidence
    assert isinstance(result.outline, Outline)
