"""What cuvet's own commands take: no GPU, a process each, cold start included."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from measuring import CUVET, ROOT, Limits, NotHere, Round, Sample, rounds, run

QUESTIONS = ["--version", "explain 400", "explain CV201", "rules"]
CORPUS = Path(os.environ.get("CORPUS") or ROOT / "build" / "corpus")
CUBLASLT = "libcublasLt.so.1?"
TOOLKIT = Path("/usr/local/cuda")


def start(limits: Limits) -> list[Round]:
    """Processor time, which other programs hardly lengthen. Modules are compiled before, as an installation has them."""
    env = dict(os.environ)
    with tempfile.TemporaryDirectory() as compiled:
        env["PYTHONPYCACHEPREFIX"] = compiled

        def measure() -> Sample:
            return {f"cuvet {words}": run([*CUVET, *words.split()], env).processor_s for words in QUESTIONS}

        measure()
        return rounds({"checked": measure}, limits)


def branches(count: int, arm: str) -> str:
    """A function of so many if/else."""
    lines = [f"    if (a[{at}]) {{ {arm} }} else {{ cudaStreamQuery(s); }}" for at in range(count)]
    begin = [
        "#include <cuda_runtime.h>",
        "void branches(const int *a) {",
        "    cudaStream_t s;",
        "    cudaStreamCreate(&s);",
    ]
    return "\n".join([*begin, *lines, "    cudaStreamDestroy(s);", "}", ""])


ARMS = {
    "that change nothing": "cudaStreamSynchronize(s);",
    "that make and end an event": "cudaEvent_t e; cudaEventCreate(&e); cudaEventRecord(e, s); cudaEventDestroy(e);",
}


def check_branches(limits: Limits) -> list[Round]:
    """Processor time of checking one function, the start of the command included."""
    with tempfile.TemporaryDirectory() as folder:

        def measure() -> Sample:
            found = {}
            for name, arm in ARMS.items():
                for count in (50, 100, 250):
                    file = Path(folder, f"branches{count}.cu")
                    file.write_text(branches(count, arm))
                    taken = run([*CUVET, "check", "--no-cache", "--jobs", "1", str(file)], codes=(0, 1))
                    found[f"cuvet check, {count} if/else {name}"] = taken.processor_s
            return found

        return rounds({"checked": measure}, limits)


def check_corpus(limits: Limits) -> list[Round]:
    """Without the cache, with an empty one, and with the one that this filled."""
    if not CORPUS.is_dir():
        raise NotHere(f"no {CORPUS}: python tools/fetch_corpus.py {CORPUS}")

    def measure() -> Sample:
        found = {}
        with tempfile.TemporaryDirectory() as cache:
            for name, options in {"without the cache": ["--no-cache"], "first run": [], "second run": []}.items():
                command = [*CUVET, "check", "--output", os.devnull, "--jobs", "2", *options, str(CORPUS)]
                taken = run(command, {**os.environ, "XDG_CACHE_HOME": cache}, codes=(0, 1))
                found[f"cuvet check of the corpus, {name}"] = taken.wall_s
        return found

    return rounds({"checked": measure}, limits)


def inspect(limits: Limits) -> list[Round]:
    """Listing a large library, beside cuobjdump if that is here."""
    places = [Path(place) for place in sys.path if place.endswith("site-packages")]
    files = [file for place in places for file in place.glob(f"nvidia/**/{CUBLASLT}")]
    file = next(iter([*files, *TOOLKIT.glob(f"lib64/{CUBLASLT}")]), None)
    if file is None:
        raise NotHere(f"no {CUBLASLT} here")
    tool = shutil.which("cuobjdump") or shutil.which(str(TOOLKIT / "bin/cuobjdump"))
    commands = {"cuvet inspect": [*CUVET, "inspect"]} | ({"cuobjdump --list-elf": [tool, "--list-elf"]} if tool else {})
    for command in commands.values():
        run([*command, str(file)])  # the file is in the page cache from here on

    def measure() -> Sample:
        found = {}
        for name, command in commands.items():
            taken = run([*command, str(file)])
            found[f"{name} libcublasLt.so"] = taken.wall_s
            found[f"{name} libcublasLt.so, peak memory"] = taken.memory_mb
        return found

    return rounds({"checked": measure}, limits)
