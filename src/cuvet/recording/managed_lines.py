"""Lines of calls in programs of mono and .NET, where their assemblies and symbols are at hand.

A perf map has names and no lines, and the runtimes keep to themselves which code they made of which instruction. But who calls whom is in
the assembly: where a method calls another in one place only, that is where the stack was. Where it does so in several, or another
method that it calls (and whose code may have become part of its own) does the same, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from cuvet.recording.assembly import Assembly, BadAssembly, CallSite, Method
from cuvet.recording.sequence_points import Lines, lines_of
from cuvet.regular import read_whole

MOST_BYTES = 128 << 20
MOST_ASSEMBLIES = 64
_MOST_INLINED = 2000
"""Methods that are looked at for one line."""
_SUFFIXES = (".exe", ".dll")


class Native(frozenset[str]):
    """The names that a native function may have been imported by."""


Callee = str | Native
"""The method, or the native function, that is called."""
Place = tuple[str, int]
"""File and line."""


class ManagedLines:
    """Of the assemblies of one program."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._unread = [path for path in paths if path.suffix.lower() in _SUFFIXES][:MOST_ASSEMBLIES]
        self._read: list[_File] = []
        self.without_symbols: dict[str, None] = {}
        """Names of assemblies whose lines were looked for and that have no symbols."""

    def of_call(self, caller: str, callee: Callee, module: str | None) -> tuple[str, Place | None] | None:
        """The assembly of the method ``caller``, and where in its source it calls ``callee``; None if the method is in no assembly, or
        in several. ``module`` is the assembly's name if it is known."""
        found = [(file, method) for file, method in self._methods(caller) if module in (None, file.path.stem)]
        if len({file.path for file, _ in found}) != 1:
            return None
        if found[0][0].lines is None:
            self.without_symbols[found[0][0].path.name] = None
        places = [self._place(file, method, callee) for file, method in found]
        return found[0][0].path.name, places[0] if len(places) == 1 else None

    @property
    def _files(self) -> list[_File]:
        while self._unread:
            try:
                self._read.append(_File(self._unread.pop(0)))
            except (OSError, BadAssembly):
                continue  # a native library
        return self._read

    def _methods(self, name: str) -> Iterator[tuple[_File, Method]]:
        return ((file, method) for file in self._files for method in file.methods.get(name, ()))

    def _place(self, file: _File, method: Method, callee: Callee) -> Place | None:
        """None if the method calls it in several places, or there are no lines."""
        try:
            found = [site.offset for site in file.assembly.calls(method) if self._is(site, callee)]
            if len(found) != 1 or self._called_through_another(file, method, callee):
                return None
            return file.place(method, found[0])
        except BadAssembly:
            return None

    def _is(self, site: CallSite, callee: Callee) -> bool:
        if isinstance(callee, Native):
            return any(method.imported in callee for _, method in self._methods(site.callee))
        return site.callee == callee

    def _called_through_another(self, file: _File, method: Method, callee: Callee) -> bool:
        """Whether the callee is also called by another method whose code may have become part of this one's."""
        waiting, seen = [(file, method)], {(file.path, method.row)}
        for file, method in waiting:
            sites = list(file.assembly.calls(method))
            if (len(seen) > 1 and any(self._is(site, callee) for site in sites)) or len(seen) > _MOST_INLINED:
                return True
            for site in sites:
                for inner_file, inner in () if self._is(site, callee) else self._methods(site.callee):
                    if (inner_file.path, inner.row) not in seen and inner_file.assembly.may_be_inlined(inner):
                        seen.add((inner_file.path, inner.row))
                        waiting.append((inner_file, inner))
        return False


class _File:
    """An assembly with its lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.assembly = Assembly(read_whole(path, MOST_BYTES))
        self.methods: dict[str, list[Method]] = {}
        for method in self.assembly.methods:
            self.methods.setdefault(method.name, []).append(method)
        self.lines = self._symbols()

    def _symbols(self) -> Lines | None:
        for path in (self.path.with_suffix(".pdb"), Path(f"{self.path}.mdb")):
            try:
                return lines_of(read_whole(path, MOST_BYTES))
            except (OSError, BadAssembly):
                continue
        return None

    def place(self, method: Method, offset: int) -> Place | None:
        """Of the instruction there."""
        before = [point for point in self.lines(method.row) if point.offset <= offset] if self.lines else []
        return (before[-1].file, before[-1].line) if before and before[-1].line else None


def assemblies_of(argv: Iterable[str], executable: str) -> list[Path]:
    """Those that a program was started with, and the libraries in the same folders; of an executable of .NET, the assembly of its name."""
    named = [Path(word) for word in argv if word.lower().endswith(_SUFFIXES)]
    named += [Path(f"{executable}.dll")] if executable else []
    found = [path for path in named if path.is_file()]
    for folder in dict.fromkeys(path.parent for path in found):
        found += sorted(path for path in folder.iterdir() if path.suffix.lower() == ".dll")
    return list(dict.fromkeys(map(Path.absolute, found)))
