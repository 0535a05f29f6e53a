"""What the emulated device says of itself; the figures and their sources are in ``facts.json``."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from cuvet.catalog import Struct


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
def _numbers() -> dict[str, int]:
    """CUdevice_attribute."""
    from cuvet.catalog import driver  # start: the launcher needs the figures only

    return driver().enumerations["CUdevice_attribute"]


@cache
def _attributes() -> dict[int, int]:
    numbers = _numbers()
    return {number: FACTS.attributes.get(name[len(_PREFIX) :], 0) for name, number in reversed(numbers.items())} | {
        numbers[_PREFIX + name]: value for name, value in FACTS.attributes.items()
    }


def attribute(device: int, number: int) -> int | None:
    """Value of a CUdevice_attribute; None if there is no such attribute."""
    if number == _numbers()[_PREFIX + "PCI_BUS_ID"]:
        return device + 1
    return _attributes().get(number)


def named(name: str) -> int:
    """Value of CU_DEVICE_ATTRIBUTE_``name``, of the first device. KeyError if there is no such attribute."""
    return _attributes()[_numbers()[_PREFIX + name]]


def uuid(device: int) -> bytes:
    """16 bytes that tell the emulated devices apart."""
    return b"cuvet emulated" + device.to_bytes(2, "big")


def attribute_name(member: str) -> str:
    """What the driver calls the attribute that a struct's member shows: ``WARP_SIZE`` of ``warpSize``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", member).upper()


_ATTRIBUTES_OF_THAT_NAME = """
    warpSize maxThreadsPerBlock clockRate textureAlignment texturePitchAlignment canMapHostMemory
    surfaceAlignment concurrentKernels asyncEngineCount unifiedAddressing memoryClockRate l2CacheSize
    streamPrioritiesSupported globalL1CacheSupported localL1CacheSupported managedMemory concurrentManagedAccess
    computePreemptionSupported canUseHostPointerForRegisteredMem cooperativeLaunch hostRegisterSupported
    memoryPoolsSupported clusterLaunch unifiedFunctionPointers
""".split()
_SHOWN_BY: dict[str, tuple[str, ...]] = {
    **{member: (attribute_name(member),) for member in _ATTRIBUTES_OF_THAT_NAME},
    "sharedMemPerBlock": ("MAX_SHARED_MEMORY_PER_BLOCK",),
    "regsPerBlock": ("MAX_REGISTERS_PER_BLOCK",),
    "memPitch": ("MAX_PITCH",),
    "maxThreadsDim": ("MAX_BLOCK_DIM_X", "MAX_BLOCK_DIM_Y", "MAX_BLOCK_DIM_Z"),
    "maxGridSize": ("MAX_GRID_DIM_X", "MAX_GRID_DIM_Y", "MAX_GRID_DIM_Z"),
    "totalConstMem": ("TOTAL_CONSTANT_MEMORY",),
    "major": ("COMPUTE_CAPABILITY_MAJOR",),
    "minor": ("COMPUTE_CAPABILITY_MINOR",),
    "deviceOverlap": ("GPU_OVERLAP",),
    "multiProcessorCount": ("MULTIPROCESSOR_COUNT",),
    "maxTexture1D": ("MAXIMUM_TEXTURE1D_WIDTH",),
    "maxTexture1DLinear": ("MAXIMUM_TEXTURE1D_LINEAR_WIDTH",),
    "maxTexture2D": ("MAXIMUM_TEXTURE2D_WIDTH", "MAXIMUM_TEXTURE2D_HEIGHT"),
    "maxTexture3D": ("MAXIMUM_TEXTURE3D_WIDTH", "MAXIMUM_TEXTURE3D_HEIGHT", "MAXIMUM_TEXTURE3D_DEPTH"),
    "maxSurface1D": ("MAXIMUM_SURFACE1D_WIDTH",),
    "maxSurface2D": ("MAXIMUM_SURFACE2D_WIDTH", "MAXIMUM_SURFACE2D_HEIGHT"),
    "maxSurface3D": ("MAXIMUM_SURFACE3D_WIDTH", "MAXIMUM_SURFACE3D_HEIGHT", "MAXIMUM_SURFACE3D_DEPTH"),
    "totalConstantMemory": ("TOTAL_CONSTANT_MEMORY",),
    "SIMDWidth": ("WARP_SIZE",),
    "textureAlign": ("TEXTURE_ALIGNMENT",),
    "ECCEnabled": ("ECC_ENABLED",),
    "memoryBusWidth": ("GLOBAL_MEMORY_BUS_WIDTH",),
    "persistingL2CacheMaxSize": ("MAX_PERSISTING_L2_CACHE_SIZE",),
    "maxThreadsPerMultiProcessor": ("MAX_THREADS_PER_MULTIPROCESSOR",),
    "sharedMemPerMultiprocessor": ("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",),
    "regsPerMultiprocessor": ("MAX_REGISTERS_PER_MULTIPROCESSOR",),
    "sharedMemPerBlockOptin": ("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",),
    "maxBlocksPerMultiProcessor": ("MAX_BLOCKS_PER_MULTIPROCESSOR",),
    "accessPolicyMaxWindowSize": ("MAX_ACCESS_POLICY_WINDOW_SIZE",),
    "reservedSharedMemPerBlock": ("RESERVED_SHARED_MEMORY_PER_BLOCK",),
    "hostRegisterReadOnlySupported": ("READ_ONLY_HOST_REGISTER_SUPPORTED",),
}
"""Attributes that members of cudaDeviceProp and CUdevprop show; several, if the member is an array."""


def shown_by(layout: Struct) -> dict[str, bytes]:
    """The struct's members that show attributes of the first device."""
    found = {}
    for member, names in _SHOWN_BY.items():
        if member in layout.fields:
            width = layout.fields[member][1] // len(names)
            found[member] = b"".join(named(name).to_bytes(width, "little") for name in names)
    return found
