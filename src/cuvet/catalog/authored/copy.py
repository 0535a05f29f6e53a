"""Copies and sets."""

from cuvet.catalog.authored.words import *
from cuvet.catalog.roles import Kind, Role

_HOST, _DEVICE, _ARRAY, _UNIFIED = 1, 2, 3, 4
"""CUmemorytype"""


def _from(parameter: str, kind: Kind = Kind.MEMORY, variant: str = "") -> Role:
    return reads(parameter, size="ByteCount", kind=kind, variant=variant)


def _to(parameter: str, kind: Kind = Kind.MEMORY, variant: str = "") -> Role:
    return writes(parameter, size="ByteCount", kind=kind, variant=variant)


def _described(parameter: str) -> tuple[Role, ...]:
    """CUDA_MEMCPY2D and CUDA_MEMCPY3D: memory types say which members of the struct hold the two places."""
    return (
        reads(parameter, kind=HOST_MEMORY, field="srcHost", when="srcMemoryType", values=(_HOST,)),
        reads(parameter, field="srcDevice", when="srcMemoryType", values=(_DEVICE,)),
        reads(parameter, field="srcDevice", variant="unified", when="srcMemoryType", values=(_UNIFIED,)),
        uses(ARRAY, parameter, field="srcArray", when="srcMemoryType", values=(_ARRAY,)),
        writes(parameter, kind=HOST_MEMORY, field="dstHost", when="dstMemoryType", values=(_HOST,)),
        writes(parameter, field="dstDevice", when="dstMemoryType", values=(_DEVICE,)),
        writes(parameter, field="dstDevice", variant="unified", when="dstMemoryType", values=(_UNIFIED,)),
        uses(ARRAY, parameter, field="dstArray", when="dstMemoryType", values=(_ARRAY,)),
    )


def _peers(parameter: str) -> tuple[Role, ...]:
    return (uses(CONTEXT, parameter, field="srcContext"), uses(CONTEXT, parameter, field="dstContext"))


def _set(element: int) -> Role:
    return writes("dstDevice", size="N", element=element)


_PITCHED = writes("dstDevice", variant="pitched")

_TO_BE_AWAITED: Roles = {
    "cuMemcpy": (_to("dst", variant="unified"), _from("src", variant="unified")),
    "cuMemcpyHtoD": (_to("dstDevice"), _from("srcHost", HOST_MEMORY)),
    "cuMemcpyDtoH": (_to("dstHost", HOST_MEMORY), _from("srcDevice")),
    "cuMemcpyDtoD": (_to("dstDevice"), _from("srcDevice")),
    "cuMemcpyHtoA": (uses(ARRAY, "dstArray"), _from("srcHost", HOST_MEMORY)),
    "cuMemcpyAtoH": (_to("dstHost", HOST_MEMORY), uses(ARRAY, "srcArray")),
    "cuMemcpyDtoA": (uses(ARRAY, "dstArray"), _from("srcDevice")),
    "cuMemcpyAtoD": (_to("dstDevice"), uses(ARRAY, "srcArray")),
    "cuMemcpyAtoA": (uses(ARRAY, "dstArray"), uses(ARRAY, "srcArray")),
    "cuMemcpyPeer": (_to("dstDevice"), uses(CONTEXT, "dstContext"), _from("srcDevice"), uses(CONTEXT, "srcContext")),
    **alike("cuMemcpy2D cuMemcpy2DUnaligned cuMemcpy3D", *_described("pCopy")),
    "cuMemcpy3DPeer": (*_described("pCopy"), *_peers("pCopy")),
    "cuMemsetD8": (_set(1),),
    "cuMemsetD16": (_set(2),),
    "cuMemsetD32": (_set(4),),
    **alike("cuMemsetD2D8 cuMemsetD2D16 cuMemsetD2D32", _PITCHED),
}

_ASYNCHRONOUS = """
cuMemcpy cuMemcpyHtoD cuMemcpyDtoH cuMemcpyDtoD cuMemcpyHtoA cuMemcpyAtoH cuMemcpyPeer cuMemcpy2D cuMemcpy3D
cuMemcpy3DPeer cuMemsetD8 cuMemsetD16 cuMemsetD32 cuMemsetD2D8 cuMemsetD2D16 cuMemsetD2D32
""".split()
"""Those that have a form with a stream, spelled with ``Async``."""

ROLES: Roles = {
    **{name: (in_current_context(), *roles) for name, roles in _TO_BE_AWAITED.items()},
    **{f"{name}Async": (*_TO_BE_AWAITED[name], on("hStream")) for name in _ASYNCHRONOUS},
    "cuMemcpyBatchAsync": (
        writes("dsts", count="count", variant="unified"),
        reads("srcs", count="count", variant="unified"),
        on("hStream"),
    ),
    "cuMemcpyWithAttributesAsync": (
        writes("dst", size="size", variant="unified"),
        reads("src", size="size", variant="unified"),
        on("hStream"),
    ),
    **alike("cuMemcpy3DBatchAsync cuMemcpy3DWithAttributesAsync cuFabricCpyBatchAsync", on("hStream")),
    "cuMemBatchDecompressAsync": (on("stream"),),
}

NO_ROLE: ByReason = {}
