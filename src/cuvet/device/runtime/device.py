"""Devices, their primary contexts, errors."""

from __future__ import annotations

from functools import cache

from cuvet.catalog import driver as driver_catalog
from cuvet.catalog import runtime as catalog
from cuvet.device import facts
from cuvet.device.invocation import read, write, write_word
from cuvet.device.protocol import Steps
from cuvet.device.runtime.call import INVALID_VALUE, RuntimeCall, error, release
from cuvet.model.statuses import STICKY

_DEVICES_UNAVAILABLE = error("cudaErrorDevicesUnavailable")


def initialise(call: RuntimeCall) -> Steps[int]:
    """cuInit, once per process."""
    if call.registry.initialised:
        return 0
    status = yield from call.driver("cuInit", 0)
    call.registry.initialised = status == 0
    return status


def ensure_context(call: RuntimeCall) -> Steps[int]:
    """See to it that a context is current: the primary one of this thread's device, if the program made none so. In a host function
    that is not permitted."""
    status = yield from initialise(call)
    if status or call.thread.host_functions:
        return status
    status, current = yield from call.ask("cuCtxGetCurrent")
    if status or (current and current not in call.registry.ended):
        return status
    return (yield from use_primary(call, call.device))


def use_primary(call: RuntimeCall, device: int) -> Steps[int]:
    """Make the device's primary context current. The runtime has its own name for what the driver answers when the context was
    lost and reset (measured: sticky_error)."""
    registry = call.registry
    handle = registry.primary.get(device, 0)
    if not handle:
        status, handle = yield from call.ask("cuDevicePrimaryCtxRetain", device)
        if status:
            return _DEVICES_UNAVAILABLE if status in STICKY else status
        registry.primary[device] = handle
        registry.ended.discard(handle)
    return (yield from call.driver("cuCtxSetCurrent", handle))


def _count(call: RuntimeCall) -> int:
    return call.process.model.devices


def cudaGetDeviceCount(call: RuntimeCall) -> Steps[int]:
    """The runtime remembers the count, even in a forked child (measured: fork_child_uses)."""
    if not call["count"]:
        return INVALID_VALUE
    if call.process.counted_before_fork:
        yield from write_word(call["count"], _count(call), 4)
        return 0
    status = yield from initialise(call)
    if status:
        yield from write_word(call["count"], 0, 4)
        return status
    return (yield from call.driver("cuDeviceGetCount", call["count"]))


def _look_up(call: RuntimeCall, ordinal: int) -> Steps[int]:
    """Status: whether there is such a device. If not, it is the driver's, so that the refusal is in the recording. (NVIDIA's
    runtime refuses by itself: runtime_refuses_by_itself. On a GPU it is not there.)"""
    if 0 <= ordinal < _count(call):
        return 0
    status, _ = yield from call.ask("cuDeviceGet", ordinal & 0xFFFFFFFF)
    return status


def cudaSetDevice(call: RuntimeCall) -> Steps[int]:
    status = (yield from initialise(call)) or (yield from _look_up(call, call.signed("device")))
    if status:
        return status
    call.thread.device = call["device"]
    return (yield from use_primary(call, call["device"]))


def cudaInitDevice(call: RuntimeCall) -> Steps[int]:
    status = (yield from initialise(call)) or (yield from _look_up(call, call.signed("device")))
    if status:
        return status
    if call["device"] in call.registry.primary:
        return 0
    status, handle = yield from call.ask("cuDevicePrimaryCtxRetain", call["device"])
    call.registry.primary[call["device"]] = handle
    return status


def cudaGetDevice(call: RuntimeCall) -> Steps[int]:
    if not call["device"]:
        return INVALID_VALUE
    status = yield from initialise(call)
    if status:
        return status
    status, current = yield from call.ask("cuCtxGetCurrent")
    if not status and current and current not in call.registry.ended:
        return (yield from call.driver("cuCtxGetDevice", call["device"], 0))
    yield from write_word(call["device"], call.device, 4)
    return 0


def cudaChooseDevice(call: RuntimeCall) -> Steps[int]:
    yield from write_word(call["device"], 0, 4)
    return 0


def cudaSetValidDevices(call: RuntimeCall) -> Steps[int]:
    return (yield from initialise(call))


def cudaSetDeviceFlags(call: RuntimeCall) -> Steps[int]:
    status = yield from initialise(call)
    return status or (yield from call.driver("cuDevicePrimaryCtxSetFlags", call.device, call["flags"]))


def cudaGetDeviceFlags(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    return status or (yield from call.driver("cuCtxGetFlags", call["flags"]))


def cudaDeviceSynchronize(call: RuntimeCall) -> Steps[int]:
    status = yield from ensure_context(call)
    return status or (yield from call.driver("cuCtxSynchronize", 0))


cudaThreadSynchronize = cudaDeviceSynchronize


def cudaDeviceReset(call: RuntimeCall) -> Steps[int]:
    """Where no context is current, as on a new thread, nothing is reset (measured: reset_by_another_thread)."""
    status = yield from initialise(call)
    if status:
        return status
    _, current = yield from call.ask("cuCtxGetCurrent")
    if not current:
        return 0
    device = call.device
    handle = call.registry.primary.pop(device, 0) or current
    status = yield from call.driver("cuDevicePrimaryCtxReset", device)
    if handle:
        call.registry.ended.add(handle)
    call.thread.error = 0
    return status


cudaThreadExit = cudaDeviceReset


def cudaRuntimeGetVersion(call: RuntimeCall) -> Steps[int]:
    """Never newer than the driver, which programs take for a broken installation."""
    major, minor = release(call.major).split(".")
    version = min(1000 * int(major) + 10 * int(minor), facts.FACTS.driver_version)
    yield from write_word(call["runtimeVersion"], version, 4)
    return 0


def cudaDriverGetVersion(call: RuntimeCall) -> Steps[int]:
    return (yield from call.driver("cuDriverGetVersion", call["driverVersion"]))


def cudaGetLastError(call: RuntimeCall) -> Steps[int]:
    yield from ()
    last, call.thread.error = call.thread.error, 0
    return last


def cudaPeekAtLastError(call: RuntimeCall) -> Steps[int]:
    yield from ()
    return call.thread.error


def cudaDeviceGetAttribute(call: RuntimeCall) -> Steps[int]:
    status = yield from initialise(call)
    return status or (yield from call.driver("cuDeviceGetAttribute", call["value"], call["attr"], call["device"]))


def cudaDeviceGetPCIBusId(call: RuntimeCall) -> Steps[int]:
    status = yield from initialise(call)
    return status or (yield from call.driver("cuDeviceGetPCIBusId", call["pciBusId"], call["len"], call["device"]))


def cudaDeviceEnablePeerAccess(call: RuntimeCall) -> Steps[int]:
    """The driver names the peer by its context."""
    return (yield from _peer(call, "cuCtxEnablePeerAccess", call["flags"]))


def cudaDeviceDisablePeerAccess(call: RuntimeCall) -> Steps[int]:
    return (yield from _peer(call, "cuCtxDisablePeerAccess"))


def _peer(call: RuntimeCall, name: str, *flags: int) -> Steps[int]:
    peer = call.signed("peerDevice")
    status = (yield from ensure_context(call)) or (yield from _look_up(call, peer))
    if status:
        return status
    handle = yield from primary_of(call, peer)
    return (yield from call.driver(name, handle, *flags))


def primary_of(call: RuntimeCall, device: int) -> Steps[int]:
    """Handle of a device's primary context, which is retained if it was not."""
    handle = call.registry.primary.get(device, 0)
    if not handle:
        status, handle = yield from call.ask("cuDevicePrimaryCtxRetain", device)
        if status == 0:
            call.registry.primary[device] = handle
            call.registry.ended.discard(handle)
    return handle


# cudaDeviceProp: a member is an attribute, or an array of them.


@cache
def _attribute_of_member() -> dict[str, tuple[str, ...]]:
    return {
        "sharedMemPerBlock": ("MAX_SHARED_MEMORY_PER_BLOCK",),
        "regsPerBlock": ("MAX_REGISTERS_PER_BLOCK",),
        "warpSize": ("WARP_SIZE",),
        "memPitch": ("MAX_PITCH",),
        "maxThreadsPerBlock": ("MAX_THREADS_PER_BLOCK",),
        "maxThreadsDim": ("MAX_BLOCK_DIM_X", "MAX_BLOCK_DIM_Y", "MAX_BLOCK_DIM_Z"),
        "maxGridSize": ("MAX_GRID_DIM_X", "MAX_GRID_DIM_Y", "MAX_GRID_DIM_Z"),
        "clockRate": ("CLOCK_RATE",),
        "totalConstMem": ("TOTAL_CONSTANT_MEMORY",),
        "major": ("COMPUTE_CAPABILITY_MAJOR",),
        "minor": ("COMPUTE_CAPABILITY_MINOR",),
        "textureAlignment": ("TEXTURE_ALIGNMENT",),
        "texturePitchAlignment": ("TEXTURE_PITCH_ALIGNMENT",),
        "deviceOverlap": ("GPU_OVERLAP",),
        "multiProcessorCount": ("MULTIPROCESSOR_COUNT",),
        "canMapHostMemory": ("CAN_MAP_HOST_MEMORY",),
        "maxTexture1D": ("MAXIMUM_TEXTURE1D_WIDTH",),
        "maxTexture1DLinear": ("MAXIMUM_TEXTURE1D_LINEAR_WIDTH",),
        "maxTexture2D": ("MAXIMUM_TEXTURE2D_WIDTH", "MAXIMUM_TEXTURE2D_HEIGHT"),
        "maxTexture3D": ("MAXIMUM_TEXTURE3D_WIDTH", "MAXIMUM_TEXTURE3D_HEIGHT", "MAXIMUM_TEXTURE3D_DEPTH"),
        "maxSurface1D": ("MAXIMUM_SURFACE1D_WIDTH",),
        "maxSurface2D": ("MAXIMUM_SURFACE2D_WIDTH", "MAXIMUM_SURFACE2D_HEIGHT"),
        "maxSurface3D": ("MAXIMUM_SURFACE3D_WIDTH", "MAXIMUM_SURFACE3D_HEIGHT", "MAXIMUM_SURFACE3D_DEPTH"),
        "surfaceAlignment": ("SURFACE_ALIGNMENT",),
        "concurrentKernels": ("CONCURRENT_KERNELS",),
        "ECCEnabled": ("ECC_ENABLED",),
        "asyncEngineCount": ("ASYNC_ENGINE_COUNT",),
        "unifiedAddressing": ("UNIFIED_ADDRESSING",),
        "memoryClockRate": ("MEMORY_CLOCK_RATE",),
        "memoryBusWidth": ("GLOBAL_MEMORY_BUS_WIDTH",),
        "l2CacheSize": ("L2_CACHE_SIZE",),
        "persistingL2CacheMaxSize": ("MAX_PERSISTING_L2_CACHE_SIZE",),
        "maxThreadsPerMultiProcessor": ("MAX_THREADS_PER_MULTIPROCESSOR",),
        "streamPrioritiesSupported": ("STREAM_PRIORITIES_SUPPORTED",),
        "globalL1CacheSupported": ("GLOBAL_L1_CACHE_SUPPORTED",),
        "localL1CacheSupported": ("LOCAL_L1_CACHE_SUPPORTED",),
        "sharedMemPerMultiprocessor": ("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",),
        "regsPerMultiprocessor": ("MAX_REGISTERS_PER_MULTIPROCESSOR",),
        "managedMemory": ("MANAGED_MEMORY",),
        "concurrentManagedAccess": ("CONCURRENT_MANAGED_ACCESS",),
        "computePreemptionSupported": ("COMPUTE_PREEMPTION_SUPPORTED",),
        "canUseHostPointerForRegisteredMem": ("CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM",),
        "cooperativeLaunch": ("COOPERATIVE_LAUNCH",),
        "sharedMemPerBlockOptin": ("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",),
        "maxBlocksPerMultiProcessor": ("MAX_BLOCKS_PER_MULTIPROCESSOR",),
        "accessPolicyMaxWindowSize": ("MAX_ACCESS_POLICY_WINDOW_SIZE",),
        "reservedSharedMemPerBlock": ("RESERVED_SHARED_MEMORY_PER_BLOCK",),
        "hostRegisterSupported": ("HOST_REGISTER_SUPPORTED",),
        "hostRegisterReadOnlySupported": ("READ_ONLY_HOST_REGISTER_SUPPORTED",),
        "memoryPoolsSupported": ("MEMORY_POOLS_SUPPORTED",),
        "clusterLaunch": ("CLUSTER_LAUNCH",),
        "unifiedFunctionPointers": ("UNIFIED_FUNCTION_POINTERS",),
    }


def cudaGetDeviceProperties(call: RuntimeCall) -> Steps[int]:
    device = call.signed("device")
    status = (yield from initialise(call)) or (yield from _look_up(call, device))
    if status:
        return status
    layout = catalog().struct("cudaDeviceProp", release(call.major))
    data = bytearray(layout.bytes)

    def put(member: str, value: bytes) -> None:
        if member in layout.fields:
            offset, size, _ = layout.fields[member]
            data[offset : offset + size] = value[:size].ljust(size, b"\0")

    for member, names in _attribute_of_member().items():
        if member in layout.fields:
            width = layout.fields[member][1] // len(names)
            put(member, b"".join(facts.named(name).to_bytes(width, "little") for name in names))
    put("name", facts.FACTS.name.encode())
    put("uuid", facts.uuid(device))
    put("totalGlobalMem", call.process.machine.memory.to_bytes(8, "little"))
    put("pciBusID", (facts.attribute(device, _pci_bus()) or 0).to_bytes(4, "little"))
    yield from write(call["prop"], bytes(data))
    return 0


def _pci_bus() -> int:
    return driver_catalog().enumerations["CUdevice_attribute"]["CU_DEVICE_ATTRIBUTE_PCI_BUS_ID"]


def cudaGetDriverEntryPoint(call: RuntimeCall) -> Steps[int]:
    return (yield from _driver_entry_point(call, facts.FACTS.driver_version))


def cudaGetDriverEntryPointByVersion(call: RuntimeCall) -> Steps[int]:
    return (yield from _driver_entry_point(call, call["cudaVersion"]))


def _driver_entry_point(call: RuntimeCall, version: int) -> Steps[int]:
    found = yield from call.scratch()
    yield from call.driver("cuGetProcAddress", call["symbol"], call["funcPtr"], version, 0, found)
    if call["driverStatus"]:
        state = yield from read(found, 4)
        yield from write(call["driverStatus"], state)
    return 0


def cudaProfilerStart(call: RuntimeCall) -> Steps[int]:
    yield from ()
    return 0


cudaProfilerStop = cudaProfilerStart
