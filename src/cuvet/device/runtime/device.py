"""Devices, their primary contexts, errors."""

from collections.abc import Iterable
from contextlib import suppress
from functools import partial

from cuvet.catalog import driver as driver_catalog
from cuvet.catalog import runtime as catalog
from cuvet.device import facts
from cuvet.device.invocation import Refused, read, require, write, write_word
from cuvet.device.protocol import Command, Steps
from cuvet.device.runtime.call import RuntimeCall, error, release
from cuvet.model.statuses import STICKY

_DEVICES_UNAVAILABLE = error("cudaErrorDevicesUnavailable")


def initialise(call: RuntimeCall) -> Steps[None]:
    """cuInit, once per process. Refused if it fails."""
    if not call.registry.initialised:
        yield from call.driver("cuInit", 0)
        call.registry.initialised = True


def ensure_context(call: RuntimeCall) -> Iterable[Command]:
    """See to it that a context is current: the primary one of this thread's device, if the program made none so. In a host function
    that is not permitted. Refused if it fails."""
    registry = call.thread.process.registry
    if registry.initialised and not call.thread.host_functions:
        current = call.repeat("cuCtxGetCurrent")
        if current is not None:
            return () if current and current not in registry.ended else _use_primary(call, call.device)
    return _make_current(call)


def _make_current(call: RuntimeCall) -> Steps[None]:
    registry = call.registry
    if not registry.initialised:
        yield from initialise(call)
    if call.thread.host_functions:
        return
    current = yield from call.ask("cuCtxGetCurrent")
    if not current or current in registry.ended:
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


def look_up(call: RuntimeCall, ordinal: int) -> Steps[None]:
    """Refused if there is no such device: by the driver, so that the refusal is in the recording. (NVIDIA's
    runtime refuses by itself: runtime_refuses_by_itself. On a GPU it is not there.)"""
    if not 0 <= ordinal < call.process.model.devices:
        yield from call.ask("cuDeviceGet", ordinal & 0xFFFFFFFF)


def cudaSetDevice(call: RuntimeCall) -> Steps[None]:
    yield from initialise(call)
    yield from look_up(call, call.signed("device"))
    call.thread.device = call["device"]
    yield from _use_primary(call, call["device"])


def cudaInitDevice(call: RuntimeCall) -> Steps[None]:
    yield from initialise(call)
    yield from look_up(call, call.signed("device"))
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
    yield from look_up(call, peer)
    handle = yield from primary_of(call, peer)
    yield from call.driver(name, handle, *(call[word] for word in ("flags",) if word in call.index))


cudaDeviceEnablePeerAccess = partial(_peer, name="cuCtxEnablePeerAccess")
cudaDeviceDisablePeerAccess = partial(_peer, name="cuCtxDisablePeerAccess")


def cudaGetDeviceProperties(call: RuntimeCall) -> Steps[None]:
    device = call.signed("device")
    yield from initialise(call)
    yield from look_up(call, device)
    layout = catalog().struct("cudaDeviceProp", release(call.major))
    bus = driver_catalog().enumerations["CUdevice_attribute"]["CU_DEVICE_ATTRIBUTE_PCI_BUS_ID"]
    members: dict[str, int | bytes] = {
        "name": facts.FACTS.name.encode(),
        "uuid": facts.uuid(device),
        "totalGlobalMem": call.process.machine.memory,
        "pciBusID": facts.attribute(device, bus) or 0,
    }
    members.update(facts.shown_by(layout))
    yield from write(call["prop"], catalog().pack("cudaDeviceProp", members, release(call.major)))


def _driver_entry_point(call: RuntimeCall) -> Steps[None]:
    found = yield from call.scratch()
    version = call.get("cudaVersion", facts.FACTS.driver_version)
    with suppress(Refused):
        yield from call.driver("cuGetProcAddress", call["symbol"], call["funcPtr"], version, 0, found)
    if call["driverStatus"]:
        state = yield from read(found, 4)
        yield from write(call["driverStatus"], state)


cudaGetDriverEntryPoint = cudaGetDriverEntryPointByVersion = _driver_entry_point


def cudaProfilerStart(call: RuntimeCall) -> Steps[None]:
    yield from ()


cudaProfilerStop = cudaProfilerStart
