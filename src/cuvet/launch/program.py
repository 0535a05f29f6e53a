"""The program to run: where it is, and whether the loader will let the shim in."""

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from cuvet.image import dynamic
from cuvet.image.errors import ImageError
from cuvet.image.source import opened

_ASAN = ("libasan.so", "libclang_rt.asan")


class CannotStart(Exception):
    """``code`` is what a shell would return: 127 not found, 126 not executable."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Executable:
    """``preload`` False: AddressSanitizer insists on being first. ``note`` says why nothing may be seen."""

    path: str
    preload: bool = True
    note: str | None = None


def find(name: str, search: str | None) -> Executable:
    """Raises CannotStart."""
    path = shutil.which(name, path=search)
    if path is None:
        raise _not_found(name, search)
    status = os.stat(path)
    if status.st_mode & (stat.S_ISUID | stat.S_ISGID) and status.st_uid != os.getuid():
        return Executable(
            path, note=f"{path} is setuid: the loader ignores LD_PRELOAD, and cuvet sees none of its CUDA calls"
        )
    interpreter = _interpreter(path)
    if interpreter is not None and not os.access(interpreter, os.X_OK):
        raise CannotStart(f"{name}: its first line names {interpreter}, which cannot be executed", 126)
    return _of_elf(path, interpreter or path)


def _not_found(name: str, search: str | None) -> CannotStart:
    """126 if there is a file or a directory of this name."""
    places = [""] if os.sep in name else (search or os.defpath).split(os.pathsep)
    there = [path for place in places if os.path.exists(path := os.path.join(place, name))]
    if not name or not there:
        return CannotStart(f"{name or repr(name)}: command not found", 127)
    return CannotStart(f"{name}: {'is a directory' if os.path.isdir(there[0]) else 'not executable'}", 126)


def _interpreter(path: str) -> str | None:
    """Of a script: the program that its first line names."""
    with open(path, "rb") as file:
        first = file.readline(256)
    if not first.startswith(b"#!"):
        return None
    words = os.fsdecode(first[2:]).split(maxsplit=1)
    return words[0] if words else None


def _of_elf(path: str, elf_path: str) -> Executable:
    try:
        with opened(Path(elf_path)) as source:
            elf = dynamic.read(source)
    except (OSError, ImageError):
        return Executable(path)
    if elf.interpreter is None:
        return Executable(path, note=f"{elf_path} is statically linked: cuvet sees none of its CUDA calls")
    return Executable(path, preload=not any(library.startswith(_ASAN) for library in elf.needed))
