"""Build binaries with nvcc whose device code is known from the command line: 300 of them, or a few.

    python tests/image/built/build.py --output DIR [--jobs N] [--few]

Architectures, PTX, machine code and LTO-IR, and compression make 75 objects; each also becomes an archive, a shared object and an
executable. ``DIR/intended.json`` has for each file what it must hold: [kind, architecture] in any order.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

PLAIN = "75 80 86 87 88 89 90 100 103 110 120 121".split()
SPECIFIC = "90a 100a 100f 103a 103f 110a 110f 120a 120f 121a 121f".split()
MODES = {
    "default": (),
    "none": ("-no-compress",),
    "speed": ("-compress-mode=speed",),
    "size": ("-compress-mode=size",),
    "balance": ("-compress-mode=balance",),
}
CONTAINERS = {"object": "{}.o", "archive": "lib{}.a", "shared": "lib{}.so", "executable": "{}"}
FEW = ("sass_90a", "ptx_80", "both_75_none", "many_size", "lto_90")
SOURCE = 'extern "C" __global__ void k(float* p) { *p = 1; }\nint main() { return 0; }\n'

Intended = list[tuple[str, str]]


@dataclass(frozen=True)
class Case:
    """``parts``: (architecture compiled for, what is embedded of it: sass, ptx, lto). ``relocatable``: for device linking."""

    name: str
    parts: tuple[tuple[str, str], ...]
    mode: str = "default"
    relocatable: bool = False

    @property
    def options(self) -> list[str]:
        codes = {"sass": "sm", "ptx": "compute", "lto": "lto"}
        wanted = [f"-gencode=arch=compute_{arch},code={codes[what]}_{arch}" for arch, what in self.parts]
        return [*wanted, *MODES[self.mode], "-dc" if self.relocatable else "-c"]

    @property
    def intended(self) -> Intended:
        kinds = {"sass": "cubin", "ptx": "ptx", "lto": "ltoir"}
        return sorted((kinds[what], f"sm_{arch}") for arch, what in self.parts)


def cases() -> Iterator[Case]:
    for arch in (*PLAIN, *SPECIFIC):
        yield Case(f"sass_{arch}", ((arch, "sass"),))
    for arch in PLAIN:
        yield Case(f"ptx_{arch}", ((arch, "ptx"),))
    for arch in ("75", "80", "90", "100f", "120"):
        for mode in MODES:
            yield Case(f"both_{arch}_{mode}", ((arch, "sass"), (arch, "ptx")), mode, relocatable=arch == "100f")
    many = tuple((arch, "sass") for arch in PLAIN)
    for mode in ("default", "none", "size"):
        yield Case(f"many_{mode}", (*many, ("121", "ptx")), mode)
    for mode in ("default", "speed"):
        yield Case(f"mixed_{mode}", (("80", "sass"), ("80", "ptx"), ("90a", "sass"), ("120f", "ptx")), mode)
    yield Case("lto_and_sass", (("80", "sass"), ("90", "lto"), ("90", "ptx")), relocatable=True)
    for arch in ("75", "80", "86", "89", "90", "90a", "100", "110", "120"):
        yield Case(f"lto_{arch}", ((arch, "lto"),), relocatable=True)


def nvcc() -> Path:
    """The wheel's, or the one on the path."""
    wheel = Path(sysconfig.get_path("purelib"), "nvidia/cu13/bin/nvcc")
    found = wheel if wheel.exists() else shutil.which("nvcc")
    if found is None:
        sys.exit("nvcc is wanted: put it on the path, or install nvidia-cuda-nvcc")
    return Path(found)


def build(output: Path, chosen: list[Case], jobs: int) -> dict[str, Intended]:
    """File name to what it must hold. Writes it to ``intended.json`` last, so that a folder which has it is complete."""
    output.mkdir(parents=True, exist_ok=True)
    source = output / "kernel.cu"
    source.write_text(SOURCE, encoding="utf-8")
    with ThreadPoolExecutor(jobs) as pool:
        names = list(pool.map(lambda case: _containers(output, source, case), chosen))
    intended = {name: case.intended for case, files in zip(chosen, names, strict=True) for name in files}
    (output / "intended.json").write_text(json.dumps(intended, indent=1) + "\n", encoding="utf-8")
    return intended


def _containers(output: Path, source: Path, case: Case) -> list[str]:
    files = {container: output / pattern.format(case.name) for container, pattern in CONTAINERS.items()}
    linker = [os.environ.get("CXX", "c++"), "-Wl,--unresolved-symbols=ignore-all"]
    _run([nvcc(), *case.options, "-Xcompiler=-fPIC", "-Xptxas=-O0", "-o", files["object"], source])
    _run(["ar", "rcs", files["archive"], files["object"]])
    _run([*linker, "-shared", "-o", files["shared"], files["object"]])
    _run([*linker, "-o", files["executable"], files["object"]])
    return [file.name for file in files.values()]


def _run(command: list[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed: {done.stderr or done.stdout}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--few", action="store_true", help="20 of them")
    options = parser.parse_args()
    chosen = [case for case in cases() if not options.few or case.name in FEW]
    print(f"{len(build(options.output, chosen, options.jobs))} binaries in {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
