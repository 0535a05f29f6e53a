"""``cuvet env``: commands of a shell after which every program that it starts is recorded, and those that undo it."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from cuvet import CuvetError
from cuvet.launch import environment, keeper, names, session, trace
from cuvet.launch.environment import SAVED
from cuvet.printable import printable

SHELLS = ("sh", "fish")
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_EVAL = {"sh": 'eval "$(cuvet env{})"', "fish": "cuvet env --shell fish{} | source"}


class Recorded(NamedTuple):
    """An environment whose programs are recorded in ``directory``. ``on`` names the device."""

    directory: Path
    variables: dict[str, str]
    on: str


def recorded(
    args: argparse.Namespace, asked: subprocess.Popen[bytes] | None, before: Mapping[str, str], process: int
) -> Recorded:
    """``args``: the options of ``cuvet env``. ``asked``: the process that asks libcuda; None: the device is emulated. ``before``: the
    environment as it is without. ``process``: with it ends an emulated device. CuvetError if there is no such device."""
    environment.require_shim()
    own = environment.users_own(before)
    args.protect = args.protect or environment.protection(before)
    found = session.real_device(args, asked)
    directory = _directory(args.trace)
    variables = environment.for_program(
        own,
        directory,
        **session.recorded(args),
        driver=found.path if found else None,
        device=None if found else keeper.start(process, own, protects=bool(args.protect)),
        links=directory,
    )
    trace.write_meta(directory, session.about(found, own))
    return Recorded(directory, variables, found.devices[0].name if found else "the emulated device")


def begin(args: argparse.Namespace, asked: subprocess.Popen[bytes] | None) -> None:
    """Write what records the programs of a shell from now on."""
    _refuse_terminal(args.shell, "")
    before = original(os.environ)
    new = recorded(args, asked, before, os.getppid())
    if SAVED in os.environ:
        keeper.stop(os.environ)  # of the time before
    _write(commands(os.environ, {**new.variables, SAVED: _saved(before)}, args.shell))
    _tell(f"cuvet: programs started from this shell are recorded in {new.directory} (on {new.on})")
    _tell(f"cuvet: report: cuvet analyze; end: {_EVAL[args.shell].format(' --off')}")


def end(shell: str) -> None:
    """Write what undoes ``begin``, and end the emulated device if it has one."""
    _refuse_terminal(shell, " --off")
    if SAVED not in os.environ:
        raise CuvetError(f"nothing to take back: {_EVAL[shell].format('')} was not used in this shell")
    before = original(os.environ)
    keeper.stop(os.environ)
    _write(commands(os.environ, before, shell))


def original(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment as it was before ``cuvet env``. Of a list that was changed since, the entries that are not cuvet's."""
    text = variables.get(SAVED)
    if text is None:
        return dict(variables)
    own = environment.users_own(variables)
    for name, value in _decoded(text).items():
        if name not in environment.LISTS or environment.users_own({name: value}).get(name) == own.get(name):
            own[name] = value
    return own


def commands(now: Mapping[str, str], then: Mapping[str, str], shell: str) -> str:
    """What makes ``then`` of the environment ``now``. What is no name of a variable in a shell is left alone."""
    return "".join(_commands(now, then, shell))


def _commands(now: Mapping[str, str], then: Mapping[str, str], shell: str) -> Iterator[str]:
    for name in sorted({*now, *then}):
        value = then.get(name)
        if now.get(name) == value or not _NAME.fullmatch(name):
            continue
        if shell == "fish":
            yield f"set -e {name};\n" if value is None else f"set -gx {name} {_quoted_for_fish(value)};\n"
        else:
            yield f"unset {name};\n" if value is None else f"export {name}={shlex.quote(value)};\n"


def _quoted_for_fish(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _saved(before: Mapping[str, str]) -> str:
    """The lists, and what the environment lacks without cuvet's variables."""
    own = environment.users_own(before)
    kept = {name: value for name, value in before.items() if name in environment.LISTS or name not in own}
    return json.dumps(kept)


def _decoded(text: str) -> dict[str, str]:
    try:
        saved = json.loads(text)
    except (ValueError, RecursionError):
        saved = None
    if not isinstance(saved, dict) or not all(_is_saved(*each) for each in saved.items()):
        raise CuvetError(f"{SAVED} was changed: start a new shell")
    return saved


def _is_saved(name: str, value: object) -> bool:
    ours = name in environment.LISTS or name.startswith("CUVET_")
    return ours and isinstance(value, str) and "\0" not in value


def _directory(wanted: Path | None) -> Path:
    directory = trace.make(names.expanded(wanted, "--trace", os.environ) if wanted else None)
    if not environment.is_loadable(directory):
        raise CuvetError(
            f"{directory}: LD_PRELOAD cannot hold a path with a space, a colon or a semicolon: choose another one with --trace"
        )
    return directory


def _refuse_terminal(shell: str, option: str) -> None:
    if sys.stdout.isatty():
        raise CuvetError(f"a terminal does nothing with these commands: use {_EVAL[shell].format(option)}")


def _write(script: str) -> None:
    """Values can have bytes that no encoding has."""
    sys.stdout.buffer.write(os.fsencode(script))
    sys.stdout.buffer.flush()


def _tell(line: str) -> None:
    print(printable(line), file=sys.stderr)
