"""From addresses to functions, files and lines, through the ELF files on disk. Lazy: only what is shown is looked up."""

from __future__ import annotations

import atexit
import os
import re
import struct
import subprocess
import sys
import threading
from bisect import bisect_right
from functools import cache, cached_property
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cuvet.image.elf import Elf, parse
from cuvet.image.errors import ImageError
from cuvet.image.source import opened
from cuvet.recording import demangler
from cuvet.recording.generated_code import GeneratedCode
from cuvet.recording.records import Module

MOST_DEBUG_BYTES = 96 << 20
"""Files with more DWARF than this are looked up in their symbol table: indexing a gigabyte takes minutes."""
MOST_SYMBOL_BYTES = 256 << 20
"""Of a larger symbol table, the rest is not read."""
MOST_NAME_BYTES = 1 << 14
"""Longer names are cut off, and none is demangled."""
MOST_STARTS = 4
"""Of the demangler: each but the first follows a name that somebody made to exhaust it."""
STUB = "<stub>"
"""Stands for the symbol of code that a runtime made to get from one world to the other."""
DEBUG_DIRECTORY = Path("/usr/lib/debug")

_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_FUNCTION_TYPES = (2, 10)
"""STT_FUNC and STT_GNU_IFUNC."""
_GNU_BUILD_ID = 3
_CLONE = re.compile(r"(?:\.(?:cold|part|constprop|isra)(?:\.\d+)*)+$")
_BEGIN = re.compile("_ZN?")
_LENGTH = re.compile("[1-9][0-9]{0,3}")
_REFERENCE = re.compile("[ST][0-9A-Z]*_")
_PACK = re.compile("Dp|s[pPZ]")
"""In mangled names: to a part that came before or to an argument of a template; what stands for several arguments."""


class NativeFrame(NamedTuple):
    """``symbol`` is the linker's name ("" if unknown, ``STUB`` of a runtime's stub), ``function`` what people call it."""

    symbol: str
    function: str
    file: str | None
    line: int | None
    module: str
    language: Literal["c++", "c#"] = "c++"


class Symbols:
    """Looks up the addresses of one process, given the files that were mapped into it and the names of what is in none. Of files that
    followed one another in one place, it is the last up to ``era``."""

    def __init__(self, modules: list[Module], generated: GeneratedCode | None = None, era: int = 0) -> None:
        self._modules = modules
        self._era = era
        self._generated = generated
        self._laid_out = 0
        self._bounds: list[int] = []
        self._mapped: list[Module | None] = []
        self._found: dict[int, tuple[NativeFrame, ...]] = {}
        self._functions: dict[int, NativeFrame] = {}

    def frames(self, address: int) -> tuple[NativeFrame, ...]:
        """The function at an address and those it is inlined into, innermost first. Never empty."""
        if address not in self._found:
            self._found[address] = self._look_up(address)
        return self._found[address]

    def path(self, address: int) -> str:
        """The file mapped at an address; "" if none is known."""
        module = self._module_at(address)
        return module[0].path if module else ""

    def function(self, address: int) -> NativeFrame:
        """The function at an address as the symbol table has it: quickly, without inlined functions, file and line."""
        if address not in self._functions:
            module = self._module_at(address)
            self._functions[address] = module[0].function(module[1]) if module else self._in_no_file(address)
        return self._functions[address]

    def _look_up(self, address: int) -> tuple[NativeFrame, ...]:
        module = self._module_at(address)
        return module[0].frames(module[1]) if module else (self._in_no_file(address),)

    def _in_no_file(self, address: int) -> NativeFrame:
        found = self._generated.at(address) if self._generated is not None else None
        if found is None:
            return NativeFrame("", f"{address:#x}", None, None, "")
        symbol = STUB if found.stub else ""
        return NativeFrame(symbol, found.function, found.file, found.line, found.module or "", found.language)

    def _module_at(self, address: int) -> tuple[ElfSymbols, int] | None:
        """The file mapped there, and the address in it."""
        if self._laid_out != len(self._modules):
            self._laid_out = len(self._modules)
            known = (module for module in self._modules if module.era <= self._era)
            self._bounds, self._mapped = _lay_out(sorted(known, key=lambda module: module.era))
        index = bisect_right(self._bounds, address) - 1
        module = self._mapped[index] if index >= 0 else None
        return (_open(module.path, module.build_id), (address - module.bias) % (1 << 64)) if module else None


def _lay_out(modules: list[Module]) -> tuple[list[int], list[Module | None]]:
    """Bounds of modules, ascending, and which module is mapped from each to the next: the last of several."""
    bounds = sorted({bound for module in modules for bound in (module.start, module.end)})
    starting = sorted(range(len(modules)), key=lambda index: modules[index].start, reverse=True)
    mapped: list[Module | None] = []
    last: list[int] = []
    for bound in bounds:
        while starting and modules[starting[-1]].start <= bound:
            heappush(last, -starting.pop())
        while last and modules[-last[0]].end <= bound:
            heappop(last)
        mapped.append(modules[-last[0]] if last else None)
    return bounds, mapped


class ElfSymbols:
    """Functions of one ELF file. A file that is missing, or is not the one that was recorded, has no names.

    The recording says which file it is, so it may be anything: all that is read of it is bounded.
    """

    def __init__(self, path: str, build_id: str) -> None:
        self.path = path
        self._elf: Elf | None = None
        self._debug_path: str | None = None
        try:
            if os.path.isabs(path):
                self._look_at(build_id)
        except (OSError, ImageError):
            self._elf = self._debug_path = None

    def _look_at(self, build_id: str) -> None:
        with opened(Path(self.path)) as source:
            elf = parse(source)
            if not build_id or _build_id(elf) in ("", build_id):
                self._elf, self._debug_path = elf, _debug_path(elf, self.path, build_id)

    def frames(self, address: int) -> tuple[NativeFrame, ...]:
        start = self._elf.start if self._elf else 0  # from where symbolic counts
        found = self._lines.lookup(address - start) if self._lines and address >= start else []
        frames = tuple(
            NativeFrame(each.symbol, demangle(each.symbol), each.full_path or None, each.line or None, self.path)
            for each in found
            if each.symbol not in ("", "?")
        )
        return frames if frames and frames[-1].file else (self.function(address),)

    def function(self, address: int) -> NativeFrame:
        symbol = self._symbol(address)
        function = demangle(symbol) if symbol else f"{os.path.basename(self.path)}+{address:#x}"
        return NativeFrame(symbol, function, None, None, self.path)

    @cached_property
    def _lines(self) -> Any:
        """A symbolic.SymCache, or None if there is no DWARF or too much of it."""
        if self._debug_path is None:
            return None
        from symbolic.debuginfo import Archive
        from symbolic.exceptions import SymbolicError

        try:
            return next(iter(Archive.open(self._debug_path).iter_objects())).make_symcache()
        except (SymbolicError, StopIteration, UnicodeEncodeError):  # symbolic takes paths in UTF-8 only
            return None

    @cached_property
    def _table(self) -> tuple[NDArray[Any], int, int]:
        """Functions by address, and where in the file their names are."""
        empty = (np.empty(0, _SYMBOL), 0, 0)
        section = self._elf and (self._elf.section(".symtab") or self._elf.section(".dynsym"))
        sections = self._elf.sections if self._elf else ()
        if not section or section.link >= len(sections):
            return empty
        try:
            data = self._read(section.offset, min(section.contents.size, MOST_SYMBOL_BYTES))
        except OSError:
            return empty
        symbols = np.frombuffer(data, _SYMBOL, len(data) // _SYMBOL.itemsize)
        functions = symbols[np.isin(symbols["info"] & 15, _FUNCTION_TYPES) & (symbols["value"] != 0)]
        strings = sections[section.link]
        return functions[np.argsort(functions["value"], kind="stable")], strings.offset, strings.contents.size

    def _symbol(self, address: int) -> str:
        functions, strings, size = self._table
        index = int(np.searchsorted(functions["value"], np.uint64(address), "right")) - 1
        if index < 0:
            return ""
        found = functions[index]
        if int(found["size"]) and address >= int(found["value"]) + int(found["size"]):
            return ""
        start = int(found["name"])
        try:
            name = self._read(strings + start, min(size - start, MOST_NAME_BYTES)) if start < size else b""
        except OSError:  # it was deleted meanwhile
            return ""
        return name.split(b"\0", 1)[0].decode("utf-8", "replace")

    def _read(self, offset: int, size: int) -> bytes:
        """Once more, quickly: the file was looked at, and is not kept open, since a process may map more than descriptors can be had."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            return os.pread(descriptor, size, offset)
        finally:
            os.close(descriptor)


@cache
def _open(path: str, build_id: str) -> ElfSymbols:
    return ElfSymbols(path, build_id)


atexit.register(_open.cache_clear)  # what symbolic made can be deleted only while its modules are there


def _build_id(elf: Elf) -> str:
    section = elf.section(".note.gnu.build-id")
    note = section.contents.read(0, 128) if section is not None else b""
    if len(note) < 16:
        return ""
    name_bytes, id_bytes, kind = struct.unpack_from("<III", note)
    start = 12 + (name_bytes + 3 & ~3)
    return note[start : start + id_bytes].hex() if kind == _GNU_BUILD_ID else ""


def _debug_path(elf: Elf, path: str, build_id: str) -> str | None:
    """The file that holds the DWARF of ``path``: itself, or the separate one of its build id; None if too large or absent."""
    if elf.section(".debug_info") or elf.section(".zdebug_info"):
        return path if _debug_bytes(elf) <= MOST_DEBUG_BYTES else None
    separate = DEBUG_DIRECTORY / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    if not build_id or not separate.is_file():
        return None
    with opened(separate) as source:
        return str(separate) if _debug_bytes(parse(source)) <= MOST_DEBUG_BYTES else None


def _debug_bytes(elf: Elf) -> int:
    return sum(section.unpacked_size for section in elf.sections if "debug_" in section.name)


class _Demangler:
    """The program of ``demangler.py``. It is started with the first name, and again after one that it died of."""

    def __init__(self) -> None:
        self.starts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def ask(self, symbol: str) -> str:
        """What the name stands for; "" if it is none, or takes too much."""
        with self._lock:
            try:
                return self._answer(symbol.encode() + b"\n")
            except OSError:
                return ""

    def _answer(self, line: bytes) -> str:
        if self._process is None and self.starts < MOST_STARTS:
            self.starts += 1
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", demangler.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            return ""
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        if not answer.endswith(b"\n"):
            self.close()
        return answer.decode("utf-8", "replace").rstrip("\n")

    def close(self) -> None:
        """Ends the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


_demangler = _Demangler()
atexit.register(_demangler.close)


@cache
def demangle(symbol: str) -> str:
    """The C++ name of a mangled symbol, without parameters and return type. Of one that stands for more than anybody reads, or that cannot
    be read to its end, the name of the template, ``space::scale<…>``; any other symbol without what GCC adds to that of a part."""
    whole = _demangled(symbol)
    return without_signature(whole) if whole else _template(symbol) or _CLONE.sub("", symbol)


def _template(symbol: str) -> str:
    """The name of the function of which a mangled symbol is an instance; empty if it is none."""
    match = _BEGIN.match(symbol)
    at, parts = match.end() if match is not None else len(symbol), list[str]()
    while (length := _LENGTH.match(symbol, at)) is not None and not (parts and symbol[2] != "N"):
        at = length.end() + int(length[0])
        parts.append(symbol[length.end() : at])
    is_instance = bool(parts) and symbol[at : at + 1] == "I" and all(map(str.isidentifier, parts))
    names = ("(anonymous namespace)" if part.startswith("_GLOBAL__N") else part for part in parts)
    return f"{'::'.join(names)}<…>" if is_instance else ""


@cache
def parameter_types(symbol: str) -> tuple[str, ...]:
    """The types of the parameters of a mangled C++ function, as C++ writes them; none if it is not one."""
    whole = _demangled(symbol) or ""
    types, depth, start = [], 0, len(whole.rstrip()) - 1
    if not whole.endswith(")"):
        return ()
    for place in range(start, -1, -1):
        depth += {")": 1, ">": 1, "(": -1, "<": -1}.get(whole[place], 0)
        if depth == 0 or (depth == 1 and whole[place] == ","):
            types.append(whole[place + 1 : start].strip())
            start = place
        if depth == 0:
            return tuple(reversed(types))
    return ()


def _demangled(symbol: str) -> str | None:
    """The whole name, None if the symbol is not mangled or stands for too much."""
    if not symbol.startswith("_Z") or len(symbol) >= MOST_NAME_BYTES or not symbol.isprintable():
        return None
    return (_in_this_process(symbol) if _is_small(symbol) else _demangler.ask(symbol)) or None


def _is_small(symbol: str) -> bool:
    """Whether what the name stands for is of bounded size: each reference to a part of the name doubles it at most."""
    return len(symbol) <= 512 and not _PACK.search(symbol) and len(_REFERENCE.findall(symbol)) <= 8


def _in_this_process(symbol: str) -> str:
    try:
        return demangler.demangled(symbol.encode()).decode("utf-8", "replace")
    except OSError:  # no libstdc++
        return ""


def without_signature(function: str) -> str:
    """``ns::f<int>`` of ``void ns::f<int>(float*) const``."""
    end = function.rfind(")")
    if end < 0 or "}" in function[end:]:
        return function
    start = end
    depth = 1
    while depth and start:
        start -= 1
        depth += {")": 1, "(": -1}.get(function[start], 0)
    name = function[:start]
    if not name or name.endswith("operator"):
        return function
    return name if "operator" in name else name[_return_type(name) :]


def _return_type(name: str) -> int:
    """Where the name begins after the return type that demangled templates have."""
    depth = 0
    for place in range(len(name) - 1, -1, -1):
        depth += {">": 1, ")": 1, "}": 1, "<": -1, "(": -1, "{": -1}.get(name[place], 0)
        if name[place] == " " and depth == 0:
            return place + 1
    return 0
