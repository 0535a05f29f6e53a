"""Which file the dynamic loader takes for a library, without loading it.

Source: ld.so(8) of the Linux man-pages, "DESCRIPTION" (order of the search, ``$ORIGIN``), and glibc's ``dl-cache.h`` (the cache's format).
Libraries that differ by ``glibc-hwcaps`` come after the plain ones.
"""

import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from cuvet.doctor import elf
from cuvet.doctor.elf import Elf
from cuvet.doctor.machine import Machine
from cuvet.image.dynamic import EM_AARCH64, EM_X86_64

CACHE = "/etc/ld.so.cache"
MAPPED = "loaded by the process"
"""Why a copy is taken that the process had mapped, though the loader would not look there."""
_CACHE_MAGIC = b"glibc-ld.so.cache1.1"
_CACHE_HEADER = struct.Struct("<20sII20x")
_CACHE_ENTRY = struct.Struct("<iIIIQ")
_CACHE_FLAGS = {EM_X86_64: 0x0303, EM_AARCH64: 0x0A03}
_MULTIARCH = {EM_X86_64: "x86_64-linux-gnu", EM_AARCH64: "aarch64-linux-gnu"}
NATIVE = EM_AARCH64 if os.uname().machine == "aarch64" else EM_X86_64


@dataclass(frozen=True)
class Directory:
    """``why`` the loader looks there: ``LD_LIBRARY_PATH``, ``DT_RUNPATH of /usr/bin/x``, ``/etc/ld.so.cache``, …"""

    path: str
    why: str


@dataclass(frozen=True)
class Copy:
    """A file that the loader may take for a soname. ``real`` is the file itself, after symbolic links."""

    path: str
    real: str
    why: str


@dataclass(frozen=True)
class Loaded:
    """A library of a program: the name by which it was needed, the copy that was found, and the path of the file that needs it."""

    soname: str
    copy: Copy
    needed_by: str


@dataclass(frozen=True)
class Closure:
    """All that a file needs, in the order in which the loader maps it; ``missing`` are pairs of soname and path of who needs it."""

    loaded: tuple[Loaded, ...]
    missing: tuple[tuple[str, str], ...]

    def find(self, stem: str) -> tuple[Loaded, ...]:
        """Those whose soname starts with ``stem``, as ``libcudart.so``."""
        return tuple(library for library in self.loaded if library.soname.startswith(stem))


def first(machine: Machine, soname: str, requesters: tuple[str, ...] = ()) -> Copy | None:
    """The copy that ``dlopen(soname)`` takes, the loaded one if there is one; None if there is none. ``requesters`` as in ``copies``."""
    loaded = mapped(machine, re.escape(soname), requesters)
    return next(iter(loaded or _copies(machine, soname, requesters)), None)


@cache
def copies(machine: Machine, soname: str, requesters: tuple[str, ...] = ()) -> tuple[Copy, ...]:
    """All copies that are on the loader's path, in its order, each file once.

    ``requesters``: paths of the object that asks for it, of what loaded that, and so on up to the executable.
    """
    found: dict[str, Copy] = {}
    for copy in _copies(machine, soname, requesters):
        found.setdefault(copy.real, copy)
    return tuple(found.values())


def mapped(machine: Machine, name: str, requesters: tuple[str, ...] = ()) -> tuple[Copy, ...]:
    """The files of ``machine.loaded`` whose names match this regular expression, each once. ``requesters`` as in ``copies``."""
    found: dict[str, Copy] = {}
    for path in machine.loaded:
        if re.fullmatch(name, os.path.basename(path)):
            real = machine.realpath(path)
            whys = {copy.real: copy.why for copy in copies(machine, os.path.basename(path), requesters)}
            found.setdefault(real, Copy(path, real, whys.get(real, MAPPED)))
    return tuple(found.values())


def _copies(machine: Machine, soname: str, requesters: tuple[str, ...]) -> Iterator[Copy]:
    wanted = elf.read(machine, requesters[0]) if requesters else None
    kind = wanted.machine if wanted else NATIVE
    for place in search_path(machine, requesters):
        if place.why == CACHE:
            candidates = [path for name, path in cached(machine, kind) if name == soname]
        else:
            candidates = [os.path.join(place.path, soname)]
        for path in candidates:
            if _loadable(machine, path, kind):
                yield Copy(path, machine.realpath(path), place.why)


def _loadable(machine: Machine, path: str, kind: int) -> bool:
    """The loader passes over files of another machine; what is not ELF at all it would take, and fail."""
    if not machine.is_file(path):
        return False
    try:
        found = elf.read(machine, path)
    except PermissionError:
        return True
    return found is None or found.machine == kind


def search_path(machine: Machine, requesters: tuple[str, ...] = ()) -> Iterator[Directory]:
    """Where the loader looks for a soname, in its order. The cache is one entry, whose path is ``/etc/ld.so.cache``."""
    objects = [found for path in requesters if (found := elf.read(machine, path))]
    if objects and not objects[0].runpath:
        for asking in objects:
            if not asking.runpath:
                yield from _directories(machine, asking.rpath, f"DT_RPATH of {asking.path}", asking)
    library_path = machine.environ.get("LD_LIBRARY_PATH", "")
    if library_path:
        entries = tuple(entry or "." for entry in re.split("[:;]", library_path))
        yield from _directories(machine, entries, "LD_LIBRARY_PATH", objects[-1] if objects else None)
    if objects:
        yield from _directories(machine, objects[0].runpath, f"DT_RUNPATH of {objects[0].path}", objects[0])
    yield Directory(CACHE, CACHE)
    multiarch = _MULTIARCH[NATIVE]
    for path in (f"/lib/{multiarch}", f"/usr/lib/{multiarch}", "/lib64", "/usr/lib64", "/lib", "/usr/lib"):
        yield Directory(path, "default directory")


def _origin(machine: Machine, asking: Elf) -> str:
    """An executable is known by its real path, a library by the one that it was found under (``_dl_get_origin``, ``_dl_new_object``)."""
    return machine.realpath(asking.path) if asking.interpreter else asking.path


def _directories(machine: Machine, entries: tuple[str, ...], why: str, asking: Elf | None) -> Iterator[Directory]:
    multiarch = f"lib/{_MULTIARCH[NATIVE]}"
    lib = multiarch if machine.is_directory(f"/{multiarch}") else "lib64"
    for entry in entries:
        path = entry.replace("${LIB}", lib).replace("$LIB", lib)
        if asking:
            origin = os.path.dirname(_origin(machine, asking))
            path = path.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
        if "$" not in path:
            path = os.path.join(os.getcwd(), path)
            # /link/.. is beside what the link leads to: only then do the words of the path not say where it leads
            yield Directory(machine.realpath(path) if ".." in path.split("/") else os.path.normpath(path), why)


@cache
def cached(machine: Machine, kind: int = NATIVE) -> tuple[tuple[str, str], ...]:
    """(soname, path) of ``/etc/ld.so.cache`` for that kind of machine, in its order; nothing if there is none or it is of an old format."""
    if not machine.is_file(CACHE):
        return ()
    with machine.open(CACHE) as file:
        data = file.read()
    start = data.find(_CACHE_MAGIC)
    if start < 0:
        return ()
    data = data[start:].ljust(_CACHE_HEADER.size, b"\0")
    _, count, _ = _CACHE_HEADER.unpack_from(data)
    found = []
    for number in range(min(count, (len(data) - _CACHE_HEADER.size) // _CACHE_ENTRY.size)):
        flags, key, value, _, hwcap = _CACHE_ENTRY.unpack_from(data, _CACHE_HEADER.size + number * _CACHE_ENTRY.size)
        if flags == _CACHE_FLAGS.get(kind):
            found.append((hwcap != 0, _string(data, key), _string(data, value)))
    return tuple((name, path) for _, name, path in sorted(found, key=lambda entry: entry[0]))


def _string(data: bytes, offset: int) -> str:
    return os.fsdecode(data[offset : max(offset, data.find(b"\0", offset))])


@cache
def closure(machine: Machine, path: str) -> Closure:
    """What the file needs, and what that needs, as the loader finds it: each soname once, breadth first."""
    loaded: dict[str, Loaded] = {}
    missing: list[tuple[str, str]] = []
    waiting: list[tuple[str, ...]] = [(path,)]
    while waiting:
        chain = waiting.pop(0)
        asking = elf.read(machine, chain[0])
        for soname in asking.needed if asking else ():
            if soname in loaded or any(soname == name for name, _ in missing):
                continue
            copy = first(machine, soname, chain)
            if copy is None:
                missing.append((soname, chain[0]))
                continue
            loaded[soname] = Loaded(soname, copy, chain[0])
            waiting.append((copy.path, *chain))
    return Closure(tuple(loaded.values()), tuple(missing))
