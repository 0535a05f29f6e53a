"""Functions, launches and the registration of a program's own device code.

The runtime names a function by the address of its host stub, which is no object that is created or destroyed.
"""

from cuvet.catalog.authored.words import *

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

NO_ROLE: ByReason = {
    "names a function by the address of its host stub": """
        cudaFuncGetAttributes cudaFuncGetName cudaFuncGetParamCount cudaFuncGetParamInfo cudaFuncSetAttribute
        cudaFuncSetCacheConfig cudaFuncSetSharedMemConfig cudaOccupancyAvailableDynamicSMemPerBlock
        cudaOccupancyMaxActiveBlocksPerMultiprocessor cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
        cudaOccupancyMaxActiveClusters cudaOccupancyMaxPotentialClusterSize
    """,
    "names a variable by the address of its host shadow": "cudaGetSymbolAddress cudaGetSymbolSize",
    "registers or forgets device code that the program was compiled with": """
        __cudaRegisterFatBinaryEnd __cudaUnregisterFatBinary __cudaRegisterFunction __cudaRegisterVar
        __cudaRegisterManagedVar __cudaInitModule
    """,
    "passes a launch's configuration on to the call that launches": """
        __cudaPushCallConfiguration __cudaPopCallConfiguration
    """,
}
