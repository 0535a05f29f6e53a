"""Which device code is found in files of every form."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from cuvet.image import files, source
from cuvet.image.files import Contents

from .samples import Samples

ALL = (
    "sm_75 cubin",
    "sm_90 cubin",
    "sm_90a cubin",
    "sm_100f cubin",
    "sm_80 ptx",
    "sm_90a ptx",
    "sm_120f ptx",
    "sm_90 ltoir",
)


def only(path: Path) -> Contents:
    found = list(files.read(path))
    assert len(found) == 1
    return found[0]


def of_bytes(file: Path) -> Contents:
    """As ``only``, and the code can be read after."""
    return files.contents(source.of_bytes(file.read_bytes()), str(file))


def images(contents: Contents) -> list[str]:
    assert not contents.problems
    return [f"{entry.arch} {entry.kind}" for entry in contents.entries]


@pytest.mark.parametrize(
    "arch", ["sm_75", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103a", "sm_120f", "sm_121a"]
)
def test_cubin_and_ptx(arch: str, samples: Samples) -> None:
    contents = of_bytes(samples.cubin(arch))
    assert (contents.form, images(contents)) == ("cubin", [f"{arch} cubin"])
    assert contents.entries[0].kernels() == ("first", "_Z6secondIfEvPT_")
    contents = of_bytes(samples.ptx(arch))
    assert (contents.form, images(contents)) == ("PTX", [f"{arch} ptx"])
    assert contents.entries[0].kernels() == ("_Z6secondIfEvPT_", "first")
    assert (contents.entries[0].ptx_version, contents.entries[0].address_bits) == ("9.0", 64)


@pytest.mark.parametrize(
    ("abi", "flags", "arch"),
    [
        (7, 0x5A055A, "sm_90"),
        (7, 0x5A0D5A, "sm_90a"),
        (7, 0x4B054B, "sm_75"),
        (8, 0x600640A, "sm_100a"),
        (8, 0x6006402, "sm_100"),
    ],
)
def test_header_flags_of_other_toolkits(
    abi: int, flags: int, arch: str, shared: dict[str, bytes], samples: Samples
) -> None:
    """As ptxas 11.8, 12.1 and 12.8 write them for these architectures."""
    data = bytearray(samples.cubin("sm_100").read_bytes())
    data[8], data[48:52] = abi, flags.to_bytes(4, "little")
    assert images(files.contents(source.of_bytes(bytes(data)), "x")) == [f"{arch} cubin"]


@pytest.mark.parametrize(("mode", "compression"), [("size", "zstd"), ("speed", "lz4"), ("none", None)])
def test_fatbin(mode: str, compression: str | None, samples: Samples) -> None:
    contents = of_bytes(samples.fatbin(*ALL, mode=mode))
    assert (contents.form, images(contents)) == ("fatbin", list(ALL))
    texts = [entry for entry in contents.entries if entry.kind == "ptx"]
    assert {entry.compression for entry in texts} == {compression}
    assert {entry.ptx_version for entry in contents.entries} == {"9.0", None}
    for entry in contents.entries:
        if entry.kind != "ltoir":
            made = samples.cubin(entry.arch) if entry.kind == "cubin" else samples.ptx(entry.arch)
            assert entry.data().strip(b"\0\n") == made.read_bytes().strip(b"\0\n")
            assert set(entry.kernels()) == {"first", "_Z6secondIfEvPT_"}
            assert entry.decompressed_bytes == len(entry.data())


def test_32_bit_code_says_so(samples: Samples) -> None:
    file = samples.fatbin("sm_75 ptx")
    data = bytearray(file.read_bytes())
    data[16 + 40] &= 0xFE
    assert files.contents(source.of_bytes(bytes(data)), "x").entries[0].address_bits == 32


def test_ltoir(samples: Samples) -> None:
    contents = of_bytes(samples.ltoir("sm_90"))
    assert (contents.form, images(contents), contents.entries[0].kernels()) == ("LTO-IR", ["sm_90 ltoir"], ())


def test_host_files(samples: Samples) -> None:
    """Several fatbins in a section, aligned; code to run, then code to link, whatever the order; each form by its name."""
    one, two = samples.fatbin("sm_75 cubin", name="one"), samples.fatbin("sm_90 cubin", "sm_90 ptx", name="two")
    object_, relocatable = samples.object(one, two), samples.object(two, section="__nv_relfatbin", name="relocatable.o")
    code = ["sm_75 cubin", "sm_90 cubin", "sm_90 ptx"]
    linked = samples.linked(relocatable, object_, name="library.so")
    assert (only(object_).form, images(only(object_))) == ("object file", code)
    assert (only(linked).form, images(only(linked))) == ("shared object", code + code[1:])
    assert only(samples.linked(object_, name="program", shared=False)).form == "executable"
    assert [entry.container for entry in only(object_).entries] == [f"{object_}:.nv_fatbin"] * 3
    assert len({entry.fatbin for entry in only(object_).entries}) == 2
    for entry in only(linked).entries:
        assert linked.read_bytes()[entry.offset :].startswith((b"\x7fELF", b"\x28\xb5\x2f\xfd"))


def test_archives(samples: Samples) -> None:
    fatbin = samples.fatbin("sm_90 cubin")
    short, long = samples.object(fatbin, name="a.o"), samples.object(fatbin, name="a_name_of_many_characters.o")
    contents = only(samples.archive(short, long))
    assert (contents.form, images(contents)) == ("archive", ["sm_90 cubin"] * 2)
    assert [entry.container for entry in contents.entries] == [
        f"{contents.path}:{name}:.nv_fatbin" for name in ("a.o", "a_name_of_many_characters.o")
    ]
    thin = only(samples.archive(short, long, name="thin.a", options="rcsT"))
    assert (thin.form, thin.entries) == ("thin archive", [])
    assert "inspect those" in thin.problems[0]


def test_archive_of_bsd(samples: Samples) -> None:
    """Long names stand before the contents there. Members of an odd size are padded, as everywhere."""
    data = samples.object(samples.fatbin("sm_90 cubin")).read_bytes()
    name = b"a_name_of_many_characters.o"
    assert (len(name) + len(data)) % 2
    header = f"{f'#1/{len(name)}':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(name) + len(data):<10}`\n".encode()
    contents = files.contents(source.of_bytes(b"!<arch>\n" + (header + name + data + b"\n") * 2), "lib.a")
    assert images(contents) == ["sm_90 cubin"] * 2
    assert {entry.container for entry in contents.entries} == {"lib.a:a_name_of_many_characters.o:.nv_fatbin"}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_wheel(method: int, samples: Samples) -> None:
    library = samples.linked(samples.object(samples.fatbin("sm_90 cubin", "sm_80 ptx")), name="library.so")
    wheel = samples.directory / "some-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", method) as file:
        file.writestr("some/__init__.py", "text = 1\n" * 1000)
        file.write(library, "some/library.so")
    text, member = files.read(wheel)
    assert text.form == files.OTHER
    assert (member.path, images(member)) == (f"{wheel}:some/library.so", ["sm_90 cubin", "sm_80 ptx"])
    with source.opened(wheel) as archive:
        packed = files.wheel.contents(archive, files.wheel.members(wheel)[1])
        assert packed.read(0, packed.size) == library.read_bytes()
        assert packed.read(packed.size - 10, 100) == library.read_bytes()[-10:]
        assert packed.read(0, 4) == b"\x7fELF"


def test_directory(samples: Samples, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each file once, whatever links lead to it; special files are not opened."""
    root = tmp_path_factory.mktemp("root")
    (root / "below").mkdir()
    code = root / "below" / "code.cubin"
    code.write_bytes(samples.cubin("sm_90").read_bytes())
    (root / "below" / "again.cubin").symlink_to(code)
    (root / "below" / "loop").symlink_to(root)
    (root / "dangling").symlink_to(root / "nothing")
    (root / "notes.txt").write_text("PTX begins with .version 9.0\n.target sm_90\n")
    (root / "tool.exe").write_bytes(b"MZ" + bytes(100))
    os.mkfifo(root / "fifo")
    found = {contents.path: contents for contents in files.read(root)}
    assert len(found) == 3
    assert [path for path, contents in found.items() if contents.entries] == [str(root / "below" / "again.cubin")]
    assert found[str(root / "tool.exe")].form == files.WINDOWS
    assert not any(contents.problems for contents in found.values())


def test_entries_cannot_be_read_when_their_file_is_closed(samples: Samples) -> None:
    """Rather than whatever file has its number by then."""
    entry = only(samples.cubin("sm_90")).entries[0]
    with pytest.raises(ValueError, match="closed"):
        entry.data()


@pytest.mark.parametrize(
    ("data", "form"),
    [(b"", files.OTHER), (b"\0" * 100, files.OTHER), (b"hello", files.OTHER), (b"// only\n/* a comment", files.OTHER)],
)
def test_no_image(data: bytes, form: str) -> None:
    contents = files.contents(source.of_bytes(data), "x")
    assert (contents.form, contents.entries, contents.problems) == (form, [], [])


def test_ptx_after_a_comment() -> None:
    text = "// made by hand\n/* .version 1.0 */\n.version 7.8\n.target sm_90, debug\n.entry k() { ret; }"
    entry = files.contents(source.of_bytes(text.encode()), "x").entries[0]
    assert (entry.arch, entry.ptx_version, entry.address_bits, entry.kernels()) == ("sm_90", "7.8", 32, ("k",))
