"""Modules, libraries, functions, kernels, linking and launching."""

from cuvet.catalog.authored.words import *

ROLES: Roles = {
    "cuModuleLoad": (loads("fname", variant="file"), creates(MODULE, "module")),
    **alike("cuModuleLoadData cuModuleLoadDataEx", loads("image"), creates(MODULE, "module")),
    "cuModuleLoadFatBinary": (loads("fatCubin"), creates(MODULE, "module")),
    "cuModuleUnload": (destroys(MODULE, "hmod"),),
    "cuModuleGetFunction": (uses(MODULE, "hmod"), returns(FUNCTION, "hfunc", parent="hmod")),
    "cuModuleGetFunctionCount": (uses(MODULE, "mod"),),
    "cuModuleEnumerateFunctions": (
        uses(MODULE, "mod"),
        returns(FUNCTION, "functions", count="numFunctions", parent="mod"),
    ),
    "cuModuleGetGlobal": (uses(MODULE, "hmod"), returns(MEMORY, "dptr", size="bytes", parent="hmod", variant="global")),
    # Libraries belong to no context.
    "cuLibraryLoadData": (loads("code"), creates(CULIBRARY, "library")),
    "cuLibraryLoadFromFile": (loads("fileName", variant="file"), creates(CULIBRARY, "library")),
    "cuLibraryUnload": (destroys(CULIBRARY, "library"),),
    "cuLibraryGetModule": (uses(CULIBRARY, "library"), returns(MODULE, "pMod", parent="library")),
    "cuLibraryGetKernel": (uses(CULIBRARY, "library"), returns(KERNEL, "pKernel", parent="library")),
    "cuLibraryGetKernelCount": (uses(CULIBRARY, "lib"),),
    "cuLibraryEnumerateKernels": (uses(CULIBRARY, "lib"), returns(KERNEL, "kernels", count="numKernels", parent="lib")),
    **alike(
        "cuLibraryGetGlobal cuLibraryGetManaged",
        uses(CULIBRARY, "library"),
        returns(MEMORY, "dptr", size="bytes", parent="library", variant="global"),
    ),
    "cuLibraryGetUnifiedFunction": (uses(CULIBRARY, "library"),),
    "cuKernelGetFunction": (uses(KERNEL, "kernel"), returns(FUNCTION, "pFunc", parent="kernel")),
    "cuKernelGetLibrary": (uses(KERNEL, "kernel"), returns(CULIBRARY, "pLib")),
    "cuKernelGetAttribute": (uses(KERNEL, "kernel"),),
    "cuKernelSetAttribute": (uses(KERNEL, "kernel"),),
    "cuKernelSetCacheConfig": (uses(KERNEL, "kernel"),),
    "cuKernelGetName": (uses(KERNEL, "hfunc"),),
    "cuKernelGetParamCount": (uses(KERNEL, "kernel"),),
    "cuKernelGetParamInfo": (uses(KERNEL, "kernel"),),
    "cuFuncGetModule": (uses(FUNCTION, "hfunc"), returns(MODULE, "hmod")),
    **alike(
        """
        cuFuncGetAttribute cuFuncSetAttribute cuFuncSetCacheConfig cuFuncSetSharedMemConfig cuFuncGetName
        cuFuncSetBlockShape cuFuncSetSharedSize cuParamSetSize cuParamSetf cuParamSeti cuParamSetv
        """,
        uses(FUNCTION, "hfunc"),
    ),
    "cuFuncGetParamCount": (uses(FUNCTION, "func"),),
    "cuFuncGetParamInfo": (uses(FUNCTION, "func"),),
    **alike("cuFuncIsLoaded cuFuncLoad", uses(FUNCTION, "function")),
    "cuOccupancyAvailableDynamicSMemPerBlock": (uses(FUNCTION, "func"),),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": (uses(FUNCTION, "func"),),
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": (uses(FUNCTION, "func"),),
    "cuOccupancyMaxActiveClusters": (uses(FUNCTION, "func"),),
    "cuOccupancyMaxPotentialBlockSize": (uses(FUNCTION, "func"),),
    "cuOccupancyMaxPotentialBlockSizeWithFlags": (uses(FUNCTION, "func"),),
    "cuOccupancyMaxPotentialClusterSize": (uses(FUNCTION, "func"),),
    # Launching
    **alike("cuLaunchKernel cuLaunchCooperativeKernel cuLaunchGridAsync", launches("f"), on("hStream")),
    "cuLaunchKernelEx": (launches("f"), on("config", field="hStream")),
    **alike("cuLaunch cuLaunchGrid", launches("f")),
    "cuParamSetTexRef": (uses(FUNCTION, "hfunc"), uses(TEXTURE_REFERENCE, "hTexRef")),
    # Linking
    "cuLinkCreate": (creates(LINKER, "stateOut"),),
    "cuLinkAddData": (uses(LINKER, "state"), loads("data", size="size")),
    "cuLinkAddFile": (uses(LINKER, "state"), loads("path", variant="file")),
    "cuLinkComplete": (uses(LINKER, "state"),),
    "cuLinkDestroy": (destroys(LINKER, "state"),),
}

NO_ROLE: ByReason = {
    "asks about the driver: names no object": "cuModuleGetLoadingMode",
    "its functions and streams sit in an array of structs": "cuLaunchCooperativeKernelMultiDevice",
}
