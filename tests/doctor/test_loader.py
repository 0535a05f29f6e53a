"""The loader's search, against the loader itself: small programs and libraries, compiled here."""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path

import pytest

from cuvet.doctor import elf, loader
from cuvet.doctor.machine import Machine

from . import build_root


def compiled(path: Path, *options: str, source: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["cc", "-x", "c", "-o", str(path), "-", "-x", "none", "-Wl,--no-as-needed", *options],
        input=source,
        text=True,
        check=True,
    )
    return path


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """liba.so.1 in four directories; libb.so.1 needs it, and a program for each way of finding it."""
    root = tmp_path_factory.mktemp("tree")
    for place in ("rpath", "runpath", "environment", "origin/lib"):
        compiled(
            root / place / "liba.so.1", "-shared", "-fPIC", "-Wl,-soname,liba.so.1", source="int a(void) { return 1; }"
        )
    library = str(root / "rpath" / "liba.so.1")
    for tag, flag in (("rpath", "--disable-new-dtags"), ("runpath", "--enable-new-dtags")):
        compiled(
            root / f"with_{tag}", library, f"-Wl,{flag},-rpath,{root / tag}", source="int main(void) { return 0; }"
        )
        options = (library, f"-Wl,{flag},-rpath,{root / tag}", "-shared", "-fPIC", "-Wl,-soname,libb.so.1")
        compiled(root / f"b_{tag}" / "libb.so.1", *options)
        options = (
            str(root / f"b_{tag}" / "libb.so.1"),
            f"-Wl,--disable-new-dtags,-rpath,{root / f'b_{tag}'}:{root / 'rpath'}",
        )
        compiled(
            root / f"through_b_{tag}",
            *options,
            f"-Wl,-rpath-link,{root / 'rpath'}",
            source="int main(void) { return 0; }",
        )
    options = (library, "-Wl,-rpath,$ORIGIN/../lib")
    compiled(root / "origin" / "bin" / "program", *options, source="int main(void) { return 0; }")
    (root / "linked").mkdir()
    (root / "linked" / "program").symlink_to("../origin/bin/program")
    _library_through_a_link(root, library)
    _library_in_a_linked_directory(root, library)
    return root


def _library_through_a_link(root: Path, library: str) -> None:
    """libd.so.9 is a link to a file with ``$ORIGIN`` in its runpath, and a liba.so.1 is beside the link and beside the file."""
    real = compiled(
        root / "real" / "libd.so.9", library, "-Wl,-rpath,$ORIGIN", "-shared", "-fPIC", "-Wl,-soname,libd.so.9"
    )
    for place in ("real", "beside"):
        compiled(
            root / place / "liba.so.1", "-shared", "-fPIC", "-Wl,-soname,liba.so.1", source="int a(void) { return 1; }"
        )
    (root / "beside" / "libd.so.9").symlink_to(real)
    options = (str(root / "beside" / "libd.so.9"), f"-Wl,-rpath,{root / 'beside'},-rpath-link,{root / 'rpath'}")
    compiled(root / "through_link", *options, source="int main(void) { return 0; }")


def _library_in_a_linked_directory(root: Path, library: str) -> None:
    """``linked_directory/..`` is beside what the link leads to, not beside the link."""
    options = ("-shared", "-fPIC", "-Wl,-soname,libe.so.1")
    compiled(root / "far" / "lib" / "libe.so.1", library, "-Wl,-rpath,$ORIGIN/../runpath", *options)
    a = ("-shared", "-fPIC", "-Wl,-soname,liba.so.1")
    compiled(root / "far" / "runpath" / "liba.so.1", *a, source="int a(void) { return 1; }")
    (root / "linked_directory").symlink_to("far/lib")
    options = (f"{root}/far/lib/libe.so.1", f"-Wl,-rpath,{root}/linked_directory,-rpath-link,{root}/rpath")
    compiled(root / "through_directory", *options, source="int main(void) { return 0; }")


def ldd(program: Path, environ: dict[str, str]) -> dict[str, str]:
    """What the loader takes for each soname."""
    out = subprocess.run(["ldd", str(program)], env=environ, capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", out, re.MULTILINE))


@pytest.mark.parametrize("library_path", ["", "{0}/environment", "{0}/missing:{0}/environment", "relative:"])
@pytest.mark.parametrize(
    "program",
    [
        "with_rpath",
        "with_runpath",
        "through_b_rpath",
        "through_b_runpath",
        "origin/bin/program",
        "linked/program",
        "through_link",
        "through_directory",
    ],
)
def test_a_program_gets_what_the_loader_takes(tree: Path, program: str, library_path: str) -> None:
    environ = {"PATH": os.environ["PATH"], **({"LD_LIBRARY_PATH": library_path.format(tree)} if library_path else {})}
    closure = loader.closure(Machine(environ=environ), str(tree / program))
    expected = ldd(tree / program, environ)
    assert {each.soname: os.path.realpath(each.copy.path) for each in closure.loaded if each.soname in expected} == {
        soname: os.path.realpath(path) for soname, path in expected.items()
    }
    assert not closure.missing


@pytest.mark.parametrize("program", ["/bin/sh", "/usr/bin/env", "/bin/tar"])
def test_system_programs_get_what_the_loader_takes(program: str) -> None:
    environ = {"PATH": os.environ["PATH"]}
    closure = loader.closure(Machine(environ=environ), program)
    assert {each.soname: each.copy.path for each in closure.loaded if "ld-linux" not in each.soname} == ldd(
        Path(program), environ
    )


def test_a_missing_library_is_named_with_who_needs_it(tree: Path, tmp_path: Path) -> None:
    library = compiled(tmp_path / "libgone.so.1", "-shared", "-fPIC", "-Wl,-soname,libgone.so.1")
    program = str(compiled(tmp_path / "program", str(library), source="int main(void) { return 0; }"))
    library.unlink()
    assert loader.closure(Machine(environ={}), program).missing == (("libgone.so.1", program),)


def test_the_cache_is_that_of_ldconfig() -> None:
    out = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^\t(\S+) \(libc6,(?:x86-64|AArch64)\) => (\S+)$", out, re.MULTILINE)
    assert [entry for entry in loader.cached(Machine()) if entry in set(listed)] == listed


def test_links_do_not_lead_out_of_a_root(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("inside\n")
    (tmp_path / "absolute").symlink_to("/etc/passwd")
    (tmp_path / "relative").symlink_to("../../../../etc/passwd")
    (tmp_path / "circle").symlink_to("circle")
    machine = Machine(root=tmp_path, environ={})
    assert machine.read_text("/absolute") == machine.read_text("/relative") == "inside\n"
    with pytest.raises(OSError, match="symbolic links"):
        machine.exists("/circle")


@pytest.mark.parametrize("size", [0, 3, 4, 20, 63, 64, 100, 200, 300])
def test_what_is_cut_or_no_elf_file_is_no_error(tmp_path: Path, size: int) -> None:
    whole = build_root.shared_object(soname="liba.so.1", needed=["libc.so.6"], runpath="$ORIGIN", symbols=["a"])
    (tmp_path / "liba.so.1").write_bytes(whole[:size])
    machine = Machine(root=tmp_path, environ={})
    found = elf.read(machine, "/liba.so.1")
    assert found is None or found.soname in (None, "liba.so.1")
    assert elf.symbols(machine, "/liba.so.1", defined=True) <= {"a"}


def test_damaged_elf_files_are_no_error(tmp_path: Path) -> None:
    whole = build_root.shared_object(soname="liba.so.1", needed=["libc.so.6"], symbols=["a"], interpreter="/ld.so")
    chance = random.Random(0)
    for number in range(300):
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 2, 8))):
            damaged[chance.randrange(4, len(damaged))] = chance.choice((0, 1, 127, 255))
        (tmp_path / str(number)).write_bytes(damaged)
        machine = Machine(root=tmp_path, environ={})
        elf.read(machine, f"/{number}")
        elf.symbols(machine, f"/{number}", defined=True)


def test_a_synthetic_library_says_what_it_was_given(tmp_path: Path) -> None:
    data = build_root.shared_object(
        soname="liba.so.1",
        needed=["libb.so.2", "libc.so.6"],
        rpath="/x:$ORIGIN",
        symbols=["a", "b"],
        interpreter="/ld.so",
    )
    (tmp_path / "liba.so.1").write_bytes(data)
    machine = Machine(root=tmp_path, environ={})
    assert elf.read(machine, "/liba.so.1") == elf.Elf(
        62, "/ld.so", "liba.so.1", ("libb.so.2", "libc.so.6"), ("/x", "$ORIGIN"), (), "/liba.so.1"
    )
    assert elf.symbols(machine, "/liba.so.1", defined=True) == {"a", "b"}
