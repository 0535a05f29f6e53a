"""``cuvet explain``: says what an error means and what causes it; explains a rule, or the errors in a log."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from typing import TYPE_CHECKING, TextIO, TypeVar

import msgspec

from cuvet import CuvetError, arguments, reports
from cuvet.knowledge import APIS
from cuvet.numeric import import_numpy
from cuvet.printable import printable, valid
from cuvet.reports import Document
from cuvet.rules import rule_called, rule_names

if TYPE_CHECKING:
    from pathlib import Path

    from cuvet.knowledge.device_faults import DeviceFault
    from cuvet.knowledge.explanation import Explanation
    from cuvet.knowledge.logs import Excerpt, Sighting
    from cuvet.rules.rule import Rule

_Found = TypeVar("_Found", "DeviceFault", "Sighting")
_MOST_LOOKED_UP = 5
"""Addresses of a log: each is a walk through the recording."""
_ELF = b"\x7fELF"
NAME = "explain"
HELP = (
    "Explain an error, a message, a log, a cause or a rule: what it means, what causes it, how to tell, what fixes it."
)
EPILOG = """examples:
  cuvet explain 400
  cuvet explain --api cudnn CUDNN_STATUS_NOT_INITIALIZED
  cuvet explain "no kernel image is available for execution on the device"
  cuvet explain cudaErrorInvalidValue cudaHostRegister      with the function that returned it
  python train.py 2>&1 | cuvet explain -                     the errors in a log; a FILE works too
  compute-sanitizer ./program 2>&1 | cuvet explain --recording DIR -    whose the addresses are; dmesg too
  cuvet explain stream-use-after-destroy                     a rule or a cause that cuvet named

exit codes: 0 it is explained; 2 nothing is known about it, the text cannot be written, or a mistake in the use of cuvet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        metavar="WHAT",
        nargs="+",
        help="error name, number or message, with anything else that is known; id of a rule or cause; log FILE, or - for stdin",
    )
    parser.add_argument("--api", choices=APIS, help="the API that a number or name belongs to")
    parser.add_argument(
        "--recording",
        metavar="DIR",
        type=arguments.path,
        help="recording in which to look up the addresses of a log's faults, as cuvet who does",
    )
    parser.add_argument("--all", action="store_true", help="show every cause, and all that is known of each")
    reports.add_arguments(parser, NAME, output=False)


def run(args: argparse.Namespace) -> int:
    words = " ".join(args.what).strip()
    rule = rule_called(words)
    if rule is not None:
        _say_file(words)
        reports.write(_of_rule(rule), args)
        return 0
    try:
        found = _explained(words, args)
    except _Unknown:
        if args.format == "json":
            from cuvet.knowledge.explanation import unknown

            reports.write(_of_error(unknown(valid(words)), args.all), args)
        raise
    reports.write(_of_error(found, args.all), args)
    return 0 if found.known else 2


class _Unknown(CuvetError):
    """Nothing is known about what was asked."""


def _say_file(id: str) -> None:
    """An id is meant before a file of its name."""
    if os.path.isfile(id):
        print(f"cuvet: {printable(id)} is an id; the file: {os.path.join(os.curdir, printable(id))}", file=sys.stderr)


def _explained(words: str, args: argparse.Namespace) -> Explanation:
    """_Unknown if nothing is known: with the nearest names."""
    from cuvet.knowledge import device_faults, explanation, logs

    if not words:
        raise CuvetError("nothing to explain: WHAT is empty (see cuvet explain -h)")
    if words == "-" or "\n" in words or _is_log(words):
        name = "-" if "\n" in words else valid(words)
        content = _content(words)
        if content.data.startswith(_ELF):
            raise CuvetError(
                f"{name} is a binary: cuvet who FILE DIR reads a GPU core dump, cuvet inspect FILE device code"
            )
        if content.size:
            left_out = f"{content.size:,} bytes after line {content.before:,} were not looked at"
            print(f"cuvet: {printable(name)}: {left_out}, the log is too long", file=sys.stderr)
        faults = _looked_up(_placed(device_faults.faults_in(content.data), content), args.recording)
        log = logs.read(content.data)
        if log.stopped:
            left_out = f"lines after {content.line(log.stopped):,} were not looked at, {logs.MOST_LINES:,} before them may matter"
            print(f"cuvet: {printable(name)}: {left_out}", file=sys.stderr)
        if log.cut:
            left_out = f"of line {content.line(log.cut):,} the middle was not looked at, it is too long"
            print(f"cuvet: {printable(name)}: {left_out}", file=sys.stderr)
        log = msgspec.structs.replace(log, sightings=_placed(log.sightings, content))
        found = explanation.explain_log(name, log, faults, everything=args.all)
        if found is None:
            raise _Unknown(f"no error of CUDA or its libraries was found in {'the log' if name == '-' else name}")
        return found
    if args.recording is not None:
        raise CuvetError("--recording is for the addresses in a log: give a FILE or - as WHAT")
    words = valid(words)
    found = explanation.explain_cause(words)
    if found is not None:
        _say_file(words)
        return found
    found = explanation.explain_text(words, args.api, everything=args.all)
    if found is None or (not found.errors and _nearest(words, 0.8)) or (not found.known and " " not in words):
        raise _Unknown(_unknown(words, args.api))
    return found


def _placed(found: tuple[_Found, ...], content: Excerpt) -> tuple[_Found, ...]:
    """With the numbers that their lines have in the log."""
    return tuple(msgspec.structs.replace(each, line=content.line(each.line)) for each in found)


def _looked_up(faults: tuple[DeviceFault, ...], recording: Path | None) -> tuple[DeviceFault, ...]:
    """With what the recording says of each address."""
    if recording is None:
        return faults
    import_numpy()
    from cuvet.analysis.whose import whose
    from cuvet.reports.whose import lines

    wanted = list(dict.fromkeys(fault.number for fault in faults if fault.number is not None))[:_MOST_LOOKED_UP]
    known: dict[int | None, tuple[str, ...]] = {number: tuple(lines(whose(number, [recording]))) for number in wanted}
    return tuple(msgspec.structs.replace(each, whose=known.get(each.number, ())) for each in faults)


def _is_log(word: str) -> bool:
    """Whether it is a file, and no name, number or id that means something itself. A directory or a device is meant by its path."""
    from cuvet.knowledge.errors import integer, named
    from cuvet.knowledge.search import cause_named

    is_there = os.path.exists if os.sep in word else os.path.isfile
    return is_there(word) and integer(word) is None and named(word) is None and cause_named(word) is None


def _content(words: str) -> Excerpt:
    """Standard input is read to its end, else its writer dies of SIGPIPE; of a device, which may have no end, the beginning."""
    from cuvet.knowledge.logs import MOST_BYTES, Excerpt, excerpt

    if "\n" in words:
        return Excerpt(data=os.fsencode(words))
    try:
        if words == "-":
            return excerpt(sys.stdin.buffer)
        with open(words, "rb") as file:
            is_device = stat.S_ISCHR(os.fstat(file.fileno()).st_mode)
            return Excerpt(data=file.read(MOST_BYTES)) if is_device else excerpt(file)
    except OSError as error:
        raise CuvetError(f"cannot read {valid(words)}: {error.strerror}") from error


def _unknown(words: str, api: str | None) -> str:
    from cuvet.knowledge.errors import integer

    of = f" of {api}" if api else ""
    if integer(words) is not None:
        return f"no error{of} has the number {words}"
    nearest = _nearest(words, 0.6)
    if " " in words and not nearest:
        return "not known to cuvet; what would tell: cuvet doctor (the machine), cuvet run -- PROGRAM (the call that fails)"
    hint = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
    return f"no error{of}, cause or rule is called {words[:200]}{hint} (see cuvet rules)"


def _nearest(words: str, least: float) -> list[str]:
    """The names of errors, causes and rules that are spelled like the words, at least as much as ``least`` of 1. An id itself is none."""
    import difflib

    from cuvet.knowledge.errors import all_errors
    from cuvet.knowledge.search import all_causes

    names = [name for error in all_errors() for name in error.names] + [
        *rule_names(),
        *(cause.id for cause in all_causes()),
    ]
    by_lower = {name.lower(): name for name in names}
    word = words.lower()[:200]
    close = difflib.get_close_matches(word, by_lower, n=3, cutoff=least) if word not in by_lower else []
    return [by_lower[name] for name in close]


def _of_error(found: Explanation, everything: bool) -> Document:
    def show(out: TextIO, color: str) -> None:
        from cuvet.reports import explanation, terminal

        explanation.render(found, terminal.console(out, color), everything=everything)

    return Document(found, show)


def _of_rule(rule: type[Rule]) -> Document:
    """The rule's page. On a terminal Markdown is set in type."""
    from cuvet.knowledge.search import cause_named
    from cuvet.reports.pages import page

    cause = cause_named(rule.name)
    beliefs, tell = (cause.beliefs, cause.tell) if cause else ((), ())

    def show(out: TextIO, color: str) -> None:
        if color == "always" or (color == "auto" and out.isatty()):
            from rich.markdown import Markdown

            from cuvet.reports.terminal import console

            console(out, color).print(Markdown(page(rule, beliefs, tell), code_theme="bw"))
        else:
            out.write(page(rule, beliefs, tell))

    steps = [{"command": one.command, "shows": one.shows} for one in tell]
    return Document({**_data(rule), "tell": steps, "beliefs": beliefs}, show)


def _data(rule: type[Rule]) -> dict[str, object]:
    from cuvet.rules.evidence import evidence_of
    from cuvet.rules.examples import invalid, valid
    from cuvet.rules.headings import sections

    return {
        "rule": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "summary": rule.summary,
        "sections": sections(rule),
        "help": rule.help,
        "evidence": evidence_of(rule),
        "valid": valid(rule),
        "invalid": invalid(rule),
    }
