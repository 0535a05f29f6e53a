"""Judges many recordings on Ray, each where it lies; only verdicts travel.

``ray.init`` connects to the cluster of $RAY_ADDRESS or to one that was started on this machine, or starts a local one (Ray, Starting Ray).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec

from cuvet import CuvetError
from cuvet.analysis.verdicts import Options
from cuvet.analysis.workers import ATTEMPTS, DIED, Outcome, Tell, Unreadable, answer
from cuvet.printable import valid
from cuvet.reports.source import only_below, shown_below


def judged(directories: Sequence[Path], options: Options, tell: Tell) -> list[Outcome]:
    """As of ``workers.judged``: the outcome of each directory, in the same order. The machines of the cluster see the recordings at the
    same paths, and have this cuvet. CuvetError if ray is missing, or its cluster cannot be reached."""
    os.environ.setdefault(
        "RAY_USAGE_STATS_ENABLED", "0"
    )  # of a cluster that is started here (Ray, Usage Stats Collection)
    try:
        import ray  # start: only with --on ray
    except ImportError:
        raise CuvetError("--on ray needs ray: pip install 'cuvet[ray]'") from None
    started = not ray.is_initialized()
    try:
        ray.init(ignore_reinit_error=True, include_dashboard=False, configure_logging=False, log_to_driver=False)
    except (OSError, RuntimeError, ValueError) as error:
        raise CuvetError(f"--on ray: {valid(str(error))}") from None
    try:
        judge = ray.remote(max_retries=ATTEMPTS - 1)(_judge)
        shared = ray.put((options, shown_below()))
        number_of = {judge.remote(str(each), shared): number for number, each in enumerate(directories)}
        outcomes: dict[int, Outcome] = {}
        left = list(number_of)
        while left:
            (done,), left = ray.wait(left)
            number = number_of[done]
            try:
                outcomes[number] = msgspec.json.decode(ray.get(done), type=Outcome)
            except ray.exceptions.RayError as error:
                outcomes[number] = Unreadable(why=f"{valid(directories[number])}: {_why(error)}")
            tell(1)
        return [outcomes[number] for number in range(len(directories))]
    finally:
        if started:
            ray.shutdown()


def _why(error: Exception) -> str:
    name = type(error).__name__
    return DIED if name in ("WorkerCrashedError", "OutOfMemoryError") else f"Ray could not judge it ({name})"


def _judge(directory: str, shared: tuple[Options, tuple[Path, ...] | None]) -> bytes:
    """On a machine of the cluster."""
    options, roots = shared
    with only_below(roots) if roots is not None else nullcontext():
        return answer(Path(directory), options)
