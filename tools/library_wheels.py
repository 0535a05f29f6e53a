"""The wheels on PyPI that have the headers of CUDA's libraries; ``generate_errors.py`` and ``generate_libraries.py`` read them.

The wheels are large (4 GB): of each, only the headers and the names that its shared objects export are kept, in
``.cache/headers/libraries``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerDefSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection

from cuvet.image import dynamic
from cuvet.image.source import opened
from generate_catalog import CACHE


def is_fetched(requirement: str) -> bool:
    return (CACHE / "libraries" / requirement / "exports.json").exists()


def exports(folder: Path) -> dict[str, list[str]]:
    """Shared object to the functions that it exports."""
    found: dict[str, list[str]] = json.loads((folder / "exports.json").read_text())
    return found


def versions(folder: Path, soname: str) -> dict[str, tuple[str, bool]]:
    """Symbol to its version, and whether it is data, of a shared object that gives symbols versions of their own; else empty."""
    file = folder / "versions.json"
    found: dict[str, dict[str, tuple[str, bool]]] = json.loads(file.read_text()) if file.exists() else {}
    return found.get(soname, {})


def fetched(requirement: str) -> Path:
    """The folder with the wheel's headers and its ``exports.json``; the wheel itself is not kept."""
    folder = CACHE / "libraries" / requirement
    if is_fetched(requirement):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-cache-dir",
            "--no-deps",
            "--only-binary",
            ":all:",
        ]
        platforms = [f"--platform=manylinux{tag}_x86_64" for tag in ("_2_27", "_2_18", "2014", "2010", "1")]
        subprocess.run([*pip, *platforms, "--dest", scratch, requirement], check=True)
        (wheel,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            archive.extractall(folder, [name for name in names if name.endswith(".h")])
            files = {
                Path(name).name: Path(archive.extract(name, scratch)) for name in names if ".so" in Path(name).name
            }
            versioned = {name: own_versions(file) for name, file in files.items()}
            found = {name: exported(file) for name, file in files.items()}
    (folder / "versions.json").write_text(json.dumps(versioned))
    (folder / "exports.json").write_text(json.dumps(found))
    return folder


def exported(library: Path) -> list[str]:
    """Functions (STT_FUNC, STT_GNU_IFUNC) that a shared object exports, by name."""
    with opened(library) as source:
        functions = {symbol.name for symbol in dynamic.symbols(source) if symbol.defined and symbol.type in (2, 10)}
    return sorted(name for name in functions if not name.startswith("_Z"))


def own_versions(library: Path) -> dict[str, tuple[str, bool]]:
    """As ``versions``; empty if all that the file defines has one version, or none."""
    with library.open("rb") as stream:
        file = ELFFile(stream)
        table, numbers, names = map(file.get_section_by_name, (".dynsym", ".gnu.version", ".gnu.version_d"))
        if not isinstance(names, GNUVerDefSection) or names.num_versions() < 3:
            return {}
        assert isinstance(table, SymbolTableSection) and isinstance(numbers, GNUVerSymSection)
        texts = {version["vd_ndx"]: next(iter(words)).name for version, words in names.iter_versions()}
        found = {}
        for symbol, number in zip(table.iter_symbols(), numbers.iter_symbols(), strict=True):
            version = texts.get(int(number["ndx"]) & 0x7FFF if isinstance(number["ndx"], int) else 0)
            if version and symbol["st_shndx"] not in ("SHN_UNDEF", "SHN_ABS"):
                found[symbol.name] = (version, symbol["st_info"]["type"] == "STT_OBJECT")
    return found
