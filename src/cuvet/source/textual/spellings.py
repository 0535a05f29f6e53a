"""What the headers say of names beyond the exported functions: how many arguments C++ takes, functions that exist in headers only,
functions that releases have taken away, and which type a name may stand for.

Read from cuda.h, cuda_runtime_api.h, cuda_runtime.h and cuda_device_runtime_api.h of CUDA 12.9, 13.0 and 13.5; what was removed before
12.9 from the deprecation and removal columns of HIPIFY's tables (``docs/tables``, 2024-10).
"""

import re
from collections.abc import Iterable
from functools import cache

from cuvet.catalog import driver, runtime
from cuvet.catalog.types import declared_types
from cuvet.source.calls import entry_point_called, symbols

_DEFAULTED = {
    1: """
    cudaEventRecord cudaGetDriverEntryPoint cudaGetDriverEntryPointByVersion cudaGraphCreate cudaGraphInstantiateWithFlags
    cudaGraphReleaseUserObject cudaGraphicsMapResources cudaGraphicsUnmapResources cudaLaunchCooperativeKernelMultiDevice
    cudaMalloc3DArray cudaMallocManaged cudaMallocMipmappedArray cudaMemcpy2DArrayToArray cudaMemcpy2DAsync
    cudaMemcpy2DFromArrayAsync cudaMemcpy2DToArrayAsync cudaMemcpy3DAsync cudaMemcpy3DPeerAsync cudaMemcpyArrayToArray
    cudaMemcpyAsync cudaMemcpyFromArrayAsync cudaMemcpyPeerAsync cudaMemcpyToArrayAsync cudaMemset2DAsync cudaMemset3DAsync
    cudaMemsetAsync cudaSignalExternalSemaphoresAsync cudaStreamBeginRecaptureToGraph cudaStreamWaitEvent
    cudaUserObjectCreate cudaUserObjectRelease cudaUserObjectRetain cudaWaitExternalSemaphoresAsync
    """,
    2: """
    cuGraphInstantiate cudaEventRecordWithFlags cudaGraphRetainUserObject cudaLaunchCooperativeKernel cudaLaunchKernel
    cudaMallocArray cudaMemDiscardAndPrefetchBatchAsync cudaMemPrefetchBatchAsync cudaMemcpyFromSymbol cudaMemcpyToSymbol
    cudaStreamAttachMemAsync
    """,
    3: "cudaMemcpyFromSymbolAsync cudaMemcpyToSymbolAsync",
    5: "cudaCreateChannelDesc",
}
"""By the number of last arguments that C++ lets calls leave out."""
_LEFT_OUT = {name: count for count, names in _DEFAULTED.items() for name in names.split()}
_OVERLOADED = {
    "cudaEventCreate": (1, 2),
    "cudaGraphConditionalHandleCreate": (2, 5),
    "cudaGraphExecUpdate": (3, 4),
    "cudaGraphInstantiate": (2, 5),
    "cudaMallocAsync": (3, 4),
    "cudaMallocHost": (2, 3),
    "cudaMemPrefetchAsync": (3, 5),
    "cudaMemcpyBatchAsync": (6, 9),
    "cudaStreamGetCaptureInfo": (2, 7),
    "cudaStreamUpdateCaptureDependencies": (3, 5),
}
"""Fewest and most arguments, where the overloads of C++ differ in more from the function of C."""

IN_HEADERS = frozenset(
    """
    cudaCGSynchronize cudaCGSynchronizeGrid cudaGetCurrentGraphExec cudaGetParameterBuffer cudaGetParameterBufferV2
    cudaGraphKernelNodeSetEnabled cudaGraphKernelNodeSetGridDim cudaGraphKernelNodeSetParam
    cudaGraphKernelNodeUpdatesApply cudaGraphSetConditional cudaGridDependencySynchronize cudaLaunchDevice
    cudaLaunchDeviceV2 cudaLaunchKernelEx cudaOccupancyMaxPotentialBlockSize
    cudaOccupancyMaxPotentialBlockSizeVariableSMem cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags
    cudaOccupancyMaxPotentialBlockSizeWithFlags cudaTriggerProgrammaticLaunchCompletion cudaWGLGetDevice cuWGLGetDevice
    """.split()
)
"""Templates, inline functions, and functions of the device runtime."""

_REMOVED = {
    "cudaConfigureCall": ("10.1", "cudaLaunchKernel"),
    "cudaSetupArgument": ("10.1", "cudaLaunchKernel"),
    "cudaLaunch": ("10.1", "cudaLaunchKernel"),
    "cudaBindTexture": ("12.0", "cudaCreateTextureObject"),
    "cudaBindTexture2D": ("12.0", "cudaCreateTextureObject"),
    "cudaBindTextureToArray": ("12.0", "cudaCreateTextureObject"),
    "cudaBindTextureToMipmappedArray": ("12.0", "cudaCreateTextureObject"),
    "cudaGetTextureAlignmentOffset": ("12.0", "cudaCreateTextureObject"),
    "cudaGetTextureReference": ("12.0", "cudaCreateTextureObject"),
    "cudaUnbindTexture": ("12.0", "cudaDestroyTextureObject"),
    "cudaBindSurfaceToArray": ("12.0", "cudaCreateSurfaceObject"),
    "cudaGetSurfaceReference": ("12.0", "cudaCreateSurfaceObject"),
    "cudaProfilerInitialize": ("12.0", "cudaProfilerStart"),
    "cudaThreadSynchronize": ("13.0", "cudaDeviceSynchronize"),
    "cudaThreadExit": ("13.0", "cudaDeviceReset"),
    "cudaThreadGetLimit": ("13.0", "cudaDeviceGetLimit"),
    "cudaThreadSetLimit": ("13.0", "cudaDeviceSetLimit"),
    "cudaThreadGetCacheConfig": ("13.0", "cudaDeviceGetCacheConfig"),
    "cudaThreadSetCacheConfig": ("13.0", "cudaDeviceSetCacheConfig"),
    "cudaLaunchCooperativeKernelMultiDevice": ("13.0", "cudaLaunchCooperativeKernel"),
    "cudaSetDoubleForDevice": ("13.0", ""),
    "cudaSetDoubleForHost": ("13.0", ""),
}
"""The release without it, and what does the same today."""


def removed(name: str, version: str | None) -> tuple[str, str] | None:
    """(release without the function, what to call instead), if the release ``version`` (None: the newest) lacks it; None if not."""
    found = _REMOVED.get(name)
    return found if found is not None and (version is None or _number(version) >= _number(found[0])) else None


@cache
def arguments(name: str, version: str | None) -> tuple[int, int] | None:
    """Fewest and most arguments of the function in that release (None: in any that is known); None if it is not known."""
    found = entry_point_called(name)
    if found is None or found.name != name or found.api not in ("runtime", "driver"):
        return None
    counts = [
        len(signature.parameters)
        for signature in found.signatures
        if version is None or found.api != "runtime" or _has(signature.symbols, version) or len(found.signatures) == 1
    ] or [len(signature.parameters) for signature in found.signatures]
    return _OVERLOADED.get(name, (min(counts) - _LEFT_OUT.get(name, 0), max(counts)))


def _has(symbols: dict[str, tuple[str, ...]], version: str) -> bool:
    return any(release.split(".")[0] == version.split(".")[0] for releases in symbols.values() for release in releases)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


_OF_APIS = re.compile(r"cu(?:da)?[A-Z]")
_FAMILY = re.compile(r"cu[a-z]+(?:(?<!cuda)[A-Z][a-z](?=[A-Z]))?|CU")
_REVISION = re.compile(r"_v\d+$")
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_ABBREVIATED = {"Context": "Ctx", "Memory": "Mem"}
_LONGEST = 80
"""Letters of a name that could be one of CUDA's."""


@cache
def nearest(name: str) -> str:
    """The entry point whose name is a slip of the pen away; empty if there is none. ``cuInit_f`` is no slip: no function of CUDA has
    an underscore in its name."""
    if len(name) > _LONGEST or "_" in name or not _OF_APIS.match(name):
        return ""
    family = "cuda" if name.startswith("cuda") else "cu"
    return _closest(name, (each for each in _plain_names() if each.startswith(family)))


@cache
def meant(name: str) -> str:
    """The entry point that a name stands for: one a slip of the pen away, or one with its words in another order, or in the other API
    (``cuCtxCreate`` for ``cudaCreateContext``). Empty if there is none, or the name is an entry point's."""
    if len(name) > _LONGEST or not _OF_APIS.match(name) or name in symbols() or name in IN_HEADERS:
        return ""
    return nearest(name) or _by_words().get(_words(name), "")


def _words(name: str) -> tuple[str, ...]:
    words = _WORD.findall(name.removeprefix("cu").removeprefix("da"))
    return tuple(sorted(_ABBREVIATED.get(word, word) for word in words))


@cache
def _by_words() -> dict[tuple[str, ...], str]:
    found: dict[tuple[str, ...], str] = {}
    for name in _plain_names():
        found.setdefault(_words(name), name)
    return found


@cache
def nearest_type(name: str) -> str:
    """The type that a name which is spelt like one of CUDA's stands for; empty if CUDA has it, or nothing like it. ``cudaContext_t``
    is the driver's ``CUcontext``; otherwise it is a slip of the pen away, and of the same library."""
    known = declared_types().types
    if name in known or len(name) > _LONGEST or _REVISION.search(name):
        return ""
    family = _family(name)
    alike = _types_alike().get(_stem(name), []) if family in ("cuda", "CU") else []
    if alike:
        return min(alike, key=lambda each: (_family(each) != family, abs(len(each) - len(name)), each))
    return _closest(name, _types_of(family)) if family == "CU" or name.endswith("_t") else ""


def _closest(name: str, known: Iterable[str]) -> str:
    most = 2 if len(name) > 13 else 1
    letters = _letters(name)
    found = [
        (distance, each)
        for each in known
        if abs(len(each) - len(name)) <= most
        and len(letters ^ _letters(each)) <= 2 * most
        and (distance := _distance(name, each, most)) <= most
    ]
    return min(found)[1] if found else ""


_letters = cache(frozenset[str])
"""Of a name. An edit changes two of them at most."""


@cache
def _plain_names() -> tuple[str, ...]:
    return tuple(entry.name for catalog in (runtime(), driver()) for entry in catalog.entry_points)


def _family(type_name: str) -> str:
    """``cuda``, ``CU``, ``cublas``; with the two letters of a library's part, ``cusparseLt``. Empty for other names."""
    found = _FAMILY.match(type_name)
    return found[0] if found else ""


@cache
def _types_of(family: str) -> tuple[str, ...]:
    """Names that users write: no tags of structs."""
    names = declared_types().types
    return tuple(each for each in names if _family(each) == family and not each.endswith(("_st", "_enum")))


@cache
def _types_alike() -> dict[str, list[str]]:
    """By their stems, the types of the runtime and the driver."""
    found: dict[str, list[str]] = {}
    for each in _types_of("cuda") + _types_of("CU"):
        found.setdefault(_stem(each), []).append(each)
    return found


def _stem(type_name: str) -> str:
    """What the runtime's and the driver's name of a type have in common."""
    return type_name.removeprefix("cuda").removeprefix("CU").removesuffix("_t").lower()


def _distance(one: str, other: str, most: int) -> int:
    """Insertions, deletions, replacements and exchanges of neighbours between two names; more than ``most`` counts as that plus 1."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        twice, before, row = before, row, [i]
        for j, against in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                cost = min(cost, twice[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
