"""Assemblies of .NET and mono as ECMA-335 describes them, as far as it takes to say which method calls which, and where.

Everything is read from bytes that may be anything: what does not fit raises ``BadAssembly``.
"""

import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

CALLS = (0x28, 0x6F, 0x73)
"""call, callvirt, newobj."""
AGGRESSIVE_INLINING = 0x100
MOST_CODE_BYTES = 1 << 20
_OPERANDS = {
    **dict.fromkeys([*range(0x0E, 0x14), 0x1F, *range(0x2B, 0x38), 0xDE], 1),
    **dict.fromkeys([0x20, 0x22, 0x27, 0x28, 0x29, *range(0x38, 0x45), *range(0x6F, 0x76), 0x79], 4),
    **dict.fromkeys([*range(0x7B, 0x82), 0x8C, 0x8D, 0x8F, 0xA3, 0xA4, 0xA5, 0xC2, 0xC6, 0xD0, 0xDD], 4),
    **dict.fromkeys([0x21, 0x23], 8),
    **dict.fromkeys([0xFE06, 0xFE07, 0xFE15, 0xFE16, 0xFE1C], 4),
    **dict.fromkeys(range(0xFE09, 0xFE0F), 2),
    **dict.fromkeys([0xFE12, 0xFE19], 1),
}
"""Bytes of operands, of instructions that have some (partition III)."""
_SWITCH = 0x45

_TYPE_REF, _TYPE_DEF, _METHOD_DEF, _MEMBER_REF, _IMPL_MAP, _NESTED, _METHOD_SPEC = 1, 2, 6, 10, 28, 41, 43
_CODED = {
    "TypeDefOrRef": (2, (2, 1, 27)),
    "HasConstant": (2, (4, 8, 23)),
    "HasCustomAttribute": (5, (6, 4, 1, 2, 8, 9, 10, 0, 14, 23, 20, 17, 26, 27, 32, 35, 38, 39, 40, 42, 44, 43)),
    "HasFieldMarshal": (1, (4, 8)),
    "HasDeclSecurity": (2, (2, 6, 32)),
    "MemberRefParent": (3, (2, 1, 26, 6, 27)),
    "HasSemantics": (1, (20, 23)),
    "MethodDefOrRef": (1, (6, 10)),
    "MemberForwarded": (1, (4, 6)),
    "Implementation": (2, (38, 35, 39)),
    "CustomAttributeType": (3, (6, 10)),
    "ResolutionScope": (2, (0, 26, 35, 1)),
    "TypeOrMethodDef": (1, (2, 6)),
}
"""Coded indexes: bits of the tag, and the tables that they lead to (II.24.2.6)."""
_TABLES = (
    "2 s g g g", "ResolutionScope s s", "4 s s TypeDefOrRef t4 t6", "t4", "2 s b", "t6", "4 2 2 s b t8", "t8", "2 2 s",
    "t2 TypeDefOrRef", "MemberRefParent s b", "2 HasConstant b", "HasCustomAttribute CustomAttributeType b", "HasFieldMarshal b",
    "2 HasDeclSecurity b", "2 4 t2", "4 t4", "b", "t2 t20", "t20", "2 s TypeDefOrRef", "t2 t23", "t23", "2 s b", "2 t6 HasSemantics",
    "t2 MethodDefOrRef MethodDefOrRef", "s", "b", "2 MemberForwarded s t26", "4 t4", "4 4", "4", "4 2 2 2 2 4 b s s", "4", "4 4 4",
    "2 2 2 2 4 b s s b", "4 t35", "4 4 4 t35", "4 s b", "4 4 s s Implementation", "4 4 s Implementation", "t2 t2",
    "2 2 TypeOrMethodDef s", "MethodDefOrRef b", "t42 TypeDefOrRef", "", "", "",
    "b g b g", "t48 b",
)  # fmt: skip
"""Columns of the tables, by number (II.22; from 48 on, of portable PDBs): bytes, index of a heap (s, g, b), of a table (t), or coded."""


class BadAssembly(ValueError):
    """A file that is no assembly, or not a whole one."""


class Method(NamedTuple):
    """``name`` is ``Namespace.Class.Method/2`` with its number of parameters; ``imported`` the native function that it stands for."""

    row: int
    name: str
    address: int
    imported: str
    flags: int
    """Of its implementation (II.23.1.11)."""


class CallSite(NamedTuple):
    """A call in a method: where in its code, and the name of the method that is called."""

    offset: int
    callee: str


class Metadata:
    """The tables and heaps that begin at a position in a file."""

    def __init__(self, data: bytes, start: int) -> None:
        self.data = data
        if data[start : start + 4] != b"BSJB":
            raise BadAssembly("no metadata")
        (version,) = unpack("<I", data, start + 12)
        position = start + 16 + version
        (count,) = unpack("<H", data, position + 2)
        position += 4
        self._heaps: dict[str, tuple[int, int]] = {}
        for _ in range(min(count, 16)):
            offset, size = unpack("<II", data, position)
            end = data.find(b"\0", position + 8, position + 8 + 32)
            if end < 0:
                raise BadAssembly("a heap without a name")
            self._heaps[data[position + 8 : end].decode("ascii", "replace")] = (start + offset, size)
            position = position + 8 + ((end - position - 8) // 4 + 1) * 4
        self._read_tables()

    def _read_tables(self) -> None:
        if "#~" not in self._heaps:
            raise BadAssembly("no tables")
        position, _ = self._heaps["#~"]
        (large,) = unpack("<B", self.data, position + 6)
        (present,) = unpack("<Q", self.data, position + 8)
        position += 24
        numbers = [number for number in range(64) if present >> number & 1]
        self._rows: Counter[int] = Counter()
        for number in numbers:
            (self._rows[number],) = unpack("<I", self.data, position)
            position += 4
        self._heap_bytes = {"s": 4 if large & 1 else 2, "g": 4 if large & 2 else 2, "b": 4 if large & 4 else 2}
        self._places: dict[int, tuple[int, struct.Struct]] = {}
        for number in numbers:
            if number >= len(_TABLES):
                return
            row = struct.Struct("<" + "".join(self._column(column) for column in _TABLES[number].split()))
            self._places[number] = (position, row)
            position += row.size * self._rows[number]

    def _column(self, column: str) -> str:
        if column in self._heap_bytes:
            return "I" if self._heap_bytes[column] == 4 else "H"
        if column.isdecimal():
            return {"2": "H", "4": "I"}[column]
        bits, tables = _CODED.get(column) or (0, (int(column[1:]),))
        return "I" if max(self._rows[table] for table in tables) >= 1 << (16 - bits) else "H"

    def count(self, table: int) -> int:
        return self._rows[table] if table in self._places else 0

    def rows(self, table: int) -> list[tuple[int, ...]]:
        """All rows of a table; the first has the number 1."""
        if not self.count(table):
            return []
        position, row = self._places[table]
        end = position + row.size * self.count(table)
        if end > len(self.data):
            raise BadAssembly("a table that goes past the end of the file")
        return list(row.iter_unpack(self.data[position:end]))

    def row(self, table: int, number: int) -> tuple[int, ...]:
        if not 1 <= number <= self.count(table):
            raise BadAssembly("a row that is not there")
        position, row = self._places[table]
        return unpack(row, self.data, position + row.size * (number - 1))

    def string(self, index: int) -> str:
        start, size = self._heaps.get("#Strings", (0, 0))
        end = self.data.find(b"\0", start + index, start + size)
        if end < 0:
            raise BadAssembly("a name outside of the names")
        return self.data[start + index : end].decode("utf-8", "replace")

    def blob(self, index: int) -> bytes:
        start, size = self._heaps.get("#Blob", (0, 0))
        if index >= size:
            raise BadAssembly("a blob outside of the blobs")
        blob = Blob(self.data[start + index : start + size])
        return blob.take(blob.unsigned())


class Blob:
    """Reads bytes one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def take(self, count: int) -> bytes:
        taken = self.data[self.at : self.at + count]
        if len(taken) < count:
            raise BadAssembly("it ends too early")
        self.at += count
        return taken

    def unsigned(self) -> int:
        """A compressed unsigned integer (II.23.2)."""
        first = self.take(1)[0]
        if first < 0x80:
            return first
        if first < 0xC0:
            return (first & 0x3F) << 8 | self.take(1)[0]
        return (first & 0x1F) << 24 | int.from_bytes(self.take(3), "big")

    def signed(self) -> int:
        """A compressed signed integer."""
        bits = {0: 7, 1: 7, 2: 14}.get(self.data[self.at] >> 6 if self else 3, 29)
        value = self.unsigned()
        return (value >> 1) - (1 << (bits - 1) if value & 1 else 0)


class Assembly:
    """One file. BadAssembly if it is none."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        (header,) = unpack("<I", data, 0x3C)
        if data[:2] != b"MZ" or data[header : header + 4] != b"PE\0\0":
            raise BadAssembly("no PE file")
        sections, optional_bytes = unpack("<H", data, header + 6)[0], unpack("<H", data, header + 20)[0]
        optional = header + 24
        directories = optional + (112 if unpack("<H", data, optional)[0] == 0x20B else 96)
        position = optional + optional_bytes
        self._sections = [unpack("<IIII", data, position + 40 * n + 8) for n in range(min(sections, 96))]
        cli = self._offset(unpack("<I", data, directories + 14 * 8)[0])
        self.metadata = Metadata(data, self._offset(unpack("<I", data, cli + 8)[0]))

    def _offset(self, address: int) -> int:
        for size, start, raw_size, raw in self._sections:
            if start <= address < start + max(size, raw_size):
                return address - start + raw
        raise BadAssembly("an address in no section")

    @cached_property
    def methods(self) -> list[Method]:
        """By number of their rows, from 1: ``methods[row - 1]``."""
        tables = self.metadata
        types = self._type_names
        firsts = [row[5] for row in tables.rows(_TYPE_DEF)]
        imported = {row[1] >> 1: tables.string(row[2]) for row in tables.rows(_IMPL_MAP) if row[1] & 1}
        found = []
        for number, row in enumerate(tables.rows(_METHOD_DEF), 1):
            owner = bisect_right(firsts, number)
            own = f"{tables.string(row[3])}/{_parameters(tables.blob(row[4]))}"
            name = f"{types[owner - 1]}.{own}" if owner else own
            found.append(Method(number, name, row[0], imported.get(number, ""), row[1]))
        return found

    @cached_property
    def _type_names(self) -> list[str]:
        tables = self.metadata
        names = [_qualified(tables.string(row[2]), tables.string(row[1])) for row in tables.rows(_TYPE_DEF)]
        outer = {row[0]: row[1] for row in tables.rows(_NESTED)}
        return [self._within(number, names, outer) for number in range(1, len(names) + 1)]

    @staticmethod
    def _within(number: int, names: list[str], outer: dict[int, int]) -> str:
        parts = [names[number - 1]]
        while number in outer and len(parts) < 16:
            number = outer[number]
            if not 1 <= number <= len(names):
                raise BadAssembly("a class within one that is not there")
            parts.append(names[number - 1])
        return ".".join(reversed(parts))

    def may_be_inlined(self, method: Method) -> bool:
        """Whether a runtime may make its code part of its callers': if it is short (.NET takes 100 bytes), or asks for it."""
        return bool(method.address) and (bool(method.flags & AGGRESSIVE_INLINING) or len(self._code(method)) <= 128)

    def calls(self, method: Method) -> Iterator[CallSite]:
        """The calls in a method, in the order of its code."""
        code = self._code(method)
        at = 0
        while at < len(code):
            start, opcode = at, code[at]
            at += 1
            if opcode == 0xFE and at < len(code):
                opcode, at = 0xFE00 | code[at], at + 1
            if opcode in CALLS:
                yield CallSite(start, self._called(*unpack("<I", code, at)))
            at += 4 + 4 * unpack("<I", code, at)[0] if opcode == _SWITCH else _OPERANDS.get(opcode, 0)

    def _code(self, method: Method) -> bytes:
        if not method.address:
            return b""
        start = self._offset(method.address)
        (first,) = unpack("<B", self.data, start)
        if first & 3 == 2:
            return self.data[start + 1 : start + 1 + (first >> 2)]
        (size,) = unpack("<I", self.data, start + 4)
        if size > MOST_CODE_BYTES:
            raise BadAssembly("a method that is too large")
        return self.data[start + 12 : start + 12 + size]

    def _called(self, token: int) -> str:
        """The method that a token names; empty for one of a generic class."""
        tables = self.metadata
        table, number = token >> 24, token & 0xFFFFFF
        if table == _METHOD_SPEC:
            (method, _) = tables.row(_METHOD_SPEC, number)
            table, number = (_METHOD_DEF, _MEMBER_REF)[method & 1], method >> 1
        if table == _METHOD_DEF:
            return self.methods[number - 1].name if 1 <= number <= len(self.methods) else ""
        if table != _MEMBER_REF:
            return ""
        parent, name, signature = tables.row(_MEMBER_REF, number)
        owner = self._referred(parent & 7, parent >> 3)
        return f"{owner}.{tables.string(name)}/{_parameters(tables.blob(signature))}" if owner else ""

    def _referred(self, tag: int, number: int, depth: int = 0) -> str:
        if tag == 0:
            return self._type_names[number - 1] if 1 <= number <= len(self._type_names) else ""
        if tag != 1 or depth > 16:
            return ""
        scope, name, namespace = self.metadata.row(_TYPE_REF, number)
        own = _qualified(self.metadata.string(namespace), self.metadata.string(name))
        return f"{self._referred(1, scope >> 2, depth + 1)}.{own}" if scope & 3 == 3 else own


def unpack(layout: str | struct.Struct, data: bytes, offset: int) -> tuple[int, ...]:
    """BadAssembly if the data is too short."""
    try:
        return struct.unpack_from(layout, data, offset) if isinstance(layout, str) else layout.unpack_from(data, offset)
    except struct.error:
        raise BadAssembly("it ends too early") from None


def _parameters(signature: bytes) -> int:
    """How many a method has (II.23.2.1)."""
    blob = Blob(signature)
    if blob.take(1)[0] & 0x10:
        blob.unsigned()  # the number of its type's parameters
    return blob.unsigned()


def _qualified(namespace: str, name: str) -> str:
    return f"{namespace}.{name}" if namespace else name
