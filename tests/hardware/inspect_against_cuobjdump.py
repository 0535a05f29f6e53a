"""Compares ``cuvet inspect`` with cuobjdump, entry by entry, on every binary with device code below some directories.

``python tests/hardware/inspect_against_cuobjdump.py [DIR…] [--output FILE.json]`` needs cuobjdump; without DIR it looks where this
Python has its packages. Biggest files first, one per core. Writes what differs, and how long both take on libcublasLt. Exit code
1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import site
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cuvet.image import files
from cuvet.image.entries import Entry

TIMEOUT_S = 280
_LISTED = re.compile(r"^(?:ELF|PTX) file +\d+: .*\.\d+\.(sm_\w+)\.(cubin|ptx)$", re.MULTILINE)
_BARE = re.compile(r"^ELF file +\d+: .*\.(sm_\w+)\.cubin$", re.MULTILINE)
_HEADERS = re.compile(r"^Fatbin (elf|ptx|nvvm) code:\n=+\narch = (sm_\w+)$", re.MULTILINE)
_KINDS = {"elf": "cubin", "ptx": "ptx", "nvvm": "ltoir"}
_MAGICS = (b"\x7fELF", b"!<arch>\n", b"\x50\xed\x55\xba")


def run(cuobjdump: str, file: Path, *options: str) -> str:
    """What it prints; where there is no device code it exits with 255."""
    command = [cuobjdump, "-all", *options, str(file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False).stdout


def listed(cuobjdump: str, file: Path) -> list[tuple[str, str]]:
    """(kind, arch) of each cubin, in order, then of each PTX."""
    found: list[tuple[str, str]] = []
    for option in ("--list-elf", "--list-ptx"):
        text = run(cuobjdump, file, option)
        found += [(kind, arch) for arch, kind in _LISTED.findall(text)] or [
            ("cubin", arch) for arch in _BARE.findall(text)
        ]
    return found


def in_headers(cuobjdump: str, file: Path) -> list[tuple[str, str]]:
    """(kind, arch) of all entries of fatbins, in order: with LTO-IR, and family-specific machine code by its name."""
    return [(_KINDS[kind], arch) for kind, arch in _HEADERS.findall(run(cuobjdump, file))]


def as_listed(entries: list[Entry]) -> list[tuple[str, str]]:
    """cuobjdump lists family-specific machine code, ``sm_100f``, as sm_100."""
    cubins = [("cubin", entry.arch.removesuffix("f")) for entry in entries if entry.kind == "cubin"]
    return cubins + [("ptx", entry.arch) for entry in entries if entry.kind == "ptx"]


def difference(ours: list[tuple[str, str]], theirs: list[tuple[str, str]]) -> str:
    more, fewer = Counter(ours) - Counter(theirs), Counter(theirs) - Counter(ours)
    if more or fewer:
        return f"only cuvet: {dict(more)}; only cuobjdump: {dict(fewer)}"
    return "" if ours == theirs else "the order"


def compare(cuobjdump: str, file: Path) -> dict[str, Any]:
    begun = time.monotonic()
    found = next(files.read(file))
    row: dict[str, Any] = {"file": str(file), "bytes": file.stat().st_size, "problems": found.problems}
    row |= {"entries": len(found.entries), "cuvet_s": round(time.monotonic() - begun, 3)}
    begun = time.monotonic()
    try:
        theirs = listed(cuobjdump, file)
        row |= {"listed": len(theirs), "cuobjdump_s": round(time.monotonic() - begun, 3)}
        row["difference"] = difference(as_listed(found.entries), theirs)
        headers: list[tuple[str, str]] = [
            (entry.kind, entry.arch) for entry in found.entries if entry.fatbin is not None
        ]
        row["difference"] = row["difference"] or difference(headers, in_headers(cuobjdump, file))
    except subprocess.TimeoutExpired:
        row["difference"] = f"cuobjdump took more than {TIMEOUT_S} s"
    return row


def holds_code(path: Path) -> bool:
    """Whether it is an ELF file, an archive or a fatbin."""
    with path.open("rb") as file:
        return file.read(8).startswith(_MAGICS)


def binaries(directories: list[Path]) -> list[Path]:
    """Each once, biggest first."""
    found: dict[tuple[int, int], Path] = {}
    for directory in directories:
        for folder, _, names in os.walk(directory):
            for path in (Path(folder, name) for name in names):
                if path.is_file() and not path.is_symlink() and holds_code(path):
                    found.setdefault((path.stat().st_dev, path.stat().st_ino), path)
    return sorted(found.values(), key=lambda path: -path.stat().st_size)


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


def markdown(result: dict[str, Any]) -> str:
    rows = [row for row in result["files"] if row["entries"] or row.get("listed")]
    agreeing = sum(1 for row in rows if not row["difference"])
    lines = [
        f"cuvet inspect against {result['cuobjdump']}: {agreeing} of {len(rows)} files with device code agree, "
        f"{sum(row['entries'] for row in rows):,} entries; {len(result['files']) - len(rows)} files where neither finds any.",
        "",
        "| file | entries | cuvet s | cuobjdump s | |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        verdict = row["difference"] or "agree"
        name = Path(row["file"]).name
        lines.append(f"| {name} | {row['entries']:,} | {row.get('cuvet_s')} | {row.get('cuobjdump_s')} | {verdict} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directories", metavar="DIR", nargs="*", type=Path)
    parser.add_argument("--output", metavar="FILE", type=Path, default=Path("inspect.json"))
    parser.add_argument("--cuobjdump", default=shutil.which("cuobjdump") or "/usr/local/cuda/bin/cuobjdump")
    args = parser.parse_args()
    chosen = binaries(args.directories or [Path(place) for place in site.getsitepackages()])
    version = subprocess.run([args.cuobjdump, "--version"], capture_output=True, text=True, check=True).stdout
    result: dict[str, Any] = {"cuobjdump": "cuobjdump " + version.partition("release ")[2].split(",")[0]}
    result["timed"] = [timed(args.cuobjdump, file) for file in chosen if file.name.startswith("libcublasLt.so")]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        result["files"] = list(threads.map(lambda file: compare(args.cuobjdump, file), chosen))
    args.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(markdown(result))
    print(json.dumps(result["timed"]))
    return int(any(row["difference"] for row in result["files"]))


if __name__ == "__main__":
    sys.exit(main())
