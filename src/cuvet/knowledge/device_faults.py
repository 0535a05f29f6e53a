"""Faults of kernels in the output of compute-sanitizer and in the kernel log: the address, and what is said of it.

The forms are those of public logs. memcheck: https://github.com/NVIDIA/cuCollections/issues/539, https://github.com/ORNL/HeCBench/issues/131,
https://github.com/pytorch/pytorch/issues/196209, and of cuda-memcheck https://github.com/juliagpu/cuarrays.jl/issues/10. Xid 31:
https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1030, https://github.com/doitsujin/dxvk/issues/2495.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

import msgspec

_MOST = 200
"""Faults of a log that are told."""
_MOST_LOOKED_AT = 10_000
"""Places of a log that may be one."""
_MOST_LINE = 4096
_MOST_DETAILS = 6
"""Lines after the first of a fault that belong to it."""
_ADDRESS = r"(0x[0-9a-fA-F]{1,16})\b"
_INVALID = re.compile(rb"Invalid __(\w{1,20})__ (\w{1,20}) of size (\d{1,9})")
_XID = re.compile(
    rb"Xid \(([^)]{1,60})\): 31,[^\n]{0,300}?MMU Fault: ENGINE ([\w ]{1,80}?) faulted @ 0x([0-9a-fA-F_]{1,20})\."
    rb"(?: Fault is of type (\w{1,60}))?(?: ACCESS_TYPE_(\w{1,60}))?"
)
_PID = re.compile(rb"pid='?(\d{1,10})")
_FIRST = re.compile(rb"Invalid __\w{1,20}__ |Xid \([^)\n]{1,60}\): 31,")
_OFFSET_BEFORE = re.compile(r"0x[0-9a-fA-F]{1,16} in ")
_FILE_BEFORE = re.compile(r"[^\s:]{1,1000}:\d{1,9}:(?!:)")
_FILE_BEHIND = re.compile(r"\S{1,1000}:\d{1,9}")
_OFFSET_BEHIND = re.compile(r"[0-9a-fA-F]{1,16}")
_THREAD = re.compile(r"by thread (\(\d+,\d+,\d+\)) in block (\(\d+,\d+,\d+\))")
_WHERE = re.compile(rf"(?:Address|Access (?:at|to)) {_ADDRESS} is ([a-z ]{{1,60}})")
_NEAREST = re.compile(r"and is (.{1,120} the nearest allocation at 0x[0-9a-fA-F]+ of size \d+ bytes)")


class DeviceFault(msgspec.Struct, frozen=True, kw_only=True):
    """``line`` counts from 1. ``space`` is that of the address: only what is global is memory of CUDA. ``access`` in words: ``write of 4
    bytes``. ``whose``: what a recording says of the address, if one was given."""

    source: Literal["compute-sanitizer", "Xid 31"]
    line: int
    address: str | None = None
    space: str = "global"
    access: str = ""
    problem: str = ""
    kernel: str = ""
    thread: str = ""
    block: str = ""
    nearest: str = ""
    engine: str = ""
    process: int | None = None
    whose: tuple[str, ...] = ()

    @property
    def number(self) -> int | None:
        """The address, if it is one that memory of CUDA can have: none is at 0."""
        return (int(self.address, 16) or None) if self.address and self.space == "global" else None


@dataclass
class _Lines:
    """A log, from one place to the next."""

    data: bytes
    number: int = 1
    counted: int = 0
    details: list[str] = field(default_factory=list)

    def at(self, position: int) -> tuple[int, int]:
        """Number of the line that holds the position, and where the line ends."""
        self.number += self.data.count(b"\n", self.counted, position)
        self.counted = position
        end = self.data.find(b"\n", position)
        return self.number, len(self.data) if end < 0 else end

    def after(self, end: int) -> Iterator[str]:
        for _ in range(_MOST_DETAILS):
            start, end = end + 1, self.data.find(b"\n", end + 1)
            end = len(self.data) if end < 0 else end
            line = self.data[start : min(end, start + _MOST_LINE)]
            if start > len(self.data) or _FIRST.search(line):
                return
            yield line.decode("utf-8", "replace")


def faults_in(data: bytes) -> tuple[DeviceFault, ...]:
    """The first faults of a log, in order."""
    lines = _Lines(data)
    found: list[DeviceFault] = []
    for match in islice(_FIRST.finditer(data), _MOST_LOOKED_AT):
        if len(found) >= _MOST:
            break
        number, end = lines.at(match.start())
        text = data[match.start() : min(end, match.start() + _MOST_LINE)]
        fault = _of_xid(text, number) if match[0].startswith(b"Xid") else _of_sanitizer(text, number, lines.after(end))
        if fault is not None:
            found.append(fault)
    return tuple(found)


def _of_sanitizer(text: bytes, number: int, details: Iterator[str]) -> DeviceFault | None:
    invalid = _INVALID.match(text)
    if invalid is None:
        return None
    space, access, size = (part.decode("ascii", "replace") for part in invalid.groups())
    told: dict[str, str] = {}
    for position, line in enumerate(details):
        if position == 0 and " at " in line:
            told["kernel"] = _kernel(line.partition(" at ")[2].strip())
        elif thread := _THREAD.search(line):
            told["thread"], told["block"] = thread.groups()
        elif where := _WHERE.search(line):
            told["address"], told["problem"] = where[1], where[2].strip()
        elif nearest := _NEAREST.search(line):
            told["nearest"] = nearest[1]
            break
    fault = DeviceFault(source="compute-sanitizer", line=number, space=space, access=f"{access} of {size} bytes")
    return msgspec.structs.replace(fault, **told)


def _kernel(text: str) -> str:
    """The function of ``0x22e20 in FILE:LINE:FUNCTION`` and of ``FUNCTION+0x4bd0 in FILE:LINE``."""
    for before in (_OFFSET_BEFORE, _FILE_BEFORE):
        if found := before.match(text):
            text = text[found.end() :]
    function, _, file = text.rpartition(" in ")
    text = function if function and _FILE_BEHIND.fullmatch(file) else text
    function, _, offset = text.rpartition("+0x")
    return function if function and _OFFSET_BEHIND.fullmatch(offset) else text


def _of_xid(text: bytes, number: int) -> DeviceFault | None:
    xid = _XID.match(text)
    if xid is None:
        return None
    address = int(xid[3].replace(b"_", b"") or b"0", 16)
    if address >= 1 << 64:
        return None
    pid = _PID.search(text)
    access, problem = ((part or b"").decode("ascii", "replace") for part in (xid[5], xid[4]))
    return DeviceFault(
        source="Xid 31",
        line=number,
        address=f"{address:#x}",
        access=access.removeprefix("VIRT_").lower(),
        problem=problem,
        engine=xid[2].decode("ascii", "replace"),
        process=int(pid[1]) if pid else None,
    )
