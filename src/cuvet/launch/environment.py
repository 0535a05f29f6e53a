"""The environment in which the program is started, so that its CUDA calls reach the shim."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import cuvet
from cuvet import CuvetError

NATIVE = Path(cuvet.__file__).resolve().parent / "_native"
SHIM = NATIVE / "libcuda.so.1"
DRIVER_LOG = "CUDA_LOG_FILE"


def require_shim() -> None:
    if not SHIM.is_file():
        raise CuvetError(
            f"{SHIM} is missing: cuvet was installed without its native part (in a source tree: make native)"
        )


def users_own(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what an enclosing ``cuvet run`` put there."""
    own = {name: value for name, value in environment.items() if not name.startswith("CUVET_") or name == "CUVET_LIMIT"}
    for name, separators in (("LD_PRELOAD", "[ :]"), ("LD_LIBRARY_PATH", "[;:]")):
        kept = [entry for entry in re.split(separators, own.get(name, "")) if entry and not _is_ours(entry)]
        if kept:
            own[name] = ":".join(kept)
        else:
            own.pop(name, None)
    return own


def _is_ours(entry: str) -> bool:
    shim = Path(entry) if entry.endswith("libcuda.so.1") else Path(entry) / "libcuda.so.1"
    return os.path.realpath(shim) == str(SHIM)


def for_program(
    own: Mapping[str, str],
    trace: Path,
    *,
    record: str,
    driver: str | None,
    device_socket: Path | None,
    preload: bool = True,
    driver_log: Path | None = None,
) -> dict[str, str]:
    """``own`` with the shim before everything else. With the real driver, the emulated runtime beside the shim must not be
    found: the library path then leads to a directory that holds the shim alone. ``driver_log``: where the
    driver writes its error log, unless ``own`` says where."""
    environment = dict(own)
    library_path = str(NATIVE if device_socket else _shim_alone(trace))
    if own.get("LD_LIBRARY_PATH"):
        library_path += ":" + own["LD_LIBRARY_PATH"]
    environment |= {"LD_LIBRARY_PATH": library_path, "CUVET_TRACE": str(trace), "CUVET_RECORD": record}
    if preload:
        environment["LD_PRELOAD"] = ":".join([str(SHIM), *filter(None, [own.get("LD_PRELOAD")])])
    if driver:
        environment["CUVET_DRIVER"] = driver
    if driver_log:
        environment.setdefault(DRIVER_LOG, str(driver_log))
    if device_socket:
        environment["CUVET_DEVICE_SOCKET"] = str(device_socket)
    return environment


def _shim_alone(trace: Path) -> Path:
    directory = trace / "lib"
    directory.mkdir(mode=0o700)
    for name in ("libcuda.so.1", "libcuda.so"):
        (directory / name).symlink_to(SHIM)
    return directory
