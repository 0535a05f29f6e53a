"""The driver itself, and its devices."""

from cuvet.catalog import Kind, status_name
from cuvet.catalog import driver as catalog
from cuvet.device import facts, status
from cuvet.device.invocation import Invocation, Refused, do_nothing, read, write
from cuvet.device.protocol import Command, Op, Steps, Text

_REAL_RUNTIME = "NVIDIA's CUDA runtime, which accepts only NVIDIA's driver"
_ADDRESS_NOT_FOUND, _ADDRESS_FOUND = 1, 0


def cuInit(call: Invocation) -> int:
    return status.SUCCESS if call.model.devices else status.NO_DEVICE


def cuDriverGetVersion(call: Invocation) -> int:
    call.give("driverVersion", facts.FACTS.driver_version)
    return status.SUCCESS if call["driverVersion"] else status.INVALID_VALUE


def _error_text(call: Invocation) -> Steps[int]:
    name = status_name("driver", call["error"])
    known = name in catalog().enumerations["CUresult"]
    described = name.removeprefix("CUDA_ERROR_").replace("_", " ").lower() if call["error"] else "no error"
    text = name if call.call.name == "cuGetErrorName" else described
    address = 0
    if known:
        address = yield from call.constant(text.encode())
    call.outputs[call.entry_point.index["pStr"]] = address
    return status.SUCCESS if known else status.INVALID_VALUE


cuGetErrorName = cuGetErrorString = _error_text


def cuGetProcAddress(call: Invocation) -> Steps[int]:
    name = call.text("symbol")
    found = yield Command(Op.LOOKUP, (0,), name)
    call.give("symbolStatus", _ADDRESS_FOUND if found.word else _ADDRESS_NOT_FOUND)
    call.give("pfn", found.word)
    return status.SUCCESS if found.word else status.NOT_FOUND


def cuGetExportTable(call: Invocation) -> Steps[int]:
    """NVIDIA's own runtime asks for it, to find out whether the driver is genuine: it is not, and every call of that runtime fails.
    That is fatal for a program that was linked with it. A Python client whose library merely looks at versions goes on, and makes
    a context by other means."""
    process = call.process
    if not process.unsupported and not any(call.model.objects(Kind.CONTEXT)):
        process.unsupported = True
        yield Command(Op.MESSAGE, (Text.UNSUPPORTED,), _REAL_RUNTIME.encode())
    return status.NOT_SUPPORTED


def context_made(call: Invocation) -> Steps[None]:
    """The program can use the device after all."""
    if call.process.unsupported:
        call.process.unsupported = False
        yield Command(Op.MESSAGE, (Text.SUPPORTED,))


def cuDeviceGetCount(call: Invocation) -> None:
    call.give("count", call.model.devices)


def cuDeviceGet(call: Invocation) -> None:
    call.give("device", call["ordinal"])


def cuDeviceGetAttribute(call: Invocation) -> None:
    value = facts.attribute(call["dev"], call["attrib"])
    if value is None:
        raise Refused(status.INVALID_VALUE)
    call.give("pi", value)


def cuDeviceGetName(call: Invocation) -> Steps[int]:
    return (yield from _text(call, "name", facts.FACTS.name))


def _text(call: Invocation, parameter: str, text: str) -> Steps[int]:
    room = call.signed("len")
    if not call[parameter] or room < 1:
        return status.INVALID_VALUE
    yield from write(call[parameter], text.encode()[: room - 1] + b"\0")
    return status.SUCCESS


def cuDeviceGetPCIBusId(call: Invocation) -> Steps[int]:
    return (yield from _text(call, "pciBusId", _bus_id(call["dev"])))


def _bus_id(device: int) -> str:
    return f"0000:{device + 1:02X}:00.0"


def cuDeviceGetByPCIBusId(call: Invocation) -> int:
    wanted = call.text("pciBusId").decode("ascii", "replace").upper()
    for device in range(call.model.devices):
        if wanted in (_bus_id(device), _bus_id(device)[5:], _bus_id(device)[:-2]):
            call.give("dev", device)
            return status.SUCCESS
    return status.INVALID_DEVICE


def cuDeviceGetUuid(call: Invocation) -> Steps[None]:
    yield from write(call["uuid"], facts.uuid(call["dev"]))


def cuDeviceTotalMem(call: Invocation) -> None:
    call.give("bytes", call.process.machine.memory)


def cuDeviceComputeCapability(call: Invocation) -> None:
    major, minor = facts.COMPUTE_CAPABILITY
    call.give("major", major)
    call.give("minor", minor)


def cuDeviceGetProperties(call: Invocation) -> Steps[None]:
    layout = catalog().structs["CUdevprop"]
    data = bytearray(layout.bytes)
    for member, names in _PROPERTIES.items():
        offset, size, _ = layout.fields[member]
        values = b"".join(facts.named(name).to_bytes(4, "little") for name in names)
        data[offset : offset + size] = values
    yield from write(call["prop"], bytes(data))


_PROPERTIES = {
    "maxThreadsPerBlock": ["MAX_THREADS_PER_BLOCK"],
    "maxThreadsDim": ["MAX_BLOCK_DIM_X", "MAX_BLOCK_DIM_Y", "MAX_BLOCK_DIM_Z"],
    "maxGridSize": ["MAX_GRID_DIM_X", "MAX_GRID_DIM_Y", "MAX_GRID_DIM_Z"],
    "sharedMemPerBlock": ["MAX_SHARED_MEMORY_PER_BLOCK"],
    "totalConstantMemory": ["TOTAL_CONSTANT_MEMORY"],
    "SIMDWidth": ["WARP_SIZE"],
    "memPitch": ["MAX_PITCH"],
    "regsPerBlock": ["MAX_REGISTERS_PER_BLOCK"],
    "clockRate": ["CLOCK_RATE"],
    "textureAlign": ["TEXTURE_ALIGNMENT"],
}


def cuDeviceCanAccessPeer(call: Invocation) -> None:
    call.give("canAccessPeer", int(call["dev"] != call["peerDev"]))


def cuDeviceGetP2PAttribute(call: Invocation) -> None:
    if call["srcDevice"] == call["dstDevice"]:
        raise Refused(status.INVALID_DEVICE)
    names = catalog().enumerations["CUdevice_P2PAttribute"]
    yes = {
        names["CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED"],
        names["CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED"],
    }
    call.give("value", int(call["attrib"] in yes))


def cuDeviceGetExecAffinitySupport(call: Invocation) -> None:
    call.give("pi", 0)


def cuDeviceGetTexture1DLinearMaxWidth(call: Invocation) -> None:
    call.give("maxWidthInElements", facts.named("MAXIMUM_TEXTURE1D_LINEAR_WIDTH"))


def cuDevicePrimaryCtxRetain(call: Invocation) -> Steps[None]:
    yield from context_made(call)
    call.give("pctx", _primary_handle(call, call["dev"]))


def _primary_handle(call: Invocation, device: int) -> int:
    """A device's primary context keeps its handle through resets."""
    key = ("primary context", device, 0)
    attributes = call.process.attributes
    if key not in attributes:
        attributes[key] = call.process.handles.issue(Kind.CONTEXT)
    return attributes[key]


cuDevicePrimaryCtxRelease = do_nothing


def cuDevicePrimaryCtxReset(call: Invocation) -> Steps[None]:
    yield from call.wait()


def cuDevicePrimaryCtxSetFlags(call: Invocation) -> None:
    call.process.attributes["primary flags", call["dev"], 0] = call["flags"]


def cuDevicePrimaryCtxGetState(call: Invocation) -> None:
    primary = call.model.primary_context(call["dev"])
    call.give("flags", call.process.attributes.get(("primary flags", call["dev"], 0), 0))
    call.give("active", int(primary is not None and primary.alive))


def cuModuleGetLoadingMode(call: Invocation) -> None:
    call.give("mode", catalog().enumerations["CUmoduleLoadingMode"]["CU_MODULE_LAZY_LOADING"])


def cuProfilerStart(call: Invocation) -> None:
    """There is nothing to profile; starting twice, and stopping without a start, succeed (NVIDIA H200, driver 580.159, CUDA 13.0)."""


cuProfilerStop = cuProfilerStart


def cuThreadExchangeStreamCaptureMode(call: Invocation) -> Steps[None]:
    key = ("capture mode", call.thread.number, 0)
    attributes = call.process.attributes
    wanted = int.from_bytes((yield from read(call["mode"], 4)), "little")
    yield from write(call["mode"], attributes.get(key, 0).to_bytes(4, "little"))
    attributes[key] = wanted
    call.call.inputs[0] = wanted.to_bytes(4, "little")
