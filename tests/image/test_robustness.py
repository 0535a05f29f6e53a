"""Bytes from anywhere give entries or a line that says what is wrong: no exception, work in proportion to the file, no large memory."""

from __future__ import annotations

import io
import random
import struct
import tracemalloc
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from cuvet.image import archive, compression, fatbin, files, source, wheel
from cuvet.image.errors import ImageError
from cuvet.image.files import Contents

FORMS = ("cubin", "ptx", "fatbin", "lz4", "plain", "object", "library", "archive")
MAGICS = (
    b"\x7fELF\x02\x01\x01",
    b"\x50\xed\x55\xba\x01\x00\x10\x00",
    b"!<arch>\n",
    b".version 8.0\n.target sm_90\n",
    b"\xed\x43\x4e\x7f",
)
LENGTHS = (0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, (1 << 63) - 1, (1 << 64) - 1)
MUTATIONS = 150
MOST_BYTES = 64 << 20


@dataclass
class Work:
    """What was asked of a source."""

    reads: int = 0
    bytes: int = 0


def counting(data: bytes) -> tuple[source.Source, Work]:
    plain, work = source.of_bytes(data), Work()

    def read(size: int, offset: int) -> bytes:
        found = plain.reader(size, offset)
        work.reads += 1
        work.bytes += len(found)
        return found

    return source.Source(read, len(data)), work


def exhausted(data: bytes) -> Contents:
    """Everything that can be asked of the file, within the bounds."""
    counted, work = counting(data)
    contents = files.contents(counted, "x")
    for entry in contents.entries:
        with suppress(ImageError):
            entry.kernels()
    assert all(problem and "\n" not in problem for problem in contents.problems)
    assert work.reads <= len(data) // 16 + 64
    assert work.bytes <= 3 * (len(data) + 4096)
    return contents


def mutated(data: bytes, seed: int) -> bytes:
    """Cut, with bits flipped, bytes moved, or a length replaced by one that is far too large; often where headers stand."""
    chosen = random.Random(seed)
    changed = bytearray(data)
    for _ in range(chosen.choice((1, 1, 2, 8))):
        position = chosen.randrange(min(len(changed), chosen.choice((64, 400, 1 << 30))))
        match chosen.randrange(4):
            case 0:
                del changed[max(position, 1) :]
            case 1:
                changed[position] ^= 1 << chosen.randrange(8)
            case 2:
                size = chosen.choice((2, 4, 8))
                value = chosen.choice(LENGTHS) & ((1 << 8 * size) - 1)
                changed[position : position + size] = value.to_bytes(size, "little")
            case 3:
                start = chosen.randrange(len(changed))
                changed[position : position + 64] = changed[start : start + 64]
    return bytes(changed)


@pytest.mark.parametrize("form", FORMS)
def test_mutated_files(form: str, shared: dict[str, bytes]) -> None:
    tracemalloc.start()
    try:
        for seed in range(MUTATIONS):
            exhausted(mutated(shared[form], seed))
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", FORMS)
def test_truncated_files_give_what_is_whole_and_say_so(form: str, shared: dict[str, bytes]) -> None:
    whole = exhausted(shared[form])
    assert whole.entries and not whole.problems
    for size in range(len(shared[form]) // 20, len(shared[form]) - 1, len(shared[form]) // 20):
        contents = exhausted(shared[form][:size])
        assert contents.entries == whole.entries[: len(contents.entries)] or form in ("ptx", "archive")
        if form != "ptx":
            assert contents.problems, size


@given(st.sampled_from(MAGICS), st.binary(max_size=600))
def test_any_bytes(magic: bytes, rest: bytes) -> None:
    exhausted(magic + rest)


def test_entries_before_a_broken_one_and_after_it_are_kept(shared: dict[str, bytes]) -> None:
    """Three fatbins, of which the second says that its second entry is huge."""
    good = shared["fatbin"]
    broken = bytearray(good)
    first = struct.unpack_from("<IQ", good, 16 + 4)
    second = 16 + sum(first)
    broken[second + 8 : second + 16] = (1 << 40).to_bytes(8, "little")
    contents = exhausted(good + bytes(-len(good) % 8) + bytes(broken) + bytes(-len(broken) % 8) + good)
    assert len(contents.entries) == 4 + 1 + 4
    assert len(contents.problems) == 1 and "truncated" in contents.problems[0]


def test_names_that_overlap() -> None:
    """500 sections, each named by all of a table without an end."""
    count, names = 500, b"x" * (1 << 20)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 0, 64, 0, 64, 0, 0, 64, count, 0)
    section = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 64 + 64 * count, len(names), 0, 0, 1, 0)
    tracemalloc.start()
    try:
        assert exhausted(header + section * count + names).problems == ["the ELF file's names overlap"]
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def test_padding_and_strays_between_fatbins(shared: dict[str, bytes]) -> None:
    """A fatbin's number in other data is no fatbin if it is not aligned."""
    stray = b"\0" * 64 + b"1234" + fatbin.MAGIC.to_bytes(4, "little") + b"5678" * 6
    contents = exhausted(shared["fatbin"] + bytes(100_000 - len(shared["fatbin"]) % 8) + stray + shared["lz4"])
    assert len(contents.entries) == 8 and not contents.problems


def test_many_empty_fatbins_end_soon() -> None:
    """Each claims more than there is."""
    contents = exhausted(struct.pack("<IHHQ", fatbin.MAGIC, 1, 16, 1 << 50) * 50_000)
    assert contents.problems[-1] == "the rest was not read"


def test_too_many_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_ENTRIES", 1000)
    entry = struct.pack("<HHIQIIHHIIIQQQ", 2, 0x101, 64, 0, 0, 0, 8, 1, 90, 0, 0, 0x11, 0, 0)
    contents = exhausted(struct.pack("<IHHQ", fatbin.MAGIC, 1, 16, 64 * 2000) + entry * 2000)
    assert len(contents.entries) == 1000 and "more than 1,000 entries" in contents.problems[0]


@pytest.mark.parametrize("arch", [0, 5, 4000, 0xFFFFFFFF])
def test_no_such_architecture(arch: int) -> None:
    entry = struct.pack("<HHIQIIHHIIIQQQ", 2, 0x101, 64, 0, 0, 0, 8, 1, arch, 0, 0, 0x11, 0, 0)
    contents = exhausted(struct.pack("<IHHQ", fatbin.MAGIC, 1, 16, 64) + entry)
    assert not contents.entries and "no architecture" in contents.problems[0]


BOMBS = (
    ("lz4", b"\x1f\x00" + b"\xff" * 100, 1 << 29),
    ("zstd", zstandard.compress(bytes(1 << 26)), 1 << 40),
    ("zstd", zstandard.compress(b"few"), 1 << 20),
    ("zstd", b"\x28\xb5\x2f\xfd" + b"\xff" * 40, 1000),
)


@pytest.mark.parametrize(("method", "packed", "size"), BOMBS)
def test_compressed_code_that_cannot_be(method: str, packed: bytes, size: int) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ImageError):
            compression.unpacked(source.of_bytes(packed), method, size)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def test_zstd_gives_no_more_than_the_header_says() -> None:
    assert compression.unpacked(source.of_bytes(zstandard.compress(bytes(1 << 26))), "zstd", 1000) == bytes(1000)


def zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return stream.getvalue()


def test_mutated_wheels(shared: dict[str, bytes], tmp_path: Path) -> None:
    """The directory at a zip's end is changed as often as the members."""
    data = zipped({"a.so": shared["library"], "b.py": b"pass", "c.fatbin": shared["plain"]})
    for seed in range(MUTATIONS):
        path = tmp_path / "x.whl"
        turned = mutated(data[::-1], seed)[::-1] if seed % 2 else mutated(data, seed)
        path.write_bytes(turned)
        for contents in files.read(path):
            assert all(problem and "\n" not in problem for problem in contents.problems)


def test_a_member_that_grows_a_thousandfold(tmp_path: Path) -> None:
    """It is an ELF file that says that its sections are at its end: decompressed piece by piece."""
    size = 200 << 20
    head = bytearray(64)
    head[:7], head[18:20] = b"\x7fELF\x02\x01\x01", (62).to_bytes(2, "little")
    head[40:48], head[58:60], head[60:62] = (size - 64).to_bytes(8, "little"), (64).to_bytes(2, "little"), b"\x01\x00"
    path = tmp_path / "bomb.zip"
    path.write_bytes(zipped({"bomb": bytes(head) + bytes(size - 64)}))
    tracemalloc.start()
    try:
        member, _ = files.read(path)
        assert not member.entries
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def test_a_member_that_claims_too_much(tmp_path: Path) -> None:
    data = bytearray(zipped({"bomb": bytes(100)}))
    directory = data.index(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = b"\xff\xff\xff\xff"
    member = zipfile.ZipInfo("bomb")
    member.file_size = 1 << 50
    with pytest.raises(ImageError, match="claims"):
        wheel.contents(source.of_bytes(bytes(data)), member)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 5 << 20), st.integers(0, 3 << 20)), min_size=1, max_size=6))
def test_deflated_bytes_are_those_that_were_packed(reads: list[tuple[int, int]]) -> None:
    stream = zipfile.ZipFile(io.BytesIO(PACKED)).infolist()[0]
    contents = wheel.contents(source.of_bytes(PACKED), stream)
    for offset, size in reads:
        assert contents.read(offset, size) == PLAIN[offset : offset + size]


PLAIN = b"".join(number.to_bytes(4, "little") for number in range(1 << 20))
PACKED = zipped({"data": PLAIN})


def test_archives_that_are_no_archives() -> None:
    with pytest.raises(ImageError, match="no header"):
        list(archive.members(source.of_bytes(archive.MAGIC + b"x" * 200)))
    header = f"{'a.o/':<16}{0:<12}{0:<6}{0:<6}{644:<8}{10**9:<10}`\n".encode()
    with pytest.raises(ImageError, match="truncated"):
        list(archive.members(source.of_bytes(archive.MAGIC + header + b"x")))


def test_archives_in_archives_do_not_nest() -> None:
    data = b""
    for _ in range(5000):
        data = archive.MAGIC + f"{'a.a/':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode() + data
    assert exhausted(data).problems == ["a.a: an archive in an archive is not read"]


@pytest.mark.parametrize(
    "text",
    [
        ".version 8.0\n.target sm_90\n" + "/*" * 200_000,
        ".version 8.0\n.target sm_90\n" + ".entry a(" * 100_000,
        "\n" * 60_000 + ".version 8.0\n",
        ".version " + "9" * 50_000 + ".0\n.target sm_90\n",
        ".version 8.0\n.target sm_" + "9" * 50_000,
        "/**/" * 16_000,
    ],
)
def test_ptx_that_is_slow_to_search(text: str) -> None:
    exhausted(text.encode())
