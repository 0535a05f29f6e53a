"""What the dynamic loader reads of an ELF file: soname, needed libraries, search paths, defined symbols."""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import BinaryIO, TypeVar

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import InterpSegment

from cuvet.doctor.machine import Machine

T = TypeVar("T")
_MALFORMED = (ELFError, AssertionError, AttributeError, IndexError, KeyError, ValueError, struct.error)
"""What pyelftools raises for a file whose headers make no sense."""
_STRING_TAGS = {"DT_SONAME": "soname", "DT_NEEDED": "needed", "DT_RPATH": "rpath", "DT_RUNPATH": "runpath"}


@dataclass(frozen=True)
class Elf:
    """``path`` is as it was asked for. ``rpath`` and ``runpath`` are the entries as written, ``$ORIGIN`` and all."""

    path: str
    machine: str
    """``EM_X86_64``"""
    bits: int
    interpreter: str | None = None
    soname: str | None = None
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()


@cache
def read(machine: Machine, path: str) -> Elf | None:
    """None if it is not an ELF file, or a malformed one. OSError if it cannot be opened."""
    return _parsed(machine, path, lambda file: _read(path, file), None)


def _parsed(machine: Machine, path: str, parse: Callable[[BinaryIO], T], otherwise: T) -> T:
    with machine.open(path) as file:
        if file.read(4) != b"\x7fELF":
            return otherwise
        try:
            return parse(file)
        except _MALFORMED:
            return otherwise
        except OSError as error:
            if error.errno != errno.EINVAL:  # which is an offset that no file reaches
                raise
            return otherwise


def _read(path: str, file: BinaryIO) -> Elf:
    elf = ELFFile(file)
    dynamic = _dynamic(elf)
    tags: dict[str, list[str]] = {}
    for tag in dynamic.iter_tags() if dynamic else ():
        kind = tag.entry.d_tag
        if kind in _STRING_TAGS:
            tags.setdefault(kind, []).append(getattr(tag, _STRING_TAGS[kind]))
    interpreter = next((segment for segment in elf.iter_segments() if isinstance(segment, InterpSegment)), None)
    return Elf(
        path,
        machine=elf["e_machine"],
        bits=elf.elfclass,
        interpreter=interpreter.get_interp_name() if interpreter else None,
        soname=next(iter(tags.get("DT_SONAME", ())), None),
        needed=tuple(tags.get("DT_NEEDED", ())),
        rpath=_entries(tags.get("DT_RPATH", [])),
        runpath=_entries(tags.get("DT_RUNPATH", [])),
    )


def _entries(paths: list[str]) -> tuple[str, ...]:
    return tuple(entry for path in paths for entry in path.split(":") if entry)


def _dynamic(elf: ELFFile) -> DynamicSegment | None:
    return next((segment for segment in elf.iter_segments() if isinstance(segment, DynamicSegment)), None)


@cache
def defined(machine: Machine, path: str) -> frozenset[str]:
    """The dynamic symbols that the file defines; empty if it is not an ELF file."""
    return _parsed(machine, path, _defined, frozenset())


@cache
def undefined(machine: Machine, path: str) -> frozenset[str]:
    """The dynamic symbols that the file leaves to other libraries; empty if it is not an ELF file."""
    return _parsed(machine, path, _undefined, frozenset())


def _undefined(file: BinaryIO) -> frozenset[str]:
    dynamic = _dynamic(ELFFile(file))
    symbols = dynamic.iter_symbols() if dynamic else ()
    return frozenset(symbol.name for symbol in symbols if symbol["st_shndx"] == "SHN_UNDEF" and symbol.name)


def _defined(file: BinaryIO) -> frozenset[str]:
    dynamic = _dynamic(ELFFile(file))
    symbols = dynamic.iter_symbols() if dynamic else ()
    return frozenset(symbol.name for symbol in symbols if symbol["st_shndx"] != "SHN_UNDEF" and symbol.name)
