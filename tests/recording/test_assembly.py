"""What is read of assemblies that ``assemblies.py`` writes: tables of all kinds and widths, methods, and the calls in their code."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuvet.recording.assembly import Assembly, BadAssembly, Blob, CallSite, Metadata, Method

sys.path.insert(0, str(Path(__file__).parent))
import assemblies as a

OPERANDS = {
    1: "0e 0f 10 11 12 13 1f 2b 2c 2d 2e 2f 30 31 32 33 34 35 36 37 de fe12 fe19",
    2: "fe09 fe0a fe0b fe0c fe0d fe0e",
    4: "20 22 27 28 29 38 39 3a 3b 3c 3d 3e 3f 40 41 42 43 44 6f 70 71 72 73 74 75 79 7b 7c 7d 7e 7f 80 81 "
    "8c 8d 8f a3 a4 a5 c2 c6 d0 dd fe06 fe07 fe15 fe16 fe1c",
    8: "21 23",
}
"""Instructions by how many bytes of operands they have (III.1 and the tables of III.3 and III.4)."""
SIZES = {bytes.fromhex(opcode): size for size, opcodes in OPERANDS.items() for opcode in opcodes.split()}
UNUSED = {0x24, 0x45, 0x77, 0x78, *range(0xA6, 0xB3), *range(0xBB, 0xC2), 0xC4, 0xC5, *range(0xC7, 0xD0), 0xFE}
PLAIN = [bytes([opcode]) for opcode in range(0xE1) if opcode not in UNUSED]
TWO_BYTES = [bytes([0xFE, opcode]) for opcode in range(0x1F) if opcode not in (0x08, 0x10, 0x1B)]


def program(bodies: list[bytes], *, flags: int = 0, **more: object) -> Assembly:
    """A class ``N.C`` with the methods ``m1()``, ``m2()`` and so on."""
    names, blobs = a.Heap(blobs=False), a.Heap(blobs=True)
    code, places = a.bodies(bodies)
    signature = blobs(b"\0\0\1")
    methods = [(at, flags, 0, names(f"m{n}".encode()), signature, 1) for n, at in enumerate(places, 1)]
    tables = {2: [(0, names(b"C"), names(b"N"), 0, 1, 1)], 6: methods}
    return Assembly(a.image(a.metadata(tables, bytes(names.data), bytes(blobs.data)), code, **more))  # type: ignore[arg-type]


def test_each_instruction_is_as_long_as_its_operands() -> None:
    target = a.call(0x06000001)
    opcodes = [*PLAIN, *TWO_BYTES]
    codes = [opcode + b"\x28" * SIZES.get(opcode, 0) for opcode in opcodes]
    assembly = program([a.tiny(code + target) for code in codes])
    calls = {b"\x28", b"\x6f", b"\x73"}
    expected = [
        [*([CallSite(0, "")] if opcode in calls else []), CallSite(len(code), "N.C.m1/0")]
        for opcode, code in zip(opcodes, codes, strict=True)
    ]
    assert [list(assembly.calls(method)) for method in assembly.methods] == expected


def test_a_switch_is_as_long_as_it_says() -> None:
    code = b"\x45" + struct.pack("<I3i", 3, 0x28, 0x28, 0x28) + a.call(0x06000001, 0x6F)
    for wide in (False, True):
        (method,) = (assembly := program([a.fat(code)], wide=wide)).methods
        assert list(assembly.calls(method)) == [CallSite(17, "N.C.m1/0")]


def test_an_instruction_that_is_cut_off_is_the_last() -> None:
    assembly = program([a.tiny(b"\0\xfe"), a.tiny(b"\0\x20\1"), a.tiny(b"")])
    assert [list(assembly.calls(method)) for method in assembly.methods] == [[], [], []]


def test_a_call_that_goes_past_the_end_of_the_file_is_damage() -> None:
    assembly = program([a.tiny(b"\x28\1")])
    with pytest.raises(BadAssembly):
        list(assembly.calls(assembly.methods[0]))


def test_short_methods_may_be_inlined_and_those_that_ask_for_it() -> None:
    bodies = [b"", a.tiny(b"\0"), a.fat(bytes(128)), a.fat(bytes(129))]
    assembly = program(bodies)
    assert [assembly.may_be_inlined(method) for method in assembly.methods] == [False, True, True, False]
    assert list(assembly.calls(assembly.methods[0])) == []
    for flags in (0x100, 0x1FF):
        assembly = program(bodies, flags=flags)
        assert [assembly.may_be_inlined(method) for method in assembly.methods] == [False, True, True, True]
    assembly = program(bodies, flags=0xEFF)
    assert [assembly.may_be_inlined(method) for method in assembly.methods] == [False, True, True, False]


def test_a_method_is_of_at_most_a_mebibyte() -> None:
    most = program([a.fat(bytes(1 << 20))])
    assert list(most.calls(most.methods[0])) == []
    more = program([a.fat(bytes((1 << 20) + 1))])
    with pytest.raises(BadAssembly):
        list(more.calls(more.methods[0]))


def named(methods: list[tuple[bytes, bytes]]) -> tuple[a.Heap, a.Heap, list[a.Row]]:
    """The heaps with names and signatures, and the rows."""
    names, blobs = a.Heap(blobs=False), a.Heap(blobs=True)
    return names, blobs, [(0, 0, 0, names(name), blobs(signature), 1) for name, signature in methods]


def test_methods_have_the_names_of_their_classes() -> None:
    """The first class is for methods of none; a nested class has those around it; a generic method says so in its signature."""
    names, blobs, methods = named(
        [(b"free", b"\0\0\1"), (b"one", b"\0\1\1\x08"), (b"two", b"\x10\1\2\1\x08\x08"), (b"three", b"\x20\x80\x80\1")]
    )
    classes = [(b"<Module>", b"", 1), (b"Outer", b"A.B", 2), (b"Middle", b"", 3), (b"Inner", b"", 4)]
    types = [(0, names(name), names(space), 0, 1, first) for name, space, first in classes]
    tables = {
        2: types,
        6: methods,
        28: [(0, 1 << 1 | 1, names(b"cuInit"), 1), (0, 1 << 1, names(b"of a field"), 1)],
        41: [(3, 2), (4, 3)],
    }
    assembly = Assembly(a.image(a.metadata(tables, bytes(names.data), bytes(blobs.data)), b""))
    assert assembly.methods == [
        Method(1, "<Module>.free/0", 0, "cuInit", 0),
        Method(2, "A.B.Outer.one/1", 0, "", 0),
        Method(3, "A.B.Outer.Middle.two/2", 0, "", 0),
        Method(4, "A.B.Outer.Middle.Inner.three/128", 0, "", 0),
    ]


def test_methods_before_the_first_class_have_no_class() -> None:
    names, blobs, methods = named([(b"free", b"\0\0\1"), (b"own", b"\0\0\1")])
    tables = {2: [(0, names(b"C"), 0, 0, 1, 2)], 6: methods}
    assembly = Assembly(a.image(a.metadata(tables, bytes(names.data), bytes(blobs.data)), b""))
    assert [method.name for method in assembly.methods] == ["free/0", "C.own/0"]


@pytest.mark.parametrize("outer", [0, 2])
def test_a_class_within_one_that_is_not_there_is_damage(outer: int) -> None:
    names, blobs, methods = named([(b"m", b"\0\0\1")])
    tables = {2: [(0, names(b"C"), 0, 0, 1, 1)], 6: methods, 41: [(1, outer)]}
    assembly = Assembly(a.image(a.metadata(tables, bytes(names.data), bytes(blobs.data)), b""))
    with pytest.raises(BadAssembly):
        _ = assembly.methods


def test_classes_that_nest_in_a_ring_have_an_end() -> None:
    names, blobs, methods = named([(b"m", b"\0\0\1")])
    tables = {2: [(0, names(b"C"), 0, 0, 1, 1)], 6: methods, 41: [(1, 1)]}
    assembly = Assembly(a.image(a.metadata(tables, bytes(names.data), bytes(blobs.data)), b""))
    assert assembly.methods[0].name == ".".join(["C"] * 16) + ".m/0"


def test_each_token_names_its_method() -> None:
    names, blobs = a.Heap(blobs=False), a.Heap(blobs=True)
    none, generic = blobs(b"\0\0\1"), blobs(b"\x30\1\2\1\x08\x08")
    tokens = {
        0x06000001: "C.m/0",
        0x06000000: "",
        0x06000002: "",
        0x0A000001: "Lib.T.f/0",
        0x0A000002: "Lib.T.U.g/2",
        0x0A000003: "C.h/0",
        0x0A000004: "",  # of a generic class
        0x0A000005: "",  # of a class that is not there
        0x0A000006: "T3.deep/0",
        0x2B000001: "C.m/0",
        0x2B000002: "Lib.T.U.g/2",
        0x01000001: "",
    }
    code, (at,) = a.bodies([a.fat(b"".join(map(a.call, tokens)))])
    referred = [(2 | 1 << 2, names(b"T"), names(b"Lib")), (3 | 1 << 2, names(b"U"), 0), (2, names(b"T3"), 0)]
    tables: dict[int, list[a.Row]] = {
        1: referred,
        2: [(0, names(b"C"), 0, 0, 1, 1)],
        6: [(at, 0, 0, names(b"m"), none, 1)],
        10: [
            (1 | 1 << 3, names(b"f"), none),
            (1 | 2 << 3, names(b"g"), generic),
            (0 | 1 << 3, names(b"h"), none),
            (4 | 1 << 3, names(b"i"), none),
            (0 | 2 << 3, names(b"j"), none),
            (1 | 3 << 3, names(b"deep"), none),
        ],
        43: [(0 | 1 << 1, none), (1 | 2 << 1, none)],
    }
    assembly = Assembly(a.image(a.metadata(tables, bytes(names.data), bytes(blobs.data)), code))
    assert [site.callee for site in assembly.calls(assembly.methods[0])] == list(tokens.values())


def test_references_that_go_in_a_ring_have_an_end() -> None:
    names, blobs = a.Heap(blobs=False), a.Heap(blobs=True)
    signature = blobs(b"\0\0\1")
    code, (at,) = a.bodies([a.tiny(a.call(0x0A000001))])
    tables: dict[int, list[a.Row]] = {
        1: [(3 | 1 << 2, names(b"T"), 0)],
        2: [(0, names(b"C"), 0, 0, 1, 1)],
        6: [(at, 0, 0, names(b"m"), signature, 1)],
        10: [(1 | 1 << 3, names(b"f"), signature)],
    }
    assembly = Assembly(a.image(a.metadata(tables, bytes(names.data), bytes(blobs.data)), code))
    ((_, callee),) = assembly.calls(assembly.methods[0])
    assert callee == "." + ".".join(["T"] * 17) + ".f/0"


@pytest.mark.parametrize("large", range(8))
def test_the_columns_of_each_table_are_read(large: int) -> None:
    """Two rows of each: every column has another number."""
    tables = {
        number: [tuple(range(start, start + len(columns))) for start in (1, 100)]
        for number, columns in a.COLUMNS.items()
    }
    found = Metadata(a.metadata(tables, large=large), 0)
    assert {number: found.rows(number) for number in tables} == tables
    assert {number: found.row(number, 2) for number in tables} == {number: rows[1] for number, rows in tables.items()}
    assert [found.count(number) for number in (0, 3, 63)] == [2, 0, 0]
    assert found.rows(3) == []
    for number in (0, 3):
        with pytest.raises(BadAssembly):
            found.row(0, number)


INDEXED = [
    (
        next(number for number, columns in a.COLUMNS.items() if name in columns),
        table,
        16 - (len(tables) - 1).bit_length(),
    )
    for name, tables in a.CODED.items()
    for table in sorted({*tables})
    if name != "CustomAttributeType" or table
]
"""A table with each coded index, a table that this leads to, and the bits that are left of 16."""
DIRECT = [(16, 4, 16), (41, 2, 16), (18, 20, 16), (9, 2, 16), (28, 26, 16), (44, 42, 16), (49, 48, 16)]


@pytest.mark.parametrize(("holder", "table", "bits"), [*INDEXED, *DIRECT])
def test_an_index_is_wide_if_a_table_that_it_leads_to_is_large(holder: int, table: int, bits: int) -> None:
    for rows in ((1 << bits) - 1, 1 << bits):
        tables: dict[int, list[a.Row]] = {table: [()] * rows}
        if holder != table:
            first = tuple(range(1, len(a.COLUMNS[holder]) + 1))
            tables[holder] = [first, first]
        found = Metadata(a.metadata(tables), 0)
        assert found.rows(table) == [(0,) * len(a.COLUMNS[table])] * rows
        if holder != table:
            assert found.rows(holder) == tables[holder]


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("00", 0),
        ("7f", 127),
        ("8080", 128),
        ("bfff", 0x3FFF),
        ("c0004000", 0x4000),
        ("dfffffff", 0x1FFFFFFF),
    ],
)
def test_unsigned_numbers_of_one_two_and_four_bytes(data: str, value: int) -> None:
    blob = Blob(bytes.fromhex(data))
    assert (blob.unsigned(), bool(blob)) == (value, False)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("06", 3),
        ("7b", -3),
        ("8080", 64),
        ("01", -64),
        ("c0004000", 8192),
        ("8001", -8192),
        ("dffffffe", 268435455),
        ("c0000001", -268435456),
    ],
)
def test_signed_numbers_are_those_of_the_specification(data: str, value: int) -> None:
    """The examples of II.23.2."""
    blob = Blob(bytes.fromhex(data))
    assert (blob.signed(), bool(blob)) == (value, False)


def test_a_number_that_ends_too_early_is_damage() -> None:
    reads: list[Callable[[Blob], int]] = [Blob.unsigned, Blob.signed]
    for read in reads:
        for data in (b"", b"\x80", b"\xc0\0\0"):
            with pytest.raises(BadAssembly):
                read(Blob(data))


def test_names_and_blobs_lie_in_their_heaps() -> None:
    found = Metadata(a.metadata({}, b"\0first\0last", b"\0\3abc\2x"), 0)
    assert [found.string(at) for at in (0, 1, 3)] == ["", "first", "rst"]
    assert (found.blob(0), found.blob(1)) == (b"", b"abc")
    for damaged in (lambda: found.string(7), lambda: found.string(100), lambda: found.blob(5), lambda: found.blob(7)):
        with pytest.raises(BadAssembly):
            damaged()


def test_metadata_begins_where_it_is_said_to() -> None:
    data = a.metadata({0: [(1, 2, 3, 4, 5)]}, b"\0name\0", b"\0\1x", version=b"v2\0\0")
    found = Metadata(b"???" + data, 3)
    assert (found.rows(0), found.string(1), found.blob(1)) == ([(1, 2, 3, 4, 5)], "name", b"x")


def test_metadata_without_tables_are_damage() -> None:
    """Those of another stream, which compilers write while a program is edited, are not read."""
    data = a.metadata({0: [(1, 2, 3, 4, 5)]})
    with pytest.raises(BadAssembly, match="no tables"):
        Metadata(data.replace(b"#~\0\0", b"#-\0\0"), 0)


def test_a_table_that_is_cut_off_is_damage() -> None:
    tables = a.metadata({0: [(1, 2, 3, 4, 5)] * 100}, b"", b"")
    assert len(Metadata(tables, 0).rows(0)) == 100
    with pytest.raises(BadAssembly):
        Metadata(tables[:-1], 0).rows(0)


def test_tables_after_one_that_is_not_known_are_not_read() -> None:
    """A bit of a table that ECMA-335 and portable PDBs do not have."""
    data = bytearray(a.metadata({0: [(1, 2, 3, 4, 5)], 2: [(0, 1, 2, 0, 1, 1)]}, b"", b""))
    place = data.index(struct.pack("<Q", 1 << 0 | 1 << 2))
    struct.pack_into("<Q", data, place, 1 << 0 | 1 << 60)
    found = Metadata(bytes(data), 0)
    assert (found.count(0), found.count(60), found.rows(0)) == (1, 0, [(1, 2, 3, 4, 5)])


def test_what_is_no_image_or_ends_early_is_damage() -> None:
    names, blobs = a.Heap(blobs=False), a.Heap(blobs=True)
    whole = a.image(a.metadata({2: [(0, names(b"C"), 0, 0, 1, 1)]}, bytes(names.data), bytes(blobs.data)), b"")
    assert Assembly(whole).methods == []
    for damaged in (
        b"ZM" + whole[2:],
        whole.replace(b"PE\0\0", b"PX\0\0"),
        whole.replace(b"BSJB", b"BSJA"),
        whole[:0x430],
    ):
        with pytest.raises(BadAssembly):
            Assembly(damaged)


def test_an_address_in_no_section_is_damage() -> None:
    """Each section goes from its address as far as its size in memory or in the file, whichever is larger."""
    data = b"".join(bytes([number]) for number in range(16))
    assembly = Assembly(a.image(a.metadata({}), data))
    assert [assembly._offset(address) for address in (0x2000, a.CODE_AT, a.CODE_AT + 15)] == [
        0x400,
        len(assembly.data) - 16,
        len(assembly.data) - 1,
    ]
    for address in (0x1FFF, a.CODE_AT - 1, a.CODE_AT + 16):
        with pytest.raises(BadAssembly):
            assembly._offset(address)
