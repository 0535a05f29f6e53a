"""Judges many recordings, and checks many source files, on Ray: each where it lies; only verdicts and results travel.

``ray.init`` connects to the cluster of $RAY_ADDRESS or to one that was started on this machine, or starts a local one (Ray, Starting Ray).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from cuvet import CuvetError
from cuvet.analysis.verdicts import Options
from cuvet.analysis.workers import ATTEMPTS, DIED, Outcome, Tell, Unreadable, answer
from cuvet.printable import valid
from cuvet.reports.source import only_below, shown_below
from cuvet.source.tool import workers
from cuvet.source.tool.files import File
from cuvet.source.tool.workers import Checked, Job

_WORKER_DIED = ("WorkerCrashedError", "OutOfMemoryError")

Item = TypeVar("Item")


class _Failed(NamedTuple):
    """Of a task: its process died, or Ray could not run it. ``error``: the name of Ray's exception."""

    error: str

    def why(self, died: str) -> str:
        return died if self.error in _WORKER_DIED else f"Ray could not do it ({self.error})"


def judged(directories: Sequence[Path], options: Options, tell: Tell) -> list[Outcome]:
    """As of ``analysis.workers.judged``: the outcome of each directory, in the same order. The machines of the cluster see the recordings
    at the same paths, and have this cuvet. CuvetError if ray is missing, or its cluster cannot be reached."""
    work = partial(_judge, options=options, roots=shown_below())
    return [
        Unreadable(why=f"{valid(directory)}: {told.why(DIED)}")
        if isinstance(told, _Failed)
        else msgspec.json.decode(told, type=Outcome)
        for directory, told in zip(directories, _done(work, directories, lambda each: tell(1)), strict=True)
    ]


def checked(chunks: Sequence[list[File]], job: Job, tell: Callable[[int], None]) -> list[list[Checked]]:
    """As of ``source.tool.workers.check_here``: the results of each chunk's files, in the same order. If a process dies of a chunk, each
    of its files is checked by a task of its own. CuvetError as of ``judged``, or if a parser is not installed."""
    done = _done(partial(_check, job=job), chunks, lambda chunk: tell(len(chunk)))
    died = {number: chunks[number] for number, told in enumerate(done) if isinstance(told, _Failed)}
    alone = [file for chunk in died.values() for file in chunk]
    results = iter(_done(partial(_check, job=job), [[file] for file in alone], lambda chunk: None))
    for number, chunk in died.items():
        done[number] = [_of_one(file, next(results)) for file in chunk]
    return [_results(each) for each in done]


def _of_one(file: File, told: object) -> Checked:
    return workers.failed(file, told.why(workers.DIED)) if isinstance(told, _Failed) else _results(told)[0]


def _results(told: Any) -> list[Checked]:
    if isinstance(told, str):
        raise CuvetError(told)
    results: list[Checked] = told
    return results


def _done(work: Callable[[Item], Any], items: Sequence[Item], tell: Callable[[Item], None]) -> list[Any]:
    """What the work returns for each item, in the same order, or ``_Failed``. ``tell`` is told of each item that is done."""
    if not items:
        return []
    ray = _connected()
    task = ray.remote(max_retries=ATTEMPTS - 1)(_work)
    shared = ray.put((work, os.getcwd()))
    number_of = {task.remote(item, shared): number for number, item in enumerate(items)}
    found: dict[int, Any] = {}
    left = list(number_of)
    while left:
        (done,), left = ray.wait(left)
        number = number_of[done]
        try:
            found[number] = ray.get(done)
        except ray.exceptions.RayError as error:
            found[number] = _Failed(type(error).__name__)
        tell(items[number])
    return [found[number] for number in range(len(items))]


def _connected() -> Any:
    """The module ``ray``, connected. A cluster that is started for this ends with the process (Ray, ``ray.shutdown``)."""
    os.environ.setdefault(
        "RAY_USAGE_STATS_ENABLED", "0"
    )  # of a cluster that is started here (Ray, Usage Stats Collection)
    try:
        import ray  # start: only with --on ray
    except ImportError:
        raise CuvetError("--on ray needs ray: pip install 'cuvet[ray]'") from None
    try:
        ray.init(ignore_reinit_error=True, include_dashboard=False, configure_logging=False, log_to_driver=False)
    except (OSError, RuntimeError, ValueError) as error:
        raise CuvetError(f"--on ray: {valid(str(error))}") from None
    return ray


# On a machine of the cluster.


def _work(item: Item, shared: tuple[Callable[[Item], Any], str]) -> Any:
    work, folder = shared
    with suppress(OSError):  # paths that are not relative do without
        os.chdir(folder)
    return work(item)


def _judge(directory: Path, options: Options, roots: tuple[Path, ...] | None) -> bytes:
    with only_below(roots) if roots is not None else nullcontext():
        return answer(directory, options)


def _check(chunk: list[File], job: Job) -> list[Checked] | str:
    """A str: why nothing can be checked."""
    try:
        return workers.check_chunk(chunk, job)
    except CuvetError as error:
        return str(error)
