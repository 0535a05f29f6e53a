"""cuDNN on a machine: who would use it, which libcudnn they would get, and which of its parts that would load.

``libcudnn.so.9`` holds no kernels: it opens its parts, ``libcudnn_ops.so.9`` and so on, by name when they are first needed, so that each
of them goes through the loader's search on its own. Names that it tries, in this order, are in its own message: "Unable to load any of
{libcudnn_ops.so.9.1.0, libcudnn_ops.so.9.1, libcudnn_ops.so.9, libcudnn_ops.so}"
(https://github.com/SYSTRAN/faster-whisper/issues/1182). Which parts there are: ``knowledge/cudnn.json``.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

import cuvet
from cuvet.doctor import driver, elf, frameworks, loader, python
from cuvet.doctor.frameworks import Framework, Requirement, numbers
from cuvet.doctor.loader import Copy
from cuvet.doctor.machine import Machine
from cuvet.doctor.python import Distribution

_NEEDED = re.compile(r"libcudnn(-[0-9a-f]+)?\.so\.(\d+)")
_PACKAGE = re.compile(r"nvidia-cudnn-cu\d+")
_LOADED_MAJORS = (8, 9)
_PLACES = (
    "/usr/lib/*-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/cuda*/lib64",
    "/usr/local/lib/python3.*/dist-packages/nvidia/cudnn/lib",
)


@dataclass(frozen=True)
class User:
    """Who uses cuDNN: ``name`` is ``PyTorch 2.11.0`` or the program's path.

    ``soname``: the name by which it asks (``libcudnn.so.9``). ``requesters``: the file that asks, what loaded that, … .
    """

    name: str
    soname: str
    major: int
    requesters: tuple[str, ...]
    framework: Framework | None = None

    @property
    def bundles_shim(self) -> bool:
        """It brings a renamed libcudnn of its own, as CTranslate2's wheels do, without the parts."""
        return not self.soname.startswith("libcudnn.so")


@dataclass(frozen=True)
class Set:
    """What a user would load: ``shim`` is libcudnn.so itself; ``parts``: by name (``ops``) what the loader takes, None if it finds none."""

    user: User
    shim: Copy
    parts: dict[str, Copy | None]

    def found(self) -> tuple[Copy, ...]:
        return tuple(copy for copy in self.parts.values() if copy)


class _Parts(msgspec.Struct):
    since: str
    parts: list[str]


class _Optional(msgspec.Struct):
    since: str
    until: str
    part: str


class _Configuration(msgspec.Struct):
    parts: list[str]


class _Knowledge(msgspec.Struct):
    sets: list[_Parts]
    optional: list[_Optional]
    loaded_by_graph: list[str]
    configurations: dict[str, _Configuration]


@cache
def _knowledge() -> _Knowledge:
    path = Path(cuvet.__file__).parent / "knowledge" / "cudnn.json"
    return msgspec.json.decode(path.read_bytes(), type=_Knowledge)


def required_parts(machine: Machine, version: tuple[int, ...]) -> tuple[str, ...]:
    """The parts that a complete set of this version has, as far as ``CUDNN_LIB_CONFIG`` does not do without them."""
    chosen = _knowledge().configurations.get(machine.environ.get("CUDNN_LIB_CONFIG", "FULL"))
    own = [each.parts for each in _knowledge().sets if numbers(each.since) <= (*version, 0)]
    return tuple(part for part in (own[-1] if own else ()) if chosen is None or part in chosen.parts)


def optional_parts(version: tuple[int, ...]) -> tuple[str, ...]:
    """Parts that this version opens where it finds them, though its own packages lack them."""
    return tuple(each.part for each in _knowledge().optional if numbers(each.since) <= version < numbers(each.until))


@cache
def users(machine: Machine) -> tuple[User, ...]:
    """The installed frameworks that use cuDNN, or the program, if it needs it."""
    if machine.loaded:
        return tuple(_users_of_loaded(machine))
    found = [user for framework in frameworks.installed(machine) if (user := _framework_user(machine, framework))]
    if machine.program and python.interpreter(machine) is None:
        closure = loader.closure(machine, machine.program)
        needs = [(each.soname, each.needed_by) for each in closure.loaded] + list(closure.missing)
        for soname, needed_by in needs:
            if match := _NEEDED.match(soname):
                requesters = tuple(dict.fromkeys((needed_by, machine.program)))
                found.append(User(machine.program, soname, int(match[2]), requesters))
    return tuple(found)


def _users_of_loaded(machine: Machine) -> Iterator[User]:
    """Who uses the libcudnn that the process had loaded. Where it had two of one major version nothing tells who used which."""
    requesters = (machine.program,) if machine.program else ()
    loaded = set(map(machine.realpath, machine.loaded))
    asking = [each for each in frameworks.installed(machine) if loaded & set(map(machine.realpath, each.libraries))]
    for major in _LOADED_MAJORS:
        if len(loader.mapped(machine, rf"libcudnn\.so\.{major}[\d.]*", requesters)) == 1:
            framework = next((each for each in asking if _required_major(each) == major), None)
            name = framework.title if framework else machine.program or "the program"
            askers = (*framework.libraries[:1], *requesters) if framework else requesters
            yield User(name, f"libcudnn.so.{major}", major, askers, framework)


def _required_major(framework: Framework) -> int | None:
    required = requirement(framework)
    return required.at_least[0] if required and required.at_least else None


def _framework_user(machine: Machine, framework: Framework) -> User | None:
    interpreters = tuple(filter(None, [python.interpreter(machine)]))
    for library in framework.libraries:
        read = elf.read(machine, library)
        for soname in read.needed if read else ():
            if match := _NEEDED.match(soname):
                return User(framework.title, soname, int(match[2]), (library, *interpreters), framework)
    required = requirement(framework)
    if required is None or not required.at_least or not framework.libraries:
        return None
    requesters, major = (framework.libraries[0], *interpreters), required.at_least[0]
    return User(framework.title, f"libcudnn.so.{major}", major, requesters, framework)


def requirement(framework: Framework) -> Requirement | None:
    """The cuDNN that the framework's package names, with or without an extra; None if it names none."""
    named = (each for each in frameworks.requirements(framework) if _PACKAGE.fullmatch(each.name) and each.at_least)
    return next(named, None)


def shim(machine: Machine, user: User) -> Copy | None:
    """The libcudnn.so that the user gets. PyTorch loads that of the Python packages itself if the loader finds none."""
    if machine.loaded:
        return next(iter(loader.mapped(machine, rf"{re.escape(user.soname)}[\d.]*", user.requesters)), None)
    found = loader.first(machine, user.soname, user.requesters)
    if found is None and user.framework and user.framework.distribution.name == "torch":
        return next((copy for copy in python.copies(machine, user.soname)), None)
    return found


@cache
def loaded_set(machine: Machine, user: User) -> Set | None:
    """None if there is no libcudnn.so for the user."""
    own = shim(machine, user)
    if own is None:
        return None
    version = version_of(machine, own.real) or (user.major,)
    askers = (own.path, *user.requesters)
    parts: dict[str, Copy | None] = {}
    for part in dict.fromkeys((*required_parts(machine, version), *optional_parts(version))):
        graph = parts.get("graph")
        through = (graph.path, *askers) if graph and part in _knowledge().loaded_by_graph else askers
        parts[part] = _part(machine, part, version, through)
    return Set(user, own, parts)


def sets(machine: Machine) -> tuple[Set, ...]:
    """What the users would load, each libcudnn.so once."""
    found = (loaded_set(machine, user) for user in users(machine))
    return tuple({each.shim.real: each for each in found if each}.values())


def _part(machine: Machine, part: str, version: tuple[int, ...], askers: tuple[str, ...]) -> Copy | None:
    loaded = loader.mapped(machine, rf"libcudnn_{part}\.so\.{version[0]}[\d.]*", askers)
    if loaded:
        return next((copy for copy in loaded if version_of(machine, copy.real) == version), loaded[0])
    lengths = (3, 2, 1) if version[0] >= 9 else (1,)
    suffixes = [f".{frameworks.text(version[:length])}" for length in lengths if length <= len(version)]
    names = [f"libcudnn_{part}.so{suffix}" for suffix in (*suffixes, *([""] if version[0] >= 9 else []))]
    preloaded = re.split("[ :]+", machine.environ.get("LD_PRELOAD", ""))
    for path in preloaded:
        if os.path.basename(path) in names and machine.is_file(path):
            return Copy(path, machine.realpath(path), "LD_PRELOAD")
    return next((copy for name in names if (copy := loader.first(machine, name, askers))), None)


@cache
def version_of(machine: Machine, path: str) -> tuple[int, ...] | None:
    """(9, 19, 0), by the file's name, by the Python package that it is of, or by the header beside it; None if nothing tells."""
    named = re.search(r"\.so\.(\d+\.\d+\.\d+)$", path)
    if named:
        return numbers(named[1])
    owning = {numbers(each.version)[:3] for each in owners(machine, path)}
    return (
        owning.pop() if len(owning) == 1 else _version_of_header(machine, os.path.dirname(path)) if not owning else None
    )


def _version_of_header(machine: Machine, directory: str) -> tuple[int, ...] | None:
    for name in ("cudnn_version.h", "cudnn.h"):
        text = machine.read_text(os.path.join(os.path.dirname(directory), "include", name)) or ""
        values = dict(re.findall(r"^#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) (\d+)", text, re.MULTILINE))
        if len(values) == 3:
            return int(values["MAJOR"]), int(values["MINOR"]), int(values["PATCHLEVEL"])
    return None


@cache
def packages(machine: Machine) -> tuple[Distribution, ...]:
    """The installed nvidia-cudnn-cu* packages."""
    found = python.distributions(machine)
    return tuple(found[name] for name in sorted(found) if _PACKAGE.fullmatch(name))


def owners(machine: Machine, path: str) -> tuple[Distribution, ...]:
    """The nvidia-cudnn-cu* packages that bring the directory of this file: two, if one was installed over the other."""
    directory = os.path.dirname(path)
    return tuple(
        each for each in packages(machine) if machine.realpath(os.path.join(each.site, "nvidia/cudnn/lib")) == directory
    )


def places(machine: Machine) -> dict[int, tuple[str, ...]]:
    """Where there are cuDNN libraries, whether the loader looks there or not, by major version."""
    found: dict[int, list[str]] = {}
    roots = [machine.environ[name] for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if machine.environ.get(name)]
    of_roots = [
        path for root in roots for path in (f"{root}/lib", f"{root}/lib/python3.*/site-packages/nvidia/cudnn/lib")
    ]
    listed = [path for path in machine.environ.get("LD_LIBRARY_PATH", "").split(":") if path]
    globbed = [path for pattern in (*of_roots, *_PLACES) for path in machine.glob(pattern)]
    for directory in dict.fromkeys((*listed, *python.library_directories(machine), *globbed)):
        for name in machine.names(directory):
            match = re.fullmatch(r"libcudnn(?:_ops|_ops_infer)?\.so\.(\d+)", name)
            if match and directory not in found.setdefault(int(match[1]), []):
                found[int(match[1])].append(directory)
    return {major: tuple(directories) for major, directories in found.items()}


def describe(machine: Machine, copy: Copy) -> str:
    """``/path/libcudnn.so.9 (LD_LIBRARY_PATH): 9.19.0``"""
    version = version_of(machine, copy.real)
    return f"{copy.path} ({copy.why})" + (f": {frameworks.text(version)}" if version else "")


def pip(machine: Machine, arguments: str) -> str:
    return f"{python.interpreter(machine) or 'python3'} -m pip {arguments}"


def how_to_reinstall(machine: Machine, path: str) -> str:
    """What puts back the files of the package that this file is of."""
    owning = owners(machine, path)
    if owning:
        return pip(machine, f"install --force-reinstall --no-deps {owning[0].name}=={owning[0].version}")
    if machine.is_directory(os.path.join(os.path.dirname(os.path.dirname(path)), "conda-meta")):
        return "conda install --force-reinstall cudnn"
    return f"reinstall the package that {path} is of (Debian, Ubuntu: dpkg -S {path})"


def how_to_remove(machine: Machine, copy: Copy) -> str:
    """What takes a copy out of the loader's way."""
    if copy.why == "LD_LIBRARY_PATH" or copy.why.startswith("DT_R"):
        return driver.how_to_unlist(machine, copy)
    if copy.why == "LD_PRELOAD":
        return f"take {copy.path} out of LD_PRELOAD"
    if copy.why == loader.MAPPED:
        return f"let the program load libcudnn and all of its parts from one directory: {copy.real} is of another"
    return f"remove the package that {copy.real} is of (Debian, Ubuntu: dpkg -S {copy.real})"
