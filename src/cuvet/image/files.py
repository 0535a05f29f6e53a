"""What files, archives, wheels and directories hold: one ``Contents`` per file, or per member of a wheel."""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from zipfile import ZipInfo

from cuvet.image import archive, cubin, elf, fatbin, ltoir, ptx, wheel
from cuvet.image.entries import Entry
from cuvet.image.errors import ImageError
from cuvet.image.source import Source, opened

SECTIONS = (".nv_fatbin", "__nv_relfatbin")
"""Where host ELF files hold fatbins: those to run, and those to link (fatbinary_section.h)."""
MOST_ENTRIES = 1 << 18
"""Of a file. libcublasLt.so.13 has 5,666."""
_MOST_PROBLEMS = 20
_HEAD = 1 << 16
_HOST_FORMS = {1: "object file", 2: "executable", 3: "shared object"}
WINDOWS = "Windows binary"
OTHER = "neither a binary nor PTX"
"""The form of files that can hold no device code: texts, data."""


@dataclass(slots=True)
class Contents:
    """``path`` ends in ``:member`` for a wheel's. ``form`` is in words. ``problems`` say what could not be read."""

    path: str
    size_bytes: int
    form: str = OTHER
    entries: list[Entry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        """ImageError if there are too many, or it is for no architecture there may be."""
        if not 10 <= entry.sm <= 999:
            raise ImageError(f"code for {entry.arch}, which is no architecture")
        if len(self.entries) >= MOST_ENTRIES:
            raise ImageError(f"more than {MOST_ENTRIES:,} entries")
        self.entries.append(entry)


def read(path: Path, tell: Callable[[str], None] = lambda path: None) -> Iterator[Contents]:
    """The contents of a file, of each member of a wheel, or of each file below a directory. What cannot be read is told as a
    problem, never raised. The entries' code can be read until the next contents are asked for. ``tell`` is told what is read."""
    for file in _files(path):
        if isinstance(file, Contents):
            yield file
            continue
        tell(str(file))
        try:
            with opened(file) as source:
                yield from _of_file(file, source, tell)
        except OSError as error:
            yield Contents(str(file), 0, problems=[error.strerror or str(error)])


def _files(path: Path) -> Iterator[Path | Contents]:
    """Regular files below ``path``, each once, whatever links lead to it; a Contents for what cannot be listed."""
    if not path.is_dir():
        yield path
        return
    problems: list[OSError] = []
    seen: set[tuple[int, int]] = set()
    _is_new(str(path), seen)
    for directory, below, names in os.walk(path, followlinks=True, onerror=problems.append):
        below[:] = sorted(name for name in below if _is_new(os.path.join(directory, name), seen))
        for name in sorted(names):
            file = os.path.join(directory, name)
            if _is_new(file, seen, regular=True):
                yield Path(file)
    for error in problems:
        yield Contents(str(error.filename), 0, "directory", problems=[error.strerror or str(error)])


def _is_new(path: str, seen: set[tuple[int, int]], regular: bool = False) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False
    key = (status.st_dev, status.st_ino)
    if key in seen or (regular and not stat.S_ISREG(status.st_mode)):
        return False
    seen.add(key)
    return True


def _of_file(path: Path, source: Source, tell: Callable[[str], None]) -> Iterator[Contents]:
    if source.read(0, 4) != wheel.MAGIC:
        yield contents(source, str(path))
        return
    whole, held = Contents(str(path), source.size, "zip file"), False
    try:
        for member in wheel.members(path):
            tell(name := f"{path}:{member.filename}")
            inner = _of_member(source, member, name)
            held = held or bool(inner.entries)
            yield inner
    except ImageError as error:
        whole.problems.append(str(error))
    if whole.problems or not held:
        yield whole


def _of_member(source: Source, member: ZipInfo, name: str) -> Contents:
    try:
        return contents(wheel.contents(source, member), name)
    except ImageError as error:
        return Contents(name, member.file_size, problems=[str(error)])


def contents(source: Source, path: str) -> Contents:
    """Of one file's bytes."""
    found = Contents(path, source.size)
    try:
        _read(source, path, found)
    except ImageError as error:
        found.problems.append(str(error))
    return found


def _read(source: Source, path: str, found: Contents) -> None:
    """Sets the form and adds what ``source`` holds, up to an ImageError if it is broken."""
    head = source.read(0, 64)
    magic = int.from_bytes(head[:4], "little")
    if head.startswith(elf.MAGIC):
        _read_elf(source, head, path, found)
    elif magic == fatbin.MAGIC:
        found.form = "fatbin"
        _read_fatbins(source, path, found)
    elif magic == fatbin.WRAPPER_MAGIC:
        found.form = "fatbin's wrapper"
        raise ImageError("only points to a fatbin in a program's memory")
    elif head.startswith(archive.MAGIC):
        found.form = "archive"
        _read_archive(source, path, found)
    elif head.startswith(archive.THIN_MAGIC):
        found.form = "thin archive"
        raise ImageError("holds no code, only the names of object files: inspect those")
    elif magic == ltoir.MAGIC:
        found.form = "LTO-IR"
        found.add(ltoir.entry(source, path))
    elif head.startswith(b"MZ"):
        found.form = WINDOWS
    elif head.lstrip()[:1] in (b"", b".", b"/"):
        _read_text(source, path, found)


def _read_elf(source: Source, head: bytes, path: str, found: Contents) -> None:
    if int.from_bytes(head[18:20], "little") == cubin.EM_CUDA:
        found.form = "cubin"
        name = cubin.arch_name(elf.parse(source))
        found.add(Entry("cubin", name, source.size, source.size, container=path, source=source))
        return
    found.form = _HOST_FORMS.get(int.from_bytes(head[16:18], "little"), "ELF file")
    if head[4:6] != b"\2\1" or not any(head[40:48]):
        found.form += " of 32 bits, of big-endian order, or without sections"
        return
    file = elf.parse(source)
    if file.section(".interp"):
        found.form = "executable"
    for name in SECTIONS:
        for section in file.sections:
            if section.name == name:
                _read_fatbins(section.contents, f"{path}:{name}", found, section.offset)


def _read_fatbins(source: Source, container: str, found: Contents, base: int = 0) -> None:
    for offset, part in fatbin.containers(source):
        try:
            for entry in fatbin.entries(part, container, base + offset):
                found.add(entry)
        except ImageError as error:
            found.problems.append(f"the fatbin at {base + offset:#x}: {error}")
            if len(found.problems) >= _MOST_PROBLEMS or len(found.entries) >= MOST_ENTRIES:
                raise ImageError("the rest was not read") from error


def _read_archive(source: Source, path: str, found: Contents) -> None:
    for name, member in archive.members(source):
        if member.read(0, len(archive.MAGIC)) in (archive.MAGIC, archive.THIN_MAGIC):
            found.problems.append(f"{name}: an archive in an archive is not read")
            continue
        inner = contents(member, f"{path}:{name}")
        for entry in inner.entries:
            found.add(entry)
        found.problems += [f"{name}: {problem}" for problem in inner.problems]
        if len(found.problems) >= _MOST_PROBLEMS:
            raise ImageError("the rest was not read")


def _read_text(source: Source, path: str, found: Contents) -> None:
    head = source.read(0, _HEAD).split(b"\0", 1)[0].decode("utf-8", "replace")
    if not ptx.begins(head):
        return
    found.form = "PTX"
    header = ptx.header(head)
    version = ".".join(map(str, header.version))
    found.add(
        Entry("ptx", header.target, source.size, source.size, None, version, header.address_bits, path, source=source)
    )
