"""The process that checks for an editor: it may take long, and what it is given may end it, so it is not the one that answers the editor.

It reads messages from standard input and writes messages to standard output, each after its length in 4 bytes: an ``Ask``, then as
many ``Progress`` as there are chunks of files, then an ``Answer``.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import msgspec

from cuvet import CuvetError
from cuvet.source.tool import session
from cuvet.source.tool.report import CheckReport

LENGTH = struct.Struct("<I")


class Ask(msgspec.Struct, frozen=True):
    """Check the directory ``root``, or with ``alone`` nothing but ``texts``, which stand for what these files of it hold."""

    root: str
    alone: bool
    texts: dict[str, bytes]


class Progress(msgspec.Struct, frozen=True, tag=True):
    """How many files are checked, of how many."""

    done: int
    files: int


class Answer(msgspec.Struct, frozen=True, tag=True):
    """``mistake``: why nothing was checked, for the user."""

    report: CheckReport | None = None
    mistake: str = ""


def main() -> None:
    """Answer until the input ends."""
    to_editor = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no message
    while (head := sys.stdin.buffer.read(LENGTH.size)) and len(head) == LENGTH.size:
        ask = msgspec.msgpack.decode(sys.stdin.buffer.read(*LENGTH.unpack(head)), type=Ask)
        write(to_editor, _answer(ask, lambda progress: write(to_editor, progress)))


def write(file: BinaryIO, message: Progress | Answer) -> None:
    data = msgspec.msgpack.encode(message)
    file.write(LENGTH.pack(len(data)) + data)
    file.flush()


def _answer(ask: Ask, tell: Callable[[Progress], None]) -> Answer:
    done = 0

    def more(count: int) -> None:
        nonlocal done
        done += count
        tell(Progress(done, len(todo.found.files)))

    try:
        os.chdir(ask.root)
        todo = session.plan(
            session.Request(
                paths=() if ask.alone else (Path(),), texts={Path(name): text for name, text in ask.texts.items()}
            )
        )
        return Answer(session.report(todo, session.check(todo, more)))
    except CuvetError as error:
        return Answer(mistake=str(error))
    except OSError as error:
        return Answer(mistake=f"{ask.root}: {error.strerror}")


if __name__ == "__main__":
    main()
