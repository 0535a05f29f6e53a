"""GPU core dumps, written as the driver writes them: what is read of them, and no more."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

_HEADER, _SECTION = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQIIQQ")
EM_CUDA, CORE, EXECUTABLE = 190, 4, 2
CODE, MODULE, GRID = 0x7F0000700000, 0x5500, 7


@dataclass(frozen=True)
class Part:
    """A section. ``row``: bytes of each of its rows."""

    name: str
    type: int
    data: bytes
    link: int = 0
    info: int = 0
    address: int = 0
    row: int = 0


def elf(parts: Sequence[Part], kind: int = CORE, machine: int = EM_CUDA) -> bytes:
    """An ELF file whose sections are numbered from 1; the names come last."""
    names = b"\0" + b"".join(part.name.encode() + b"\0" for part in parts)
    contents, rows, at, name = b"", [bytes(_SECTION.size)], _HEADER.size, 1
    for part in (*parts, Part("", 3, names)):
        rows.append(
            _SECTION.pack(name, part.type, 0, part.address, at, len(part.data), part.link, part.info, 0, part.row)
        )
        contents += part.data
        at += len(part.data)
        name += len(part.name) + 1
    ident = b"\x7fELF\x02\x01\x01\x33\x07".ljust(16, b"\0")
    header = _HEADER.pack(ident, kind, machine, 1, 0, 0, at, 0, 64, 0, 0, 64, len(rows), len(rows) - 1)
    return header + contents + b"".join(rows)


def cubin(kernel: str, sizes: Sequence[int]) -> bytes:
    """A relocated image with one kernel, whose parameters have these sizes and lie without gaps."""
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0x10, 4, CODE, 256)
    at, parameters = 0, b""
    for number, size in enumerate(sizes):
        parameters += struct.pack("<BBHIHHI", 4, 0x17, 12, 0, number, at, size << 18)
        at += size
    return elf(
        [
            Part(".symtab", 2, symbols, link=2),
            Part(".strtab", 3, b"\0" + kernel.encode() + b"\0"),
            Part(f".nv.info.{kernel}", 0x70000000, parameters),
            Part(f".text.{kernel}", 1, bytes(256), address=CODE),
        ],
        EXECUTABLE,
    )


def dump(
    kernel: str = "_Z5scalePfi",
    arguments: bytes = struct.pack("<QI", 0x7FC008800000, 32),
    sizes: Sequence[int] = (8, 4),
    *,
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (32, 1, 1),
    thread: int = 972,
    exception: int = 14,
    lanes: int = 32,
) -> bytes:
    """Of one kernel whose warp stopped with the exception 0xb0 bytes into its code; 0: with none."""
    shape = struct.pack("<IIIIII4xI", *grid, *block, thread)
    grids = struct.pack("<QQQQQQQIIII", GRID, 1, 2, CODE, MODULE, 0, 528, 2, 0, 2, 16) + shape
    rows = [
        struct.pack("<QQIIIIIIII", CODE + 0xC0, 0xC0, lane, lane, 0, 0, exception, 0, 0, 0) for lane in range(lanes)
    ]
    return elf(
        [
            Part(".cudbg.devtbl", 0x80000009, bytes(72), row=72),
            Part(".cudbg.ctxtbl.dev0", 0x8000000A, bytes(40), link=1, row=40),
            Part(".cudbg.modtbl.dev0.ctx0", 0x80000010, struct.pack("<Q", MODULE), link=2, row=8),
            Part(".cudbg.relfimg.dev0.ctx0", 0x80000007, cubin(kernel, sizes), link=3),
            Part(".cudbg.gridtbl.dev0", 0x8000000C, grids, link=1, row=len(grids)),
            Part(".cudbg.param.dev0.grid0", 0x80000012, arguments, link=5),
            Part(
                ".cudbg.smtbl.dev0", 0x8000000B, struct.pack("<IIIIQ", 3, 0, exception, 1, CODE + 0xB0), link=1, row=24
            ),
            Part(".cudbg.ctatbl.dev0.sm0", 0x8000000D, struct.pack("<QIIII", GRID, 2, 0, 0, 0), link=7, row=24),
            Part(
                ".cudbg.wptbl.dev0.sm0.cta0",
                0x8000000E,
                struct.pack("<QIIIIII", CODE + 0xB0, 0, 0, 0, 0, 1, 0),
                link=8,
                row=32,
            ),
            Part(".cudbg.lntbl.dev0.sm0.cta0.wp0", 0x8000000F, b"".join(rows), link=9, row=48),
        ]
    )
