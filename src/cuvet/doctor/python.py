"""The Python installation that a program would import from: its package directories and what is installed there. Nothing is executed.

Sources: the ``site`` module's documentation (which directories), PEP 376 and PyPA's "Recording installed projects" (dist-info, RECORD).
"""

import csv
import os
import re
import sys
from dataclasses import dataclass
from email.parser import HeaderParser
from functools import cache

from cuvet.doctor import loader
from cuvet.doctor.loader import Copy
from cuvet.doctor.machine import Machine


@dataclass(frozen=True)
class Recorded:
    """A file of a distribution: absolute path, and what RECORD says of it (``sha256=…``; None where it says nothing)."""

    path: str
    digest: str | None
    size: int | None


@dataclass(frozen=True)
class Distribution:
    """What is installed under a name. ``name`` is normalised (``nvidia-cudnn-cu12``); ``site``: the directory that holds its packages."""

    name: str
    version: str
    site: str
    dist_info: str
    requires: tuple[str, ...] = ()


def interpreter(machine: Machine) -> str | None:
    """The interpreter that was named, or else, if no program was, the one that ``python3`` is in the environment; None if there is none.

    Scripts that choose an interpreter (pyenv) are passed over; where only those are found, the one that runs cuvet is taken."""
    if machine.python or machine.program:
        return machine.python
    search = machine.environ.get("PATH", "").split(":")
    candidates = (os.path.join(directory, name) for directory in search if directory for name in ("python3", "python"))
    found = next((path for path in candidates if machine.is_file(path) and not _is_script(machine, path)), None)
    return found or (sys.executable if machine.real else None)


def _is_script(machine: Machine, path: str) -> bool:
    with machine.open(path) as file:
        return file.read(2) == b"#!"


@cache
def prefixes(machine: Machine) -> tuple[str, ...]:
    """``sys.prefix``, and in a virtual environment with system packages also ``sys.base_prefix``."""
    executable = interpreter(machine)
    if executable is None:
        return ()
    prefix = os.path.dirname(os.path.dirname(executable))
    settings = machine.read_text(os.path.join(prefix, "pyvenv.cfg"))
    if settings is None:
        return (os.path.dirname(os.path.dirname(machine.realpath(executable))),)
    values = dict(re.findall(r"^\s*([\w-]+)\s*=\s*(.*?)\s*$", settings, re.MULTILINE))
    if values.get("include-system-site-packages") != "true" or "home" not in values:
        return (prefix,)
    return (prefix, os.path.dirname(values["home"]))


@cache
def sites(machine: Machine) -> tuple[str, ...]:
    """The directories that hold importable packages, in the order of ``sys.path``, as far as files tell it."""
    own = [
        path
        for prefix in prefixes(machine)
        for pattern in ("lib/python3.*/site-packages", "lib64/python3.*/site-packages", "lib/python3*/dist-packages")
        for path in machine.glob(os.path.join(prefix, pattern))
    ]
    local = machine.glob("/usr/local/lib/python3.*/dist-packages") if "/usr" in prefixes(machine) else []
    user = machine.glob(os.path.join(machine.environ.get("HOME", "/root"), ".local/lib/python3.*/site-packages"))
    first = [path for path in machine.environ.get("PYTHONPATH", "").split(":") if path]
    in_environment = bool(prefixes(machine)) and machine.exists(os.path.join(prefixes(machine)[0], "pyvenv.cfg"))
    several = [*first, *(() if in_environment or machine.environ.get("PYTHONNOUSERSITE") else user), *local, *own]
    of_version = [path for path in several if _version(path) in (None, _version_of(machine))]
    return tuple({machine.realpath(path): path for path in reversed(of_version)}.values())[::-1]


def _version(path: str) -> str | None:
    found = re.search(r"/python(3\.\d+)/", path + "/")
    return found[1] if found else None


def _version_of(machine: Machine) -> str | None:
    """``3.11``, by the name of the interpreter's file, by the settings of its virtual environment, or by its only library directory."""
    executable = interpreter(machine)
    if executable is None:
        return None
    for name in (machine.realpath(executable), executable):
        found = re.fullmatch(r"python(3\.\d+)", os.path.basename(name))
        if found:
            return found[1]
    settings = machine.read_text(os.path.join(prefixes(machine)[0], "pyvenv.cfg")) or ""
    found = re.search(r"^version(?:_info)?\s*=\s*(3\.\d+)", settings, re.MULTILINE)
    if found:
        return found[1]
    versions = {_version(path) for path in machine.glob(os.path.join(prefixes(machine)[0], "lib/python3.*"))}
    return versions.pop() if len(versions) == 1 else None


@cache
def distributions(machine: Machine) -> dict[str, Distribution]:
    """Every installed distribution by its normalised name; of several of a name, the one that is imported. None without interpreter."""
    found: dict[str, Distribution] = {}
    for site in sites(machine) if interpreter(machine) else ():
        for name in machine.names(site):
            if name.endswith(".dist-info"):
                distribution = _distribution(machine, site, name)
                found.setdefault(distribution.name, distribution)
    return found


def _distribution(machine: Machine, site: str, directory: str) -> Distribution:
    dist_info = os.path.join(site, directory)
    name, _, version = directory[: -len(".dist-info")].partition("-")
    headers = HeaderParser().parsestr(machine.read_text(os.path.join(dist_info, "METADATA")) or "")
    requires = tuple(headers.get_all("Requires-Dist", ()))
    return Distribution(re.sub(r"[-_.]+", "-", name).lower(), version, site, dist_info, requires)


def recorded(machine: Machine, distribution: Distribution) -> tuple[Recorded, ...] | None:
    """The files that RECORD lists; None if there is no RECORD (conda and Debian packages have none)."""
    text = machine.read_text(os.path.join(distribution.dist_info, "RECORD"))
    if text is None:
        return None
    rows = [row for row in csv.reader(text.splitlines()) if row]
    return tuple(
        Recorded(
            os.path.normpath(os.path.join(distribution.site, row[0])),
            row[1] if len(row) > 1 and row[1] else None,
            int(row[2]) if len(row) > 2 and row[2].isdecimal() else None,
        )
        for row in rows
    )


def library_directories(machine: Machine) -> tuple[str, ...]:
    """Where Python packages bring shared libraries: ``site-packages/nvidia/*/lib``, then the ``lib`` of a conda environment.

    This is where PyTorch preloads from and what cuda-pathfinder searches first (its "Search order": site-packages, then conda, then the
    loader's own path).
    """
    packaged = [path for site in sites(machine) for path in machine.glob(os.path.join(site, "nvidia/*/lib"))]
    environments = dict.fromkeys([*prefixes(machine), *filter(None, [machine.environ.get("CONDA_PREFIX")])])
    conda = [os.path.join(p, "lib") for p in environments if machine.is_directory(os.path.join(p, "conda-meta"))]
    return (*packaged, *conda)


@cache
def copies(machine: Machine, soname: str) -> tuple[Copy, ...]:
    """All copies of a library that a Python program may get: those of its packages, then the loader's, each file once."""
    found: dict[str, Copy] = {}
    for directory in library_directories(machine):
        path = os.path.join(directory, soname)
        if machine.is_file(path):
            found.setdefault(
                machine.realpath(path), Copy(path, machine.realpath(path), f"Python package in {directory}")
            )
    executable = interpreter(machine)
    for copy in loader.copies(machine, soname, (executable,) if executable else ()):
        found.setdefault(copy.real, copy)
    return tuple(found.values())
