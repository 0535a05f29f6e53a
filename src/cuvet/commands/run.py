"""``cuvet run``: runs a program and checks its CUDA calls."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from cuvet import arguments, reports
from cuvet.launch.environment import PROTECTION
from cuvet.reports import verdict
from cuvet.sizes import bytes_of

if TYPE_CHECKING:
    import subprocess

DEFAULT_BOUND, LEAST_BOUND, MOST_BOUND = 256 << 20, 1 << 20, 1 << 40
LEAST_DEVICE_MEMORY, MOST_DEVICE_MEMORY = 2 << 20, 1 << 40
MOST_QUARANTINE = 1 << 40
_MOST_DIGITS = 18
"""Of a number that the shim reads."""
NAME = "run"
HELP = "Run a program and report its mistakes with CUDA."
EPILOG = """examples:
  cuvet run -- ./program --its-own-options
  cuvet run --device emulated --devices 2 -- python train.py
  cuvet run --device emulated --device-memory 80GiB -- ./program
  cuvet run --protect -- ./program                              goes on where the driver would die
  cuvet run --narrow -- ./program                               names the launch that a fault comes from
  cuvet run --fail-on warning --require-cuda -- make test       for CI
  cuvet run --format json --output report.json --error-exitcode 3 -- make test
  cuvet run --fail-on error --format junit --output cuvet.xml -- make test
  cuvet run --write-suppressions known.toml -- make test        then report only what is new:
  cuvet run --suppressions known.toml --fail-on error -- make test
  cuvet run --baseline report.json --fail-on error -- make test
  mpirun -n 4 cuvet run --trace rec.%r --output report.%r -- ./program

exit codes: the program's own, or 128 + N if signal N ended it, unless one of these applies:
  1 --fail-on or --require-cuda applies (--error-exitcode chooses another number);
  2 a mistake in the use of cuvet or in its configuration, or a program that cannot work on the emulated device (one line says why);
  86 --protect=abort ended the program at a call that would have killed it;
  126 the program cannot be executed; 127 it was not found
a report that cannot be written when the program has ended leaves its exit code: one line says so

in --trace, --output and --write-suppressions: %p is the process id of cuvet, %r the rank (the first that is set of RANK,
OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, SLURM_PROCID, JOB_COMPLETION_INDEX), %h the name of the host, %q{NAME} an environment variable,
%% a percent sign

a comment `// cuvet: ignore[RULE] reason` (`#` in Python) at the call or at one of its callers suppresses a finding;
[tool.cuvet.run] of pyproject.toml or [run] of .cuvet.toml has select, ignore, severity, fail-on and suppressions
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = f"{parser.prog} [options] -- PROGRAM ARGS…"
    add_device(parser)
    add_emulated(parser)
    add_recorded(parser)
    parser.add_argument(
        "--bound",
        metavar="SIZE",
        type=_bound,
        default=DEFAULT_BOUND,
        help="how much of the disk the recording of a process may take before calls that have no more consequences are left "
        "out of it, the oldest first, for example 1GiB; off: none are (default: 256MiB)",
    )
    parser.add_argument(
        "--no-arguments",
        action="store_true",
        help="keep the program's arguments (for example a password) out of the recording and all reports",
    )
    reports.add_choice(parser)
    verdict.add_arguments(parser)
    parser.add_argument(
        "--emulate-crashes",
        action="store_true",
        help="raise the signal on the emulated device where hardware dies of one",
    )
    parser.add_argument(
        "--driver-log", action="store_true", help="attach what the real driver writes to its error log (CUDA_LOG_FILE)"
    )
    reports.add_arguments(parser, NAME)
    reports.add_contents(parser)
    parser.add_argument("program", metavar="PROGRAM ARGS…", nargs=argparse.REMAINDER, help="the program, after --")


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device",
        choices=("auto", "real", "emulated"),
        default="auto",
        help="the real GPU, the emulated device, or the emulated one if there is no GPU (default: auto)",
    )


def add_emulated(parser: argparse.ArgumentParser) -> None:
    """How many GPUs the emulated device has, and how large they are."""
    parser.add_argument(
        "--devices",
        metavar="N",
        type=arguments.number(1, 64),
        help="how many GPUs the emulated device has (default: 1)",
    )
    parser.add_argument(
        "--device-memory",
        metavar="SIZE",
        type=_device_memory,
        help="memory of each GPU of the emulated device, for example 8GiB (default: half of what this host has available)",
    )


def add_recorded(parser: argparse.ArgumentParser) -> None:
    """Options about what is recorded, what the shim does with calls, and where the recording is kept."""
    parser.add_argument(
        "--record",
        choices=("lifecycle", "full"),
        default="lifecycle",
        help="store only calls that change lifetimes or order, or all calls (default: lifecycle)",
    )
    parser.add_argument(
        "--races",
        action="store_true",
        help="find work on two streams that touches the same memory in no order; all work is stored",
    )
    parser.add_argument(
        "--guard",
        action="store_true",
        help="as --races, and find host code that touches pinned or managed memory while work in flight uses it; "
        "that memory is protected meanwhile, and small allocations have pages of their own",
    )
    parser.add_argument(
        "--protect",
        type=_protection,
        choices=PROTECTION,
        nargs="?",
        const=PROTECTION[0],
        metavar="MODE",
        help="do not make calls that are certain to kill the program: refuse them with an error code (the default MODE), the same but "
        "let what is destroyed twice pass (uses), stop in a debugger (trap), end with exit code 86 (abort); "
        "$CUVET_PROTECT says the MODE where no option can be given",
    )
    parser.add_argument(
        "--quarantine",
        metavar="auto|off|SIZE",
        type=_quarantine,
        default="off",
        help="keep what the program ends, so that the driver does not issue its handle or address again and a later use of the old one "
        "is found: streams, events, graphs, and SIZE of device memory; auto: 256MiB with a real GPU, while the emulated device always "
        "does so by itself (default: off)",
    )
    parser.add_argument(
        "--narrow",
        type=_first_launch,
        nargs="?",
        const=1,
        metavar="N",
        help="wait for each launch, from the N-th on (default: all), so that a fault of a kernel is reported at the launch that did it; "
        "the program is slower, as with CUDA_LAUNCH_BLOCKING=1",
    )
    parser.add_argument(
        "--stacks",
        choices=("all", "created", "none"),
        default="all",
        help="take the stacks of all stored calls that need one, only of those that make objects or fail, or of none (default: all)",
    )
    parser.add_argument(
        "--trace",
        metavar="DIR",
        type=arguments.path,
        help="keep the recording in DIR, new or empty (default: a new directory in ~/.local/state/cuvet)",
    )


def run(args: argparse.Namespace) -> int:
    asked = ask_for_gpus(args.device) if args.program else None
    try:
        from cuvet.launch import session

        return session.run(args, asked)
    finally:
        if asked is not None:
            asked.kill()  # nothing, if it has answered


def ask_for_gpus(device: str) -> subprocess.Popen[bytes] | None:
    """A process that asks libcuda for GPUs while all else is imported; None if nobody has to know."""
    if device == "emulated":
        return None
    from cuvet.doctor.asking import ask
    from cuvet.launch.environment import users_own

    return ask("cuda", users_own(os.environ))


def _protection(text: str) -> str:
    """A mode. What follows ``--protect`` without ``--`` between is taken for one: then it says what to write."""
    if text not in PROTECTION:
        raise argparse.ArgumentTypeError(
            f"{text or repr(text)} is no MODE ({', '.join(PROTECTION)}); to run a program write: --protect -- PROGRAM ARGS…"
        )
    return text


def _first_launch(text: str) -> int:
    """A number. What follows ``--narrow`` without ``--`` between is taken for one: then it says what to write."""
    if not text.isdecimal() or not int(text[:_MOST_DIGITS]) >= 1 or len(text) > _MOST_DIGITS:
        raise argparse.ArgumentTypeError(
            f"{text or repr(text)} is no number of a launch; to run a program write: --narrow -- PROGRAM ARGS…"
        )
    return int(text)


def _quarantine(text: str) -> str:
    """As the shim reads it: ``auto``, bytes, or nothing."""
    if text in ("auto", "off"):
        return text.removeprefix("off")
    try:
        size = bytes_of(text)
    except ValueError:
        size = MOST_QUARANTINE + 1
    if size > MOST_QUARANTINE:
        raise argparse.ArgumentTypeError(f"{text} is not auto, off, or a size up to 1TiB, for example 256MiB")
    return str(size)


def _device_memory(text: str) -> int:
    try:
        size = bytes_of(text)
    except ValueError:
        size = 0
    if not LEAST_DEVICE_MEMORY <= size <= MOST_DEVICE_MEMORY:
        raise argparse.ArgumentTypeError(f"{text} is not a size from 2MiB to 1TiB, for example 8GiB")
    return size


def _bound(text: str) -> int | None:
    if text == "off":
        return None
    try:
        size = bytes_of(text)
    except ValueError:
        size = 0
    if not LEAST_BOUND <= size <= MOST_BOUND:
        raise argparse.ArgumentTypeError(f"{text} is not off, nor a size from 1MiB to 1TiB, for example 1GiB")
    return size
