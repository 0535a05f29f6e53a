"""The vocabulary in which the catalog says what a parameter means.

A role ties one parameter of an entry point to something that CUDA does with it. Everything else is
derived from roles: the C++ wrappers, the recording's decoder, the generic rules, the model's transitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum


class Kind(IntEnum):
    """Kinds of CUDA objects. The numbers are part of the recording format: append only."""

    NONE = 0
    CONTEXT = 1
    STREAM = 2
    EVENT = 3
    MEMORY = 4
    """Device-accessible memory by address: cuMemAlloc, managed, pitched, stream-ordered."""
    HOST_MEMORY = 5
    """Host memory by address: cuMemHostAlloc, cuMemAllocHost and cuMemHostRegister."""
    MEMORY_POOL = 6
    ARRAY = 7
    MIPMAPPED_ARRAY = 8
    TEXTURE_OBJECT = 9
    SURFACE_OBJECT = 10
    MODULE = 11
    LIBRARY = 12
    FUNCTION = 13
    KERNEL = 14
    GRAPH = 15
    GRAPH_EXEC = 16
    GRAPH_NODE = 17
    EXTERNAL_MEMORY = 18
    EXTERNAL_SEMAPHORE = 19
    GRAPHICS_RESOURCE = 20
    LINKER = 21
    USER_OBJECT = 22
    GREEN_CONTEXT = 23
    MEMORY_HANDLE = 24
    """CUmemGenericAllocationHandle of cuMemCreate."""
    ADDRESS_RANGE = 25
    """Virtual address range of cuMemAddressReserve."""
    TEXTURE_REFERENCE = 26
    SURFACE_REFERENCE = 27
    DEVICE = 28
    CUDNN_HANDLE = 32
    CUDNN_DESCRIPTOR = 33
    """What a typed cudnnCreate…Descriptor makes: of tensors, filters, convolutions and so on."""
    CUDNN_BACKEND_DESCRIPTOR = 34
    CUBLAS_HANDLE = 35
    CUBLASLT_HANDLE = 36
    CUBLASLT_DESCRIPTOR = 37
    """Descriptors of matmuls, layouts, preferences and transforms that a cublasLt…Create makes."""
    CUFFT_PLAN = 38
    CUSPARSE_HANDLE = 39
    CUSPARSE_DESCRIPTOR = 40
    CUSOLVER_HANDLE = 41
    """Of cuSolverDN, cuSolverSP, cuSolverRF and cuSolverMg."""
    CUSOLVER_DESCRIPTOR = 42
    """Parameters and infos of cuSOLVER."""
    CURAND_GENERATOR = 43
    CURAND_DISTRIBUTION = 44
    NVRTC_PROGRAM = 45
    NVJITLINK_HANDLE = 46
    NCCL_COMMUNICATOR = 47

    __hash__ = int.__hash__

    @property
    def noun(self) -> str:
        """The word for messages: ``memory pool``, ``executable graph``."""
        return _NOUNS.get(self, self.name.lower().replace("_", " "))


_NOUNS = {
    Kind.MEMORY: "device memory",
    Kind.GRAPH_EXEC: "executable graph",
    Kind.CUDNN_HANDLE: "cuDNN handle",
    Kind.CUDNN_DESCRIPTOR: "cuDNN descriptor",
    Kind.CUDNN_BACKEND_DESCRIPTOR: "cuDNN backend descriptor",
    Kind.CUBLAS_HANDLE: "cuBLAS handle",
    Kind.CUBLASLT_HANDLE: "cuBLASLt handle",
    Kind.CUBLASLT_DESCRIPTOR: "cuBLASLt descriptor",
    Kind.CUFFT_PLAN: "cuFFT plan",
    Kind.CUSPARSE_HANDLE: "cuSPARSE handle",
    Kind.CUSPARSE_DESCRIPTOR: "cuSPARSE descriptor",
    Kind.CUSOLVER_HANDLE: "cuSOLVER handle",
    Kind.CUSOLVER_DESCRIPTOR: "cuSOLVER descriptor",
    Kind.CURAND_GENERATOR: "cuRAND generator",
    Kind.CURAND_DISTRIBUTION: "cuRAND distribution",
    Kind.NVRTC_PROGRAM: "NVRTC program",
    Kind.NVJITLINK_HANDLE: "nvJitLink handle",
    Kind.NCCL_COMMUNICATOR: "NCCL communicator",
}

OF_CONTEXT = frozenset(
    {
        Kind.STREAM,
        Kind.EVENT,
        Kind.MEMORY,
        Kind.HOST_MEMORY,
        Kind.ARRAY,
        Kind.MIPMAPPED_ARRAY,
        Kind.TEXTURE_OBJECT,
        Kind.SURFACE_OBJECT,
        Kind.MODULE,
        Kind.FUNCTION,
        Kind.EXTERNAL_MEMORY,
        Kind.EXTERNAL_SEMAPHORE,
        Kind.GRAPHICS_RESOURCE,
    }
)
"""What the driver frees when the context ends in which it was created."""

OWNED = frozenset(
    {
        Kind.STREAM,
        Kind.EVENT,
        Kind.MEMORY,
        Kind.HOST_MEMORY,
        Kind.MEMORY_POOL,
        Kind.ARRAY,
        Kind.MIPMAPPED_ARRAY,
        Kind.TEXTURE_OBJECT,
        Kind.SURFACE_OBJECT,
        Kind.GRAPH,
        Kind.GRAPH_EXEC,
    }
)
"""What who makes it has to end. Modules, libraries and contexts are left to the end of the process on purpose."""

LIBRARY_OBJECTS = frozenset(kind for kind in Kind if kind >= Kind.CUDNN_HANDLE)
"""What CUDA's libraries make."""

LIBRARY_HANDLES = frozenset(
    {
        Kind.CUDNN_HANDLE,
        Kind.CUBLAS_HANDLE,
        Kind.CUBLASLT_HANDLE,
        Kind.CUFFT_PLAN,
        Kind.CUSPARSE_HANDLE,
        Kind.CUSOLVER_HANDLE,
        Kind.CURAND_GENERATOR,
        Kind.NCCL_COMMUNICATOR,
    }
)
"""Objects of libraries that belong to a device, or a context of it, and cannot be made without."""

LIBRARY_DESCRIPTORS = frozenset(
    {
        Kind.CUDNN_DESCRIPTOR,
        Kind.CUDNN_BACKEND_DESCRIPTOR,
        Kind.CUBLASLT_DESCRIPTOR,
        Kind.CUSPARSE_DESCRIPTOR,
        Kind.CUSOLVER_DESCRIPTOR,
    }
)
"""Objects of libraries that say what a call shall do. Frameworks make them, and destroy them, for each operation."""

NOT_SHARED_BETWEEN_THREADS = frozenset(
    {
        Kind.CUDNN_HANDLE,
        Kind.CUBLAS_HANDLE,
        Kind.CUFFT_PLAN,
        Kind.CUSPARSE_HANDLE,
        Kind.CURAND_GENERATOR,
        Kind.NCCL_COMMUNICATOR,
    }
)
"""Objects of libraries that two threads must not be inside calls with at the same time, by the library's documentation: of cuBLAS and
cuSPARSE not if one of the calls changes or destroys it."""


class Verb(Enum):
    """What the call does with the parameter."""

    CREATES = "creates"
    """Writes a new object's handle through this pointer parameter."""
    RETURNS = "returns"
    """Hands out, through this pointer parameter, an object that may exist already
    (cuDevicePrimaryCtxRetain, cuDeviceGetDefaultMemPool, cuModuleGetFunction)."""
    DESTROYS = "destroys"
    USES = "uses"
    """The object must be alive. With kind CONTEXT and no parameter: a context must be current on the calling thread. Memory is
    named by any address inside it."""
    ALLOCATES = "allocates"
    """Writes a new allocation's address through this pointer parameter."""
    FREES = "frees"
    REGISTERS = "registers"
    UNREGISTERS = "unregisters"
    READS = "reads"
    """Memory at this address is read (source of a copy)."""
    WRITES = "writes"
    """Memory at this address is written (destination of a copy or set)."""
    ON = "on"
    """The stream on which work is enqueued."""
    RECORDS = "records"
    """The event that captures the work of the stream."""
    WAITS = "waits"
    """The event that later work of the stream waits for."""
    BLOCKS = "blocks"
    """The host waits until this stream, event, context (or, with no parameter, the current context) is done."""
    QUERIES = "queries"
    """Asks, without waiting, whether this stream or event is done."""
    SETS_CURRENT = "sets current"
    """Makes this context current; in the runtime API, the primary context of this device."""
    PUSHES = "pushes"
    POPS = "pops"
    RETAINS = "retains"
    """Primary context of this device is retained."""
    RELEASES = "releases"
    RESETS = "resets"
    """Primary context of this device is destroyed with all that belongs to it."""
    BEGINS_CAPTURE = "begins capture"
    ENDS_CAPTURE = "ends capture"
    LAUNCHES = "launches"
    """Function, kernel or executable graph that is enqueued."""
    LOADS = "loads"
    """Image (bytes or file name) that is loaded into a new module or library."""
    INITIALISES = "initialises"
    CALLS_BACK = "calls back"
    """Host function that the driver will call."""
    SETS_STREAM = "sets stream"
    """The library object that ``parent`` names enqueues on this stream from now on."""
    SETS_WORKSPACE = "sets workspace"
    """The library object that ``parent`` names uses this memory, of ``size`` bytes, from now on."""

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Role:
    """One role of one parameter.

    ``parameter`` names the parameter ("" for roles of the call as a whole); ``field`` a dotted member when
    the handle sits in a struct that the parameter points to, "*" when the parameter points to the handle itself; ``size``,
    ``count`` and ``parent`` name other parameters: size of the memory, elements of an array parameter, the object that the new
    one belongs to.
    ``size`` counts elements of ``element`` bytes. Where an extent takes more to say (pitched copies and sets), it is "".
    ``null`` says that zero is an ordinary value (the default stream, free of a null pointer).
    ``variant`` distinguishes e.g. ``pitched``, ``managed``, ``stream-ordered`` allocations.
    Members are looked up in the struct of the symbol that was called: older symbols have older structs.
    With ``when``, the role holds only if that member of the struct is one of ``values``; else the member that
    ``field`` names may hold anything.
    """

    verb: Verb
    parameter: str
    kind: Kind = Kind.NONE
    field: str = ""
    size: str = ""
    count: str = ""
    parent: str = ""
    null: bool = False
    variant: str = ""
    element: int = 1
    when: str = ""
    values: tuple[int, ...] = ()
