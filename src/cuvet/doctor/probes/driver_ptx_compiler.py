"""Is the driver's PTX compiler there, and of the driver's version?"""

from cuvet.doctor import driver, loader
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Group, healthy, unknown, warning

TITLE = "PTX compiler of the driver"
GROUP: Group = "driver"

_SONAME = "libnvidia-ptxjitcompiler.so.1"
LOOKED_AT = (f"{_SONAME} on the loader's path", "the libcuda.so.1 that the loader takes")


def probe(machine: Machine) -> Conclusions:
    libcuda = next((c for c in driver.libcudas(machine) if not driver.is_stub(c)), None)
    if libcuda is None:
        yield unknown("there is no driver")
        return
    if driver.is_wsl(machine):
        yield unknown("under WSL the compiler is part of the Windows driver")
        return
    compiler = loader.first(machine, _SONAME, (libcuda.path, *driver.requesters(machine)))
    wanted = driver.version_of(libcuda)
    version = driver.version_of(compiler) if compiler else None
    if compiler and (version == wanted or version is None or wanted is None):
        yield healthy(f"{compiler.path}", evidence=(f"{compiler.real} ({compiler.why})",))
        return
    major = (wanted or "").split(".")[0]
    yield warning(
        cause="ptx-compiler-missing",
        verdict=f"the driver's PTX compiler is of {version}, libcuda of {wanted}"
        if compiler
        else f"the driver's PTX compiler, {_SONAME}, is missing: programs with PTX only do not load",
        evidence=(
            f"{libcuda.real} ({libcuda.why})",
            f"{compiler.real} ({compiler.why})" if compiler else f"{_SONAME}: not on the loader's path",
        ),
        fix=driver.how_to_unlist(machine, compiler)
        if compiler and compiler.why != loader.CACHE
        else f"install all libraries of driver {wanted} (Debian, Ubuntu: libnvidia-compute-{major}), then: sudo ldconfig",
    )
