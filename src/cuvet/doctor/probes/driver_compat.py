"""Is a forward-compatibility libcuda in front of a driver that does not take it?"""

from cuvet.doctor import driver
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusions, Group, error, healthy, unknown

TITLE = "forward-compatibility libcuda"
GROUP: Group = "driver"

LOOKED_AT = ("libcuda.so.1 in every directory of the loader's path", driver.PROC_VERSION, "cuInit")


def probe(machine: Machine) -> Conclusions:
    copies, kernel, status = driver.libcudas(machine), driver.kernel_version(machine), machine.state.cuda.status
    compat = next((copy for copy in copies if not driver.is_stub(copy)), None)
    if compat is None:
        yield unknown("there is no libcuda.so.1 on the loader's path")
        return
    version = driver.version_of(compat)
    older = bool(version and kernel and driver.as_numbers(version) < driver.as_numbers(kernel))
    refused = status in (driver.SYSTEM_DRIVER_MISMATCH, driver.COMPAT_NOT_SUPPORTED)
    if not driver.is_compat(compat):
        yield healthy("no compat libcuda comes first", evidence=(f"{compat.path} ({compat.why})",))
    elif driver.starts(machine) or not (older or refused):
        yield healthy(f"compat libcuda {version} serves driver {kernel}", evidence=(compat.real,))
    else:
        native = next((copy for copy in copies if not driver.is_compat(copy) and not driver.is_stub(copy)), None)
        mixed = "does not go with it"
        reason = "is older" if older else "is not for this GPU" if status == driver.COMPAT_NOT_SUPPORTED else mixed
        yield error(
            cause="driver-compat-in-front",
            verdict=f"the loader takes a compat libcuda ({version}) before that of driver {kernel}, and it {reason}",
            evidence=(
                f"{compat.path} ({compat.why}): {compat.real}",
                f"{driver.PROC_VERSION}: {kernel}",
                *([f"{native.path} ({native.why}): the driver's, comes later"] if native else []),
                *([f"cuInit returned {status}"] if status else []),
            ),
            fix=driver.how_to_unlist(machine, compat),
        )
