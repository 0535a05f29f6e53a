"""The pytest plugin: ``pytest --cuvet``. Without this option it adds options and a marker, and imports nothing else."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import NoReturn

import pytest

_OLDEST = 8
MARKER = (
    "cuvet(ignore=[RULE, ...], leaks=BOOL, races=BOOL): with --cuvet, findings of these rules, by code or name, do not fail the test and "
    "are not shown; whether what it leaves behind is reported (else as --cuvet-leaks says); whether races are (with --cuvet-races)"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cuvet", "cuvet: the CUDA calls of tests")
    group.addoption(
        "--cuvet", action="store_true", help="check the CUDA calls of each test, and fail those with errors"
    )
    group.addoption(
        "--cuvet-device",
        choices=("auto", "real", "emulated"),
        default="auto",
        help="the real GPU, the emulated device, or the emulated one if there is no GPU (default: auto)",
    )
    group.addoption(
        "--cuvet-fail-on",
        choices=("error", "warning", "note"),
        default="error",
        help="fail tests with a finding of this severity or a worse one (default: error)",
    )
    group.addoption(
        "--cuvet-races",
        action="store_true",
        help="also find work on two streams that touches the same memory in no order",
    )
    group.addoption(
        "--cuvet-leaks",
        action="store_true",
        help="also warn of what a test made and left behind, if the same place did so in an earlier test",
    )
    group.addoption(
        "--cuvet-inject",
        action="store_true",
        help="instead, run the chosen tests again and again, let each of their CUDA calls fail in turn, and say what they do then "
        "(cuvet inject)",
    )


@pytest.hookimpl(hookwrapper=True, tryfirst=True)  # as older versions of pytest take it, too
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """Before output is captured and conftest files are imported."""
    options = early_config.known_args_namespace
    given = next((each for each in early_config.invocation_params.args if str(each).startswith("--cuvet-")), None)
    if options.cuvet_inject:
        _inject(early_config, options.cuvet_device)
    if given is not None and not options.cuvet:
        raise pytest.UsageError(f"{str(given).partition('=')[0]} does nothing without --cuvet: add that")
    if options.cuvet and not (options.collectonly or options.help or options.version):
        if int(pytest.__version__.partition(".")[0]) < _OLDEST:
            raise pytest.UsageError(f"--cuvet needs pytest {_OLDEST} or newer; this is {pytest.__version__}")
        if worker := os.environ.get("PYTEST_XDIST_WORKER"):
            _record_apart(worker)
        else:
            races = ["--races"] if options.cuvet_races else []
            _restart(early_config, ["--device", options.cuvet_device, *races])
    yield


def _inject(config: pytest.Config, device: str) -> NoReturn:
    """Become ``cuvet inject`` of the same tests."""
    from cuvet.testing.asking import is_recorded, module_of_cuvet

    argv = _without_device(_own_argv(config, "--cuvet-inject"))
    argv.remove("--cuvet-inject")
    if any(each.startswith("--cuvet") for each in argv) or is_recorded():
        raise pytest.UsageError(
            "--cuvet-inject starts pytest itself: use it with no other option of cuvet but --cuvet-device, and without cuvet run"
        )
    command = module_of_cuvet("inject", "--device", device, "--", *argv, "-p", "no:cacheprovider")
    sys.stdout.flush()
    os.execv(command[0], command)


def _without_device(argv: list[str]) -> list[str]:
    option = "--cuvet-device"
    before = ["", *argv]
    return [
        each for each, last in zip(argv, before, strict=False) if last != option and each.partition("=")[0] != option
    ]


def _own_argv(config: pytest.Config, option: str) -> list[str]:
    """The command that started this pytest. UsageError if a program called it."""
    given = config.invocation_params
    if list(given.args) != sys.argv[1:] or given.plugins:
        raise pytest.UsageError(
            f"{option}: pytest was called by a program with arguments of its own, and cannot be started again under cuvet: "
            f"use python -m pytest {option}, or start that program with cuvet run -- python PROGRAM"
        )
    return [sys.executable, *sys.orig_argv[1:]]


def _restart(config: pytest.Config, options: list[str]) -> None:
    """With these options of ``cuvet run``. Does not return, if the calls of this process are not recorded yet."""
    from cuvet.launch.environment import SAVED
    from cuvet.testing.asking import OWN_RECORDING, is_recorded
    from cuvet.testing.restart import restart

    of_shell = SAVED in os.environ  # with all else that the shell started
    if (is_recorded() and not of_shell) or os.environ.get(OWN_RECORDING):  # once is enough, also if it had no effect
        return
    restart(options, _own_argv(config, "--cuvet"))


def _record_apart(worker: str) -> None:
    """A worker of xdist has a directory of its own, below that of the session."""
    from cuvet.testing.asking import OWN_RECORDING, is_recorded

    if not is_recorded():
        return  # told when tests are to run
    if not os.environ.get(OWN_RECORDING):
        raise pytest.UsageError("--cuvet: with xdist, pytest must start itself under cuvet: leave out cuvet run")
    session = Path(os.environ["CUVET_TRACE"])
    if session.name == worker:
        return
    own = session / worker
    own.mkdir(mode=0o700, exist_ok=True)
    (own / "meta.json").write_bytes((session / "meta.json").read_bytes())
    (own / "meta.json").chmod(0o600)
    os.environ["CUVET_TRACE"] = str(own)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    if not config.option.cuvet or config.option.collectonly or config.option.help:
        return
    from cuvet.testing.asking import is_recorded, records_races
    from cuvet.testing.checked import Checked, Merged

    if not is_recorded():
        raise pytest.UsageError("--cuvet: this process runs without cuvet's shim: LD_PRELOAD had no effect on it")
    if config.option.cuvet_races and not records_races():
        raise pytest.UsageError("--cuvet-races: pytest was started by cuvet run without --races: add it there")
    distributes = config.getoption("dist", "no") != "no" and config.getoption("tx", None)
    config.pluginmanager.register(Merged() if distributes else Checked(config), "cuvet-session")
