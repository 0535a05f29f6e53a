"""Names of functions in ELF files that are written here, byte by byte: damaged ones, large ones, and those that are gone."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from cuvet.recording import demangler, symbols
from cuvet.recording.generated_code import CodeName
from cuvet.recording.records import Module
from cuvet.recording.symbols import STUB, ElfSymbols, NativeFrame, Symbols, demangle, without_signature

sys.path.insert(0, str(Path(__file__).parent))
from test_demangling import bomb, fresh

__all__ = ["fresh"]

FUNC, OBJECT, IFUNC = 2, 1, 10
PROGBITS, SYMTAB, STRTAB, NOTE, DYNSYM = 1, 2, 3, 7, 11


class Section(NamedTuple):
    name: str
    type: int
    data: bytes
    link: int = 0
    size: int | None = None
    """In its header, if that says something else."""


def elf(sections: Sequence[Section]) -> bytes:
    """Section 0 is empty, the last one has the names of sections."""
    names, places = bytearray(b"\0"), []
    for section in (*sections, Section(".shstrtab", STRTAB, b"")):
        places.append(len(names))
        names += section.name.encode() + b"\0"
    every = [*sections, Section(".shstrtab", STRTAB, bytes(names))]
    at, headers = 64, struct.pack("<IIQQQQIIQQ", *[0] * 10)
    for place, section in zip(places, every, strict=True):
        size = len(section.data) if section.size is None else section.size
        headers += struct.pack("<IIQQQQIIQQ", place, section.type, 0, 0, at, size, section.link, 0, 1, 0)
        at += len(section.data)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = struct.pack("<16sHHIQQQIHHHHHH", ident, 3, 62, 1, 0, 0, at, 0, 64, 0, 0, 64, len(every) + 1, len(every))
    return header + b"".join(section.data for section in every) + headers


def table(*rows: tuple[str, int, int, int], kind: int = SYMTAB, link: int = 2) -> list[Section]:
    """Rows are (name, info, value, size). The table is section 1, the names are section 2."""
    strings, entries = bytearray(b"\0"), b""
    for name, info, value, size in rows:
        entries += struct.pack("<IBBHQQ", len(strings), info, 0, 1, value, size)
        strings += name.encode() + b"\0"
    name = {SYMTAB: ".symtab", DYNSYM: ".dynsym"}[kind]
    return [Section(name, kind, entries, link), Section(".strtab", STRTAB, bytes(strings))]


def found(directory: Path, sections: Sequence[Section], addresses: Iterable[int], build_id: str = "") -> list[str]:
    path = directory / "f.so"
    path.write_bytes(elf(sections))
    file = ElfSymbols(str(path), build_id)
    return [file.function(address).symbol for address in addresses]


def test_a_function_is_where_its_symbol_says(tmp_path: Path) -> None:
    rows = [
        ("last", 0x12, 0x1200, 8),
        ("first", FUNC, 0x1000, 0x10),
        ("data", OBJECT, 0x1040, 0x10),
        ("undefined", FUNC, 0, 0x10),
        ("resolved", 0x10 | IFUNC, 0x1100, 0),
        ("section", 3, 0x1150, 0x10),
    ]
    places = {0: "", 0xFFF: "", 0x1000: "first", 0x100F: "first", 0x1010: "", 0x1040: "", 0x1100: "resolved"}
    places |= {0x1158: "resolved", 0x11FF: "resolved", 0x1200: "last", 0x1207: "last", 0x1208: "", (1 << 64) - 1: ""}
    assert found(tmp_path, table(*rows), places) == [*places.values()]
    frame = ElfSymbols(str(tmp_path / "f.so"), "").function(0x1010)
    assert frame == NativeFrame("", "f.so+0x1010", None, None, str(tmp_path / "f.so"))


def test_of_two_symbols_in_one_place_the_last_is_taken(tmp_path: Path) -> None:
    rows = [("one", FUNC, 0x1000, 4), ("two", FUNC, 0x1000, 8), ("before", FUNC, 0x900, 4)]
    assert found(tmp_path, table(*rows), [0x1000, 0x1007]) == ["two", "two"]


def test_exported_functions_are_read_where_there_are_no_others(tmp_path: Path) -> None:
    exported = table(("exported", FUNC, 0x1000, 8), kind=DYNSYM)
    own = table(("own", FUNC, 0x1000, 8), link=4)
    assert found(tmp_path, exported, [0x1000]) == ["exported"]
    assert found(tmp_path, [*exported, *own], [0x1000]) == ["own"]
    assert found(tmp_path, [Section(".text", PROGBITS, b"x")], [0x1000]) == [""]


def test_a_table_whose_names_are_nowhere_has_none(tmp_path: Path) -> None:
    for link, names in ((2, ["f"]), (4, [""]), (1000, [""])):
        assert found(tmp_path, table(("f", FUNC, 0x1000, 8), link=link), [0x1000]) == names


def test_the_rest_of_a_table_is_not_a_symbol(tmp_path: Path) -> None:
    sections = table(("f", FUNC, 0x1000, 8), ("g", FUNC, 0x2000, 8))
    sections[0] = sections[0]._replace(data=sections[0].data[:-1])
    assert found(tmp_path, sections, [0x1000, 0x2000]) == ["f", ""]


def test_of_a_large_table_the_beginning_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sections = table(("f", FUNC, 0x1000, 8), ("g", FUNC, 0x2000, 8))
    assert symbols.MOST_SYMBOL_BYTES == 256 << 20
    for most, names in ((48, ["f", "g"]), (47, ["f", ""]), (23, ["", ""])):
        monkeypatch.setattr(symbols, "MOST_SYMBOL_BYTES", most)
        assert found(tmp_path, sections, [0x1000, 0x2000]) == names


def test_a_name_is_within_its_table_and_not_endless(tmp_path: Path) -> None:
    long = "n" * (1 << 14)
    sections = table((long + "more", FUNC, 0x1000, 8), ("end", FUNC, 0x2000, 8))
    assert found(tmp_path, sections, [0x1000, 0x2000]) == [long, "end"]
    strings = sections[1].data
    for size, name in (
        (len(strings), "end"),
        (len(strings) - 1, "end"),
        (len(strings) - 3, "e"),
        (len(strings) - 4, ""),
    ):
        cut = [sections[0], sections[1]._replace(size=size)]
        assert found(tmp_path, cut, [0x2000]) == [name]
    for size in (len(strings) - 5, 1):
        assert found(tmp_path, [sections[0], sections[1]._replace(size=size)], [0x2000]) == [""]


def test_a_name_that_is_no_text_is_shown(tmp_path: Path) -> None:
    sections = table(("f", FUNC, 0x1000, 8))
    sections[1] = sections[1]._replace(data=b"\0\xff\0")
    assert found(tmp_path, sections, [0x1000]) == ["\ufffd"]


def test_a_file_that_is_deleted_meanwhile_has_no_names(tmp_path: Path) -> None:
    path = tmp_path / "f.so"
    path.write_bytes(elf(table(("f", FUNC, 0x1000, 8))))
    early, late = ElfSymbols(str(path), ""), ElfSymbols(str(path), "")
    assert early.function(0x1000).symbol == "f"
    path.unlink()
    assert (early.function(0x1000).symbol, late.function(0x1000).symbol) == ("", "")
    assert late.frames(0x1000) == (NativeFrame("", "f.so+0x1000", None, None, str(path)),)


def note(name: bytes, build_id: bytes, kind: int = 3) -> Section:
    data = struct.pack("<III", len(name), len(build_id), kind) + name.ljust((len(name) + 3) & ~3, b"\0") + build_id
    return Section(".note.gnu.build-id", NOTE, data)


@pytest.mark.parametrize(
    ("section", "recorded", "name"),
    [
        (note(b"GNU\0", b"\x12\x34"), "1234", "f"),
        (note(b"GNU\0", b"\x12\x34"), "", "f"),
        (note(b"GNU\0", b"\x12\x34"), "1235", ""),
        (note(b"GNU\0", b"\x12\x34")._replace(data=note(b"GNU\0", b"\x12\x34").data + b"\x56\x78"), "1234", "f"),
        (note(b"GNU\0\0", b"\x12\x34"), "1234", "f"),
        (note(b"GNU\0\0", b"\x12\x34"), "5612", ""),
        (note(b"", b"\x12\x34\x56\x78"), "12345678", "f"),
        (note(b"", b"\x12\x34\x56"), "1235", "f"),  # too short to be one: it may be any file
        (note(b"GNU\0", b"\x12\x34", kind=1), "1235", "f"),
        (note(b"GNU\0", b""), "1235", "f"),
        (note(b"GNU\0", b"\x12" * 112), "12" * 112, "f"),
        (note(b"GNU\0", b"\x12" * 113), "12" * 113, ""),  # none is as long: 128 bytes are read
        (Section(".note", NOTE, note(b"GNU\0", b"\x12\x34").data), "1235", "f"),
    ],
)
def test_a_file_is_the_recorded_one_if_its_build_id_is(
    tmp_path: Path, section: Section, recorded: str, name: str
) -> None:
    assert found(tmp_path, [*table(("f", FUNC, 0x1000, 8)), section], [0x1000], recorded) == [name]


def test_what_cannot_be_read_has_addresses(tmp_path: Path) -> None:
    for content in (b"", b"\x7fELF", elf(table(("f", FUNC, 0x1000, 8)))[:-1], b"\x7fELF" + bytes(100)):
        (tmp_path / "f.so").write_bytes(content)
        assert ElfSymbols(str(tmp_path / "f.so"), "").function(0x1000).function == "f.so+0x1000"


# Which file has lines.


def debug_of(path: Path, sections: Sequence[Section], build_id: str = "", holes: int = 0) -> str | None:
    path.write_bytes(elf(sections))
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + holes)
    return ElfSymbols(str(path), build_id)._debug_path


@pytest.mark.parametrize("name", [".debug_info", ".zdebug_info"])
def test_lines_are_in_the_file_itself_if_it_is_not_too_large(tmp_path: Path, name: str) -> None:
    path, most = tmp_path / "f.so", 96 << 20

    def section(size: int) -> Section:
        if name == ".zdebug_info":
            return Section(name, PROGBITS, b"ZLIB" + size.to_bytes(8, "big"))
        return Section(name, PROGBITS, b"", size=size)

    text = Section(".text", PROGBITS, b"", size=most)
    for size, own in ((0, True), (most, True), (most + 1, False)):
        assert debug_of(path, [section(size), text], holes=2 * most) == (str(path) if own else None)
    lines = Section(".debug_line", PROGBITS, b"", size=1)
    assert debug_of(path, [section(most), lines], holes=2 * most) is None
    assert debug_of(path, [lines], holes=2 * most) is None


def test_lines_are_in_the_file_of_the_build_id_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbols, "DEBUG_DIRECTORY", tmp_path)
    most, path, separate = 96 << 20, tmp_path / "f.so", tmp_path / ".build-id" / "12" / "3456.debug"
    separate.parent.mkdir(parents=True)
    debug_of(separate, [Section(".debug_info", PROGBITS, b"", size=most)], holes=2 * most)
    sections = [note(b"GNU\0", b"\x12\x34\x56")]
    assert debug_of(path, sections, "123456") == str(separate)
    assert debug_of(path, sections) is None
    assert debug_of(path, [note(b"GNU\0", b"\x12\x34\x57")], "123457") is None
    debug_of(separate, [Section(".debug_info", PROGBITS, b"", size=most + 1)], holes=2 * most)
    assert debug_of(path, sections, "123456") is None
    separate.write_bytes(b"no ELF file")
    assert debug_of(path, sections, "123456") is None
    assert ElfSymbols(str(path), "123456").function(1).function == "f.so+0x1"


def test_damaged_lines_are_none(tmp_path: Path) -> None:
    path = tmp_path / "f.so"
    path.write_bytes(elf([*table(("f", FUNC, 0x1000, 8)), Section(".debug_info", PROGBITS, b"\xff" * 100)]))
    file = ElfSymbols(str(path), "")
    assert [frame.symbol for frame in file.frames(0x1000)] == ["f"]


# Addresses of a process.


class Generated:
    """Of all code that is in no file."""

    def at(self, address: int) -> CodeName | None:
        if address < 0x9000:
            return None
        return CodeName(function="Run", module="App", file="a.cs", line=5, language="c#", stub=address >= 0xA000)


def test_code_in_no_file_has_the_names_that_a_runtime_gave(tmp_path: Path) -> None:
    path = tmp_path / "f.so"
    path.write_bytes(elf(table(("f", FUNC, 0x10, 8), ("wrapped", FUNC, (1 << 64) - 0x1000, 0))))
    modules = [Module(0x1000, 0x2000, 0x1000, "", str(path)), Module(0x3000, 0x4000, 0x4000, "", str(path))]
    known = Symbols(modules, Generated())  # type: ignore[arg-type]
    assert known.function(0x8000) == NativeFrame("", "0x8000", None, None, "")
    assert known.function(0x9000) == NativeFrame("", "Run", "a.cs", 5, "App", "c#")
    assert known.frames(0xA000) == (NativeFrame(STUB, "Run", "a.cs", 5, "App", "c#"),)
    assert Symbols(modules).function(0x9000) == NativeFrame("", "0x9000", None, None, "")
    assert [known.function(at).symbol for at in (0xFFF, 0x1010, 0x2000, 0x3005)] == ["", "f", "", "wrapped"]
    assert [known.path(at) for at in (0xFFF, 0x1000, 0x1FFF, 0x2000)] == ["", str(path), str(path), ""]


# Names.


@pytest.mark.parametrize(
    ("symbol", "starts"),
    [
        ("_Z510" + "n" * 510, 1),
        ("_Z507" + "n" * 507, 0),  # 512 in all
        ("_Z508" + "n" * 508, 1),
        ("_Z1fIiE" + "S_" * 8, 0),
        ("_Z1fIiE" + "S_" * 9, 1),
        ("_Z1fIiE" + "T0_" * 9, 1),
        ("_Z1fDpi", 1),
        ("_Z1fspi", 1),
        ("_Z1fsPi", 1),
        ("_Z1fsZi", 1),
        ("_Z1fszi", 0),
        ("Z1fDpi", 0),
        ("_Z" + "n" * ((1 << 14) - 2), 0),
        ("_Z" + "n" * ((1 << 14) - 3), 1),
    ],
)
def test_which_names_another_process_demangles(fresh: symbols._Demangler, symbol: str, starts: int) -> None:
    assert len("_Z507" + "n" * 507) == 512
    demangle(symbol)
    assert fresh.starts == starts


def test_a_demangler_that_is_closed_is_gone(fresh: symbols._Demangler) -> None:
    assert demangle(bomb(3)) == "f"
    process = fresh._process
    assert process is not None
    assert os.getsid(process.pid) == process.pid  # signals of a terminal are not for it
    fresh.close()
    assert (process.returncode, fresh._process) == (-9, None)
    assert process.stdin is not None
    assert process.stdout is not None
    assert (process.stdin.closed, process.stdout.closed) == (True, True)
    fresh.close()


def test_a_demangler_that_died_is_started_again(fresh: symbols._Demangler) -> None:
    assert demangle(bomb(3)) == "f"
    assert fresh._process is not None
    fresh._process.kill()
    fresh._process.wait()
    assert [demangle(bomb(4)), demangle(bomb(5)), demangle(bomb(6))] == [bomb(4), "f", "f"]
    assert fresh.starts == 2


def test_an_answer_has_at_most_65536_bytes() -> None:
    demangle_all = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    demangle_all.restype, demangle_all.argtypes = ctypes.c_char_p, [ctypes.c_char_p] + [ctypes.c_void_p] * 3
    sizes = []
    for padding in range(0, 60):
        symbol = f"_Z{1 + padding}{'f' * (1 + padding)}1aIiiE".encode() + bomb(11).encode()[len("_Z1f1aIiiE") :]
        size = len(demangle_all(symbol, None, None, None))
        assert demangler.demangled(symbol) == (demangle_all(symbol, None, None, None) if size <= 1 << 16 else b"")
        sizes.append(size)
    assert min(sizes) < max(sizes)
    assert demangler.demangled(b"mumble") == b""


@pytest.mark.parametrize(
    ("function", "short"),
    [
        ("f()", "f"),
        ("A<int> f<A<int> >(int)", "f<A<int> >"),
        ("unsigned long f<int>(int) const &", "f<int>"),
        ("decltype(auto) f<int>(int)", "f<int>"),
        ("A::operator bool()", "A::operator bool"),
        ("bool operator< <int>(A<int> const&)", "bool operator< <int>"),
        ("operator()", "operator()"),
        ("f(int)::{lambda()#1}", "f(int)::{lambda()#1}"),
        ("f(int)::{unnamed type#1}", "f(int)::{unnamed type#1}"),
        ("f(int (*)(int))", "f"),
        (")", ")"),
        ("()", "()"),
        ("a()b)", "a()b)"),
    ],
)
def test_signatures_are_left_out(function: str, short: str) -> None:
    assert without_signature(function) == short


@pytest.mark.parametrize(
    ("symbol", "types"),
    [
        ("_Z1fv", ("",)),
        ("_Z1fi", ("int",)),
        ("_Z1fSt3mapIiSt4pairIifEE", ("std::map<int, std::pair<int, float> >",)),
        ("_Z1fSt3mapIiiEPFviiEd", ("std::map<int, int>", "void (*)(int, int)", "double")),
        ("_Z1fIiEvT_S0_", ("int", "int")),
        ("_ZTV1A", ()),
        ("f(int)", ()),
    ],
)
def test_types_of_parameters(symbol: str, types: tuple[str, ...]) -> None:
    assert symbols.parameter_types(symbol) == types
