"""Runs ``cuvet run``: starts the program, reads its recording while it runs, and reports.

Nothing is imported before the program starts that is not needed to start it, and what analyses only for a program that calls CUDA.
"""

from __future__ import annotations

import argparse
import os
import shlex
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from cuvet import CuvetError, __version__, reports
from cuvet.doctor import state
from cuvet.findings import ProcessRank, Report, Tool
from cuvet.launch import environment, names, program, progress, trace, unsupported
from cuvet.launch.bound import Bound
from cuvet.launch.child import Child, Ending
from cuvet.launch.live import Live
from cuvet.launch.notices import Notices
from cuvet.meta import Meta, Moment
from cuvet.printable import printable, valid
from cuvet.ranks import rank_in
from cuvet.reports import choice, verdict
from cuvet.reports.choice import Choice

if TYPE_CHECKING:
    import subprocess

    from cuvet.analysis import Analysis
    from cuvet.launch.emulated import Device

MISUSE = 2
DRIVER_STARTS_S = 120
_WITHOUT_STACKS = {"created": "calls that neither make an object nor fail", "none": "any call"}
"""By ``--stacks``."""
_TO_SHIM = ("guard", "protect", "quarantine", "narrow", "stacks")
"""Options."""


def run(args: argparse.Namespace, asked: subprocess.Popen[bytes] | None) -> int:
    """The exit code of ``cuvet run`` with these options. ``asked``: the process that asks libcuda; None: the device is emulated."""
    argv = args.program[1:] if args.program[:1] == ["--"] else args.program
    if not argv:
        raise CuvetError("no program to run: use cuvet run -- PROGRAM ARGS… (see cuvet run -h)")
    if args.trace:
        args.trace = names.expanded(args.trace, "--trace", os.environ)
    if args.output:
        args.output = names.expanded(args.output, "--output", os.environ)
        _require_writable(args.output)
    if args.write_suppressions:
        args.write_suppressions = names.expanded(args.write_suppressions, "--write-suppressions", os.environ)
    chosen = choice.of(args)
    args.protect = args.protect or environment.protection(os.environ)
    environment.require_shim()
    own = environment.users_own(os.environ)
    try:
        executable = program.find(argv[0], own.get("PATH"))
        return _run(args, chosen, asked, argv, executable, own)
    except program.CannotStart as error:
        print(f"cuvet: {printable(str(error))}", file=sys.stderr)
        return error.code


def _require_writable(output: Path) -> None:
    """Before the program runs, because its report would be lost."""
    cannot = f"cannot write the report to {output}: "
    try:
        target = os.path.realpath(output, strict=True)
    except FileNotFoundError:
        target = os.path.dirname(os.path.realpath(output))
    except OSError as error:
        raise CuvetError(f"{cannot}{error.strerror}") from None
    if output.is_dir():
        raise CuvetError(f"{cannot}it is a directory")
    if not os.path.exists(target):
        raise CuvetError(f"{cannot}there is no directory {target}")
    if not os.access(target, os.W_OK):
        raise CuvetError(f"{cannot}{output if output.exists() else f'the directory {target}'} cannot be written to")


class Ready(NamedTuple):
    """What a program is started with. ``directory``: of its recording. ``variables``: its environment. ``device``: None if it is real."""

    directory: Path
    variables: dict[str, str]
    meta: Meta
    notices: Notices
    device: Device | None


@contextmanager
def ready(
    args: argparse.Namespace,
    asked: subprocess.Popen[bytes] | None,
    argv: Sequence[str],
    executable: program.Executable,
    own: dict[str, str],
) -> Iterator[Ready]:
    """What ``run`` prepares for a program; the emulated device lasts until the end of the block. ``args``: the options of ``cuvet run``.
    CuvetError if they do not go together, or if there is no such device."""
    found = real_device(args, asked)
    emulated = found is None
    if args.devices is not None and not emulated:
        raise CuvetError("--devices is for the emulated device: add --device emulated")
    if args.device_memory is not None and not emulated:
        raise CuvetError("--device-memory is for the emulated device: add --device emulated")
    if args.driver_log and emulated:
        raise CuvetError("--driver-log is for a real GPU: the emulated device writes no log")
    with ExitStack() as stack:
        device = stack.enter_context(_device(emulated, args, own))
        directory = trace.make(args.trace)
        notices = Notices()
        variables = environment.for_program(
            own,
            directory,
            **recorded(args),
            driver=found.path if found else None,
            device=device.variables if device else None,
            links=stack.enter_context(environment.links(directory)),
            preload=executable.preload,
            driver_log=_driver_log(directory) if args.driver_log else None,
            notices=notices.address,
        )
        meta = msgspec.structs.replace(
            about(found, own),
            argv=tuple(map(valid, argv[:1] if args.no_arguments else argv)),
            notes=tuple(_notes(args, executable, own)),
        )
        trace.write_meta(directory, meta)
        yield Ready(directory, variables, meta, notices, device)


def real_device(args: argparse.Namespace, asked: subprocess.Popen[bytes] | None) -> state.Cuda | None:
    """What libcuda says of its GPUs; None: the device is emulated. CuvetError if a real one is wanted that there is not."""
    found = state.cuda_answer(asked, DRIVER_STARTS_S) if asked else state.Cuda()
    if args.device == "real" and not found.devices:
        raise CuvetError(f"no GPU: {found.missing}; --device emulated needs none")
    return found if found.devices else None


def recorded(args: argparse.Namespace) -> dict[str, Any]:
    """Those arguments of ``environment.for_program`` that options give."""
    record = "accesses" if args.races or args.guard else args.record
    return {"record": record, **{name: getattr(args, name) for name in _TO_SHIM}}


def about(found: state.Cuda | None, own: dict[str, str]) -> Meta:
    """What a recording says of the machine. ``found``: as of ``real_device``. ``own``: the environment without the shim."""
    return Meta(
        device="real" if found else "emulated",
        gpus=tuple(each.name for each in found.devices) if found else (),
        driver="{}.{}".format(*state.release_of(found.version)) if found and found.version else None,
        host=(host := valid(socket.gethostname())),
        boot=_boot(),
        rank=rank_in(own, host),
    )


def _run(
    args: argparse.Namespace,
    chosen: Choice,
    asked: subprocess.Popen[bytes] | None,
    argv: list[str],
    executable: program.Executable,
    own: dict[str, str],
) -> int:
    with ready(args, asked, argv, executable, own) as start:
        directory, meta = start.directory, start.meta
        started_ns = time.time_ns()
        child = Child(executable.path, argv, start.variables)
        bound = Bound(args.bound)
        color = args.color if _tells_live(args) else None
        seen = partial(_keep_ranks, directory, meta)
        emulated = start.device is not None
        live = Live(directory, child.pid, tuple(argv), started_ns, color, bound, chosen, emulated=emulated, seen=seen)
        try:
            ending = child.wait()
            ended = Moment(monotonic_ns=time.monotonic_ns(), realtime_ns=time.time_ns())
        finally:
            with progress.shown([directory]):
                analysis = live.stop()
                lost = [*start.notices.stop(), *bound.notes]
                lost += filter(None, [start.device.failure if start.device else None])
    meta = msgspec.structs.replace(_ended(meta, child, ending, live, analysis, lost), ended=ended)
    trace.write_meta(directory, meta)  # now, since whoever ended the program may end cuvet, too
    if analysis is not None:
        exceeded = bound.exceeded([process.recording for process in analysis.processes()])
        meta = msgspec.structs.replace(meta, hints=tuple(exceeded))
        meta = _with_machine(meta, ending, analysis, lambda pid: live.environments.get(pid) or own)
    notes = [trace.write_meta(directory, meta)]
    if analysis is not None:
        notes.append(_keep_cudnn_log(analysis, own, started_ns))
        notes += _keep_core_dumps(analysis, own, started_ns)
    meta = msgspec.structs.replace(meta, notes=(*meta.notes, *filter(None, notes)))
    return _report(args, chosen, directory, analysis, meta, ending)


def _driver_log(directory: Path) -> Path:
    from cuvet.analysis import driver_log  # start: only with --driver-log

    return directory / driver_log.FILE


def _keep_cudnn_log(analysis: Analysis, own: dict[str, str], since_ns: int) -> str | None:
    from cuvet.analysis import cudnn_log  # start: only for programs that call CUDA

    processes = (each.recording.pid for each in analysis.processes())
    return cudnn_log.keep(analysis.directory, own, processes, since_ns)


def _keep_core_dumps(analysis: Analysis, own: dict[str, str], since_ns: int) -> list[str]:
    from cuvet.analysis import core_dumps  # start: only for programs that call CUDA

    processes = [each.recording.pid for each in analysis.processes()]
    return core_dumps.keep(analysis.directory, own, processes, since_ns)


def _notes(args: argparse.Namespace, executable: program.Executable, own: dict[str, str]) -> Iterator[str]:
    """What cannot be seen, as far as that is known before the program runs."""
    if executable.note:
        yield executable.note
    if args.stacks in _WITHOUT_STACKS:
        yield f"--stacks {args.stacks}: cuvet took no stacks of {_WITHOUT_STACKS[args.stacks]}"
    if args.driver_log and environment.DRIVER_LOG in own:
        yield f"{environment.DRIVER_LOG} was set already: the driver's log went there, and --driver-log did not read it"


def _tells_live(args: argparse.Namespace) -> bool:
    """Whether somebody looks on: in a file each finding would stand twice, and a report that is to be parsed stands alone."""
    return sys.stderr.isatty() and (args.format == "terminal" or args.output is not None)


@contextmanager
def _device(emulated: bool, args: argparse.Namespace, own: dict[str, str]) -> Iterator[Device | None]:
    if not emulated:
        yield None
        return
    from cuvet.doctor.machine import Machine  # start: not with a GPU
    from cuvet.launch import host_memory  # start: not with a GPU
    from cuvet.launch.emulated import emulated_device  # start: not with a GPU

    memory = args.device_memory or host_memory.for_device(Machine())
    with emulated_device(
        args.devices or 1, memory, own, crashes=args.emulate_crashes, protects=bool(args.protect)
    ) as device:
        yield device


def _ended(
    meta: Meta, child: Child, ending: Ending, live: Live, analysis: Analysis | None, lost: Sequence[str]
) -> Meta:
    notes = [
        *meta.notes,
        *lost,
        *(
            f"process {pid} loaded {path} past cuvet: cuvet did not see its CUDA calls"
            for pid, path in live.past_shim.items()
        ),
        *(
            f"process {pid} still ran when this report was made: what it did later is not in it"
            for pid in (analysis.still_running() if analysis else ())
        ),
    ]
    return msgspec.structs.replace(
        meta,
        pid=child.pid,
        exit_code=ending.exit_code,
        signal=ending.signal,
        notes=tuple(notes),
        ranks=_ranks(live.environments, meta.host),
        stood=tuple(live.stood),
    )


def _boot() -> str:
    """The id of this start of the machine: all processes that have it share a CLOCK_MONOTONIC. "" if it cannot be read."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _ranks(environments: Mapping[int, Mapping[str, str]], host: str) -> tuple[ProcessRank, ...]:
    """Of the processes whose environment was seen."""
    told = ((process, rank_in(variables, host)) for process, variables in environments.items())
    return tuple(ProcessRank(process=process, rank=rank) for process, rank in told if rank is not None)


def _keep_ranks(directory: Path, meta: Meta, environments: Mapping[int, Mapping[str, str]]) -> None:
    """For a reader of the recording, should cuvet be killed."""
    ranks = _ranks(environments, meta.host)
    if any(each.rank != meta.rank for each in ranks):
        trace.write_meta(directory, msgspec.structs.replace(meta, ranks=ranks))


def _with_machine(
    meta: Meta, ending: Ending, analysis: Analysis, environment_of: Callable[[int], Mapping[str, str]]
) -> Meta:
    """With what was wrong with the machine, if the program failed."""
    if not ending.code:
        return meta
    from cuvet.launch import machine  # start: only for programs that failed

    with progress.shown([analysis.directory]):
        analysis.advance(meta=meta)
    causes = machine.causes(analysis.processes(), environment_of, emulated=meta.device == "emulated")
    return msgspec.structs.replace(meta, machine=causes)


def _report(
    args: argparse.Namespace,
    chosen: Choice,
    directory: Path,
    analysis: Analysis | None,
    meta: Meta,
    ending: Ending,
) -> int:
    refusal = unsupported.sentence(directory)
    if refusal:
        _tell(f"cuvet: {refusal}")
        return MISUSE
    if analysis is None:
        report = chosen.of(_without_calls(args, meta))
    else:
        with progress.shown([directory]):
            report = analysis.report(meta, leaks=args.leaks, memory=args.memory)
            report = chosen.of(_of_ranks(analysis, meta, report, chosen))
        _keep_names(analysis)
    recording = str(directory)
    try:
        kept = trace.size_of_all() if args.trace is None else 0
        reports.write(reports.of_run(report, verbose=args.verbose, recording=recording, kept=kept), args, sys.stderr)
    except CuvetError as error:
        _tell(f"cuvet: {error}; look again: cuvet analyze {shlex.quote(recording)}")
    except BrokenPipeError:  # nobody reads it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    _write_suppressions(args.write_suppressions, report)
    code = verdict.exit_code(args, report)
    return ending.code if code is None else code


def _write_suppressions(file: Path | None, report: Report) -> None:
    if file is None:
        return
    from cuvet.reports import suppressions  # start: only with --write-suppressions

    try:
        suppressions.write(file, report.findings)
    except CuvetError as error:
        _tell(f"cuvet: {error}")


def _of_ranks(analysis: Analysis, meta: Meta, report: Report, chosen: Choice) -> Report:
    """The report, which says of several ranks that one program started (torchrun) which failed first."""
    if len({each.rank for each in report.ranks}) < 2:
        return report
    from cuvet.analysis.merge import merged  # start: only for several ranks
    from cuvet.analysis.verdicts import verdict_of  # start: only for several ranks

    return merged([verdict_of(analysis, meta, report)], ignored=chosen.hides)


def _without_calls(args: argparse.Namespace, meta: Meta) -> Report:
    """What ``Analysis.report`` says of no recording."""
    not_checked = tuple(dict.fromkeys(meta.notes))
    memory = () if args.memory else None
    return Report(tool=Tool(version=__version__), program=meta.program, memory=memory, not_checked=not_checked)


def _keep_names(analysis: Analysis) -> None:
    for process in analysis.processes():
        try:
            process.keep_names()
        except OSError as error:
            kept = process.generated.kept
            _tell(f"cuvet: {kept}: {error.strerror}; `cuvet analyze` will not have the names of generated code")


def _tell(line: str) -> None:
    """On stderr. If that is a full disk, or a pipe that nobody reads, nobody is told; the program's exit code is kept."""
    try:
        print(printable(line), file=sys.stderr, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
