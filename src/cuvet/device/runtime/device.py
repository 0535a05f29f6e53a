"""Devices, their primary contexts, errors."""

from contextlib import suppress
from functools import partial

from cuvet.catalog import driver as driver_catalog
from cuvet.catalog import runtime as catalog
from cuvet.device import facts
from cuvet.device.invocation import Refused, read, require, write, write_word
from cuvet.device.protocol import Steps
from cuvet.device.runtime.call import RuntimeCall, attribute_name, error, release
from cuvet.model.statuses import STICKY

_DEVICES_UNAVAILABLE = error("cudaErrorDevicesUnavailable")


def initialise(call: RuntimeCall) -> Steps[None]:
    """cuInit, once per process. Refused if it fails."""
    if not call.registry.initialised:
        yield from call.driver("cuInit", 0)
        call.registry.initialised = True


def ensure_context(call: RuntimeCall) -> Steps[None]:
    """See to it that a context is current: the primary one of this thread's device, if the program made none so. In a host function
    that is not permitted. Refused if it fails."""
    yield from initialise(call)
    if call.thread.host_functions:
        return
    current = yield from call.ask("cuCtxGetCurrent")
    if not current or current in call.registry.ended:
        yield from _use_primary(call, call.device)


def _use_primary(call: RuntimeCall, device: int) -> Steps[None]:
    """Make the device's primary context current. The runtime has its own name for what the driver answers when the context was
    lost and reset (measured: sticky_error)."""
    try:
        handle = yield from _retain_primary(call, device)
    except Refused as refused:
        raise Refused(_DEVICES_UNAVAILABLE if refused.status in STICKY else refused.status) from None
    yield from call.driver("cuCtxSetCurrent", handle)


def _retain_primary(call: RuntimeCall, device: int) -> Steps[int]:
    """Handle of a device's primary context, which is retained if it was not."""
    registry = call.registry
    handle = registry.primary.get(device, 0)
    if not handle:
        handle = registry.primary[device] = yield from call.ask("cuDevicePrimaryCtxRetain", device)
        registry.ended.discard(handle)
    return handle


def primary_of(call: RuntimeCall, device: int) -> Steps[int]:
    """Handle of a device's primary context, which is retained if it was not; 0 if it cannot be."""
    try:
        return (yield from _retain_primary(call, device))
    except Refused:
        return 0


def cudaGetDeviceCount(call: RuntimeCall) -> Steps[None]:
    """The runtime remembers the count, even in a forked child (measured: fork_child_uses)."""
    require(call["count"])
    if call.process.counted_before_fork:
        yield from write_word(call["count"], call.process.model.devices, 4)
        return
    try:
        yield from initialise(call)
    except Refused:
        yield from write_word(call["count"], 0, 4)
        raise
    yield from call.driver("cuDeviceGetCount", call["count"])


def _look_up(call: RuntimeCall, ordinal: int) -> Steps[None]:
    """Refused if there is no such device: by the driver, so that the refusal is in the recording. (NVIDIA's
    runtime refuses by itself: runtime_refuses_by_itself. On a GPU it is not there.)"""
    if not 0 <= ordinal < call.process.model.devices:
        yield from call.ask("cuDeviceGet", ordinal & 0xFFFFFFFF)


def cudaSetDevice(call: RuntimeCall) -> Steps[None]:
    yield from initialise(call)
    yield from _look_up(call, call.signed("device"))
    call.thread.device = call["device"]
    yield from _use_primary(call, call["device"])


def cudaInitDevice(call: RuntimeCall) -> Steps[None]:
    yield from initialise(call)
    yield from _look_up(call, call.signed("device"))
    yield from _retain_primary(call, call["device"])


def _current(call: RuntimeCall) -> Steps[int]:
    """Handle of the current context; 0 if there is none, or the driver refuses to say."""
    try:
        return (yield from call.ask("cuCtxGetCurrent"))
    except Refused:
        return 0


def cudaGetDevice(call: RuntimeCall) -> Steps[None]:
    require(call["device"])
    yield from initialise(call)
    current = yield from _current(call)
    if current and current not in call.registry.ended:
        yield from call.driver("cuCtxGetDevice", call["device"], 0)
    else:
        yield from write_word(call["device"], call.device, 4)


def cudaChooseDevice(call: RuntimeCall) -> Steps[None]:
    yield from write_word(call["device"], 0, 4)


cudaSetValidDevices = initialise


def cudaSetDeviceFlags(call: RuntimeCall) -> Steps[None]:
    yield from initialise(call)
    yield from call.driver("cuDevicePrimaryCtxSetFlags", call.device, call["flags"])


def cudaDeviceReset(call: RuntimeCall) -> Steps[None]:
    """Where no context is current, as on a new thread, nothing is reset (measured: reset_by_another_thread)."""
    yield from initialise(call)
    current = yield from _current(call)
    if current:
        call.registry.ended.add(call.registry.primary.pop(call.device, 0) or current)
        call.thread.error = 0
        yield from call.driver("cuDevicePrimaryCtxReset", call.device)


cudaThreadExit = cudaDeviceReset


def cudaRuntimeGetVersion(call: RuntimeCall) -> Steps[None]:
    """Never newer than the driver, which programs take for a broken installation."""
    major, minor = release(call.major).split(".")
    version = min(1000 * int(major) + 10 * int(minor), facts.FACTS.driver_version)
    yield from write_word(call["runtimeVersion"], version, 4)


def cudaDriverGetVersion(call: RuntimeCall) -> Steps[None]:
    yield from call.driver("cuDriverGetVersion", call["driverVersion"])


def cudaGetLastError(call: RuntimeCall) -> Steps[int]:
    yield from ()
    last, call.thread.error = call.thread.error, 0
    return last


def cudaPeekAtLastError(call: RuntimeCall) -> Steps[int]:
    yield from ()
    return call.thread.error


def _peer(call: RuntimeCall, name: str) -> Steps[None]:
    """The driver names the peer by its context."""
    peer = call.signed("peerDevice")
    yield from ensure_context(call)
    yield from _look_up(call, peer)
    handle = yield from primary_of(call, peer)
    yield from call.driver(name, handle, *(call[word] for word in ("flags",) if word in call.words))


cudaDeviceEnablePeerAccess = partial(_peer, name="cuCtxEnablePeerAccess")
cudaDeviceDisablePeerAccess = partial(_peer, name="cuCtxDisablePeerAccess")


# cudaDeviceProp: a member is an attribute, or an array of them.


_ATTRIBUTES_OF_THAT_NAME = """
    warpSize maxThreadsPerBlock clockRate textureAlignment texturePitchAlignment canMapHostMemory
    surfaceAlignment concurrentKernels asyncEngineCount unifiedAddressing memoryClockRate l2CacheSize
    streamPrioritiesSupported globalL1CacheSupported localL1CacheSupported managedMemory concurrentManagedAccess
    computePreemptionSupported canUseHostPointerForRegisteredMem cooperativeLaunch hostRegisterSupported
    memoryPoolsSupported clusterLaunch unifiedFunctionPointers
""".split()
_ATTRIBUTES_OF_MEMBER: dict[str, tuple[str, ...]] = {
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


def cudaGetDeviceProperties(call: RuntimeCall) -> Steps[None]:
    device = call.signed("device")
    yield from initialise(call)
    yield from _look_up(call, device)
    layout = catalog().struct("cudaDeviceProp", release(call.major))
    bus = driver_catalog().enumerations["CUdevice_attribute"]["CU_DEVICE_ATTRIBUTE_PCI_BUS_ID"]
    members: dict[str, int | bytes] = {
        "name": facts.FACTS.name.encode(),
        "uuid": facts.uuid(device),
        "totalGlobalMem": call.process.machine.memory,
        "pciBusID": facts.attribute(device, bus) or 0,
    }
    for member, names in _ATTRIBUTES_OF_MEMBER.items():
        if member in layout.fields:
            width = layout.fields[member][1] // len(names)
            members[member] = b"".join(facts.named(name).to_bytes(width, "little") for name in names)
    yield from write(call["prop"], catalog().pack("cudaDeviceProp", members, release(call.major)))


def _driver_entry_point(call: RuntimeCall) -> Steps[None]:
    found = yield from call.scratch()
    version = call.words.get("cudaVersion", facts.FACTS.driver_version)
    with suppress(Refused):
        yield from call.driver("cuGetProcAddress", call["symbol"], call["funcPtr"], version, 0, found)
    if call["driverStatus"]:
        state = yield from read(found, 4)
        yield from write(call["driverStatus"], state)


cudaGetDriverEntryPoint = cudaGetDriverEntryPointByVersion = _driver_entry_point


def cudaProfilerStart(call: RuntimeCall) -> Steps[None]:
    yield from ()


cudaProfilerStop = cudaProfilerStart
