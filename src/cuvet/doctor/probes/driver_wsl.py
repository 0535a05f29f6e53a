"""Under WSL: is the libcuda of the Windows driver on the loader's path, under both of its names?"""

from cuvet.doctor import driver, loader
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy, unknown
from cuvet.sonames import DRIVER

TITLE = "libcuda under WSL"
GROUP: Group = "driver"

_NAMES = (DRIVER, "libcuda.so")
LOOKED_AT = ("/proc/sys/kernel/osrelease", driver.WSL_LIBRARIES, *_NAMES)


def probe(machine: Machine) -> Conclusions:
    if not driver.is_wsl(machine):
        yield healthy("not WSL", LOOKED_AT[0])
        return
    if not machine.is_directory(driver.WSL_LIBRARIES):
        yield unknown(f"WSL without {driver.WSL_LIBRARIES}: the Windows driver does not offer its libcuda here")
        return
    found = {name: loader.first(machine, name, driver.requesters(machine)) for name in _NAMES}
    evidence = tuple(
        f"{name}: {copy.path if copy else 'not on the path of the loader'}" for name, copy in found.items()
    )
    foreign = found[DRIVER]
    if foreign and not driver.is_of_windows(machine, foreign):
        yield error(
            cause="driver-wsl-not-found",
            verdict="the loader takes a Linux driver's libcuda, not that of the Windows driver",
            evidence=(*evidence, f"{driver.WSL_LIBRARIES}/libcuda.so.1: the Windows driver's"),
            fix=f"remove the Linux driver's package that owns {foreign.real} (dpkg -S {foreign.real}); WSL needs none",
        )
    elif None in found.values():
        missing = " and ".join(name for name, copy in found.items() if copy is None)
        yield Conclusion(
            severity="error" if found[DRIVER] is None else "warning",
            cause="driver-wsl-not-found",
            verdict=f"the loader does not find {missing}, which WSL keeps in {driver.WSL_LIBRARIES}",
            evidence=(*evidence, f"{driver.WSL_LIBRARIES}: {', '.join(_libcudas(machine)) or 'no libcuda'}"),
            fix=f"export LD_LIBRARY_PATH={driver.WSL_LIBRARIES}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}",
        )
    else:
        yield healthy("the Windows driver's libcuda is found under both names", evidence=evidence)


def _libcudas(machine: Machine) -> list[str]:
    return [name for name in machine.names(driver.WSL_LIBRARIES) if name.startswith("libcuda.so")]
