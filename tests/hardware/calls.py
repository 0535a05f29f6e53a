"""Play the programs of the rules on this machine's GPUs, and write what each call returned to ``tests/rules/measured.txt``.

``tests/rules/test_model.py`` asks that the model allows it: a program over the model
alone would end as the model says. Left out are programs whose threads run at the same time, and those over libraries. Needs a GPU, and no
nvcc; programs for more GPUs than there are keep the rows that they have.
"""

from __future__ import annotations

import datetime
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from cuvet.catalog import libraries
from cuvet.rules import model_rules, programs
from cuvet.rules.examples import Example, invalid, runnable, valid

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.rules.measured import FILE, Ends, key, read, text_of

JOBS, TIMEOUT_S = 8, 20


def playable() -> Iterator[tuple[str, Example]]:
    """The programs of which every call is measured, with their keys."""
    for rule in model_rules():
        for kind, examples in (("valid", valid(rule)), ("invalid", invalid(rule))):
            for example in runnable(examples):
                of_library = any(f"cu.{api}." in example.program for api in libraries())
                if "in_threads" not in example.program and not of_library:
                    yield key(rule.name, kind, example), example


class Traced(programs.Driver):
    """Writes the name of each call to ``log`` before it is made, and its status behind it."""

    log = -1

    def caller(self, library: Any, catalog: Any, name: str) -> Any:
        call = super().caller(library, catalog, name)

        def traced(*given: object, **replaced: object) -> Any:
            os.write(self.log, f"{name} ".encode())
            result = call(*given, **replaced)
            os.write(self.log, f"{self.status}\n".encode())
            return result

        return traced


def play(example: Example) -> Ends | None:
    """None: it did not end, or calls ran at the same time."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _run(example, writer)
    os.close(writer)
    text, ended = _until_end(reader, child)
    if ended is None or (not os.WIFSIGNALED(ended) and os.WEXITSTATUS(ended)):
        return None
    died = -os.WTERMSIG(ended) if os.WIFSIGNALED(ended) else 0
    calls = [line.split() for line in text.splitlines()]
    if any(len(words) != 2 for words in calls[:-1]) or (calls and len(calls[-1]) > 2):
        return None
    statuses = [(words[0], int(words[1]) if len(words) > 1 else died) for words in calls]
    return Ends(len(calls), {number: call for number, call in enumerate(statuses, 1) if call[1]})


def _run(example: Example, log: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    Traced.log, programs.Driver = log, Traced  # type: ignore[misc]
    try:  # not told of several GPUs: it would count them, which is a call more
        programs.run_program(example.program, "program.py", example.setup)
    except BaseException:
        os._exit(1)
    os._exit(0)


def _until_end(reader: int, child: int) -> tuple[str, int | None]:
    """What the child wrote, and its wait status; None if it was stopped."""
    end, text = time.monotonic() + TIMEOUT_S, b""
    while select.select([reader], [], [], max(0.0, end - time.monotonic()))[0]:
        piece = os.read(reader, 1 << 16)
        if not piece:
            os.close(reader)
            return text.decode(), os.waitpid(child, 0)[1]
        text += piece
    os.kill(child, signal.SIGKILL)
    os.close(reader)
    os.waitpid(child, 0)
    return text.decode(), None


def main() -> int:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpus = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = dict(playable())
    possible = {name: example for name, example in rows.items() if example.devices <= len(gpus)}
    known = {name: ends for name, ends in read().items() if name in rows}
    with get_context("fork").Pool(JOBS) as pool:
        played = zip(possible, pool.imap(play, possible.values()), strict=True)
        known.update({name: ends for name, ends in played if ends is not None})
    FILE.write_text(text_of(f"{gpus[0].replace(',', ', driver')}, {datetime.date.today().isoformat()}", known))
    print(f"{FILE}: {len(known)} of {len(rows)} programs")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
