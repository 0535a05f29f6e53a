"""Names of files with a part that differs for each process of one command line: ``report.%r.json`` under mpirun."""

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path

from cuvet import CuvetError
from cuvet.printable import printable
from cuvet.ranks import LAUNCHERS, MOST_DIGITS, rank_in

_MOST_VALUE = 30


def expanded(path: Path, option: str, environment: Mapping[str, str]) -> Path:
    """The path with %p (our process id), %r (the rank), %h (the host), %q{NAME} (a variable) and %% filled in. CuvetError if there is
    no rank or variable, or for another letter; ``option`` is what is then named."""

    def value(match: re.Match[str]) -> str:
        name = match["variable"]
        if name is not None:
            if name not in environment:
                raise CuvetError(f"{option} {path}: %q{{{name}}}: no environment variable is called {name}")
            return environment[name]
        if match[0] == "%r":
            return _rank(path, option, environment)
        known = {"%p": str(os.getpid()), "%h": socket.gethostname(), "%%": "%"}
        if match[0] not in known:
            raise CuvetError(
                f"{option} {path}: {match[0]} is not known: use %p, %r, %h or %q{{NAME}}, or %% for a percent sign"
            )
        return known[match[0]]

    return Path(re.sub(r"%(?:q\{(?P<variable>[^{}]*)\}|.|$)", value, str(path), flags=re.S))


def _rank(path: Path, option: str, environment: Mapping[str, str]) -> str:
    rank = rank_in(environment, "")
    if rank is None:
        wrong = next((launcher.rank for launcher in LAUNCHERS if environment.get(launcher.rank)), None)
        if wrong is not None:
            value = printable(environment[wrong])
            cut = value if len(value) <= _MOST_VALUE else f"{value[:_MOST_VALUE]}…"
            raise CuvetError(
                f"{option} {path}: %r is the rank, and {wrong} is {cut}: no number of at most {MOST_DIGITS} digits"
            )
        names = ", ".join(launcher.rank for launcher in LAUNCHERS)
        raise CuvetError(f"{option} {path}: %r is the rank, and none of {names} is set; %p is the process id")
    return str(rank.rank)
