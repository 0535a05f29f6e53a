"""Names of functions that a runtime compiled while the program ran: mono, .NET, V8, whatever writes a perf map.

A perf map is ``/tmp/perf-PID.map``, with a line ``START SIZE NAME`` in hexadecimal for each function
(https://github.com/torvalds/linux/blob/master/tools/perf/Documentation/jit-interface.txt). Runtimes write it on request only, so
``advice`` says how to ask. It is read by ``cuvet run`` alone, on the machine of the process, and as a foreign file: a regular one of
this user, no link, written since the run began, and no more of it than ``MOST_BYTES``. What it says about the stacks of a recording is
kept beside it, in ``<pid>-<start>.names``; later readers read that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from cuvet.recording.layout import End
from cuvet.recording.managed_lines import Callee, ManagedLines, Native, assemblies_of
from cuvet.recording.reader import Recording
from cuvet.recording.records import Module
from cuvet.regular import open_regular, read_regular

MOST_BYTES = 64 << 20
MOST_NAME = 1024
MOST_KEPT = 1 << 16
"""Addresses whose names are kept beside a recording."""
MOST_KEPT_BYTES = 64 << 20
SUFFIX = ".names"
DIRECTORY = "/tmp"
"""By the convention of perf, whatever TMPDIR says."""
_MTIME_NS = 10**9
"""Coarsest time of a file."""

_MONO = re.compile(r"(?P<wrapper>\(wrapper [\w-]+\) )?(?P<type>[^\s:][^:]*):(?P<method>\S+) \((?P<parameters>.*)\)")
_DOTNET = re.compile(
    r"(?:.* )?\[(?P<module>[^][ ]+)\] (?P<type>\S+)::(?P<method>[^\s(]+)\((?P<parameters>.*)\)(?:\[\w+\])?"
)
_STUBS = ("dynamicClass.IL_STUB", "py::")
"""What runtimes make to get from one world to the other; ``py::`` are trampolines of Python, whose frames are known without them."""
_RUNTIMES = (
    (re.compile(r"libcoreclr\.so"), ".NET", "DOTNET_PerfMapEnabled=1 (before .NET 6: COMPlus_PerfMapEnabled=1)"),
    (
        re.compile(r"mono(-sgen|-boehm)?|libmono(sgen|boehm)?-2\.0\.so.*"),
        "mono",
        "MONO_ENV_OPTIONS=--jitmap MONO_DEBUG=disable_omit_fp",
    ),
    (re.compile(r"node(js)?|libnode\.so.*"), "Node.js", "NODE_OPTIONS=--perf-basic-prof"),
)
"""The file that is loaded, whose it is, and the environment in which it writes a perf map: mono(1);
https://learn.microsoft.com/dotnet/core/runtime-config/debugging-profiling; https://nodejs.org/api/cli.html."""


class CodeName(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The function at an address. ``stub``: the runtime's own, which nobody wrote. ``parameters``: how many, -1 if not known."""

    function: str
    module: str | None = None
    file: str | None = None
    line: int | None = None
    language: Literal["c++", "c#"] = "c++"
    stub: bool = False
    parameters: int = -1


class Run(NamedTuple):
    """The run that this process watches: when it began, in nanoseconds of the Unix epoch, and of which program it is."""

    since_ns: int
    argv: tuple[str, ...]


class _Map(NamedTuple):
    starts: np.ndarray[tuple[int], np.dtype[np.uint64]]
    ends: np.ndarray[tuple[int], np.dtype[np.uint64]]
    names: list[bytes]


class GeneratedCode:
    """The functions of one process. Of a process of this ``run`` they are read from its perf map as it grows; of any other from what was
    kept beside its recording."""

    def __init__(self, recording: Recording, run: Run | None) -> None:
        self._recording = recording
        self.kept = recording.path.with_suffix(SUFFIX)
        self._run = run
        self._argv = (*_arguments(recording.pid), *run.argv) if run is not None else ()
        self._placed: set[int] = set()
        self._read = 0
        self._map = _parse(b"")
        self._known: dict[int, CodeName] | None = {} if run is not None else None

    def at(self, address: int) -> CodeName | None:
        """The function at an address that is in no file."""
        if self._known is None:
            self._known = _read_kept(self.kept)
        if address not in self._known and self._run is not None:
            found = self._find(address)
            if found is not None:
                self._known[address] = found
        return self._known.get(address)

    def place(self, addresses: Sequence[int], imported: frozenset[str]) -> None:
        """Find the lines of consecutive frames of generated code, the innermost first, which called a native function of one of the
        names ``imported``."""
        callee: Callee | None = Native(imported)
        for address in addresses if self._run is not None else ():
            name = self.at(address)
            if name is None or name.parameters < 0:
                callee = None
            elif not name.stub:
                if callee is not None and address not in self._placed:
                    self._place(address, name, callee)
                callee = f"{name.function}/{name.parameters}"

    def _place(self, address: int, name: CodeName, callee: Callee) -> None:
        assert self._known is not None
        self._placed.add(address)
        found = self._lines.of_call(f"{name.function}/{name.parameters}", callee, name.module)
        if found is not None:
            module, place = found
            file, line = place or (None, None)
            self._known[address] = msgspec.structs.replace(name, module=module, file=file, line=line)

    @cached_property
    def _lines(self) -> ManagedLines:
        return ManagedLines(assemblies_of(self._argv, self._recording.executable))

    def hint(self) -> str | None:
        """What would give lines to the frames that have none."""
        names = ", ".join(self._lines.without_symbols) if self._placed else ""
        return f"compile {names} with symbols (mcs -debug, a .pdb), and frames of it have lines here" if names else None

    def keep(self) -> None:
        """Write the names that were found beside the recording, if there are any. OSError if that is impossible."""
        if self._known and self._run is not None:
            with open(self.kept, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(msgspec.json.encode(dict(islice(self._known.items(), MOST_KEPT))))

    def _find(self, address: int) -> CodeName | None:
        """As the map says last: memory is used again."""
        if self._last_at(address) is None:
            self._read_on()
        index = self._last_at(address)
        return code_name(self._map.names[index].decode("utf-8", "replace")) if index is not None else None

    def _last_at(self, address: int) -> int | None:
        found = np.flatnonzero((self._map.starts <= address) & (address < self._map.ends))
        return int(found[-1]) if len(found) else None

    def _read_on(self) -> None:
        """Whole lines that were written since. After exec, the map is of another program."""
        if self._run is None or int(self._recording.header["end"]) == End.REPLACED:
            return
        path = f"{DIRECTORY}/perf-{self._recording.pid}.map"
        data, self._read = _new_lines(path, self._read, self._run.since_ns)
        if data:
            new = _parse(data)
            self._map = _Map(
                np.concatenate([self._map.starts, new.starts]),
                np.concatenate([self._map.ends, new.ends]),
                self._map.names + new.names,
            )


def code_name(text: str) -> CodeName:
    """The function that a line of a perf map names, as its language writes it."""
    for pattern in (_DOTNET, _MONO):
        match = pattern.fullmatch(text)
        if match:
            parts = match.groupdict()
            function = re.sub("[/+]", ".", parts["type"]) + "." + parts["method"]
            stub = bool(parts.get("wrapper")) or function.startswith(_STUBS)
            count = _parameters(parts["parameters"])
            return CodeName(function=function, module=parts.get("module"), language="c#", stub=stub, parameters=count)
    return CodeName(function=text, stub=text.startswith(_STUBS))


def _parameters(listed: str) -> int:
    """How many there are: ``int,Pair<int,string>,bool[,]`` are three."""
    while (inner := re.sub(r"<[^<>]*>|\[[^][]*\]|\([^()]*\)", "", listed)) != listed:
        listed = inner
    return listed.count(",") + 1 if listed.strip() else 0


def _arguments(pid: int) -> tuple[str, ...]:
    """The command line of a process; empty if it has ended."""
    try:
        return tuple(os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes()).split("\0"))
    except OSError:
        return ()


def advice(modules: Iterable[Module]) -> str | None:
    """How to get names of the generated code in a process that has these files; None if its runtime is not known."""
    files = {os.path.basename(module.path) for module in modules}
    for pattern, runtime, variables in _RUNTIMES:
        if any(map(pattern.fullmatch, files)):
            return f"set {variables}, and functions that {runtime} compiled have names here"
    return None


def _new_lines(path: str, offset: int, since_ns: int) -> tuple[bytes, int]:
    """What a perf map has after ``offset``, up to its last whole line, and where that ends. Nothing of a file that may be another's."""
    try:
        with open(open_regular(path, follow=False), "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.geteuid() or status.st_mtime_ns + _MTIME_NS < since_ns:
                return b"", offset
            data = os.pread(file.fileno(), max(0, min(status.st_size, MOST_BYTES) - offset), offset)
    except OSError:
        return b"", offset
    end = data.rfind(b"\n") + 1
    return data[:end], offset + end


def _parse(data: bytes) -> _Map:
    """Lines that are no entries are passed over."""
    starts, ends, names = [], [], []
    for line in data.splitlines():
        fields = line.split(b" ", 2)
        if len(fields) == 3 and len(fields[0]) <= 18 and len(fields[1]) <= 18:
            try:
                start, size = int(fields[0], 16), int(fields[1], 16)
            except ValueError:
                continue
            if 0 < start < start + size < 1 << 64:
                starts.append(start)
                ends.append(start + size)
                names.append(fields[2][:MOST_NAME])
    return _Map(np.array(starts, np.uint64), np.array(ends, np.uint64), names)


def _read_kept(path: Path) -> dict[int, CodeName]:
    """Empty if there is no such file, or it is not as ``keep`` writes it: the stacks then have addresses."""
    try:
        data = read_regular(path, MOST_KEPT_BYTES + 1, follow=False)
        return msgspec.json.decode(data, type=dict[int, CodeName]) if len(data) <= MOST_KEPT_BYTES else {}
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
