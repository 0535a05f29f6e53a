"""Is the toolkit's stub of libcuda, made for linking only, in front of the driver's?"""

from cuvet.doctor import driver, loader
from cuvet.doctor.loader import Copy
from cuvet.doctor.machine import Machine
from cuvet.doctor.probe import Conclusion, Conclusions, Group, error, healthy, unknown, warning

TITLE = "stub of libcuda"
GROUP: Group = "driver"

LOOKED_AT = ("libcuda.so.1 and libcuda.so in every directory of the loader's path", "cuInit")


def probe(machine: Machine) -> Conclusions:
    copies, cuda = driver.libcudas(machine), machine.state.cuda
    refused = cuda.path is not None and cuda.status == driver.STUB_LIBRARY
    if not copies:
        yield unknown("there is no libcuda.so.1 on the loader's path")
    elif driver.is_stub(copies[0]) or (refused and machine.realpath(cuda.path or "") == copies[0].real):
        yield _in_front(machine, copies, refused)
    elif stub := _under_unversioned_name(machine):
        yield warning(
            cause="driver-stub-in-front",
            verdict="programs that open libcuda.so, without .1, get the toolkit's stub",
            evidence=(
                f"{stub.path} ({stub.why}): a stub",
                f"{copies[0].path} ({copies[0].why}): libcuda.so.1 is the driver's",
            ),
            fix=driver.how_to_unlist(machine, stub),
        )
    else:
        evidence = tuple(f"{copy.path} ({copy.why})" for copy in copies)
        yield healthy(f"the loader takes {copies[0].path}", evidence=evidence)


def _under_unversioned_name(machine: Machine) -> Copy | None:
    """Numba and Warp open libcuda.so: https://github.com/numba/numba/issues/9732, https://github.com/NVIDIA/warp/issues/219."""
    found = loader.first(machine, "libcuda.so", driver.requesters(machine))
    return found if found and driver.is_stub(found) else None


def _in_front(machine: Machine, copies: tuple[Copy, ...], refused: bool) -> Conclusion:
    stub, real = copies[0], next((copy for copy in copies[1:] if not driver.is_stub(copy)), None)
    return error(
        cause="driver-stub-in-front",
        verdict="the loader takes the toolkit's stub of libcuda, "
        + ("not the driver's" if real else "and finds no other libcuda.so.1"),
        evidence=(
            f"{stub.path} ({stub.why}): a stub" + (f", {stub.real}" if stub.real != stub.path else ""),
            f"{real.path} ({real.why}): the driver's, comes later" if real else "no other libcuda.so.1",
            *([f"cuInit returned CUDA_ERROR_STUB_LIBRARY ({driver.STUB_LIBRARY})"] if refused else []),
        ),
        fix=driver.how_to_unlist(machine, stub),
    )
