"""Functions, launches and the registration of a program's own device code.

The runtime names a function by the address of its host stub, which is no object that is created or destroyed.
"""

from cuvet.catalog.authored.words import (
    FUNCTION,
    KERNEL,
    Reasons,
    Roles,
    launches,
    loads,
    on,
    returns,
    uses,
)

_STUB = "names a function by the address of its host stub"
_SYMBOL = "names a variable by the address of its host shadow"
_FATBIN = "registers or forgets device code that the program was compiled with"
_CONFIGURATION = "passes a launch's configuration on to the call that launches"

ROLES: Roles = {
    "cudaLaunchKernel": (on("stream"),),
    "cudaLaunchKernelExC": (on("config", field="stream"),),
    "cudaLaunchCooperativeKernel": (on("stream"),),
    "cudaGetKernel": (returns(KERNEL, "kernelPtr"),),
    "cudaGetFuncBySymbol": (returns(FUNCTION, "functionPtr"),),
    "cudaKernelSetAttributeForDevice": (uses(KERNEL, "kernel"),),
    "__cudaGetKernel": (returns(KERNEL, "kernel"),),
    "__cudaLaunchKernel": (launches("kernel", KERNEL), on("stream")),
    "__cudaRegisterFatBinary": (loads("fatCubin"),),
}

NO_ROLE: Reasons = {
    "cudaFuncGetAttributes": _STUB,
    "cudaFuncGetName": _STUB,
    "cudaFuncGetParamCount": _STUB,
    "cudaFuncGetParamInfo": _STUB,
    "cudaFuncSetAttribute": _STUB,
    "cudaFuncSetCacheConfig": _STUB,
    "cudaFuncSetSharedMemConfig": _STUB,
    "cudaOccupancyAvailableDynamicSMemPerBlock": _STUB,
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor": _STUB,
    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": _STUB,
    "cudaOccupancyMaxActiveClusters": _STUB,
    "cudaOccupancyMaxPotentialClusterSize": _STUB,
    "cudaGetSymbolAddress": _SYMBOL,
    "cudaGetSymbolSize": _SYMBOL,
    "__cudaRegisterFatBinaryEnd": _FATBIN,
    "__cudaUnregisterFatBinary": _FATBIN,
    "__cudaRegisterFunction": _FATBIN,
    "__cudaRegisterVar": _FATBIN,
    "__cudaRegisterManagedVar": _FATBIN,
    "__cudaInitModule": _FATBIN,
    "__cudaPushCallConfiguration": _CONFIGURATION,
    "__cudaPopCallConfiguration": _CONFIGURATION,
}
