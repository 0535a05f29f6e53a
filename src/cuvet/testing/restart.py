"""Starts pytest again, under the shim: takes its place, prepares what ``cuvet run`` prepares, and ends as pytest did.

With a real GPU the shim does not make calls that are certain to kill the process (docs/protect.md): the test fails, and the next one runs.
The judge is not here but beside each process that runs tests (``asking.py``). Only if a signal or a test ended pytest, which then could not
report anything, this process does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import msgspec

from cuvet import CuvetError
from cuvet.printable import printable
from cuvet.testing.asking import OWN_RECORDING, command
from cuvet.testing.marks import Running, ignored, running

if TYPE_CHECKING:
    from cuvet.launch.child import Ending


def restart(options: Sequence[str], argv: Sequence[str]) -> NoReturn:
    """Become the process that starts ``argv``, with these options of ``cuvet run``. OSError if that cannot be."""
    sys.stdout.flush()
    sys.stderr.flush()
    arguments = command("restart", *options, "--", *argv)
    os.execv(arguments[0], arguments)


def main() -> int:
    """``OPTIONS… -- ARGV…``: the exit code of pytest, or 128 + the signal that ended it."""
    from cuvet.cli import UNABLE, escape_what_has_no_encoding, occupy_standard_streams
    from cuvet.launch.program import CannotStart

    occupy_standard_streams()
    escape_what_has_no_encoding()
    try:
        return _run(sys.argv[1:])
    except CannotStart as error:
        _tell(str(error))
        return error.code
    except CuvetError as error:
        _tell(_of_pytest(str(error)))
        return UNABLE


def _of_pytest(message: str) -> str:
    """Of a message that speaks of the options of cuvet run."""
    own = "set XDG_STATE_HOME to another directory"
    return message.replace("choose another directory with --trace", own).replace("--device", "--cuvet-device")


def _run(arguments: list[str]) -> int:
    from cuvet.cli import make_parser
    from cuvet.doctor.asking import ask
    from cuvet.launch import environment, program, session, trace
    from cuvet.launch.child import Child
    from cuvet.reports import choice

    args = make_parser(("run",)).parse_args(["run", *arguments])
    argv = arguments[arguments.index("--") + 1 :]
    choice.of(args)  # else each judge would meet what is wrong in the configuration
    environment.require_shim()
    own = environment.users_own(os.environ)
    asked = None if args.device == "emulated" else ask("cuda", own)
    executable = program.find(argv[0], own.get("PATH"))
    with session.ready(args, asked, argv, executable, own) as start:
        variables = {**start.variables, OWN_RECORDING: "1"}
        if start.device is None:
            variables[environment.PROTECT] = environment.PROTECTION[0]
        child = Child(executable.path, argv, variables)
        try:
            ending = child.wait()
        finally:
            lost = [*start.notices.stop(), *filter(None, [start.device.failure if start.device else None])]
    meta = msgspec.structs.replace(
        start.meta, pid=child.pid, exit_code=ending.exit_code, signal=ending.signal, notes=(*start.meta.notes, *lost)
    )
    trace.write_meta(start.directory, meta)
    for sentence in lost:
        _tell(sentence)
    test = running(start.directory)
    if ending.signal is None and test is None:
        return ending.code
    failed = _report(start.directory, ending, test)
    return ending.code or int(failed)


def _report(directory: Path, ending: Ending, test: Running | None) -> bool:
    """What was found until a signal ended pytest, or a test did. Whether it has an error."""
    from cuvet import reports
    from cuvet.analysis import analyze
    from cuvet.numeric import import_numpy
    from cuvet.reports.ignored import is_ignored, with_findings, without_ignored
    from cuvet.signals import signal_name

    import_numpy()
    ended = f"{signal_name(ending.signal)} ended pytest" if ending.signal is not None else "pytest ended"
    _tell(ended + (f" in {test.test} ({test.phase})" if test else ""))
    report = without_ignored(analyze([directory], ignored=is_ignored))
    by_markers = ignored(directory)
    kept = (
        each for each in report.findings if {each.rule.lower(), each.name}.isdisjoint(by_markers.get(each.during, ()))
    )
    report = with_findings(report, tuple(kept))
    document = reports.of_run(report, verbose=False, recording=str(directory))
    document.show(sys.stderr, "auto")
    return any(finding.severity == "error" for finding in report.findings)


def _tell(line: str) -> None:
    print(f"cuvet: {printable(line)}", file=sys.stderr)
