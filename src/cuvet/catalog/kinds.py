"""Lists the kinds of CUDA objects: one row each, with all facts about the objects of the kind.

The sets below the rows are derived from them; all other code uses the sets.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import Enum, IntEnum, auto


class Home(Enum):
    """What an object belongs to."""

    NOTHING = auto()
    CONTEXT = auto()
    """The context in which it was made: the driver frees it when that ends."""
    MADE_IN_CONTEXT = auto()
    """It is made in a context, and outlives it."""
    PROCESS = auto()
    """The process or a device, and no context."""
    PARENT = auto()
    """Another object, with which it ends."""


class Named(Enum):
    """How calls name an object."""

    BY_HANDLE = auto()
    BY_NUMBER = auto()
    """The handle is a small number, counted in the context or library."""
    BY_ADDRESS = auto()
    """Any address inside it does."""
    BY_ORDINAL = auto()
    """It is there without being made: devices."""


class Part(Enum):
    """What an object of a CUDA library is for."""

    NONE = auto()
    """No object of a library, or data."""
    HANDLE = auto()
    """Without one the library does nothing."""
    HANDLE_OF_DEVICE = auto()
    """The same; it belongs to a device, or a context of it, and cannot be made without."""
    DESCRIPTOR = auto()
    """It says what a call shall do. Frameworks make and destroy one for each operation."""


class Threads(Enum):
    """Whether two threads may be inside calls with the same object at the same time, by the library's documentation."""

    NOT_SAID = auto()
    NEVER = auto()
    UNLESS_CHANGED = auto()
    """Not if one of the calls changes or destroys it."""


@dataclass(frozen=True, slots=True)
class Row:
    """What is true of each object of a kind.

    ``noun``: the word for messages, where it is not the kind's name; ``counted``: the one for statistics. ``owned``: who makes it has
    to end it; modules, libraries and contexts are left to the end of the process on purpose. ``elsewhere``: handles also come
    from entry points that hand out many at once, or from no entry point at all. ``end_waits``: its end may wait for the device.
    ``survives_fault``: it goes on working in a context with a sticky error. ``stands_for``: the kind that calls take it for, too.
    ``spacing``: bytes between the handles of two that the driver makes one after the other; 0 if that was not measured.

    Of objects of CUDA's libraries also: ``tied``: it must not compute while another device is current, by the documentation;
    ``null_status``: what a call returns that is given none, by the documentation or a fact; empty if that is not known.
    """

    noun: str = ""
    counted: str = ""
    _: KW_ONLY
    home: Home = Home.NOTHING
    named: Named = Named.BY_HANDLE
    owned: bool = False
    elsewhere: bool = False
    end_waits: bool = False
    survives_fault: bool = False
    stands_for: str = ""
    spacing: int = 0
    part: Part = Part.NONE
    tied: bool = False
    threads: Threads = Threads.NOT_SAID
    null_status: tuple[int, ...] = ()


_FIRST_OF_LIBRARIES = 32


class Kind(IntEnum):
    """Kinds of CUDA objects. The numbers are part of the recording format: append only. The name of a kind of a library begins with
    the library's name in ``cuvet.catalog.apis``."""

    row: Row

    def __new__(cls, number: int, row: Row | None = None) -> Kind:
        kind = int.__new__(cls, number)
        kind._value_ = number
        kind.row = row or Row()
        return kind

    __hash__ = int.__hash__

    NONE = 0, Row(named=Named.BY_ADDRESS)
    CONTEXT = 1, Row(survives_fault=True, spacing=0x6A30)
    STREAM = 2, Row(home=Home.CONTEXT, owned=True, spacing=0x160)
    EVENT = 3, Row(home=Home.CONTEXT, owned=True, spacing=0x230)
    MEMORY = (
        4,
        Row("device memory", "allocation", home=Home.CONTEXT, named=Named.BY_ADDRESS, owned=True, elsewhere=True),
    )
    """Device-accessible memory: cuMemAlloc, managed, pitched, stream-ordered."""
    HOST_MEMORY = (
        5,
        Row(
            "", "host allocation", home=Home.CONTEXT, named=Named.BY_ADDRESS, owned=True, elsewhere=True, end_waits=True
        ),
    )
    """Of cuMemHostAlloc, cuMemAllocHost and cuMemHostRegister."""
    MEMORY_POOL = 6, Row(home=Home.PROCESS, owned=True, survives_fault=True)
    ARRAY = 7, Row(home=Home.CONTEXT, owned=True, elsewhere=True, end_waits=True)
    MIPMAPPED_ARRAY = 8, Row(home=Home.CONTEXT, owned=True, end_waits=True)
    TEXTURE_OBJECT = 9, Row(home=Home.CONTEXT, named=Named.BY_NUMBER, owned=True)
    SURFACE_OBJECT = 10, Row(home=Home.CONTEXT, named=Named.BY_NUMBER, owned=True)
    MODULE = 11, Row(home=Home.CONTEXT, end_waits=True)
    CULIBRARY = 12, Row("library", home=Home.PROCESS, end_waits=True, survives_fault=True)
    FUNCTION = 13, Row(home=Home.CONTEXT, elsewhere=True, stands_for="KERNEL", spacing=0x4E0)
    KERNEL = 14, Row(home=Home.PARENT, elsewhere=True, stands_for="FUNCTION")
    GRAPH = 15, Row(home=Home.PROCESS, owned=True, elsewhere=True, survives_fault=True, spacing=0x3E0)
    GRAPH_EXEC = 16, Row("executable graph", home=Home.MADE_IN_CONTEXT, owned=True, end_waits=True)
    GRAPH_NODE = 17, Row(home=Home.PARENT, elsewhere=True, survives_fault=True)
    EXTERNAL_MEMORY = 18, Row(home=Home.CONTEXT)
    EXTERNAL_SEMAPHORE = 19, Row(home=Home.CONTEXT)
    GRAPHICS_RESOURCE = 20, Row(home=Home.CONTEXT)
    LINKER = 21, Row(home=Home.MADE_IN_CONTEXT, survives_fault=True)
    USER_OBJECT = 22, Row(home=Home.PROCESS, survives_fault=True)
    GREEN_CONTEXT = 23, Row(home=Home.PROCESS)
    MEMORY_HANDLE = 24, Row(home=Home.PROCESS, survives_fault=True)
    """CUmemGenericAllocationHandle of cuMemCreate."""
    ADDRESS_RANGE = 25, Row(home=Home.PROCESS, named=Named.BY_ADDRESS, survives_fault=True)
    """Virtual address range of cuMemAddressReserve."""
    TEXTURE_REFERENCE = 26
    SURFACE_REFERENCE = 27
    DEVICE = 28, Row(named=Named.BY_ORDINAL, elsewhere=True)
    # null_status: CUDNN_STATUS_BAD_PARAM of cuDNN 9 is measured (cudnn_null_handle_use); CUFFT_INVALID_PLAN and the other libraries'
    # NOT_INITIALIZED are documented.
    CUDNN_HANDLE = (
        32,
        Row("cuDNN handle", part=Part.HANDLE_OF_DEVICE, tied=True, threads=Threads.NEVER, null_status=(2000,)),
    )
    CUDNN_DESCRIPTOR = 33, Row("cuDNN descriptor", part=Part.DESCRIPTOR)
    """What a typed cudnnCreate…Descriptor makes: of tensors, filters, convolutions and so on."""
    CUDNN_BACKEND_DESCRIPTOR = 34, Row("cuDNN backend descriptor", part=Part.DESCRIPTOR)
    CUBLAS_HANDLE = (
        35,
        Row("cuBLAS handle", part=Part.HANDLE_OF_DEVICE, tied=True, threads=Threads.UNLESS_CHANGED, null_status=(1,)),
    )
    CUBLASLT_HANDLE = (
        36,
        Row("cuBLASLt handle", part=Part.HANDLE_OF_DEVICE, stands_for="CUBLAS_HANDLE", null_status=(1,)),
    )
    CUBLASLT_DESCRIPTOR = 37, Row("cuBLASLt descriptor", part=Part.DESCRIPTOR)
    """Descriptors of matmuls, layouts, preferences and transforms that a cublasLt…Create makes."""
    CUFFT_PLAN = (
        38,
        Row("cuFFT plan", part=Part.HANDLE_OF_DEVICE, named=Named.BY_NUMBER, threads=Threads.NEVER, null_status=(1,)),
    )
    CUSPARSE_HANDLE = (
        39,
        Row("cuSPARSE handle", part=Part.HANDLE_OF_DEVICE, threads=Threads.UNLESS_CHANGED, null_status=(1,)),
    )
    CUSPARSE_DESCRIPTOR = 40, Row("cuSPARSE descriptor", part=Part.DESCRIPTOR)
    CUSOLVER_HANDLE = 41, Row("cuSOLVER handle", part=Part.HANDLE_OF_DEVICE, null_status=(1,))
    """Of cuSolverDN, cuSolverSP, cuSolverRF and cuSolverMg."""
    CUSOLVER_DESCRIPTOR = 42, Row("cuSOLVER descriptor", part=Part.DESCRIPTOR)
    """Parameters and infos of cuSOLVER."""
    CURAND_GENERATOR = (
        43,
        Row("cuRAND generator", part=Part.HANDLE_OF_DEVICE, threads=Threads.NEVER, null_status=(101,)),
    )
    CURAND_DISTRIBUTION = 44, Row("cuRAND distribution")
    NVRTC_PROGRAM = 45, Row("NVRTC program", part=Part.HANDLE)
    NVJITLINK_HANDLE = 46, Row("nvJitLink handle", part=Part.HANDLE)
    NCCL_COMMUNICATOR = 47, Row("NCCL communicator", part=Part.HANDLE_OF_DEVICE, threads=Threads.NEVER)
    CUTENSOR_HANDLE = 48, Row("cuTENSOR handle", part=Part.HANDLE_OF_DEVICE, null_status=(1,))
    CUTENSOR_DESCRIPTOR = 49, Row("cuTENSOR descriptor", part=Part.DESCRIPTOR)
    """Of tensors and operations, and preferences for plans."""
    CUTENSOR_PLAN = 50, Row("cuTENSOR plan", part=Part.DESCRIPTOR)

    @property
    def noun(self) -> str:
        """The word for messages: ``memory pool``, ``executable graph``."""
        return self.row.noun or self.name.lower().replace("_", " ")

    @property
    def counted(self) -> str:
        """The word for statistics: ``allocation``, ``memory pool``."""
        return self.row.counted or self.noun

    @property
    def api(self) -> str:
        """The library whose object it is, ``cudnn``; empty for the driver's."""
        return self.name.partition("_")[0].lower() if self >= _FIRST_OF_LIBRARIES else ""

    @property
    def stands_for(self) -> Kind | None:
        """The kind that calls take its handles for, too: kernels and functions for each other."""
        return Kind[self.row.stands_for] if self.row.stands_for else None


OF_CONTEXT = frozenset(kind for kind in Kind if kind.row.home is Home.CONTEXT)
"""What the driver frees when the context ends in which it was created."""

WITHOUT_CONTEXT = frozenset(kind for kind in Kind if kind.row.home is Home.PROCESS)
"""What belongs to the process or to a device, and outlives every context."""

OUTLIVES_CONTEXT = WITHOUT_CONTEXT | {kind for kind in Kind if kind.row.home in (Home.MADE_IN_CONTEXT, Home.PARENT)}
"""Also what was made in a context and does not end with it, or ends with something else."""

SURVIVES_FAULT = frozenset(kind for kind in Kind if kind.row.survives_fault)
"""What goes on working when its context is lost to a sticky error."""

OWNED = frozenset(kind for kind in Kind if kind.row.owned)
"""What who makes it has to end."""

BY_HANDLE = frozenset(kind for kind in Kind if kind.row.named in (Named.BY_HANDLE, Named.BY_NUMBER))
"""What calls name by a handle."""

BY_NUMBER = frozenset(kind for kind in Kind if kind.row.named is Named.BY_NUMBER)
"""Whose handles are small numbers rather than addresses."""

ALLOCATIONS = frozenset({Kind.MEMORY, Kind.HOST_MEMORY})
"""Memory that is allocated or registered."""

FUNCTIONS = frozenset({Kind.FUNCTION, Kind.KERNEL})
"""What can be launched, but for executable graphs."""

LIBRARY_OBJECTS = frozenset(kind for kind in Kind if kind.api)
"""What CUDA's libraries make."""

LIBRARY_HANDLES = frozenset(kind for kind in Kind if kind.row.part is Part.HANDLE_OF_DEVICE)
"""Objects of libraries that belong to a device, or a context of it, and cannot be made without."""

NEEDED_BY_LIBRARIES = LIBRARY_HANDLES | {kind for kind in Kind if kind.row.part is Part.HANDLE}
"""Objects without which a library does nothing: never optional, as some descriptors are."""

LIBRARY_DESCRIPTORS = frozenset(kind for kind in Kind if kind.row.part is Part.DESCRIPTOR)
"""Objects of libraries that say what a call shall do."""

NOT_SHARED_BETWEEN_THREADS = frozenset(kind for kind in Kind if kind.row.threads is not Threads.NOT_SAID)
"""Objects of libraries that two threads must not be inside calls with at the same time; of some, not if a call changes it."""
