"""Finds the errors in a log: of PyTorch, TensorFlow and XLA, JAX, CuPy, Numba, Triton, ONNX Runtime, managedCuda, plain C++ and others.

What all of these print is the error's name, its message, or its number in a line that speaks of CUDA: that is what is looked for. The
lines of a log are in the order of time, so the first error is the one to explain; what follows is often its consequence.
"""

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO, Protocol

import msgspec

from cuvet.catalog.apis import PREFIXES
from cuvet.knowledge.errors import Error
from cuvet.knowledge.mentions import calls_in, errors_on

MOST_BYTES = 16 << 20
"""Of a longer log, half of it from the beginning and half from the end are looked at."""
_MOST_LINE = 4096
"""Of a line longer than twice that, so much of its beginning and of its end is looked at."""
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
MOST_LINES = 20_000
"""So many lines that may report an error are looked at."""
_MOST_TEXT = 32 << 10
_SUSPECT = re.compile(
    f"cuda|{'|'.join(PREFIXES)}".encode() + rb"|ptx|triton|gpu|kernel image|error[a-z_]|\] call to|__global__"
    rb"|seg(?:v|fault|mentation)|sigabrt|bus error|access violation|exit|signal|zlib|unable to|could not|capturing|return|fail",
    re.I,
)
_FAILURE = re.compile(
    r"\b(?:error|fail\w*|could not|cannot|can't|unable|not found|missing|mismatch\w*|denied|no such|but)\b", re.I
)


class Excerpt(msgspec.Struct, frozen=True, kw_only=True):
    """Beginning and end of a log, in whole lines: ``before`` lines, then the ``lines`` and ``size`` bytes that were left out."""

    data: bytes
    before: int = 0
    lines: int = 0
    size: int = 0

    def line(self, number: int) -> int:
        """The number in the log of a line of ``data``, both from 1."""
        return number + self.lines if number > self.before else number


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """An error in a log: ``line`` is its first, counted from 1; ``times``: how many lines report it; ``calls`` stand in the first."""

    error: str
    line: int
    text: str
    calls: tuple[str, ...] = ()
    times: int = 1


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a log, counted from 1."""

    line: int
    text: str


class Log(msgspec.Struct, frozen=True):
    """``sightings`` in the order of the log. ``errors`` and ``calls``: those of the first line with an error. ``text``: where the signs of
    causes are looked for, the log if it is short, else what stands around its first error and every line that may matter. Of a long log
    without an error, only the lines that tell of a failure. ``stopped``: after this line, others that may matter were not looked at; 0 if
    all were. ``cut``: the first line of which the middle was not looked at; 0 if none was cut. ``whole``: ``text`` is all of
    the log."""

    sightings: tuple[Sighting, ...]
    errors: tuple[Error, ...]
    calls: tuple[str, ...]
    text: str
    stopped: int = 0
    cut: int = 0
    whole: bool = False

    @property
    def fails(self) -> bool:
        """Whether a line tells of a failure."""
        return _FAILURE.search(self.text) is not None


class _Reads(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Recoded:
    """What follows of a file in UTF-16, as PowerShell redirects to one, in UTF-8. ``begun``: its first bytes."""

    def __init__(self, file: BinaryIO, begun: bytes) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        self._ready = self._decoder.decode(begun).encode()

    def read(self, size: int, /) -> bytes:
        """So many bytes, and fewer only at the end."""
        while len(self._ready) < size and (piece := self._file.read(size)):
            self._ready += self._decoder.decode(piece).encode("utf-8", "replace")
        found, self._ready = self._ready[:size], self._ready[size:]
        return found


def excerpt(file: BinaryIO) -> Excerpt:
    """Reads to the end of the file, and keeps ``MOST_BYTES`` of it. What is UTF-16, by its byte order mark, becomes UTF-8."""
    half = MOST_BYTES // 2
    head = file.read(half)
    return _recoded(file, head, half) if head.startswith(_UTF_16) else _excerpt(file, head, half)


def _recoded(file: BinaryIO, begun: bytes, half: int) -> Excerpt:
    text = _Recoded(file, begun)
    return _excerpt(text, text.read(half), half)


def _excerpt(file: _Reads, head: bytes, half: int) -> Excerpt:
    """Of a file whose first ``half`` bytes are read."""
    tail = b""
    size = lines = 0
    while piece := file.read(half):
        tail += piece
        over = max(0, len(tail) - half)
        size, lines = size + over, lines + tail.count(b"\n", 0, over)
        tail = tail[over:]
    if not size:
        return Excerpt(data=head + tail)
    end, start = head.rfind(b"\n"), tail.find(b"\n") + 1  # a line longer than half stays cut
    end = end if end >= 0 else half
    data = head[:end]
    before = data.count(b"\n") + 1
    all_before = head.count(b"\n") + lines + tail.count(b"\n", 0, start)
    size += half - min(end + 1, half) + start
    return Excerpt(data=data + b"\n" + tail[start:], before=before, lines=all_before - before, size=size)


def read(data: bytes) -> Log:
    """The errors of a log."""
    sightings: dict[str, Sighting] = {}
    first: tuple[Error, ...] = ()
    around = b""
    suspects: list[str] = []
    room = _MOST_TEXT
    stopped = last = cut = 0
    for count, piece in enumerate(_suspects(data)):
        if count == MOST_LINES:
            stopped = last
            break
        number, start, line = piece.line, piece.start, piece.text
        last = number
        cut = cut or (number if piece.is_cut else 0)
        errors = errors_on(line)
        if errors and not first:
            first, around = errors, data[max(0, start - _MOST_TEXT // 2) : start + _MOST_TEXT // 2]
        for error in errors:
            name = error.names[0]
            known = sightings.get(name)
            sightings[name] = (
                msgspec.structs.replace(known, times=known.times + 1)
                if known
                else Sighting(error=name, line=number, text=line, calls=calls_in(line))
            )
        if room > 0:
            suspects.append(line)
            room -= len(line)
    whole = len(data) <= _MOST_TEXT
    if whole:
        text = data.decode("utf-8", "replace")
    elif not first:
        text = "\n".join(filter(_FAILURE.search, suspects))
    else:
        text = around.decode("utf-8", "replace") + "\n".join(suspects)
    calls = sightings[first[0].names[0]].calls if first else ()
    return Log(tuple(sightings.values()), first, calls, text, stopped, cut, whole)


class _Piece(msgspec.Struct, frozen=True):
    """A line that may report an error, or an end of a long one. ``start``: its offset. ``is_cut``: the middle of the line is left out."""

    line: int
    start: int
    text: str
    is_cut: bool = False


def _suspects(data: bytes) -> Iterator[_Piece]:
    """Each line that may report an error; of a long one beginning and end."""
    number, counted, end = 1, 0, 0
    while match := _SUSPECT.search(data, end):
        start = data.rfind(b"\n", 0, match.start()) + 1
        end = data.find(b"\n", match.start())
        end = len(data) if end < 0 else end
        number, counted = number + data.count(b"\n", counted, start), start
        yield _Piece(number, start, _text(data[start : min(end, start + _MOST_LINE)]))
        if end > start + _MOST_LINE:
            rest = max(start + _MOST_LINE, end - _MOST_LINE)
            yield _Piece(number, rest, _text(data[rest:end]), rest > start + _MOST_LINE)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").strip()
