"""Finds the PTX of kernels: in code that was loaded, and in files."""

from collections.abc import Iterator
from pathlib import Path

from cuvet.image import elf, fatbin, ptx
from cuvet.image.entries import Entry
from cuvet.image.errors import ImageError
from cuvet.image.files import SECTIONS
from cuvet.image.source import opened
from cuvet.kernels import Program
from cuvet.recording.sites import Sites

MOST_BYTES = 64 << 20
"""Of code that is read, in all."""


class LaunchedCode:
    """Finds the PTX of kernels in the files whose code launched them: nvcc puts both into one file."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self._files: dict[str, tuple[Program, ...]] = {}

    def of(self, symbol: str, stack: int) -> Program | None:
        """None if there is none, or several differ in how they define it."""
        if not symbol:
            return None
        for path in self._sites.files(stack):
            if path not in self._files:
                self._files[path] = tuple(_programs_in(path))
            defining = [each for each in self._files[path] if each.function(symbol) is not None]
            if defining:
                return defining[0] if len(defining) == 1 else None
        return None


def _programs_in(path: str) -> Iterator[Program]:
    """The PTX texts of a file: of each fatbin the newest."""
    try:
        with opened(Path(path)) as file:
            sections = [each.contents for each in elf.parse(file).sections if each.name in SECTIONS]
            left = MOST_BYTES
            for part in (part for section in sections for _, part in fatbin.containers(section)):
                left -= part.size
                if left < 0:
                    return
                if (program := newest_text(part.read(0, part.size))) is not None:
                    yield program
    except (ImageError, OSError):
        return


def newest_text(data: bytes) -> Program | None:
    """The newest PTX text in the code that was loaded; None if there is none. All texts are of the same source."""
    if data[:4] == fatbin.MAGIC.to_bytes(4, "little"):
        texts = [entry for entry in fatbin.entries(data) if entry.kind == "ptx"]
        data = max(texts, key=_architecture).data() if texts else b""
    text = data.split(b"\0", 1)[0].decode("utf-8", "replace")
    return Program(lambda: text) if ptx.begins(text) else None


def _architecture(entry: Entry) -> int:
    return entry.sm
