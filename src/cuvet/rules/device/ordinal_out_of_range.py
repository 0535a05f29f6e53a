from cuvet.catalog import EntryPoint
from cuvet.model import Call, ModelView
from cuvet.model.naming import member
from cuvet.model.precedence import Stage
from cuvet.rules.arguments import passed
from cuvet.rules.rule import CallRule, Violations

_ORDINALS = {"cuDeviceGet": "ordinal"}
_INVALID_DEVICE, _INVALID_VALUE = 101, 1
_OUTCOMES = dict.fromkeys(
    (
        "cuDeviceGetMemPool",
        "cuDeviceSetMemPool",
        "cuGraphAddMemAllocNode",
        "cuMemAdvise",
        "cuMemPoolCreate",
        "cuMemSetAccess",
    ),
    _INVALID_VALUE,
)
_PLACELESS = frozenset({1, 2, 4})
"""CU_MEM_ADVISE_SET_READ_MOSTLY, _UNSET_READ_MOSTLY and _UNSET_PREFERRED_LOCATION: advice for which the location is ignored."""
_LOCATIONS = {
    "cuMemAdvise": ("location", ""),
    "cuMemCreate": ("prop", "location."),
    "cuMemPoolCreate": ("poolProps", "location."),
    "cuMemPrefetchAsync": ("location", ""),
    "cuMemPoolSetAccess": ("map", "location."),
    "cuMemSetAccess": ("desc", "location."),
    "cuGraphAddMemAllocNode": ("nodeParams", "poolProps.location."),
}
"""Entry points that name a device in a CUmemLocation: the parameter, and where in the struct it is."""
_DEVICE = 1
"""CU_MEM_LOCATION_TYPE_DEVICE"""


class DeviceOrdinalOutOfRange(CallRule):
    """
    checks: A call that fails names a device that does not exist: a number below 0, or not below the number of devices. In Python
      source, the device of PyTorch is set to the rank among all processes, in a file that knows of the rank on the own machine.
    why: A process numbers from 0 the devices that CUDA_VISIBLE_DEVICES lets it see. With CUDA_VISIBLE_DEVICES=3, device 3 is number 0.
    instead: Ask `cuDeviceGetCount` (`cudaGetDeviceCount`) how many there are, and take ranks modulo that.
    limits: The number of devices is known from the calls of this process.
    """

    code = "CV123"
    answers = True
    summary = "a device is named that does not exist"
    help = "number devices from 0, below what cuDeviceGetCount returns; check CUDA_VISIBLE_DEVICES"
    stage = Stage.ARGUMENT
    evidence = """
    recorded: cuDeviceGet, cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxGetState and cuDeviceGetDefaultMemPool of device
      -1, 8 and 77: CUDA_ERROR_INVALID_DEVICE; cuDeviceGetMemPool, cuDeviceSetMemPool, cuMemSetAccess, and cuMemAdvise
      where the advice is about a place: CUDA_ERROR_INVALID_VALUE
    documented: ordinals go from 0 to cuDeviceGetCount() - 1 (CUDA Driver API, Device Management, cuDeviceGet)
    documented: RANK is the global rank of a worker, LOCAL_RANK its rank among the workers of the same node (PyTorch documentation,
      torchrun, Definitions and Environment Variables)
    documented: no such device, or it cannot do that (CUDA Driver API, Data types used by CUDA driver, CUresult)
    documented: only those in CUDA_VISIBLE_DEVICES are visible (CUDA Programming Guide, CUDA Environment Variables)
    """
    VALID = """
## the first device [no-setup]
cu.cuInit(0)
cu.cuDevicePrimaryCtxRetain(cu.cuDeviceGet(0))

## the last device
last = cu.cuDeviceGetCount() - 1
cu.cuDevicePrimaryCtxGetState(cu.cuDeviceGet(last))
"""
    INVALID = """
## a rank that is not taken modulo the number of devices
rank = 77
cu.cuDeviceGet(rank)  # error: [device-ordinal-out-of-range]

## -1 for no device
cu.cuDevicePrimaryCtxRetain(-1)  # error: [device-ordinal-out-of-range]
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return bool(_named(entry_point))

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for parameter in _named(call.entry_point):
            number = _number(call, parameter)
            if number is None or number < model.devices:
                continue
            written = number - (1 << 32) if number >> 31 else number
            yield cls.refused(
                f"there is no device {written}: this process sees {model.devices}, numbered from 0",
                argument=call.index(parameter),
                outcomes=(_OUTCOMES.get(call.name, _INVALID_DEVICE),),
            )


def _named(entry_point: EntryPoint) -> tuple[str, ...]:
    """Parameters that are devices, by number."""
    ordinal = _ORDINALS.get(entry_point.name)
    devices = (parameter.name for parameter in entry_point.parameters if parameter.type == "CUdevice")
    if entry_point.name in _LOCATIONS:
        return _LOCATIONS[entry_point.name][:1]
    return (ordinal,) if ordinal else tuple(devices)


def _number(call: Call, parameter: str) -> int | None:
    """The device that the parameter names, or the struct that it points to; None if that is no device."""
    if call.name not in _LOCATIONS:
        return passed(call, parameter)
    if call.name == "cuMemAdvise" and call.arg("advice") in _PLACELESS:
        return None
    where = _LOCATIONS[call.name][1]
    return member(call, parameter, f"{where}id") if member(call, parameter, f"{where}type") == _DEVICE else None
