"""Files to results, on several processors."""

import os
import resource
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from traceback import extract_tb
from types import FrameType

from cuvet import CuvetError
from cuvet.regular import open_regular
from cuvet.source import SUFFIXES, FileResult, NotChecked, Options, Summaries, check_source
from cuvet.source.tool.cache import Cache, Seen, Status, settled, status_of
from cuvet.source.tool.files import File
from cuvet.source.tool.ignores import IgnoreComment, ignore_comments

MOST_BYTES = 10 << 20
"""Of a file: larger ones are not checked. A parsed file takes up to a hundred times its size."""
MOST_SECONDS = 60
"""Of a processor, for one file."""
MOST_MEMORY_BYTES = 1 << 30
"""For each process."""
_CHUNK_BYTES = 256 << 10
"""Of files that a process is handed at once: enough that handing them over does not count."""
_HEAD_BYTES = 8000
"""Text has no byte 0 in them, unless it is UTF-16."""
_PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that the process gets when the one that started it ends."""
_FORK = get_context("fork")
"""No thread runs when processes are started, and they have what is imported."""
_SMALL_BYTES = 1 << 20
"""A program that is smaller is checked before other processes have started, and takes little memory."""
DIED = "the process that checked it died, perhaps because there was not enough memory"


@dataclass(frozen=True, slots=True)
class Checked:
    """``failure`` says why there is no result: the file could not be read, or the check itself failed. ``seen``: what tells the next
    run that the file is the same."""

    file: File
    result: FileResult
    ignores: tuple[IgnoreComment, ...] = ()
    failure: str | None = None
    seen: Seen | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Job:
    """How files are checked, the same for all of a run."""

    options: Options
    cached: bool = True
    seconds: float = MOST_SECONDS
    callees: Mapping[str, Summaries] = field(default_factory=dict)
    """By file: what functions of other files do for it."""


Pool = Callable[[Sequence[list[File]], Job, Callable[[int], None]], list[list[Checked]]]
"""Checks chunks of files; of each the results, in the same order. It tells how many more files are done."""


class _TakesTooLong(BaseException):
    """Not an Exception, so that nothing on the way takes it for its own."""


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


def check_files(
    files: Sequence[File], job: Job, pool: Pool, tell: Callable[[int], None] = lambda count: None
) -> list[Checked]:
    """Each file's result, in the same order. ``pool`` checks those that are not as they were. ``tell`` is told how many more are done.

    A file at which the check fails, or a process dies, becomes a failure of this file alone.
    """
    known = _cache(job.options).seen() if job.cached else {}
    unchanged = [_unchanged(file, known.get(file.name), job) for file in files]
    tell(sum(each is not None for each in unchanged))
    changed = [file for file, before in zip(files, unchanged, strict=True) if before is None]
    if not changed:
        return [each for each in unchanged if each is not None]
    checked = _check_changed(changed, job, pool, tell)
    if seen := {each.file.name: each.seen for each in checked if each.seen is not None}:
        _cache(job.options).see(known | seen)
    new = iter(checked)
    return [next(new) if before is None else before for before in unchanged]


def check_linked(checked: Sequence[Checked], callees: Mapping[str, Summaries], job: Job, pool: Pool) -> list[Checked]:
    """The same results, where those of files that call functions of others are made anew with these in mind."""
    job = replace(job, callees=callees)
    known = {each.file.name: result for each in checked if (result := _linked(each, job)) is not None}
    waiting = [each.file for each in checked if each.file.name in callees and each.file.name not in known]
    done = {each.file.name: each for each in _check_changed(waiting, job, pool, lambda count: None)}
    return [
        replace(each, result=known[each.file.name]) if each.file.name in known else done.get(each.file.name, each)
        for each in checked
    ]


def _linked(checked: Checked, job: Job) -> FileResult | None:
    """The result that was kept of a file that is as it was."""
    callees = job.callees.get(checked.file.name)
    if callees is None or checked.seen is None or not checked.seen.key:
        return None
    cache = _cache(job.options)
    return cache.get(cache.key_with(checked.seen.key, callees))


def _unchanged(file: File, seen: Seen | None, job: Job) -> Checked | None:
    """The result of a file that is as it was, without reading it; None if it is not, or its result is lost."""
    if seen is None or seen.status != file.status:
        return None
    result = _cache(job.options).get(seen.key) if seen.key else FileResult(file=file.name, stats=seen.stats)
    return None if result is None else Checked(file, result, seen.ignores, seen=seen)


def _check_changed(files: Sequence[File], job: Job, pool: Pool, tell: Callable[[int], None]) -> list[Checked]:
    return list(chain.from_iterable(pool(list(_chunks(files)), job, tell)))


def check_here(
    chunks: Sequence[list[File]], job: Job, tell: Callable[[int], None], *, processes: int
) -> list[list[Checked]]:
    """The pool of this machine."""
    if sum(map(_size, chain.from_iterable(chunks))) < _SMALL_BYTES:
        return [[_told(file, job, tell) for file in chunk] for chunk in chunks]
    import_module("cuvet.source.check")  # once, for all processes
    results: dict[int, list[Checked]] = {}
    _run(dict(enumerate(chunks)), job, processes, results, tell)
    while left := {index: chunk for index, chunk in enumerate(chunks) if index not in results}:
        # A process died. With one process, it is the first chunk without a result that kills it.
        _run(left, job, 1, results, tell)
        culprit = next((index for index in left if index not in results), None)
        if culprit is not None:
            results[culprit] = [_alone(file, job, tell) for file in left[culprit]]
    return [results[index] for index in range(len(chunks))]


def _told(file: File, job: Job, tell: Callable[[int], None]) -> Checked:
    checked = check_one(file, job)
    tell(1)
    return checked


def _run(
    chunks: dict[int, list[File]],
    job: Job,
    processes: int,
    results: dict[int, list[Checked]],
    tell: Callable[[int], None],
) -> None:
    """Adds the results of the chunks by their number. If a process dies, those that were not done then are left out."""
    with ProcessPoolExecutor(min(processes, len(chunks)), _FORK, _begin) as pool:
        waiting: dict[Future[list[Checked]], int] = {}
        try:
            for number, chunk in chunks.items():
                waiting[pool.submit(check_chunk, chunk, job)] = number
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    number = waiting.pop(future)
                    results[number] = future.result()
                    tell(len(chunks[number]))
        except BrokenProcessPool:
            return
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _alone(file: File, job: Job, tell: Callable[[int], None]) -> Checked:
    """The result of a file in a process of its own, which may die of it."""
    with ProcessPoolExecutor(1, _FORK, _begin) as pool:
        try:
            (checked,) = pool.submit(check_chunk, [file], job).result()
        except BrokenProcessPool:
            checked = failed(file, DIED)
    tell(1)
    return checked


def _begin() -> None:
    """Ctrl-C reaches every process of a terminal, and the first one ends the others; if it is killed, the kernel does. Memory is
    limited, so that a file that takes too much is a file that was not checked, and not a machine at a standstill."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from ctypes import CDLL  # start: only these processes need it

    CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = _data_bytes() + MOST_MEMORY_BYTES
    limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def _data_bytes() -> int:
    """What the process has already, of the program that checks (proc(5), statm: data and stack, in pages)."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0


def check_chunk(chunk: list[File], job: Job) -> list[Checked]:
    """As ``check_one``, of each."""
    return [check_one(file, job) for file in chunk]


def check_one(file: File, job: Job) -> Checked:
    """Read and check a file, or take its result from the cache. CuvetError if a parser is not installed."""
    try:
        text, status = _read(file)
    except OSError as error:
        return failed(file, error.strerror or str(error))
    if len(text) > MOST_BYTES:
        return _not_checked(file, b"", f"it is larger than {MOST_BYTES >> 20} MiB")
    if b"\0" in text[:_HEAD_BYTES]:
        return _not_checked(file, text, "it is no text, or not in UTF-8")
    try:
        with _limited(job.seconds):
            key, result = _result(file, text, job)
            ignores = ignore_comments(text, language(file))
        seen = None
        if job.cached and status is not None and settled(status):
            seen = Seen(status, key, result.stats, ignores)
        return Checked(file, result, ignores, seen=seen)
    except _TakesTooLong:
        return _not_checked(file, text, f"it takes more than {job.seconds:g} s")
    except RecursionError:
        return _not_checked(file, text, "it is nested too deeply")
    except MemoryError:
        return _not_checked(file, b"", f"it takes more than {MOST_MEMORY_BYTES >> 30} GiB of memory")
    except CuvetError:
        raise
    except Exception as error:  # a defect of cuvet must not cost the results of other files; it is reported
        where = extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {error}".strip(": ")
        return failed(
            file, f"cuvet failed on it; please report this: {what} ({Path(where.filename).name}:{where.lineno})"
        )


def _read(file: File) -> tuple[bytes, Status | None]:
    if file.text is not None:
        return file.text, None
    with os.fdopen(open_regular(file.path), "rb") as source:
        return source.read(MOST_BYTES + 1), status_of(os.fstat(source.fileno()))


def _result(file: File, text: bytes, job: Job) -> tuple[str, FileResult]:
    """With the key under which it is kept; empty if it is not."""
    callees = job.callees.get(file.name, {})
    if not job.cached:
        return "", check_source(Path(file.name), text, job.options, callees)
    cache = _cache(job.options)
    key = cache.key(file.name, text)
    if callees:
        key = cache.key_with(key, callees)
    kept = cache.get(key)
    if kept is not None:
        return key, kept
    result = check_source(Path(file.name), text, job.options, callees)
    if result.outline is None:  # nothing in it needs checking
        return "", result
    cache.put(key, result)
    return key, result


@cache
def _cache(options: Options) -> Cache:
    return Cache(options)


def language(file: File) -> str:
    return SUFFIXES[file.path.suffix.lower()]


def failed(file: File, why: str) -> Checked:
    """That there is no result, and why."""
    return Checked(file, FileResult(file=file.name), failure=why)


def _not_checked(file: File, text: bytes, why: str) -> Checked:
    whole = NotChecked(file=file.name, first=1, last=text.count(b"\n") + 1, why=why)
    return Checked(file, FileResult(file=file.name, not_checked=(whole,)))


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Ends the block by ``_TakesTooLong`` when this process has computed for so long."""

    def end(number: int, frame: FrameType | None) -> None:
        raise _TakesTooLong

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _size(file: File) -> int:
    return file.status[2] if file.status else len(file.text or b"")


def _chunks(files: Sequence[File]) -> Iterator[list[File]]:
    chunk: list[File] = []
    size = 0
    for file in files:
        chunk.append(file)
        size += _size(file)
        if size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
