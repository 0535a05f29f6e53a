"""Generate ``src/cuvet/knowledge/generated/errors.json``: every enumerator of the error types of CUDA's APIs, and its values.

The driver's and the runtime's come from the headers that ``generate_catalog.py`` keeps in ``.cache/headers``. The other
libraries' wheels are large (3 GB): they are downloaded only on request, and only their headers are kept.

Usage: ``python tools/generate_errors.py [--libraries]``. Without the option the rows of the libraries stay as they are.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generate_catalog import CACHE, ROOT, WHEELS

OUTPUT = ROOT / "src" / "cuvet" / "knowledge" / "generated" / "errors.json"

# API: its type, what it is called, and for each release, oldest first, the wheel with its header.
APIS: dict[str, tuple[str, str, dict[str, str]]] = {
    "driver": ("CUresult", "CUDA driver", {release: wheels[0] for release, wheels in WHEELS.items()}),
    "runtime": ("cudaError_t", "CUDA runtime", {release: wheels[0] for release, wheels in WHEELS.items()}),
    "cudnn": (
        "cudnnStatus_t",
        "cuDNN",
        {"8.9": "nvidia-cudnn-cu12==8.9.7.29", "9.28": "nvidia-cudnn-cu13==9.28.0.42"},
    ),
    "cublas": (
        "cublasStatus_t",
        "cuBLAS",
        {"12.9": "nvidia-cublas-cu12==12.9.3.13", "13.10": "nvidia-cublas==13.10.0.20"},
    ),
    "nvrtc": (
        "nvrtcResult",
        "NVRTC",
        {"12.9": "nvidia-cuda-nvrtc-cu12==12.9.86", "13.5": "nvidia-cuda-nvrtc==13.5.37"},
    ),
    "nvjitlink": (
        "nvJitLinkResult",
        "nvJitLink",
        {"12.9": "nvidia-nvjitlink-cu12==12.9.86", "13.5": "nvidia-nvjitlink==13.5.37"},
    ),
    "nccl": ("ncclResult_t", "NCCL", {"2.32": "nvidia-nccl-cu13==2.32.3"}),
    "cufft": (
        "cufftResult",
        "cuFFT",
        {"11.4": "nvidia-cufft-cu12==11.4.1.4", "12.5": "nvidia-cufft==12.5.0.14"},
    ),
    "cusparse": (
        "cusparseStatus_t",
        "cuSPARSE",
        {"12.5": "nvidia-cusparse-cu12==12.5.10.65", "12.9": "nvidia-cusparse==12.9.4.2"},
    ),
    "cusolver": (
        "cusolverStatus_t",
        "cuSOLVER",
        {"11.7": "nvidia-cusolver-cu12==11.7.5.82", "12.4": "nvidia-cusolver==12.4.1.2"},
    ),
}
TAGS = {"cudaError_t": "cudaError"}
"""Types that are declared by the tag of their enumeration."""
Row = dict[str, Any]


def enumerators(text: str, type_name: str) -> dict[str, tuple[int, str | None]] | None:
    """Name to value, and to the enumerator that it is defined to be, of this enumeration in a C header. None if it is not there."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    for tag, body, typedef in re.findall(r"\benum\b([^{};()]*)\{([^{}]*)\}\s*(\w*)\s*;", text):
        if type_name in (typedef, *tag.split()):
            return dict(_members(re.sub(r"^\s*#.*$", "", body, flags=re.M)))
    return None


def _members(body: str) -> Iterator[tuple[str, tuple[int, str | None]]]:
    values: dict[str, int] = {}
    following = 0
    for member in filter(None, map(str.strip, body.split(","))):
        name, _, definition = (part.strip() for part in member.partition("="))
        name = name.split()[0]
        same = definition if definition in values else None
        value = values[same] if same else int(definition, 0) if definition else following
        values[name], following = value, value + 1
        yield name, (value, same)


def read(folder: Path, type_name: str) -> dict[str, tuple[int, str | None]]:
    for header in sorted(folder.rglob("*.h")):
        found = enumerators(header.read_text(encoding="utf-8", errors="replace"), TAGS.get(type_name, type_name))
        if found:
            return found
    raise SystemExit(f"no header below {folder} defines {type_name}")


def fetched(requirement: str) -> Path:
    """The folder with the wheel's headers; the wheel itself is not kept."""
    folder = CACHE / "libraries" / requirement
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
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
        subprocess.run([*pip, *platforms, "--dest", str(folder), requirement], check=True)
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if name.endswith(".h")])
        wheel.unlink()
        (folder / "done").touch()
    return folder


def table(api: str) -> Row:
    type_name, title, sources = APIS[api]
    local = api in ("driver", "runtime")
    found = {
        release: read(CACHE / release if local else fetched(source), type_name) for release, source in sources.items()
    }
    newest = list(found.values())[-1]
    names = {name: None for members in found.values() for name in members}
    order = sorted(names, key=lambda name: next(m[name][0] for m in reversed(found.values()) if name in m))
    rows = []
    for name in order:
        row: Row = {
            "name": name,
            "values": [members[name][0] if name in members else None for members in found.values()],
        }
        if name in newest and newest[name][1]:
            row["same_as"] = newest[name][1]
        rows.append(row)
    releases = {"releases": list(found), "wheels": list(sources.values())}
    return {"type": type_name, "title": title, **releases, "enumerators": rows}


def write(tables: dict[str, Row]) -> None:
    """JSON with one enumerator a line."""
    parts = []
    for api, row in tables.items():
        lines = ",\n".join(json.dumps(member, separators=(",", ":")) for member in row["enumerators"])
        head = json.dumps({key: value for key, value in row.items() if key != "enumerators"}, separators=(",", ":"))
        parts.append(f'"{api}":{head[:-1]},"enumerators":[\n{lines}\n]}}')
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", action="store_true", help="read the libraries' wheels too (3 GB)")
    libraries = parser.parse_args().libraries
    kept = json.loads(OUTPUT.read_text(encoding="utf-8")) if OUTPUT.exists() else {}
    write({api: table(api) if libraries or api in ("driver", "runtime") else kept[api] for api in APIS})


if __name__ == "__main__":
    main()
