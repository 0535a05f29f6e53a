"""Classes of ManagedCuda that own one object of CUDA each, as its source (github.com/kunzmi/managedCuda) has them.

Constructors throw where a call fails. ``Dispose`` ends the object the first time, and does nothing from then on. The finalizers end
nothing: they only write that ``Dispose`` was not called.
"""

import re
from dataclasses import dataclass

OBJECT, NOTHING, LAST, NULL = -1, -2, -3, -4
"""Beside the number of an argument: the wrapper's own object, what is not followed, the last argument, and zero."""
NUMBER, ARRAY = "number", "array"
"""Sorts of arguments, beside the names of the classes and of the enumerations of flags."""


@dataclass(frozen=True, slots=True)
class Form:
    """A call of the driver: what is passed for each of its parameters."""

    api: str
    given: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wrapper:
    """``handle`` is the property that has the object's handle. ``made`` has the constructors that create an object, by the sorts of their
    arguments: others refer to one of somebody else. ``methods`` are found by name, and by name and the sort of the first argument."""

    handle: str
    ended: Form
    made: dict[tuple[str, ...], Form]
    methods: dict[tuple[str, str], Form]


_OF_OBJECT = (OBJECT,)
WRAPPERS: dict[str, Wrapper] = {
    "CudaStream": Wrapper(
        "Stream",
        Form("cuStreamDestroy", _OF_OBJECT),
        {
            (): Form("cuStreamCreate", (OBJECT, NOTHING)),
            ("CUStreamFlags",): Form("cuStreamCreate", (OBJECT, 0)),
            (NUMBER,): Form("cuStreamCreateWithPriority", (OBJECT, NOTHING, NOTHING)),
            (NUMBER, "CUStreamFlags"): Form("cuStreamCreateWithPriority", (OBJECT, 1, NOTHING)),
        },
        {
            ("Synchronize", ""): Form("cuStreamSynchronize", _OF_OBJECT),
            ("Query", ""): Form("cuStreamQuery", _OF_OBJECT),
            ("WaitEvent", ""): Form("cuStreamWaitEvent", (OBJECT, 0, NOTHING)),
        },
    ),
    "CudaEvent": Wrapper(
        "Event",
        Form("cuEventDestroy", _OF_OBJECT),
        {
            (): Form("cuEventCreate", (OBJECT, NOTHING)),
            ("CUEventFlags",): Form("cuEventCreate", (OBJECT, 0)),
        },
        {
            ("Record", "()"): Form("cuEventRecord", (OBJECT, NULL)),
            ("Record", ""): Form("cuEventRecord", (OBJECT, 0)),
            ("Synchronize", ""): Form("cuEventSynchronize", _OF_OBJECT),
            ("Query", ""): Form("cuEventQuery", _OF_OBJECT),
        },
    ),
    "CudaDeviceVariable": Wrapper(
        "DevicePointer",
        Form("cuMemFree", _OF_OBJECT),
        {
            (NUMBER,): Form("cuMemAlloc", (OBJECT, 0)),
            (NUMBER, "CudaStream"): Form("cuMemAllocAsync", (OBJECT, NOTHING, 1)),
        },
        {
            ("CopyToDevice", ""): Form("cuMemcpyHtoD", (OBJECT, NOTHING, 3)),
            ("CopyToDevice", "CudaDeviceVariable"): Form("cuMemcpyDtoD", (OBJECT, 0, 3)),
            ("CopyToHost", ""): Form("cuMemcpyDtoH", (NOTHING, OBJECT, 3)),
            ("AsyncCopyToDevice", "CudaDeviceVariable"): Form("cuMemcpyDtoDAsync", (OBJECT, 0, 3, LAST)),
            ("Memset", ""): Form("cuMemsetD8", (OBJECT, NOTHING, NOTHING)),
            ("MemsetAsync", ""): Form("cuMemsetD8Async", (OBJECT, NOTHING, NOTHING, LAST)),
            ("Dispose", "CudaStream"): Form("cuMemFreeAsync", (OBJECT, 0)),
        },
    ),
    "CudaPageLockedHostMemory": Wrapper(
        "PinnedHostPointer",
        Form("cuMemFreeHost", _OF_OBJECT),
        {
            (NUMBER,): Form("cuMemAllocHost", (OBJECT, NOTHING)),
            (NUMBER, "CUMemHostAllocFlags"): Form("cuMemHostAlloc", (OBJECT, NOTHING, 1)),
        },
        {
            ("SynchronCopyToDevice", "CudaDeviceVariable"): Form("cuMemcpyHtoD", (0, OBJECT, NOTHING)),
            ("SynchronCopyToHost", "CudaDeviceVariable"): Form("cuMemcpyDtoH", (OBJECT, 0, NOTHING)),
            ("AsyncCopyToDevice", "CudaDeviceVariable"): Form("cuMemcpyHtoDAsync", (0, OBJECT, NOTHING, LAST)),
            ("AsyncCopyFromDevice", "CudaDeviceVariable"): Form("cuMemcpyDtoHAsync", (OBJECT, 0, NOTHING, LAST)),
        },
    ),
}
STATIC = {("CudaEvent", "ElapsedTime"): Form("cuEventElapsedTime", (NOTHING, 0, 1))}
"""Static methods."""
LAUNCHES = {"Run": NOTHING, "RunAsync": 0}
"""Methods of ``CudaKernel``: the argument that is the stream."""
KERNEL = "CudaKernel"
CONVERTED = {("CudaDeviceVariable", ARRAY): Form("cuMemAlloc", (OBJECT, NOTHING))}
"""What becomes a new object where it is assigned."""
CONTEXTS = frozenset({"CudaContext", "PrimaryContext", "GreenContext"})
"""All that was made in a context ends with it."""
FLAGS = {
    "CUStreamFlags": {"None": 0, "Default": 0, "NonBlocking": 1},
    "CUEventFlags": {"Default": 0, "BlockingSync": 1, "DisableTiming": 2, "InterProcess": 4},
    "CUMemHostAllocFlags": {"None": 0, "Portable": 1, "DeviceMap": 2, "WriteCombined": 4},
}
NUMBERS = frozenset("int uint long ulong short ushort byte nint nuint SizeT Int32 UInt32 Int64 UInt64".split())
"""Types of sizes."""

USES = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t]*(?:global[ \t]+)?using[ \t]+ManagedCuda[ \t]*;", re.MULTILINE)
_NAMES = "|".join((*WRAPPERS, KERNEL))
_KIND = re.compile(rf"(?:\w+\.)*(?:({_NAMES})(?:_\w+|\s*<[^<>\[\]]*>)?)\??")
DECLARED = re.compile(
    rb"\b(?:%(names)s)(?:_\w+|\s*<[^<>;{}()]{1,80}>)?\??\s+([A-Za-z_]\w*)\s*[=;,)]"
    rb"|\b([A-Za-z_]\w*)\s*=\s*new\s+(?:\w+\.)*(?:%(names)s)\b" % {b"names": _NAMES.encode()}
)
"""Variables of these classes."""
DISPOSED = re.compile(rb"\b(\w+)\s*\??\s*\.\s*Dispose\s*\(")
"""What is disposed of by its own name."""
NEW_CONTEXT = re.compile(rb"\bnew\s+(?:\w+\.)*(?:%s)\b" % "|".join(sorted(CONTEXTS)).encode())


def wrapper_named(kind: str) -> str:
    """The class that a type is, without its parameters: of ``CudaDeviceVariable<float>`` and ``CudaPageLockedHostMemory_float``; ``""``
    if it is none of them."""
    match = _KIND.fullmatch(kind.strip())
    return match[1] if match else ""
