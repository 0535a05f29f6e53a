"""Builds a synthetic root from its description, ``roots/<case>.json``.

    {"about": what is planted, "source": address of the public case (optional),
     "expect": [ids of the causes of errors and warnings, as the report orders them; [] for a healthy one],
     "notes": [ids of causes that must be among the notes] (optional),
     "base": name of a root that this one extends: its entries stay unless this one has the same key (optional),
     "environ": {...}, "program": path, "python": path, "uid": number (1000),
     "files": {path: what},       "text", {"text"}, {"link": target}, {"directory": true}, {"hex": bytes} or
                                  {"elf": {"soname", "needed": [], "rpath", "runpath", "symbols": [], "undefined": [],
                                           "text": what it holds, "interpreter", "machine": "EM_X86_64",
                                           "code": ["sm_80", "compute_90"]}};
                                  each with "mode": "0600" and "bytes": least size, if wanted
     "packages": {site directory: {name: {"version", "requires": [], "files": {path from the site directory: what}}}},
                                  with METADATA and RECORD
     "cache": [directories],      /etc/ld.so.cache is made of the libraries in them, in this order
     "overwrite": {path: what},   written after the packages, so that RECORD says something else
     "remove": [paths],           taken away after all the above, RECORD and cache unchanged
     "gpus": cuvet.doctor.state.State}

``files``, ``packages``, ``environ`` and the objects in ``gpus`` are merged with those of the base, a null removing what the base has.
``unseen.json`` holds such descriptions by name: ``unseen.py`` says what for.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import struct
from pathlib import Path
from typing import Any

import msgspec

from cuvet.doctor import elf
from cuvet.doctor.machine import Machine
from cuvet.doctor.state import State

ROOTS = Path(__file__).parent / "roots"
UNSEEN: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("unseen.json").read_text(encoding="utf-8"))
MACHINES = {"EM_X86_64": 62, "EM_AARCH64": 183}
CACHE_FLAGS = {MACHINES["EM_X86_64"]: 0x0303, MACHINES["EM_AARCH64"]: 0x0A03}


def case_names() -> list[str]:
    return sorted(path.stem for path in ROOTS.glob("*.json"))


def load(name: str) -> dict[str, Any]:
    """The description, merged with that of its base."""
    own = dict(UNSEEN[name]) if name in UNSEEN else json.loads((ROOTS / f"{name}.json").read_text(encoding="utf-8"))
    return merged(load(own.pop("base")), own) if "base" in own else own


def merged(base: Any, own: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(own, dict)) or own.keys() & {"elf", "link", "text", "bytes"}:
        return own
    both = {**base, **{key: merged(base[key], value) if key in base else value for key, value in own.items()}}
    return {key: value for key, value in both.items() if value is not None}


def build(name: str, root: Path) -> Machine:
    """Writes the root and gives the machine that it is."""
    case = load(name)
    for path, what in case.get("files", {}).items():
        _write(root, path, what)
    for site, packages in case.get("packages", {}).items():
        for package, what in packages.items():
            _install(root, site, package, what)
    for path, what in case.get("overwrite", {}).items():
        _write(root, path, what)
    machine = Machine(
        root=root,
        environ=case.get("environ", {}),
        program=case.get("program"),
        python=case.get("python"),
        uid=case.get("uid", 1000),
        read_state=lambda _: msgspec.convert(case.get("gpus", {}), State, strict=False),
    )
    if "cache" in case:
        _outside(root, "/etc/ld.so.cache").write_bytes(cache_file(machine, case["cache"]))
    for path in case.get("remove", ()):
        gone = _outside(root, path)
        shutil.rmtree(gone) if gone.is_dir() and not gone.is_symlink() else gone.unlink()
    elf.read.cache_clear()
    return machine


def _outside(root: Path, path: str) -> Path:
    outside = root / path.lstrip("/")
    outside.parent.mkdir(parents=True, exist_ok=True)
    return outside


def _write(root: Path, path: str, what: Any) -> None:
    file = _outside(root, path)
    if isinstance(what, str):
        what = {"text": what}
    if "link" in what:
        file.symlink_to(what["link"])
    elif "directory" in what:
        file.mkdir(parents=True, exist_ok=True)
    else:
        file.write_bytes(_content(what))
        os.truncate(file, max(what.get("bytes", 0), file.stat().st_size))  # what is added takes no space on disk
    if "mode" in what:
        file.chmod(int(what["mode"], 8))


def _content(what: dict[str, Any]) -> bytes:
    if "elf" in what:
        return shared_object(**what["elf"])
    if "hex" in what:
        return bytes.fromhex(what["hex"])
    return str(what.get("text", "")).encode()


def _install(root: Path, site: str, name: str, what: dict[str, Any]) -> None:
    """A distribution as pip leaves it."""
    dist_info = f"{name.replace('-', '_')}-{what['version']}.dist-info"
    requires = "".join(f"Requires-Dist: {line}\n" for line in what.get("requires", ()))
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {what['version']}\n{requires}"
    record = []
    for path, content in {**what.get("files", {}), f"{dist_info}/METADATA": metadata}.items():
        _write(root, os.path.join(site, path), content)
        data = _outside(root, os.path.join(site, path)).read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(data)}\n")
    _write(root, os.path.join(site, dist_info, "RECORD"), "".join(record) + f"{dist_info}/RECORD,,\n")


def cache_file(machine: Machine, directories: list[str]) -> bytes:
    """What ldconfig writes for these directories: format of glibc 2.2 and later (``dl-cache.h``)."""
    libraries = []
    for directory in directories:
        for name in machine.names(directory):
            path = os.path.join(directory, name)
            found = elf.read(machine, path) if machine.is_file(path) else None
            if found and ".so" in name and name in (found.soname, f"{(found.soname or '').partition('.so')[0]}.so"):
                libraries.append((name, path, CACHE_FLAGS[found.machine]))
    strings, entries = b"", []
    start = 48 + 24 * len(libraries)
    for name, path, flags in sorted(libraries, key=lambda library: library[0], reverse=True):
        entries.append(struct.pack("<iIIIQ", flags, start + len(strings), start + len(strings) + len(name) + 1, 0, 0))
        strings += name.encode() + b"\0" + path.encode() + b"\0"
    header = struct.pack("<20sII20x", b"glibc-ld.so.cache1.1", len(libraries), len(strings))
    return header + b"".join(entries) + strings


def shared_object(
    *,
    soname: str | None = None,
    needed: list[str] = (),  # type: ignore[assignment]
    rpath: str | None = None,
    runpath: str | None = None,
    symbols: list[str] = (),  # type: ignore[assignment]
    undefined: list[str] = (),  # type: ignore[assignment]
    text: str = "",
    interpreter: str | None = None,
    machine: str = "EM_X86_64",
    code: list[str] = (),  # type: ignore[assignment]
) -> bytes:
    """A 64-bit little-endian ELF file that a loader's tables can be read from: one PT_LOAD from address 0, PT_DYNAMIC, PT_INTERP."""
    strings = bytearray(b"\0")

    def string(value: str) -> int:
        strings.extend(value.encode() + b"\0")
        return len(strings) - len(value.encode()) - 1

    tags = [(1, string(name)) for name in needed]  # DT_NEEDED, then DT_SONAME, DT_RPATH, DT_RUNPATH
    tags += [(tag, string(value)) for tag, value in ((14, soname), (15, rpath), (29, runpath)) if value]
    symbol_rows = [struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)]
    symbol_rows += [struct.pack("<IBBHQQ", string(name), 0x12, 0, 1, 0x1000, 16) for name in symbols]
    symbol_rows += [struct.pack("<IBBHQQ", string(name), 0x12, 0, 0, 0, 0) for name in undefined]
    hash_table = struct.pack(f"<III{len(symbol_rows)}I", 1, len(symbol_rows), 0, *([0] * len(symbol_rows)))
    blocks = [bytearray(), bytearray(b"".join(symbol_rows)), bytearray(hash_table), strings, bytearray(text.encode())]
    segments = 3 if interpreter else 2
    offsets = [64 + 56 * segments]
    blocks[0] = bytearray(16 * (len(tags) + 6))
    blocks.append(bytearray((interpreter or "").encode() + b"\0"))
    for block in blocks:
        block.extend(b"\0" * (-len(block) % 8))
        offsets.append(offsets[-1] + len(block))
    dynamic, symtab, hashes, strtab, _, interp, end = offsets
    tags += [(4, hashes), (5, strtab), (6, symtab), (10, len(strings)), (11, 24), (0, 0)]
    blocks[0] = bytearray(b"".join(struct.pack("<QQ", *tag) for tag in tags))
    size = end
    headers = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 0x1000)  # PT_LOAD
    headers += struct.pack(
        "<IIQQQQQQ", 2, 6, dynamic, dynamic, dynamic, len(blocks[0]), len(blocks[0]), 8
    )  # PT_DYNAMIC
    if interpreter:
        length = len(interpreter) + 1
        headers += struct.pack("<IIQQQQQQ", 3, 4, interp, interp, interp, length, length, 1)  # PT_INTERP
    identification = b"\x7fELF\x02\x01\x01" + b"\0" * 9
    kind = MACHINES[machine]
    first = identification + struct.pack("<HHIQQQIHHHHHH", 3, kind, 1, 0, 64, 0, 0, 64, 56, segments, 64, 0, 0)
    data = first + headers + b"".join(blocks)
    return with_section(data, b".nv_fatbin", fatbin(code)) if code else data


def with_section(data: bytes, name: bytes, content: bytes) -> bytes:
    """The file with a section header table of three: none, this section, the names."""
    names = b"\0.shstrtab\0" + name + b"\0"
    content_at, names_at = len(data), len(data) + len(content)
    table_at = names_at + len(names) + (-(names_at + len(names)) % 8)
    section = struct.Struct("<IIQQQQIIQQ")
    table = bytes(section.size)
    table += section.pack(11, 1, 0, 0, content_at, len(content), 0, 0, 8, 0)  # SHT_PROGBITS
    table += section.pack(1, 3, 0, 0, names_at, len(names), 0, 0, 1, 0)  # SHT_STRTAB
    whole = bytearray((data + content + names).ljust(table_at, b"\0") + table)
    struct.pack_into("<Q", whole, 40, table_at)  # e_shoff; then e_shentsize, e_shnum, e_shstrndx
    struct.pack_into("<HHH", whole, 58, section.size, 3, 2)
    return bytes(whole)


def fatbin(code: list[str]) -> bytes:
    """A container with an entry for each of ``sm_80`` (machine code) and ``compute_90`` (PTX 8.0); the code itself is empty."""
    entries = b""
    for target in code:
        kind, sm = (1 if target.startswith("compute") else 2), int(target.partition("_")[2])
        entries += struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, 8, 0, 0, 0, 8, sm, 0, 0, 1, 0, 0) + bytes(8)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries
