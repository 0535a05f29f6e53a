"""Compile programs of public repositories for the emulated device, run them there, and compare that with what was said on a GPU.

    python tools/programs_of_others.py build FOLDER --from REPOSITORIES --most 160
    python tools/programs_of_others.py run FOLDER        as they are, and with --races
    python tools/programs_of_others.py compare FOLDER    the table of docs/emulated-suites.md
    python tools/programs_of_others.py inject FOLDER     what ``cuvet inject --quick`` says: the counts of docs/inject.md, and each claim

REPOSITORIES has a git directory for each repository of ``tests/hardware/others.jsonl``, ``owner+name`` or ``owner+name/repo``. nvcc is
that of the environment (``make setup``), the headers of libraries come from PyPI (4 GB of wheels). No GPU is needed.
``FOLDER/programs.jsonl`` has what was compiled. What was done once is not done again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from check_ground import git_directory
from cuvet.catalog.apis import LIBRARIES
from fetch_corpus import folder_of
from library_wheels import fetched

ROOT = Path(__file__).resolve().parents[1]
HARDWARE = ROOT / "tests" / "hardware"
NATIVE = ROOT / "src" / "cuvet" / "_native"
TOOLKIT = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13"
SOURCES = tuple("cu cuh h hpp hxx c cc cpp inl txt in".split())
COMMON = ("common", "Common", "include", "inc", "utils", "util", "common/inc")
"""Folders of headers beside a program or above it."""
LINKED = ("cublas", "cufft", "curand", "cusparse", "cusolver")
MAIN = re.compile(r"^\s*(?:int|void)\s+main\s*\(", re.M)
COMPILE_S, RUN_S, INJECT_S = 150, 20, 400
WAYS: dict[str, list[str]] = {"plain": [], "races": ["--races"]}


class Program(NamedTuple):
    repository: str
    name: str
    """The path of its source, without the suffix."""
    binary: str
    folder: str


def rows() -> list[dict[str, Any]]:
    """What ran on a GPU: see ``tests/hardware/others.py``."""
    return [json.loads(line) for line in (HARDWARE / "others.jsonl").read_text(encoding="utf-8").splitlines()]


def build(folder: Path, source: Path, most: int) -> None:
    """Compile the first ``most`` programs, in the order of a hash of their names."""
    programs: list[tuple[Program, Path, Path]] = []
    for repository in sorted({row["source"] for row in rows() if "/" in row["source"]}):
        tree = folder / "src" / folder_of(repository)
        git = git_directory(source, repository)
        if git is None:
            raise SystemExit(f"{repository}: no git directory of it in {source}")
        take(git, tree)
        for file in sorted(tree.rglob("*.cu")):
            if file.is_file() and MAIN.search(file.read_text(errors="replace")):
                name = str(file.relative_to(tree).with_suffix(""))
                binary = folder / "bin" / rank(repository, name)[:16]
                programs.append((Program(repository, name, str(binary), str(file.parent)), tree, file))
    programs.sort(key=lambda each: rank(*each[0][:2]))
    links(folder / "lib")
    headers()
    (folder / "bin").mkdir(exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        chosen = programs[:most]
        compiled = list(pool.map(lambda each: compiles(each[0], each[1], each[2], folder / "lib"), chosen))
    lines = [json.dumps(each[0]._asdict()) for each, is_compiled in zip(chosen, compiled, strict=True) if is_compiled]
    (folder / "programs.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{len(lines)} of {len(chosen)} programs compiled, of {len(programs)} in all")


def rank(repository: str, name: str) -> str:
    return hashlib.sha256(f"{repository} {name}".encode()).hexdigest()


def take(git: Path, tree: Path) -> None:
    """The sources of the newest commit."""
    if tree.exists():
        return
    tree.mkdir(parents=True)
    listed = subprocess.run(
        ("git", "--git-dir", str(git), "ls-tree", "-r", "--name-only", "-z", "HEAD"), capture_output=True, check=True
    )
    for name in listed.stdout.decode(errors="replace").split("\0"):
        if name.rpartition(".")[2] in SOURCES:
            shown = subprocess.run(("git", "--git-dir", str(git), "show", f"HEAD:{name}"), capture_output=True)
            if shown.returncode == 0:  # else the file is not in the snapshot
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                (tree / name).write_bytes(shown.stdout)


def links(folder: Path) -> None:
    """The names that a linker looks for, of the emulated libraries."""
    folder.mkdir(parents=True, exist_ok=True)
    for library in sorted([*NATIVE.glob("lib*.so.*"), *(TOOLKIT / "lib").glob("libcudart.so.*")]):
        link = folder / library.name.partition(".so")[0]
        link = link.with_name(link.name + ".so")
        link.unlink(missing_ok=True)
        link.symlink_to(library.resolve())


@cache
def headers() -> list[Path]:
    """Folders with the libraries' headers."""
    wheels = {LIBRARIES[name].wheels[-1].requirement for name in LINKED}
    return [fetched(wheel) / "nvidia" / "cu13" / "include" for wheel in sorted(wheels)]


def compiles(program: Program, tree: Path, file: Path, libraries: Path) -> bool:
    if Path(program.binary).exists():
        return True
    text = file.read_text(errors="replace")
    above = [each for each in file.parents if each.is_relative_to(tree)]
    folders = [*above, *(each / name for each in above for name in COMMON)]
    includes = [f"-I{each}" for each in folders if each.is_dir()]
    includes += [f"-I{each}" for each in headers()]
    used = [name for name in LINKED if re.search(rf"#include\s*<{name}", text)]
    used += ["cublas", "cusparse"] if "cusolver" in used else []
    command = ["nvcc", "-g", "-std=c++17", "-arch=sm_90", "-cudart", "shared", "-w", "-o", program.binary, str(file)]
    command += [
        "-Xcompiler",
        "-fopenmp,-fpermissive",
        *includes,
        f"-I{TOOLKIT / 'include'}",
        f"-I{TOOLKIT / 'include/cccl'}",
    ]
    command += [f"-L{libraries}", f"-L{TOOLKIT / 'lib'}", *(f"-l{name}" for name in used), "-lcuda"]
    command += ["-Xlinker", f"-rpath,{TOOLKIT / 'lib'}", "-Xlinker", "--allow-shlib-undefined"]
    environment = os.environ | {"PATH": f"{TOOLKIT / 'bin'}:{os.environ['PATH']}"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=COMPILE_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def programs_of(folder: Path) -> Iterator[Program]:
    for line in (folder / "programs.jsonl").read_text(encoding="utf-8").splitlines():
        yield Program(**json.loads(line))


def cuvet(command: str, program: Program, report: Path, options: list[str], limit_s: float) -> None:
    """``report`` is there afterwards, unless that takes longer than ``limit_s``."""
    if report.exists():
        return
    report.parent.mkdir(parents=True, exist_ok=True)
    full = [sys.executable, "-m", "cuvet", command, "--device", "emulated", *options, "--format", "json"]
    full += ["--output", str(report), "--", program.binary]
    environment = os.environ | {"XDG_STATE_HOME": str(report.parent / "recordings")}
    try:
        subprocess.run(
            full,
            cwd=program.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"{program.repository} {program.name}: more than {limit_s:.0f} s", flush=True)


def said(folder: Path, program: Program, way: str) -> list[str] | None:
    """The errors and warnings; None if there is no report."""
    report = folder / way / f"{Path(program.binary).name}.json"
    if not report.exists():
        return None
    findings = json.loads(report.read_bytes())["findings"]
    return sorted({f"{each['severity']} {each['name']}" for each in findings if each["severity"] != "note"})


def run(folder: Path) -> None:
    for program in programs_of(folder):
        for way, options in WAYS.items():
            cuvet("run", program, folder / way / f"{Path(program.binary).name}.json", options, RUN_S)


def compare(folder: Path) -> None:
    """With what was said of the program of that name on a GPU."""
    counts: Counter[str] = Counter()
    known = on_gpu()
    for program in programs_of(folder):
        for way in WAYS:
            here = said(folder, program, way)
            there = known[way].get((program.repository, program.name))
            counts[f"{way}: ran"] += here is not None
            if here is None or there is None:
                continue
            counts[f"{way}: judged on a GPU"] += 1
            counts[f"{way}: the same"] += here == there
            if here != there:
                print(f"{program.repository} {program.name}, {way}: {here} here, {there} on a GPU")
    print(*(f"{name}: {count}" for name, count in sorted(counts.items())), sep="\n")


def on_gpu() -> dict[str, dict[tuple[str, str], list[str]]]:
    """By way, repository and name: the errors and warnings."""
    judged = [row for row in rows() if not row["outcome"].startswith("not judged")]
    plain = {(row["source"], row["name"]): _names(row["said"]) for row in judged}
    found: dict[str, list[str] | None] = json.loads((HARDWARE / "races.json").read_bytes())["others"]["findings"]
    races = {
        (repository, program): _names(each)
        for repository, _, program, each in ((*name.partition(" "), each) for name, each in found.items())
        if each is not None
    }
    return {"plain": plain, "races": races}


def _names(each: list[str]) -> list[str]:
    names = (re.sub(r"^\d+ × ", "", word) for word in each)
    return sorted({name for name in names if name.startswith(("error", "warning"))})


def inject(folder: Path) -> None:
    """Of the programs that ran to a report, and of which it says nothing."""
    counts: Counter[str] = Counter()
    for program in programs_of(folder):
        if said(folder, program, "plain") != []:
            continue
        report = folder / "inject" / f"{Path(program.binary).name}.json"
        cuvet("inject", program, report, ["--device-memory", "8GiB", "--quick", "--budget", "60"], INJECT_S)
        if not report.exists():
            continue
        sites: list[dict[str, Any]] = json.loads(report.read_bytes())["sites"]
        counts["programs"] += 1
        counts["places"] += len(sites)
        for site in sites:
            counts[f"{site['severity']} {site['verdict']}"] += 1
            if site["severity"] in ("error", "warning"):
                print(
                    f"{program.repository} {program.name}: {site['severity']} {site['verdict']} {site['api']} line {site['line']}"
                )
    print(*(f"{name}: {count}" for name, count in sorted(counts.items())), sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("build", "run", "compare", "inject"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--from", dest="source", type=Path, help="folder of git directories, for build")
    parser.add_argument("--most", type=int, default=160, help="programs to compile (default: %(default)s)")
    args = parser.parse_args()
    folder = args.folder.resolve()
    if args.step != "build":
        {"run": run, "compare": compare, "inject": inject}[args.step](folder)
    elif args.source is None:
        parser.error("build needs --from REPOSITORIES")
    else:
        build(folder, args.source, args.most)


if __name__ == "__main__":
    main()
