"""Every page: its commands are ones that cuvet has, and those that a reader is to type work."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from cuvet import CuvetError, preload
from cuvet.cli import COMMANDS, make_parser, parse
from cuvet.testing import plugin

from ..every import of_every
from ..testing.conftest import environment_of

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md")))
FENCED = re.compile(r"^( *)```(\S*)\n(.*?)^ *```$", re.M | re.S)
SHELL = ("sh", "bash", "console")
BEGINS = ("cuvet", "pytest", "python", "eval", "mpirun", "srun", "torchrun", "pip", "make", "cmake", "ctest")
"""With which a line begins that is to be typed, in a block without a language."""
PLACEHOLDERS = {"ADDRESS": "0x10", "FILE": __file__, "SHELL": "bash"}
"""Words of pages that stand for something which a command does not take as it is."""
HANGS_S = 300

TYPED_ELSEWHERE = {
    "first-steps.md": "tests/cli/test_pages.py",
    "reading.md": "tests/cli/test_pages.py",
    "agents.md": "tests/cli/test_pages.py",
}
"""Pages whose blocks in ``sh`` are run there, and what they print is compared."""
NOT_RUN = {
    "pip install *": "installs from a package index",
    "make *": "installs what the tests need",
    "python tools/*": "downloads, or takes minutes",
    "cmake *": "tests/launch/test_cmake.py builds the example",
    "ctest --test-dir *": "tests/launch/test_cmake.py runs it",
    "pytest --cuvet --cuvet-device emulated": "tests/testing/test_example.py compares what it prints",
    "cuvet lsp": "serves an editor: tests/editor/test_server.py",
    "cuvet jupyter install*": "installs a kernel: tests/launch/test_jupyter.py",
    "cuvet inspect *": "needs device code: tests/image/test_inspect.py",
    "cuvet live": "needs a program that runs: tests/launch/test_live.py",
    "cuvet ps": "needs a program that runs: tests/launch/test_ps.py",
    "cuvet live 4711": "needs a program that runs: tests/launch/test_live.py",
}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def code(page: Path) -> Iterator[str]:
    """Blocks and words in the text that are set as code."""
    text = page.read_text(encoding="utf-8")
    for _, _, block in FENCED.findall(text):
        yield re.sub(r"\n +\[--", " [--", block)
    yield from re.findall(r"`([^`]+)`", FENCED.sub("", text))


def named(page: Path) -> Iterator[list[str]]:
    """The arguments of each command of cuvet that is set as code, however it is started."""
    command = re.compile(rf"\bcuvet ((?:{'|'.join(COMMANDS)})\b[^\n]*)")
    for text in code(page):
        for line in command.findall(text):
            yield shlex.split(re.split(r'\)"|\)?;|\s#|\s\|\||\s[|><]|"\s|\s{3,}|…$|`', line)[0])


def options_of() -> dict[str, dict[str, Any]]:
    (commands,) = (action.choices for action in make_parser()._actions if isinstance(action.choices, dict))
    return {
        word: parser._option_string_actions for word, parser in commands.items() if isinstance(parser, ArgumentParser)
    }


OPTIONS = options_of()


def complaint(words: list[str]) -> str:
    """What cuvet says of arguments that it does not take."""
    try:
        parse(words)
    except CuvetError as error:
        return str(error)
    return ""


@of_every(PAGES, name)
def test_every_command_and_option_is_one(page: Path) -> None:
    for words in named(page):
        own = words[: words.index("--")] if "--" in words else words
        options = [option.partition("=")[0] for word in own for option in re.findall(r"^\[?(--?[a-zA-Z][\w=-]*)", word)]
        assert [option for option in options if option not in OPTIONS[words[0]]] == [], words
        if any(word.startswith("[") or word in ("-h", "--help") for word in own):
            continue
        said = complaint([PLACEHOLDERS.get(word, word) for word in words])
        assert re.fullmatch("|.*(are required|expected one argument).*", said), words


@of_every(PAGES, name)
def test_every_option_of_pytest_and_of_the_preload_is_one(page: Path) -> None:
    group: list[str] = []
    parser = type(
        "Parser", (), {"getgroup": lambda self, *_: self, "addoption": lambda _, *names, **__: group.extend(names)}
    )
    plugin.pytest_addoption(parser())
    for text in code(page):
        assert set(re.findall(r"(?<![\w-])--cuvet[\w-]*", text)) <= set(group), text
        for line in re.findall(r"-m cuvet\.preload (--?\w.*|\w+\.py.*)$", text, re.M):
            options, program = preload.split(shlex.split(line))
            parse(["run", *options, "--", *program])


def typed(language: str, block: str) -> list[str]:
    """The lines of a block that a reader is to type, without what stands there only to be read."""
    lines = block.replace("\\\n", " ").splitlines()
    if language in SHELL:
        return lines
    if language == "yaml":
        return re.findall(r"^\s*(?:- )?(?:run: |entry: |- )(cuvet .*)$", block, re.M)
    if language:
        return []
    if any(line.startswith("$ ") for line in lines):
        return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    begin = [re.split(r"\s{3,}", line)[0] for line in lines if line.split(" ")[0] in BEGINS]
    return [line for line in begin if "[--" not in line and "…" not in line]


def is_run(line: str) -> bool:
    return not any(fnmatch(line, pattern) for pattern in NOT_RUN)


def scripts(page: Path) -> list[tuple[list[str], bool]]:
    """The lines of each block that are run, and whether the page shows that an error is found by them."""
    found = []
    for _, language, block in FENCED.findall(page.read_text(encoding="utf-8")):
        if page.name in TYPED_ELSEWHERE and language in SHELL:
            continue
        lines = [line for line in typed(language, block) if is_run(line)]
        if any(line.strip() for line in lines):
            found.append((lines, "error[" in block))
    return found


WITH_SCRIPTS = [page for page in PAGES if scripts(page)]


LAUNCHER = """#!/bin/sh
# Stands for mpirun, srun and torchrun: -n N, or --nproc-per-node N, and then what each rank is.
count=4
case "$1" in -*) count=$2; shift 2 ;; esac
for rank in $(seq 0 $((count - 1))); do
    env {rank}=$rank {size}=$count {each} "$@" || exit
done
"""
RIGHT = """import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
stream, context = ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuStreamCreate(ctypes.byref(stream), 0) == 0
assert cuda.cuStreamSynchronize(stream) == 0
assert cuda.cuStreamDestroy_v2(stream) == 0
"""
POOL = """#include <cuda_runtime.h>

void drain(int n) {
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    if (n == 0)
        CHECK(cudaStreamDestroy(s));
    CHECK(cudaStreamSynchronize(s));
}
"""


def make_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def make_programs(place: Path) -> None:
    """cuvet and what starts it. A page that names no device gets the emulated one, also where there is a GPU."""
    python = shlex.quote(sys.executable)
    emulated = 'case "$1" in run|env|inject) word=$1; shift; set -- "$word" --device emulated "$@" ;; esac'
    make_program(place / "bin/cuvet", f'#!/bin/sh\n{emulated}\nexec {python} -m cuvet "$@"\n')
    make_program(place / "bin/python", f'#!/bin/sh\nexec {python} "$@"\n')
    make_program(place / "bin/pytest", f'#!/bin/sh\nexec {python} -m pytest "$@"\n')
    for launcher, rank, size, each in (
        ("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", ""),
        ("srun", "SLURM_PROCID", "SLURM_NTASKS", ""),
        ("torchrun", "RANK", "WORLD_SIZE", "python"),
    ):
        make_program(place / "bin" / launcher, LAUNCHER.format(rank=rank, size=size, each=each))


def make_files(place: Path) -> None:
    """What pages speak of: programs without a mistake, and some with one."""
    library = ROOT / "src/cuvet/_native/libcuda.so.1"
    stale = (ROOT / "examples/stale_event.cpp").read_text(encoding="utf-8")
    (place / "build/demo").mkdir(parents=True)
    for binary, text in (
        ("program", stale.replace("pool.shrink(1)", "pool.shrink(2)")),
        ("build/demo/stale_event", stale),
    ):
        command = ["c++", "-std=c++17", "-g", "-pthread", "-xc++", "-", "-xnone", library, "-o", place / binary]
        subprocess.run(command, check=True, input=text, text=True)
    for copy in ("tests", "build/tests"):
        shutil.copy(place / "program", place / copy)
    for script in ("train.py", "package/module.py"):
        make_program(place / script, RIGHT)
    make_program(place / "suite/test_pool.py", f"def test_pool():\n    exec({RIGHT!r})\n")
    options = "-p no:cacheprovider --cuvet-device emulated -W 'ignore:Module already imported'"
    (place / "pytest.ini").write_text(f"[pytest]\ntestpaths = suite\naddopts = {options}\n")
    (place / "CTestTestfile.cmake").write_text('add_test(program "./program")\n')
    (place / "pool.cu").write_text(POOL)
    (place / "src").mkdir()
    (place / "src/pool.cu").write_text(POOL.replace("        CHECK(cudaStreamDestroy(s));", "        return;"))


def make_repository(place: Path) -> None:
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for words in (
        ["init", "-q"],
        ["add", "src"],
        ["commit", "-qm", "Begin"],
        ["update-ref", "refs/remotes/origin/main", "HEAD"],
    ):
        subprocess.run([*git, *words], check=True, cwd=place)


def environment(place: Path) -> dict[str, str]:
    return {
        **environment_of(place),
        "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(place),
    }


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the pages suppose: with programs, sources, a repository, and recordings called DIR, rec and job."""
    place = tmp_path_factory.mktemp("pages") / "place"
    place.mkdir()
    make_programs(place)
    make_files(place)
    make_repository(place)
    record = "cuvet run --trace DIR -- ./program; cp -r DIR rec; mpirun -n 2 cuvet run --trace job/rec.%r -- ./program"
    subprocess.run(["sh", "-ec", record], check=True, cwd=place, env=environment(place))
    shutil.rmtree(place / "plugin")
    return place


@pytest.mark.parametrize("page", WITH_SCRIPTS, ids=name)
def test_what_is_to_be_typed_works(page: Path, prepared: Path, tmp_path: Path) -> None:
    for number, (lines, shows_an_error) in enumerate(scripts(page)):
        place = tmp_path / str(number)
        shutil.copytree(prepared, place)
        for made in re.findall(r"--trace (?:(\w+) |(job)/)", "\n".join(lines)):
            shutil.rmtree(place / "".join(made))
        if shows_an_error:
            shutil.copy(place / "build/demo/stale_event", place / "program")
        done = subprocess.run(
            ["bash", "-ec", "\n".join(lines)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=place,
            env=environment(place),
            timeout=HANGS_S,
        )
        said = done.stdout + done.stderr
        assert "Traceback" not in said
        assert (done.returncode != 0) <= shows_an_error and done.returncode != 2, (lines, done.returncode, said)
        assert ("error[" in said) == shows_an_error, (lines, said)


def test_what_is_not_run_is_on_a_page() -> None:
    lines = [
        line
        for page in PAGES
        for _, language, block in FENCED.findall(page.read_text(encoding="utf-8"))
        for line in typed(language, block)
    ]
    for pattern in NOT_RUN:
        assert any(fnmatch(line, pattern) for line in lines), pattern
