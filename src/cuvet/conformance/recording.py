"""What a program of random calls did on a real driver: rows in a compressed file, one process a line.

A file is JSON lines, compressed by zstd: a ``Header``, then ``Session`` after ``Session``. Addresses and handles are those of the
machine where it was recorded; nothing else of that machine is in it.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from cuvet import CuvetError

FORMAT = "cuvet-conformance/1"
_MOST_BYTES = 1 << 30


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """Where and when: ``driver`` as cuDriverGetVersion tells (13000), ``driver_release`` as the kernel module tells (580.159.04);
    ``capabilities`` of the GPUs (90 for 9.0), if they were asked for."""

    format: str = FORMAT
    driver: int
    driver_release: str
    gpus: tuple[str, ...]
    memory_bytes: int
    date: str
    capabilities: tuple[int, ...] = ()


class Row(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """One driver call. ``args``, ``inputs`` and ``outputs`` as in ``cuvet.model.Call`` and ``Outcome``;
    ``status`` None: it did not return."""

    thread: int
    name: str
    args: tuple[int, ...]
    status: int | None
    outputs: dict[int, int] = {}
    inputs: dict[int, bytes] = {}
    pointers: tuple[int, ...] = ()
    maps: tuple[str, ...] = ()
    image: bytes = b""
    signal: int | None = None


class Session(msgspec.Struct, frozen=True):
    """The programs that one process played, one after the other: each starts at one of ``starts`` in ``rows``. ``seed`` is what their
    steps were drawn from; ``hung`` the call that did not return in time, after the last row."""

    seed: int
    starts: tuple[int, ...]
    rows: tuple[Row, ...]
    hung: str = ""


def write(path: Path, header: Header, sessions: Iterable[Session]) -> None:
    """FileExistsError if there is such a file: a recording is never overwritten."""
    import zstandard

    with path.open("xb") as file, zstandard.ZstdCompressor(level=19).stream_writer(file) as out:
        out.write(msgspec.json.encode(header) + b"\n")
        for session in sessions:
            out.write(msgspec.json.encode(session) + b"\n")


def read(path: Path) -> tuple[Header, Iterator[Session]]:
    """CuvetError, in one line, if the file is none of these or is broken."""
    lines = _lines(path)
    try:
        header = msgspec.json.decode(next(lines, b""), type=Header)
    except msgspec.DecodeError as error:
        raise CuvetError(f"{path} is no conformance recording: {error}") from error
    if header.format != FORMAT:
        raise CuvetError(f"{path} is of format {header.format}; this version of cuvet reads {FORMAT}")
    return header, _sessions(path, lines)


def _sessions(path: Path, lines: Iterator[bytes]) -> Iterator[Session]:
    decoder = msgspec.json.Decoder(Session)
    for number, line in enumerate(lines, 2):
        try:
            yield decoder.decode(line)
        except msgspec.DecodeError as error:
            raise CuvetError(f"{path}, line {number}: {error}") from error


def _lines(path: Path) -> Iterator[bytes]:
    import zstandard

    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file) as text:
            rest, total = b"", 0
            while piece := text.read(1 << 20):
                total += len(piece)
                if total > _MOST_BYTES:
                    raise CuvetError(f"{path} holds more than {_MOST_BYTES} bytes")
                *lines, rest = (rest + piece).split(b"\n")
                yield from lines
            if rest:
                raise CuvetError(f"{path} is truncated")
    except OSError as error:
        raise CuvetError(f"{path}: {error.strerror}") from error
    except zstandard.ZstdError as error:
        raise CuvetError(f"{path} is no conformance recording: {error}") from error
