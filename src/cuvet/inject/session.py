"""Runs ``cuvet inject``: prepares the campaign as the options say, and shows how far it is."""

from __future__ import annotations

import argparse
import fcntl
import os
import shlex
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from cuvet import CuvetError
from cuvet.doctor.machine import Machine
from cuvet.inject.campaign import Campaign, Wanted
from cuvet.inject.outcome import CLASSES, InjectReport, Trial
from cuvet.inject.running import Start
from cuvet.launch import environment, host_memory, program, session, trace
from cuvet.printable import printable, valid
from cuvet.regular import read_regular
from cuvet.source.tool import changes

PLAN = "campaign.json"
_MOST_PLAN = 16 << 20


class Plan(msgspec.Struct, frozen=True):
    """What a campaign was begun with: with anything else it cannot go on. ``files``: size and time of change of those that the program's
    command names."""

    argv: tuple[str, ...]
    device: str
    files: tuple[tuple[int, int], ...] = ()


def run(args: argparse.Namespace, asked: subprocess.Popen[bytes] | None) -> InjectReport | int:
    """The report, or the exit code if the program cannot be started."""
    argv = tuple(args.program[1:] if args.program[:1] == ["--"] else args.program)
    if args.list and args.format not in ("terminal", "json"):
        raise CuvetError("--list is for --format terminal or json: the other forms have what was tried")
    if not argv:
        raise CuvetError("no program to run: use cuvet inject -- PROGRAM ARGS… (see cuvet inject -h)")
    environment.require_shim()
    own = environment.users_own(os.environ)
    try:
        executable = program.find(argv[0], own.get("PATH"))
    except program.CannotStart as error:
        print(f"cuvet: {printable(str(error))}", file=sys.stderr)
        return error.code
    found = session.real_device(args, asked)
    if found is not None and (args.devices is not None or args.device_memory is not None):
        raise CuvetError("--devices and --device-memory are for the emulated device: add --device emulated")
    start = Start(
        argv=argv,
        path=executable.path,
        preload=executable.preload,
        own=own,
        devices=args.devices or 1,
        memory=args.device_memory or host_memory.for_device(Machine()),
        driver=found.path if found else None,
    )
    directory = _directory(
        args, Plan(tuple(map(valid, argv)), "real" if found else "emulated", tuple(_files(executable.path, *argv[1:])))
    )
    wanted = Wanted(
        at=tuple(args.at),
        classes=args.codes or CLASSES,
        changed=changes.since(args.changed, _repository(), "--changed") if args.changed is not None else None,
        budget_s=args.budget,
        calls=args.calls,
        quick=args.quick,
        jobs=args.jobs or (1 if found else len(os.sched_getaffinity(0))),
        keep=args.keep,
    )
    with _alone(directory), _shown(args) as told:
        campaign = Campaign(start, directory, wanted, _options(args), told)
        try:
            return campaign.listed() if args.list else campaign.run()
        except KeyboardInterrupt:
            print(f"cuvet: interrupted; --resume {shlex.quote(str(directory))} goes on", file=sys.stderr)
            raise
        except (OSError, BrokenProcessPool) as error:
            why = getattr(error, "strerror", None) or "a process of cuvet was ended"
            raise CuvetError(f"a run could not be made: {why}; --resume {directory} goes on") from None


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """No other command works on the same campaign until the end of the block. CuvetError if one does."""
    with open(directory / PLAN, "rb") as plan:
        try:
            fcntl.flock(plan, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CuvetError(f"another cuvet inject works in {directory}: wait until it has ended") from None
        yield


def _files(*words: str) -> Iterator[tuple[int, int]]:
    for word in words:
        with suppress(OSError, ValueError):
            status = os.stat(word)
            if stat.S_ISREG(status.st_mode):
                yield status.st_size, status.st_mtime_ns


def _repository() -> Path | None:
    here = Path.cwd()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), None)


def _options(args: argparse.Namespace) -> str:
    """Of this command, that one which repeats a trial needs, too."""
    words = [f" --device {args.device}"] if args.device != "auto" else []
    words += [f" --devices {args.devices}"] if args.devices is not None else []
    words += [f" --device-memory {args.device_memory}"] if args.device_memory is not None else []
    return "".join(words)


def _directory(args: argparse.Namespace, plan: Plan) -> Path:
    """Of the campaign: a new one, or one that was begun with the same plan."""
    if args.resume is None:
        directory = trace.make(args.trace)
        (directory / "meta.json").unlink()  # it holds recordings, and is none
        with open(directory / PLAN, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(msgspec.json.encode(plan))
        return directory
    directory = Path(args.resume)
    try:
        begun = msgspec.json.decode(read_regular(directory / PLAN, _MOST_PLAN), type=Plan)
    except (OSError, msgspec.DecodeError):
        raise CuvetError(
            f"{directory} is no directory of cuvet inject: give --resume the one that --trace named"
        ) from None
    if (begun.argv, begun.device) == (plan.argv, plan.device) and begun.files != plan.files:
        raise CuvetError(
            f"the program was changed since {directory} was begun: what was found there is of the other; begin anew"
        )
    if begun != plan:
        raise CuvetError(
            f"{directory} was begun with another program or device: {' '.join(begun.argv)} ({begun.device})"
        )
    return directory.resolve()


@contextmanager
def _shown(args: argparse.Namespace) -> Iterator[Callable[[int, int, Trial | None], None]]:
    """A bar on stderr while the block runs, if that is a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal or args.list:
        yield lambda done, all_, trial: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("the program without a fault", total=None)
        bad: set[str] = set()

        def told(done: int, all_: int, trial: Trial | None) -> None:
            if trial is not None and trial.recording and not args.keep:
                bad.add(trial.recording)
            progress.update(task, completed=done, total=all_, description=f"faults, {len(bad)} not handled")

        yield told
