"""A kernel of Jupyter, started as Jupyter starts it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import HANGS_S, SOURCE, Cuvet
from .test_preload import MISTAKE

pytest.importorskip("ipykernel")
PATH = os.pathsep.join(filter(None, (str(SOURCE), os.environ.get("PYTHONPATH"))))


class Kernel:
    def __init__(self, manager: Any) -> None:
        self.manager = manager
        self.client = manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=HANGS_S)

    def run(self, cell: str, at_output: Callable[[], None] = lambda: None) -> tuple[str, str]:
        """How the cell ended, and what it wrote."""
        written = []

        def take(message: dict[str, Any]) -> None:
            if message["msg_type"] == "stream":
                written.append(message["content"]["text"])
                at_output()

        reply = self.client.execute_interactive(cell, timeout=HANGS_S, output_hook=take, allow_stdin=False)
        return reply["content"].get("ename", "ok"), "".join(written)


@pytest.fixture
def kernel(cuvet: Cuvet, tmp_path: Path) -> Iterator[Kernel]:
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import KernelManager

    done = cuvet("jupyter", "install", "--prefix", tmp_path, "--device", "emulated")
    assert done.returncode == 0, done.stderr
    specifications = KernelSpecManager(kernel_dirs=[str(tmp_path / "share/jupyter/kernels")])
    manager = KernelManager(kernel_name="cuvet", kernel_spec_manager=specifications)
    manager.start_kernel(env=cuvet.environment, cwd=str(tmp_path))
    try:
        yield Kernel(manager)
    finally:
        manager.shutdown_kernel()


def test_its_cells_are_recorded(cuvet: Cuvet, kernel: Kernel) -> None:
    assert kernel.run(MISTAKE) == ("ok", "")
    assert "0 errors, 0 warnings in 5 calls" in cuvet("analyze").stdout
    assert kernel.run("number = 2\nprint(cuda.cuStreamDestroy_v2(stream))") == ("ok", "400\n")
    told = cuvet("analyze", "--fail-on", "error")
    assert told.returncode == 1
    assert "error[CV202]" in told.stdout and ".py:2 in <module>" in told.stdout


def test_it_is_the_process_that_jupyter_started(kernel: Kernel) -> None:
    """So that signals reach it, and so that it sees when Jupyter ends."""
    assert kernel.run("import os; print(os.getpid(), os.getppid())") == (
        "ok",
        f"{kernel.manager.provisioner.pid} {os.getpid()}\n",
    )


def test_a_cell_is_interrupted_once(kernel: Kernel) -> None:
    wait = "import signal\nprint('waits', flush=True)\nsignal.pause()"
    assert kernel.run(wait, kernel.manager.interrupt_kernel) == ("KeyboardInterrupt", "waits\n")
    assert kernel.run("print(1)") == ("ok", "1\n")


def test_its_options_are_kept(cuvet: Cuvet, tmp_path: Path) -> None:
    options = ("--races", "--protect", "--narrow", "3", "--quarantine", "1MiB", "--trace", "rec.%p", "--device", "real")
    done = cuvet("jupyter", "install", "--prefix", tmp_path, *options)
    folder = tmp_path / "share/jupyter/kernels/cuvet"
    assert (done.returncode, done.stdout) == (0, f"{folder}\n")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    said = json.loads((folder / "kernel.json").read_text())
    kept = {"--races", "--protect=refuse", "--narrow=3", "--quarantine=1048576", "--device=real"}
    python, *module = said["argv"][:3]
    assert (python, module, said["argv"][-3:]) == (
        sys.executable,
        ["-m", "cuvet.jupyter"],
        ["--", "-f", "{connection_file}"],
    )
    assert set(said["argv"][3:-3]) == {*kept, f"--trace={Path.cwd() / 'rec.%p'}"}
    assert said["display_name"] == "Python 3 (cuvet)"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("install", "--prefix", "/dev/null/x"), "the kernel cannot be installed: /dev/null/x: Not a directory"),
        (("install", "--rcord", "full"), "unknown option --rcord; did you mean --record? (see cuvet jupyter -h)"),
        (("install", "--prefix", ""), "argument --prefix: '' is not a path (see cuvet jupyter -h)"),
    ],
)
def test_a_mistake_is_one_line(cuvet: Cuvet, arguments: tuple[str, ...], line: str) -> None:
    done = cuvet("jupyter", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"cuvet: {line}\n")


def test_without_ipykernel_it_says_what_to_install(cuvet: Cuvet, tmp_path: Path) -> None:
    (tmp_path / "ipykernel.py").write_text("raise ImportError\n")
    done = cuvet("jupyter", "install", PYTHONPATH=f"{tmp_path}:{PATH}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"cuvet: ipykernel is not installed for {sys.executable}: pip install 'cuvet[jupyter]'\n"


def test_a_kernel_that_cannot_be_recorded_does_not_start(cuvet: Cuvet) -> None:
    command = [sys.executable, "-m", "cuvet.jupyter", "--trace=/dev/null", "--device=emulated", "--", "-f", "x"]
    done = subprocess.run(command, capture_output=True, text=True, env=cuvet.environment, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "cuvet: /dev/null is not a directory; choose another --trace\n"


def test_the_magic_reports_what_a_cell_did_wrong(kernel: Kernel) -> None:
    assert kernel.run("%load_ext cuvet") == ("ok", "")
    assert kernel.run(f"%%cuvet\n{MISTAKE}") == ("ok", "cuvet: nothing was found in this cell\n")
    ending, written = kernel.run("%%cuvet\nprint(1)\ncuda.cuStreamDestroy_v2(stream)")
    assert ending == "ok"
    assert written.startswith("1\n") and written.count("error[CV202]") == 1
    assert kernel.run("%%cuvet\nprint(2)") == ("ok", "2\ncuvet: nothing was found in this cell\n")


def test_a_cell_under_the_magic_fails_as_it_does_without(kernel: Kernel) -> None:
    shown = []

    def run(cell: str) -> str:
        reply = kernel.client.execute_interactive(cell, timeout=HANGS_S, output_hook=shown.append, allow_stdin=False)
        return str(reply["content"].get("ename"))

    run(f"%load_ext cuvet\n{MISTAKE}")
    assert run("%%cuvet\ncuda.cuStreamDestroy_v2(stream)\nx = 1 / 0") == "ZeroDivisionError"
    assert run("%%cuvet\n1 +") == "SyntaxError"
    tracebacks = ["\n".join(each["content"]["traceback"]) for each in shown if each["msg_type"] == "error"]
    assert sum("1 / 0" in each or "division by zero" in each for each in tracebacks) == 1
    assert sum("1 +" in each for each in tracebacks) == 1
    assert any("error[CV202]" in each["content"].get("text", "") for each in shown)


def test_a_cell_that_awaits_is_refused_in_one_line(kernel: Kernel) -> None:
    kernel.run("%load_ext cuvet\nimport asyncio")
    shown = kernel.client.execute_interactive("%%cuvet\nawait asyncio.sleep(0)", timeout=HANGS_S, allow_stdin=False)
    assert (shown["content"]["ename"], shown["content"]["evalue"]) == (
        "UsageError",
        "%%cuvet: a cell that uses await outside of functions cannot run under it",
    )
    inside = "%%cuvet\nasync def wait():\n    await asyncio.sleep(0)"
    assert kernel.run(inside) == ("ok", "cuvet: nothing was found in this cell\n")


def test_a_value_is_shown_as_it_is_without_the_magic(kernel: Kernel) -> None:
    shown = []

    def take(message: dict[str, Any]) -> None:
        if message["msg_type"] == "execute_result":
            shown.append(message["content"]["data"]["text/plain"])

    kernel.run("%load_ext cuvet")
    for cell in ("1;", "2", "3;  # no", "4  # yes;", "x = 5;", "'6;'"):
        kernel.client.execute_interactive(f"%%cuvet\n{cell}", timeout=HANGS_S, output_hook=take, allow_stdin=False)
    assert shown == ["2", "4", "'6;'"]


@pytest.mark.parametrize(
    ("cell", "line"),
    [
        ("%%cuvet\n1", "%%cuvet: this kernel is not recorded: choose the one that `cuvet jupyter install` installs"),
        ("%%cuvet --leaks\n1", "%%cuvet takes no arguments"),
    ],
)
def test_a_mistake_with_the_magic_is_one_line(cuvet: Cuvet, cell: str, line: str) -> None:
    program = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        f"shell = InteractiveShell()\nshell.run_cell('%load_ext cuvet')\nshell.run_cell({cell!r})"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=cuvet.environment, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"UsageError: {line}\n")
