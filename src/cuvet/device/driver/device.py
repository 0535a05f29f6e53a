"""The driver itself, and its devices."""

from collections.abc import Callable
from functools import partial

from cuvet.catalog import Kind, status_name
from cuvet.catalog import driver as catalog
from cuvet.catalog import results as status
from cuvet.device import facts
from cuvet.device.invocation import Invocation, Refused, do_nothing, gives, read, require, waits, write, write_word
from cuvet.device.protocol import Command, Op, Steps, Text

_REAL_RUNTIME = "NVIDIA's CUDA runtime, which accepts only NVIDIA's driver"
_ADDRESS_NOT_FOUND, _ADDRESS_FOUND = 1, 0


def cuInit(call: Invocation) -> None:
    require(call.model.devices, status.NO_DEVICE)


def cuDriverGetVersion(call: Invocation) -> None:
    require(call["driverVersion"])
    call.give("driverVersion", facts.FACTS.driver_version)


def _error_text(call: Invocation) -> Steps[None]:
    name = status_name("driver", call["error"])
    require(name in catalog().enumerations["CUresult"])
    described = name.removeprefix("CUDA_ERROR_").replace("_", " ").lower() if call["error"] else "no error"
    text = name if call.call.name == "cuGetErrorName" else described
    call.outputs[call.entry_point.index["pStr"]] = yield from call.constant(text.encode())


cuGetErrorName = cuGetErrorString = _error_text


def cuGetProcAddress(call: Invocation) -> Steps[None]:
    found = yield Command(Op.LOOKUP, (0,), call.text("symbol"))
    call.give("symbolStatus", _ADDRESS_FOUND if found.word else _ADDRESS_NOT_FOUND)
    call.give("pfn", found.word)
    require(found.word, status.NOT_FOUND)


def cuGetExportTable(call: Invocation) -> Steps[None]:
    """NVIDIA's own runtime asks for it, to find out whether the driver is genuine: it is not, and every call of that runtime fails.
    That is fatal for a program that was linked with it. A Python client whose library merely looks at versions goes on, and makes
    a context by other means."""
    process = call.process
    if not process.unsupported and not any(call.model.objects(Kind.CONTEXT)):
        process.unsupported = True
        yield Command(Op.MESSAGE, (Text.UNSUPPORTED,), _REAL_RUNTIME.encode())
    raise Refused(status.NOT_SUPPORTED)


def context_made(call: Invocation) -> Steps[None]:
    """The program can use the device after all."""
    if call.process.unsupported:
        call.process.unsupported = False
        yield Command(Op.MESSAGE, (Text.SUPPORTED,))


cuDeviceGetCount = gives(count=lambda call: call.model.devices)
cuDeviceGet = gives(device=lambda call: call["ordinal"])
cuDeviceTotalMem = gives(bytes=lambda call: call.process.machine.memory)
cuDeviceComputeCapability = gives(
    major=lambda _: facts.COMPUTE_CAPABILITY[0], minor=lambda _: facts.COMPUTE_CAPABILITY[1]
)
cuDeviceCanAccessPeer = gives(canAccessPeer=lambda call: int(call["dev"] != call["peerDev"]))
cuDeviceGetExecAffinitySupport = gives(pi=lambda _: 0)
cuDeviceGetTexture1DLinearMaxWidth = gives(maxWidthInElements=lambda _: facts.named("MAXIMUM_TEXTURE1D_LINEAR_WIDTH"))
cuModuleGetLoadingMode = gives(mode=lambda _: catalog().enumerations["CUmoduleLoadingMode"]["CU_MODULE_LAZY_LOADING"])


def cuDeviceGetAttribute(call: Invocation) -> None:
    value = facts.attribute(call["dev"], call["attrib"])
    if value is None:
        raise Refused(status.INVALID_VALUE)
    call.give("pi", value)


def _text(call: Invocation, parameter: str, text: Callable[[int], str]) -> Steps[None]:
    room = call.signed("len")
    require(call[parameter] and room > 0)
    yield from write(call[parameter], text(call["dev"]).encode()[: room - 1] + b"\0")


def _bus_id(device: int) -> str:
    return f"0000:{device + 1:02X}:00.0"


cuDeviceGetName = partial(_text, parameter="name", text=lambda _: facts.FACTS.name)
cuDeviceGetPCIBusId = partial(_text, parameter="pciBusId", text=_bus_id)


def cuDeviceGetByPCIBusId(call: Invocation) -> None:
    wanted = call.text("pciBusId").decode("ascii", "replace").upper()
    for device in range(call.model.devices):
        if wanted in (_bus_id(device), _bus_id(device)[5:], _bus_id(device)[:-2]):
            call.give("dev", device)
            return
    raise Refused(status.INVALID_DEVICE)


def cuDeviceGetUuid(call: Invocation) -> Steps[None]:
    yield from write(call["uuid"], facts.uuid(call["dev"]))


def cuDeviceGetProperties(call: Invocation) -> Steps[None]:
    members = facts.shown_by(catalog().struct("CUdevprop"))
    yield from write(call["prop"], catalog().pack("CUdevprop", members))


def cuDeviceGetP2PAttribute(call: Invocation) -> None:
    require(call["srcDevice"] != call["dstDevice"], status.INVALID_DEVICE)
    name = catalog().enumerator("CUdevice_P2PAttribute", call["attrib"], "CU_DEVICE_P2P_ATTRIBUTE_")
    call.give("value", int(name in ("ACCESS_SUPPORTED", "CUDA_ARRAY_ACCESS_SUPPORTED")))


def cuDevicePrimaryCtxRetain(call: Invocation) -> Steps[None]:
    """A device's primary context keeps its handle through resets."""
    yield from context_made(call)
    call.give("pctx", call.handle_of("primary context", call["dev"], Kind.CONTEXT))


cuDevicePrimaryCtxRelease = do_nothing
cuDevicePrimaryCtxReset = waits


def cuDevicePrimaryCtxSetFlags(call: Invocation) -> None:
    call.set("primary flags", call["dev"], call["flags"])


def cuDevicePrimaryCtxGetState(call: Invocation) -> None:
    primary = call.model.primary_context(call["dev"])
    call.give("flags", call.get("primary flags", call["dev"]))
    call.give("active", int(primary is not None and primary.alive))


cuProfilerStart = cuProfilerStop = do_nothing
"""Starting twice, and stopping without a start, succeed (NVIDIA H200, driver 580.159, CUDA 13.0)."""


def cuThreadExchangeStreamCaptureMode(call: Invocation) -> Steps[None]:
    wanted = yield from read(call["mode"], 4)
    yield from write_word(call["mode"], call.get("capture mode", call.thread.number), 4)
    call.set("capture mode", call.thread.number, int.from_bytes(wanted, "little"))
    call.call.inputs[0] = wanted
