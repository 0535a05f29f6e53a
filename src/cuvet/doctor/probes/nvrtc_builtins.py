"""Does the libnvrtc that a program would get find its libnvrtc-builtins, of its own version?

libnvrtc opens the builtins by a name with major and minor version, which stands in its own data: "failed to open
libnvrtc-builtins.so.12.8". PyTorch (``_preload_cuda_deps`` in ``torch/__init__.py``) and cuda-pathfinder load those beside libnvrtc
themselves, so that in Python they need not be on the loader's path.
"""

import mmap
import os
import re
from collections.abc import Iterator
from functools import cache

from cuvet.doctor import cudnn, frameworks, loader, python
from cuvet.doctor.loader import Copy
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy

TITLE = "NVRTC and its builtins"
GROUP: Group = "libraries"

_SONAMES = ("libnvrtc.so.11.2", "libnvrtc.so.12", "libnvrtc.so.13")
LOOKED_AT = ("libnvrtc.so.* in Python packages and on the loader's path", "libnvrtc-builtins.so.*")
_NAME = re.compile(rb"libnvrtc-builtins\.so\.\d+\.\d+")


def probe(machine: Machine) -> Conclusions:
    found = [copy for copy in _libraries(machine) if copy]
    missing = list(_for_cupy(machine))
    yield from missing
    for copy in found:
        yield _conclusion(machine, copy)
    if not found and not missing:
        yield healthy("no libnvrtc")


def _for_cupy(machine: Machine) -> Conclusions:
    """CuPy compiles its kernels with the libnvrtc of the CUDA in its package's name (https://github.com/cupy/cupy/issues/9318)."""
    for framework in frameworks.installed(machine) if not machine.loaded else ():
        cuda = framework.cuda[0] if framework.cuda and framework.title.startswith("CuPy") else None
        soname = {11: "libnvrtc.so.11.2", 12: "libnvrtc.so.12", 13: "libnvrtc.so.13"}.get(cuda or 0)
        homes = (machine.environ.get(name) for name in ("CUDA_PATH", "CUDA_HOME"))
        beside = any(home and machine.is_file(os.path.join(home, "lib64", soname or "")) for home in homes)
        if soname and not beside and not python.copies(machine, soname):
            yield error(
                cause="cuda-library-not-on-loader-path",
                verdict=f"{framework.title} finds no {soname}: it cannot compile its kernels",
                evidence=(
                    f"{soname}: in no Python package and not on the loader's path",
                    framework.distribution.dist_info,
                ),
                fix=cudnn.pip(
                    machine, f"install {'nvidia-cuda-nvrtc' if cuda == 13 else f'nvidia-cuda-nvrtc-cu{cuda}'}"
                ),
            )


def _libraries(machine: Machine) -> Iterator[Copy | None]:
    if machine.loaded:
        yield from loader.mapped(machine, r"libnvrtc\.so\.[\d.]+")
    elif python.interpreter(machine):
        for soname in _SONAMES:
            yield next(iter(python.copies(machine, soname)), None)
    elif machine.program:
        for loaded in loader.closure(machine, machine.program).find("libnvrtc.so"):
            yield loaded.copy


def _conclusion(machine: Machine, library: Copy) -> Conclusion:
    name = builtins_name(machine, library.real)
    if name is None:
        return healthy(f"{library.path} does not name its builtins")
    beside = os.path.join(os.path.dirname(library.real), name)
    copy = loader.first(machine, name, (library.path, *_askers(machine)))
    preloaded = python.interpreter(machine) is not None and machine.is_file(beside)
    if copy or preloaded:
        return healthy(f"{library.path} has its {name}", evidence=(copy.path if copy else beside,))
    others = machine.glob(os.path.join(os.path.dirname(library.real), "libnvrtc-builtins.so.*"))
    return error(
        cause="nvrtc-builtins-missing",
        verdict=f"{library.path} does not find {name}: whatever it compiles fails",
        evidence=(
            f"{library.path} ({library.why}): opens {name}",
            *(f"{path}: of another version" for path in others if path != beside),
            f"{name}: in {os.path.dirname(library.real)}, which is not on the loader's path"
            if machine.is_file(beside)
            else f"{name}: not in {os.path.dirname(library.real)} and not on the loader's path",
        ),
        fix=f"export LD_LIBRARY_PATH={os.path.dirname(beside)}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
        if machine.is_file(beside)
        else _how_to_fix(machine, library),
    )


@cache
def builtins_name(machine: Machine, path: str) -> str | None:
    """``libnvrtc-builtins.so.12.8``, as the library itself names it; None if it holds no such name."""
    if not machine.stat(path).st_size:
        return None
    with machine.open(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = data.find(b"libnvrtc-builtins.so.")
        match = _NAME.match(data[start : start + 40]) if start >= 0 else None
    return match[0].decode() if match else None


def _askers(machine: Machine) -> tuple[str, ...]:
    libraries = [path for framework in frameworks.installed(machine) for path in framework.libraries[:1]]
    return tuple(libraries[:1]) or ((machine.program,) if machine.program else ())


def _how_to_fix(machine: Machine, library: Copy) -> str:
    for package in python.distributions(machine).values():
        if re.fullmatch(r"nvidia-cuda-nvrtc(-cu\d+)?", package.name) and library.real.startswith(
            machine.realpath(package.site) + "/"
        ):
            return cudnn.pip(machine, f"install --force-reinstall --no-deps {package.name}=={package.version}")
    return f"reinstall NVRTC's package, which {library.real} is of (Debian, Ubuntu: dpkg -S {library.real})"
