"""Compares ``cuvet inspect`` with cuobjdump on every binary with device code below some directories: entries, and what kernels take.

``python tests/hardware/inspect_cuobjdump.py [DIR…] [--output FILE.json] [--seconds 270]`` needs cuobjdump, and no GPU; without DIR it looks
where this Python has its packages. Smallest files first, one per core, so that those which the time does not suffice for are the biggest
ones; they are listed as not compared. Writes what differs, and how long both take on libcublasLt. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import site
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from cuvet.image import files
from cuvet.image.entries import Entry

FOREVER = float("inf")
NOT_COMPARED = "not compared"
_RESOURCES = {"REG": "registers", "SHARED": "shared", "STACK": "stack", "LOCAL": "old_local", "CONSTANT[0]": "constant"}
"""cuobjdump's names for what a kernel takes, and those of ``cubin.KernelInfo``."""
_LISTED = re.compile(r"^(?:ELF|PTX) file +\d+: .*\.\d+\.(sm_\w+)\.(cubin|ptx)$", re.MULTILINE)
_BARE = re.compile(r"^ELF file +\d+: .*\.(sm_\w+)\.cubin$", re.MULTILINE)
_HEADERS = re.compile(r"^Fatbin (elf|ptx|nvvm) code:\n=+\narch = (sm_\w+)$", re.MULTILINE)
_KINDS = {"elf": "cubin", "ptx": "ptx", "nvvm": "ltoir"}
_MAGICS = (b"\x7fELF", b"!<arch>\n", b"\x50\xed\x55\xba")


class Refused(Exception):
    """cuobjdump cannot read the file."""


def run(cuobjdump: str, file: Path, until: float, *options: str) -> str:
    """What it prints; where there is no device code it exits with 255. TimeoutExpired after ``until``, of ``time.monotonic``; Refused if
    it gives the file up."""
    command = [cuobjdump, "-all", *options, str(file)]
    left = None if until == FOREVER else max(until - time.monotonic(), 0.1)
    done = subprocess.run(command, capture_output=True, text=True, timeout=left, check=False)
    if fatal := re.search(r"cuobjdump fatal +: ([^'\n]+)", done.stderr):
        raise Refused(fatal[1].strip())
    return done.stdout


def usage(text: str) -> list[dict[str, dict[str, int]]]:
    """What ``--dump-resource-usage`` says: of each entry, in order, function to what it takes. Bare cubins have no header: one entry."""
    found: list[dict[str, dict[str, int]]] = []
    function = ""
    for line in text.splitlines():
        if re.match(r"Fatbin \w+ code:$", line) or (line == "Resource usage:" and not found):
            found.append({})
        elif match := re.match(r" Function (\S+):$", line):
            function = match[1]
        elif line.startswith("  REG:") and function:
            found[-1][function] = {
                name: int(number) for name, number in re.findall(r"([A-Z]+(?:\[\d+\])?):(\d+)", line)
            }
            function = ""
    return found


def kernels_of(entry: Entry) -> dict[str, dict[str, int]]:
    """What each kernel of a cubin takes, by cuobjdump's names."""
    kernels = entry.code().kernels.values() if entry.kind == "cubin" else ()
    return {each.name: {name: getattr(each, field) for name, field in _RESOURCES.items()} for each in kernels}


def resources_differ(entries: list[Entry], theirs: list[dict[str, dict[str, int]]]) -> tuple[int, str]:
    """How many kernels were compared, and the first difference. cuobjdump leaves out banks that are empty."""
    if len(entries) != len(theirs):
        return 0, f"resource usage of {len(theirs)} entries, not {len(entries)}"
    count = 0
    for number, (entry, functions) in enumerate(zip(entries, theirs, strict=True), 1):
        for name, ours in kernels_of(entry).items():
            count += 1
            if name not in functions:
                return count, f"entry {number}: cuobjdump has no kernel {name}"
            told = {key: functions[name].get(key, 0) for key in _RESOURCES}
            if told != ours:
                return count, f"entry {number}, {name}: cuvet {ours}, cuobjdump {told}"
    return count, ""


def listed(cuobjdump: str, file: Path, until: float) -> list[tuple[str, str]]:
    """(kind, arch) of each cubin, in order, then of each PTX."""
    found: list[tuple[str, str]] = []
    for option in ("--list-elf", "--list-ptx"):
        text = run(cuobjdump, file, until, option)
        found += [(kind, arch) for arch, kind in _LISTED.findall(text)] or [
            ("cubin", arch) for arch in _BARE.findall(text)
        ]
    return found


def in_headers(cuobjdump: str, file: Path, until: float) -> list[tuple[str, str]]:
    """(kind, arch) of all entries of fatbins, in order: with LTO-IR, and family-specific machine code by its name."""
    return [(_KINDS[kind], arch) for kind, arch in _HEADERS.findall(run(cuobjdump, file, until))]


def as_listed(entries: list[Entry]) -> list[tuple[str, str]]:
    """cuobjdump lists family-specific machine code, ``sm_100f``, as sm_100."""
    cubins = [("cubin", entry.arch.removesuffix("f")) for entry in entries if entry.kind == "cubin"]
    return cubins + [("ptx", entry.arch) for entry in entries if entry.kind == "ptx"]


def difference(ours: list[tuple[str, str]], theirs: list[tuple[str, str]]) -> str:
    more, fewer = Counter(ours) - Counter(theirs), Counter(theirs) - Counter(ours)
    if more or fewer:
        return f"only cuvet: {dict(more)}; only cuobjdump: {dict(fewer)}"
    return "" if ours == theirs else "the order"


def compare(cuobjdump: str, file: Path, until: float = FOREVER) -> dict[str, Any]:
    """``until``, of ``time.monotonic``: when to give up."""
    begun = time.monotonic()
    reading = files.read(file)
    found = next(reading)
    row: dict[str, Any] = {"file": str(file), "bytes": file.stat().st_size, "problems": found.problems}
    row |= {"entries": len(found.entries), "kernels": 0, "cuvet_s": round(time.monotonic() - begun, 3)}
    begun = time.monotonic()
    try:
        theirs = listed(cuobjdump, file, until)
        row |= {"listed": len(theirs), "cuobjdump_s": round(time.monotonic() - begun, 3)}
        row["difference"] = difference(as_listed(found.entries), theirs)
        headers = [(entry.kind, entry.arch) for entry in found.entries if entry.fatbin is not None]
        row["difference"] = row["difference"] or difference(headers, in_headers(cuobjdump, file, until))
        if found.entries and not row["difference"]:
            told = usage(run(cuobjdump, file, until, "--dump-resource-usage"))
            row["kernels"], row["difference"] = resources_differ(found.entries, told)
    except subprocess.TimeoutExpired:
        row["difference"] = f"{NOT_COMPARED}: no time was left"
    except Refused as error:
        row["difference"] = f"{NOT_COMPARED}: cuobjdump: {error}"
    return row


def holds_code(path: Path) -> bool:
    """Whether it is an ELF file, an archive or a fatbin."""
    with path.open("rb") as file:
        return file.read(8).startswith(_MAGICS)


def binaries(directories: list[Path]) -> list[Path]:
    """Each once, smallest first."""
    found: dict[tuple[int, int], Path] = {}
    for directory in directories:
        for folder, _, names in os.walk(directory):
            for path in (Path(folder, name) for name in names):
                if path.is_file() and not path.is_symlink() and holds_code(path):
                    found.setdefault((path.stat().st_dev, path.stat().st_ino), path)
    return sorted(found.values(), key=lambda path: path.stat().st_size)


def seconds(command: list[str]) -> float:
    """Of a run after another, so that the file is in memory for all."""
    for _ in range(2):
        begun = time.monotonic()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return round(time.monotonic() - begun, 2)


def timed(cuobjdump: str, file: Path) -> dict[str, float | str]:
    listings = [seconds([cuobjdump, option, str(file)]) for option in ("--list-elf", "--list-ptx")]
    return {
        "file": str(file),
        "cuvet_s": seconds([sys.executable, "-m", "cuvet", "inspect", str(file)]),
        "cuobjdump_list_elf_s": listings[0],
        "cuobjdump_list_ptx_s": listings[1],
    }


def package_of(file: str) -> str:
    """``nvidia/cublas`` of ``…/site-packages/nvidia/cublas/lib/libcublas.so.12``; else the directory."""
    inside = file.partition("-packages/")[2]
    parts = Path(inside or file).parts
    return "/".join(parts[:2] if parts[0] == "nvidia" else parts[:1]) if inside else str(Path(file).parent)


def markdown(result: dict[str, Any]) -> str:
    rows = [row for row in result["files"] if row["entries"] or row.get("listed")]
    compared = [row for row in rows if not row["difference"].startswith(NOT_COMPARED)]
    equal = [row for row in compared if not row["difference"]]
    lines = [
        f"cuvet inspect against {result['cuobjdump']}: {len(equal)} of {len(compared)} files with device code, of "
        f"{len({package_of(row['file']) for row in compared})} packages, are equal: {sum(row['entries'] for row in equal):,} entries, "
        f"{sum(row['kernels'] for row in equal):,} kernels. {len(rows) - len(compared)} were not compared.",
        "",
        "| file | entries | kernels | cuvet s | cuobjdump s | |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        name, verdict = Path(row["file"]).name, row["difference"] or "equal"
        numbers = f"{row['entries']:,} | {row['kernels']:,} | {row.get('cuvet_s')} | {row.get('cuobjdump_s')}"
        lines.append(f"| {name} | {numbers} | {verdict} |")
    return "\n".join(lines)


def machine() -> dict[str, str]:
    """The GPU and the driver, where nvidia-smi tells them."""
    try:
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        first = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return {"gpu": "", "driver": ""}
    gpu, driver = (part.strip() for part in first.split(","))
    return {"gpu": gpu, "driver": driver}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directories", metavar="DIR", nargs="*", type=Path)
    parser.add_argument("--output", metavar="FILE", type=Path, default=Path("inspect.json"))
    parser.add_argument("--cuobjdump", default=shutil.which("cuobjdump") or "/usr/local/cuda/bin/cuobjdump")
    parser.add_argument("--seconds", type=float, default=270, help="compare no longer than this")
    args = parser.parse_args()
    until = time.monotonic() + args.seconds
    chosen = binaries(args.directories or [Path(place) for place in site.getsitepackages()])
    version = subprocess.run([args.cuobjdump, "--version"], capture_output=True, text=True, check=True).stdout
    result: dict[str, Any] = {**machine(), "date": datetime.date.today().isoformat()}
    result["cuobjdump"] = "cuobjdump " + version.partition("release ")[2].split(",")[0]
    result["timed"] = [timed(args.cuobjdump, file) for file in chosen if file.name.startswith("libcublasLt.so")][:1]
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        rows = list(processes.map(partial(compare, args.cuobjdump, until=until), chosen, chunksize=1))
    result["files"] = [row for row in rows if row["entries"] or row.get("listed") or row["difference"]]
    result["without device code"] = len(rows) - len(result["files"])
    print(markdown(result))
    for row in result["files"]:  # where packages are is of this machine
        row["file"] = row["file"].partition("-packages/")[2] or Path(row["file"]).name
    args.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result["timed"]))
    return int(any(row["difference"] and not row["difference"].startswith(NOT_COMPARED) for row in result["files"]))


if __name__ == "__main__":
    sys.exit(main())
