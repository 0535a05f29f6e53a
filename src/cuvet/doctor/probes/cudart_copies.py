"""Would the program have two CUDA runtimes, or another one than it seems?"""

from cuvet.doctor import loader, python
from cuvet.doctor.loader import Copy, Loaded
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, healthy, note, warning

TITLE = "copies of libcudart"
GROUP: Group = "libraries"

_SONAMES = ("libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13")
LOOKED_AT = ("libraries that the program needs", "LD_LIBRARY_PATH, /etc/ld.so.cache, Python packages")


def probe(machine: Machine) -> Conclusions:
    loaded = loader.closure(machine, machine.program).find("libcudart") if machine.program else ()
    if len({library.copy.real for library in loaded}) > 1:
        yield _two_in_one_program(loaded)
        return
    several = [copies for soname in _SONAMES if len(copies := _copies(machine, soname)) > 1]
    for copies in several:
        yield _several(copies)
    if not several:
        found = tuple(f"{copy.path} ({copy.why})" for soname in _SONAMES for copy in _copies(machine, soname))
        yield healthy(f"{len(found) or 'no'} libcudart on the path", evidence=found)


def _copies(machine: Machine, soname: str) -> tuple[Copy, ...]:
    if python.interpreter(machine):
        return python.copies(machine, soname)
    return loader.copies(machine, soname, (machine.program,) if machine.program else ())


def _two_in_one_program(loaded: tuple[Loaded, ...]) -> Conclusion:
    return warning(
        cause="cudart-several-copies",
        verdict=f"the program loads {len(loaded)} CUDA runtimes: each has its own streams' and events' bookkeeping and its own last error",
        evidence=tuple(f"{each.needed_by} needs {each.soname}: {each.copy.path} ({each.copy.why})" for each in loaded),
        fix="build all of the program's libraries with the same CUDA major version",
    )


def _several(copies: tuple[Copy, ...]) -> Conclusion:
    return note(
        cause="cudart-several-copies",
        verdict=f"there are {len(copies)} copies of libcudart with one name; {copies[0].path} comes first",
        evidence=tuple(f"{number}. {copy.path} ({copy.why})" for number, copy in enumerate(copies, 1)),
        fix="if a handle of one library is invalid in another: grep libcudart /proc/PID/maps shows whether both are loaded",
    )
