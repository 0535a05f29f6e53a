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

from cuvet.image import dynamic
from cuvet.image.source import opened
from generate_catalog import CACHE

# For each library and release, oldest first, the wheel.
WHEELS: dict[str, dict[str, str]] = {
    "cudnn": {"8.9": "nvidia-cudnn-cu12==8.9.7.29", "9.28": "nvidia-cudnn-cu13==9.28.0.42"},
    "cublas": {"12.9": "nvidia-cublas-cu12==12.9.3.13", "13.10": "nvidia-cublas==13.10.0.20"},
    "nvrtc": {"12.9": "nvidia-cuda-nvrtc-cu12==12.9.86", "13.5": "nvidia-cuda-nvrtc==13.5.37"},
    "nvjitlink": {"12.9": "nvidia-nvjitlink-cu12==12.9.86", "13.5": "nvidia-nvjitlink==13.5.37"},
    "nccl": {"2.32": "nvidia-nccl-cu13==2.32.3"},
    "cufft": {"11.4": "nvidia-cufft-cu12==11.4.1.4", "12.5": "nvidia-cufft==12.5.0.14"},
    "curand": {"10.3": "nvidia-curand-cu12==10.3.10.19", "10.4": "nvidia-curand==10.4.5.25"},
    "cusparse": {"12.5": "nvidia-cusparse-cu12==12.5.10.65", "12.9": "nvidia-cusparse==12.9.4.2"},
    "cusolver": {"11.7": "nvidia-cusolver-cu12==11.7.5.82", "12.4": "nvidia-cusolver==12.4.1.2"},
}


def is_fetched(requirement: str) -> bool:
    return (CACHE / "libraries" / requirement / "exports.json").exists()


def exports(folder: Path) -> dict[str, list[str]]:
    """Shared object to the functions that it exports."""
    found: dict[str, list[str]] = json.loads((folder / "exports.json").read_text())
    return found


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
            found = {}
            for name in names:
                if ".so" in Path(name).name:
                    found[Path(name).name] = exported(Path(archive.extract(name, scratch)))
    (folder / "exports.json").write_text(json.dumps(found))
    return folder


def exported(library: Path) -> list[str]:
    """Functions (STT_FUNC, STT_GNU_IFUNC) that a shared object exports, by name."""
    with opened(library) as source:
        functions = {symbol.name for symbol in dynamic.symbols(source) if symbol.defined and symbol.type in (2, 10)}
    return sorted(name for name in functions if not name.startswith("_Z"))
