"""What the loader reads of ELF files: as pyelftools reads it, in every class and byte order, and within bounds whatever the bytes are."""

from __future__ import annotations

import random
import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from cuvet.image import dynamic
from cuvet.image.errors import ImageError
from cuvet.image.source import of_bytes, opened

from .test_robustness import counting, mutated

LIBRARIES = ("libc.so.6", "libm.so.6", "libstdc++.so.6", "ld-linux-x86-64.so.2")
MOST_BYTES = 16 << 20


def built(bits: int, order: str, **tags: int) -> bytes:
    """A library ``liba.so.1`` that needs ``libb.so.2``, defines ``f`` and uses ``g``: one PT_LOAD from address 0x1000, PT_DYNAMIC.
    ``tags`` replace values of the dynamic section, by its tag's name."""
    wide = bits == 64
    word, header, row, segment_bytes = ("Q", 64, 24, 56) if wide else ("I", 52, 16, 32)
    strings = b"\0liba.so.1\0libb.so.2\0/x:$ORIGIN\0f\0g\0"
    place = {name: strings.index(name.encode() + b"\0") for name in ("liba.so.1", "libb.so.2", "/x:$ORIGIN", "f", "g")}
    symbols = bytes(row)
    for name, section in (("f", 1), ("g", 0)):
        fields = (place[name], 0x12, 0, section, 0, 0) if wide else (place[name], 0, 0, 0x12, 0, section)
        symbols += struct.pack(order + ("IBBHQQ" if wide else "IIIBBH"), *fields)
    hashes = struct.pack(f"{order}6I", 1, 3, 0, 0, 0, 0)
    start = header + 2 * segment_bytes
    at = {"STRTAB": start, "SYMTAB": start + len(strings), "HASH": start + len(strings) + len(symbols)}
    values = {
        "SONAME": place["liba.so.1"], "NEEDED": place["libb.so.2"], "RUNPATH": place["/x:$ORIGIN"], "STRSZ": len(strings),
        **{name: 0x1000 + offset for name, offset in at.items()}, **tags,
    }  # fmt: skip
    numbers = {"NEEDED": 1, "HASH": 4, "STRTAB": 5, "SYMTAB": 6, "STRSZ": 10, "SONAME": 14, "RUNPATH": 29}
    entries = b"".join(struct.pack(order + 2 * word, numbers[name], value) for name, value in values.items())
    entries += struct.pack(order + 2 * word, 0, 0)
    before = strings + symbols + hashes
    size = start + len(before) + len(entries)
    segments = b""
    for kind, offset, bytes_ in ((1, 0, size), (2, start + len(before), len(entries))):
        sizes = (offset, 0x1000 + offset, 0x1000 + offset, bytes_, bytes_)
        segments += struct.pack(
            order + ("II6Q" if wide else "8I"), *((kind, 4, *sizes) if wide else (kind, *sizes, 4)), 1
        )
    ident = b"\x7fELF" + bytes((2 if wide else 1, 1 if order == "<" else 2, 1)) + bytes(9)
    rest = struct.pack(f"{order}HHI3{word}I6H", 3, 183, 1, 0, header, 0, 0, header, segment_bytes, 2, 0, 0, 0)
    return ident + rest + segments + before + entries


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("bits", [32, 64])
def test_every_class_and_order(bits: int, order: str) -> None:
    source = of_bytes(built(bits, order))
    assert dynamic.read(source) == dynamic.Dynamic(183, None, "liba.so.1", ("libb.so.2",), (), ("/x", "$ORIGIN"))
    assert dynamic.symbols(source) == (dynamic.DynamicSymbol("f", 2, True), dynamic.DynamicSymbol("g", 2, False))


@pytest.mark.parametrize("path", ["/bin/sh", *(f"/lib/x86_64-linux-gnu/{name}" for name in LIBRARIES)])
def test_system_files_are_read_as_pyelftools_reads_them(path: str) -> None:
    if not Path(path).exists():
        pytest.skip(f"this machine has no {path}")
    with open(path, "rb") as file, opened(Path(path)) as source:
        segment = next(each for each in ELFFile(file).iter_segments() if isinstance(each, DynamicSegment))
        found, symbols = dynamic.read(source), dynamic.symbols(source)
        assert list(found.needed) == [tag.needed for tag in segment.iter_tags("DT_NEEDED")]
        assert [found.soname] == ([tag.soname for tag in segment.iter_tags("DT_SONAME")] or [None])
        expected = [(each.name, each["st_shndx"] != "SHN_UNDEF") for each in segment.iter_symbols() if each.name]
        assert [(symbol.name, symbol.defined) for symbol in symbols] == expected


def exhausted(data: bytes) -> None:
    """Both questions about these bytes are answered or refused, with work in proportion to them."""
    for ask in (dynamic.read, dynamic.symbols):
        counted, work = counting(data)
        with suppress(ImageError):
            ask(counted)
        assert work.reads <= len(data) + 64
        assert work.bytes <= 16 * (len(data) + 4096)


@pytest.mark.parametrize("bits", [32, 64])
def test_cut_and_damaged_files_are_refused_or_read(bits: int) -> None:
    whole = built(bits, "<")
    for size in range(len(whole)):
        with pytest.raises(ImageError):
            dynamic.read(of_bytes(whole[:size]))
    tracemalloc.start()
    try:
        for seed in range(400):
            exhausted(mutated(whole, seed))
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


@given(st.sampled_from((b"\x7fELF\1\1\1", b"\x7fELF\2\1\1", b"\x7fELF\2\2\1")), st.binary(max_size=600))
def test_any_bytes(magic: bytes, rest: bytes) -> None:
    exhausted(magic + rest)


@pytest.mark.parametrize("tag", ["STRSZ", "STRTAB", "SYMTAB", "HASH", "SONAME", "NEEDED"])
def test_places_that_no_file_reaches(tag: str) -> None:
    for value in (1, 0x1001, 0x7FFFFFFF, (1 << 63) - 1, (1 << 64) - 1):
        exhausted(built(64, "<", **{tag: value}))


def test_holes_are_not_read_into_memory(tmp_path: Path) -> None:
    """A file of a terabyte on disk that is empty: its one segment, strings and symbols are as large as it is."""
    data = bytearray(built(64, "<", STRSZ=1 << 40))
    struct.pack_into("<QQ", data, 64 + 32, 1 << 40, 1 << 40)  # bytes of PT_LOAD, in the file and in memory
    struct.pack_into("<I", data, data.index(struct.pack("<II", 1, 3)) + 4, (1 << 32) - 1)  # symbols, in the hash table
    file = tmp_path / "sparse"
    file.write_bytes(data)
    with file.open("r+b") as opened_file:
        opened_file.truncate((1 << 40) + 4096)
    tracemalloc.start()
    try:
        with opened(file) as source:
            assert dynamic.read(source).soname == "liba.so.1"
            with pytest.raises(ImageError, match="a table of"):
                dynamic.symbols(source)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def test_names_that_overlap_are_refused() -> None:
    """Sixty thousand names that are one long string."""
    chance = random.Random(0)
    long = bytes(chance.randrange(97, 123) for _ in range(4096)) + b"\0"
    data = bytearray(built(64, "<"))
    entries = b"".join(struct.pack("<QQ", 1, 1) for _ in range(60_000))
    strings_at, dynamic_at = len(data), len(data) + 1 + len(long)
    tags = struct.pack("<QQQQ", 5, 0x1000 + strings_at, 10, 1 + len(long)) + entries + bytes(16)
    data += b"\0" + long + tags
    struct.pack_into("<QQ", data, 64 + 32, len(data), len(data))
    struct.pack_into("<QQQQQ", data, 64 + 56 + 8, dynamic_at, 0, 0, len(tags), len(tags))
    with pytest.raises(ImageError, match="too long"):
        dynamic.read(of_bytes(bytes(data)))
