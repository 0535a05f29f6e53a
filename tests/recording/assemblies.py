"""Writes assemblies as ECMA-335 describes them (partition II, 22 to 25), for tests of what reads them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

TYPES = (2, 1, 27)
CODED = {
    "TypeDefOrRef": TYPES,
    "HasConstant": (4, 8, 23),
    "HasCustomAttribute": (6, 4, 1, 2, 8, 9, 10, 0, 14, 23, 20, 17, 26, 27, 32, 35, 38, 39, 40, 42, 44, 43),
    "HasFieldMarshal": (4, 8),
    "HasDeclSecurity": (2, 6, 32),
    "MemberRefParent": (2, 1, 26, 6, 27),
    "HasSemantics": (20, 23),
    "MethodDefOrRef": (6, 10),
    "MemberForwarded": (4, 6),
    "Implementation": (38, 35, 39),
    "CustomAttributeType": (0, 0, 6, 10, 0),
    "ResolutionScope": (0, 26, 35, 1),
    "TypeOrMethodDef": (2, 6),
}
"""The tables of each coded index, by tag (II.24.2.6)."""
COLUMNS: dict[int, tuple[int | str, ...]] = {
    0: (-2, "s", "g", "g", "g"),
    1: ("ResolutionScope", "s", "s"),
    2: (-4, "s", "s", "TypeDefOrRef", 4, 6),
    4: (-2, "s", "b"),
    6: (-4, -2, -2, "s", "b", 8),
    8: (-2, -2, "s"),
    9: (2, "TypeDefOrRef"),
    10: ("MemberRefParent", "s", "b"),
    11: (-2, "HasConstant", "b"),
    12: ("HasCustomAttribute", "CustomAttributeType", "b"),
    13: ("HasFieldMarshal", "b"),
    14: (-2, "HasDeclSecurity", "b"),
    15: (-2, -4, 2),
    16: (-4, 4),
    17: ("b",),
    18: (2, 20),
    20: (-2, "s", "TypeDefOrRef"),
    21: (2, 23),
    23: (-2, "s", "b"),
    24: (-2, 6, "HasSemantics"),
    25: (2, "MethodDefOrRef", "MethodDefOrRef"),
    26: ("s",),
    27: ("b",),
    28: (-2, "MemberForwarded", "s", 26),
    29: (-4, 4),
    32: (-4, -2, -2, -2, -2, -4, "b", "s", "s"),
    35: (-2, -2, -2, -2, -4, "b", "s", "s", "b"),
    38: (-4, "s", "b"),
    39: (-4, -4, "s", "s", "Implementation"),
    40: (-4, -4, "s", "Implementation"),
    41: (2, 2),
    42: (-2, -2, "TypeOrMethodDef", "s"),
    43: ("MethodDefOrRef", "b"),
    44: (42, "TypeDefOrRef"),
    48: ("b", "g", "b", "g"),
    49: (48, "b"),
}
"""Columns by table: a negative number is of so many bytes, another an index of that table, "s", "g" and "b" are of a heap (II.22)."""
LARGE = {"s": 1, "g": 2, "b": 4}
Row = tuple[int, ...]


def metadata(
    tables: Mapping[int, Sequence[Row]],
    strings: bytes = b"\0",
    blobs: bytes = b"\0",
    *,
    large: int = 0,
    version: bytes = b"v4.0.30319\0\0",
) -> bytes:
    """``large``: which heaps have indexes of four bytes. A table's rows may be given once, as ``[()] * count``: of zeros."""
    count = {number: len(rows) for number, rows in tables.items()}
    stream = struct.pack("<IBBBBQQ", 0, 2, 0, large, 1, sum(1 << number for number in tables), 0)
    stream += b"".join(struct.pack("<I", count[number]) for number in sorted(tables))
    for number in sorted(tables):
        row = struct.Struct("<" + "".join(_column(column, count, large) for column in COLUMNS[number]))
        rows = tables[number]
        stream += b"".join(row.pack(*each) for each in rows) if rows and rows[0] else bytes(row.size * len(rows))
    heaps = {b"#~": stream, b"#Strings": strings, b"#Blob": blobs}
    names = {name: name.ljust(len(name) // 4 * 4 + 4, b"\0") for name in heaps}
    root = b"BSJB" + struct.pack("<HHII", 1, 1, 0, len(version)) + version + struct.pack("<HH", 0, len(heaps))
    at = len(root) + sum(8 + len(name) for name in names.values())
    for name, heap in heaps.items():
        root += struct.pack("<II", at, len(heap)) + names[name]
        at += len(heap)
    return root + b"".join(heaps.values())


def _column(column: int | str, count: Mapping[int, int], large: int) -> str:
    if column in (-2, -4):
        return {-2: "H", -4: "I"}[column]
    if column in LARGE:
        return "I" if large & LARGE[column] else "H"
    indexed = CODED[column] if isinstance(column, str) else (column,)
    bits = (len(indexed) - 1).bit_length()
    return "I" if max(count.get(table, 0) for table in indexed) >= 1 << (16 - bits) else "H"


class Heap:
    """Names or blobs, and where each is."""

    def __init__(self, *, blobs: bool) -> None:
        self.data = bytearray(1)
        self._blobs = blobs

    def __call__(self, value: bytes) -> int:
        at = len(self.data)
        self.data += bytes([len(value)]) + value if self._blobs else value + b"\0"
        return at


CODE_AT = 0x4000
"""Address of the code in memory; the file has it elsewhere."""


def image(root: bytes, code: bytes, *, wide: bool = False) -> bytes:
    """The PE file. ``wide``: of 64 bits."""
    optional = bytearray(0x78 + 16 * 8 if wide else 0x60 + 16 * 8)
    struct.pack_into("<H", optional, 0, 0x20B if wide else 0x10B)
    struct.pack_into("<II", optional, (112 if wide else 96) + 14 * 8, 0x2000, 72)
    cli = struct.pack("<IHHII", 72, 2, 5, 0x2000 + 72, len(root)).ljust(72, b"\0")
    first, second = 0x400, 0x400 + 72 + len(root)
    sections = struct.pack("<8sIIII16x", b".text", 72 + len(root), 0x2000, 72 + len(root), first)
    sections += struct.pack("<8sIIII16x", b".code", 1, CODE_AT, len(code), second)
    header = b"PE\0\0" + struct.pack("<HHIIIHH", 0x14C, 2, 0, 0, 0, len(optional), 0x2102)
    dos = bytearray(b"MZ".ljust(0x80, b"\x90"))
    struct.pack_into("<I", dos, 0x3C, 0x80)
    start = bytes(dos) + header + optional + sections
    return start.ljust(first, b"\0") + cli + root + code


def tiny(code: bytes) -> bytes:
    """A method body of at most 63 bytes without variables (II.25.4.2)."""
    assert len(code) < 64
    return bytes([len(code) << 2 | 2]) + code


def fat(code: bytes) -> bytes:
    return struct.pack("<HHII", 0x3003, 8, len(code), 0) + code


def call(token: int, opcode: int = 0x28) -> bytes:
    return bytes([opcode]) + struct.pack("<I", token)


def bodies(methods: Iterable[bytes]) -> tuple[bytes, list[int]]:
    """The code of all, and the address of each."""
    code, places = bytearray(b"\xcc" * 4), []
    for body in methods:
        code += bytes(-len(code) % 4)
        places.append(CODE_AT + len(code) if body else 0)
        code += body
    return bytes(code), places
