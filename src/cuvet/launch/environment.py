"""The environment in which the program is started, so that its CUDA calls reach the shim."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import cuvet
from cuvet import CuvetError
from cuvet.sonames import DRIVER

if TYPE_CHECKING:
    import tempfile

NATIVE = Path(cuvet.__file__).resolve().parent / "_native"
SHIM = NATIVE / DRIVER
DRIVER_LOG = "CUDA_LOG_FILE"
PROTECT = "CUVET_PROTECT"
INJECT = "CUVET_INJECT"
PROTECTION = ("refuse", "uses", "trap", "abort")
"""What ``--protect`` does with a call that would kill the program."""
SAVED = "CUVET_SAVED"
"""The variables as they were before ``cuvet env``, of those that it replaces: an object of JSON."""
LISTS = {"LD_PRELOAD": "[ :]", "LD_LIBRARY_PATH": "[;:]"}
"""Variables that lead to the shim among other entries, and what separates these."""
_SPLITS_A_LIST = re.compile("[ :;]")
"""What ends a path in LD_PRELOAD or LD_LIBRARY_PATH; nothing escapes it: ld.so(8)."""
_LONGEST_PLACE = 80
"""Bytes: the address of a Unix socket holds 108, with its end: unix(7)."""


def require_shim() -> None:
    if not SHIM.is_file():
        raise CuvetError(
            f"{SHIM} is missing: cuvet was installed without its native part (in a source tree: make native)"
        )


def users_own(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what an enclosing ``cuvet run`` put there."""
    own = {name: value for name, value in environment.items() if not name.startswith("CUVET_") or name == "CUVET_LIMIT"}
    for name, separators in LISTS.items():
        kept = [entry for entry in re.split(separators, own.get(name, "")) if entry and not _is_ours(entry)]
        if kept:
            own[name] = ":".join(kept)
        else:
            own.pop(name, None)
    return own


def protection(variables: Mapping[str, str]) -> str | None:
    """What the environment says of ``--protect``."""
    mode = variables.get(PROTECT)
    if mode and mode not in PROTECTION:
        raise CuvetError(f"{PROTECT} is {mode!r}: it must be one of {', '.join(PROTECTION)}")
    return mode or None


def _is_ours(entry: str) -> bool:
    shim = Path(entry) if entry.endswith(DRIVER) else Path(entry) / DRIVER
    return os.path.realpath(shim) == str(SHIM)


def for_program(
    own: Mapping[str, str],
    trace: Path,
    *,
    record: str,
    stacks: str = "all",
    guard: bool = False,
    protect: str | None = None,
    quarantine: str = "",
    narrow: int | None = None,
    inject: str | None = None,
    driver: str | None,
    device: Mapping[str, str] | None,
    links: Path,
    preload: bool = True,
    driver_log: Path | None = None,
    notices: str = "",
) -> dict[str, str]:
    """``own`` with the shim before everything else. With the real driver, the emulated runtime beside the shim must not be
    found: the library path then leads to a directory that holds the shim alone, made in ``links``. ``device``: the variables
    that lead to the emulated device. ``inject``: the faults that the shim injects (``native/inject.h``).
    ``driver_log``: where the driver writes its error log, unless ``own`` says where.
    ``notices``: the address of ``Notices``."""
    environment = dict(own)
    directory = _beside_the_shim(links) if device else _shim_alone(links)
    library_path = str(directory)
    if own.get("LD_LIBRARY_PATH"):
        library_path += ":" + own["LD_LIBRARY_PATH"]
    environment |= {"LD_LIBRARY_PATH": library_path, "CUVET_TRACE": str(trace)}
    environment |= {"CUVET_RECORD": record, "CUVET_STACKS": stacks}
    environment |= {"CUVET_GUARD": "1"} if guard else {}
    environment |= {PROTECT: protect} if protect else {}
    environment |= {"CUVET_QUARANTINE": quarantine} if quarantine else {}
    environment |= {"CUVET_NARROW": str(narrow)} if narrow else {}
    environment |= {INJECT: inject} if inject is not None else {}
    if preload:
        shim = SHIM if is_loadable(SHIM) else directory / SHIM.name
        environment["LD_PRELOAD"] = ":".join([str(shim), *filter(None, [own.get("LD_PRELOAD")])])
    if driver:
        environment["CUVET_DRIVER"] = driver
    if notices:
        environment["CUVET_NOTICES"] = notices
    if driver_log:
        environment.setdefault(DRIVER_LOG, str(driver_log))
    environment |= device or {}
    return environment


def is_loadable(path: Path) -> bool:
    """Whether the path can stand in LD_PRELOAD and LD_LIBRARY_PATH."""
    return not _SPLITS_A_LIST.search(str(path))


@contextmanager
def links(trace: Path) -> Iterator[Path]:
    """A directory for links to the shim: ``trace``, if the loader can take its path, else one that lasts until the end of the block."""
    if is_loadable(trace):
        yield trace
        return
    with private_directory() as directory:
        yield directory


@contextmanager
def private_directory() -> Iterator[Path]:
    """A new directory, until the end of the block, whose path the loader can take and a Unix socket's address can hold. CuvetError
    if there is no place for one."""
    with _in_first_place() as directory:
        yield Path(directory)


def _in_first_place() -> tempfile.TemporaryDirectory[str]:
    import tempfile  # start: not for a program that runs on a GPU

    why = "no path is short and plain enough"
    wanted = os.path.abspath(os.environ.get("TMPDIR") or "/tmp")
    for place in dict.fromkeys((wanted, "/tmp", "/var/tmp", "/dev/shm")):
        if len(os.fsencode(place)) > _LONGEST_PLACE or not is_loadable(Path(place)):
            continue
        try:
            return tempfile.TemporaryDirectory(prefix="cuvet-", dir=place, ignore_cleanup_errors=True)
        except OSError as error:
            why = f"{place}: {error.strerror}"
    raise CuvetError(
        f"cannot make a directory for links and sockets ({why}): set TMPDIR to a directory that can be written"
    )


def _shim_alone(links: Path) -> Path:
    directory = links / "lib"
    _link({directory / name: SHIM for name in (DRIVER, "libcuda.so")})
    return directory


def _beside_the_shim(links: Path) -> Path:
    if is_loadable(NATIVE):
        return NATIVE
    _link({links / "lib": NATIVE})
    return links / "lib"


def _link(targets: Mapping[Path, Path]) -> None:
    for link, target in targets.items():
        try:
            link.parent.mkdir(mode=0o700, exist_ok=True)
            link.symlink_to(target)
        except OSError as error:
            raise CuvetError(f"cannot make the link {link}: {error.strerror}") from None
