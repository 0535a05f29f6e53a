"""What the emulated device says of itself; the figures and their sources are in ``facts.json``."""

from functools import cache
from pathlib import Path

import msgspec

from cuvet.catalog import driver


class _Facts(msgspec.Struct):
    source: list[str]
    name: str
    driver_version: int
    total_memory_bytes: int
    stream_priority_least: int
    stream_priority_greatest: int
    highest_ptx_version: str
    attributes: dict[str, int]


FACTS = msgspec.json.decode((Path(__file__).parent / "facts.json").read_bytes(), type=_Facts)
TOTAL_MEMORY = FACTS.total_memory_bytes
COMPUTE_CAPABILITY = (FACTS.attributes["COMPUTE_CAPABILITY_MAJOR"], FACTS.attributes["COMPUTE_CAPABILITY_MINOR"])
SM = 10 * COMPUTE_CAPABILITY[0] + COMPUTE_CAPABILITY[1]
HIGHEST_PTX = tuple(int(part) for part in FACTS.highest_ptx_version.split("."))
_PREFIX = "CU_DEVICE_ATTRIBUTE_"


@cache
def _attributes() -> dict[int, int]:
    numbers = driver().enumerations["CUdevice_attribute"]
    return {number: FACTS.attributes.get(name[len(_PREFIX) :], 0) for name, number in reversed(numbers.items())} | {
        numbers[_PREFIX + name]: value for name, value in FACTS.attributes.items()
    }


def attribute(device: int, number: int) -> int | None:
    """Value of a CUdevice_attribute; None if there is no such attribute."""
    if number == driver().enumerations["CUdevice_attribute"][_PREFIX + "PCI_BUS_ID"]:
        return device + 1
    return _attributes().get(number)


def named(name: str) -> int:
    """Value of CU_DEVICE_ATTRIBUTE_``name``, of the first device. KeyError if there is no such attribute."""
    return _attributes()[driver().enumerations["CUdevice_attribute"][_PREFIX + name]]


def uuid(device: int) -> bytes:
    """16 bytes that tell the emulated devices apart."""
    return b"cuvet emulated" + device.to_bytes(2, "big")
