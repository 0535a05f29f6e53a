"""Which objects ``cuvet run --quarantine`` keeps when the program ends them. What ends them is in the roles of the entry points;
``native/quarantine.cpp`` is made from both."""

from collections.abc import Mapping
from dataclasses import dataclass

from cuvet.catalog.kinds import Kind
from cuvet.catalog.results import INVALID_HANDLE, INVALID_VALUE


@dataclass(frozen=True)
class Kept:
    """How objects of a kind are kept. ``made_by``: the entry points that make them, each with the bits that may be set in its flags:
    others are interprocess, imported, or can be launched by a device. A second end is answered ``refused``, and the driver is not asked."""

    most: int
    made_by: Mapping[str, int]
    refused: int


KEPT: Mapping[Kind, Kept] = {
    Kind.MEMORY: Kept(16_384, {"cuMemAlloc": 0}, INVALID_VALUE),
    Kind.STREAM: Kept(64, {"cuStreamCreate": 1, "cuStreamCreateWithPriority": 1}, INVALID_HANDLE),
    Kind.EVENT: Kept(65_536, {"cuEventCreate": 3}, INVALID_HANDLE),
    Kind.GRAPH: Kept(1024, {"cuGraphCreate": 0, "cuGraphClone": 0, "cuStreamEndCapture": 0}, INVALID_VALUE),
}
"""A stream takes 0.53 MiB of GPU memory and 5 to 20 ns of each synchronisation of its device; 100,000 events take no memory that shows
(NVIDIA H200, driver 580.159, CUDA 13.0). Memory is bounded by its bytes too. Other objects end at once: it is not known what their end
waits for (executable graphs, arrays, pinned memory, modules), or they are not the program's alone (pools)."""

HINDERS: Mapping[str, tuple[Kind, str]] = {
    "cuStreamAttachMemAsync": (Kind.STREAM, "hStream"),
    "cuGraphAddNode": (Kind.GRAPH, ""),
    "cuGraphAddMemAllocNode": (Kind.GRAPH, ""),
    "cuGraphAddMemFreeNode": (Kind.GRAPH, ""),
    "cuGraphAddEventRecordNode": (Kind.GRAPH, ""),
    "cuGraphAddEventWaitNode": (Kind.GRAPH, ""),
    "cuGraphAddExternalSemaphoresSignalNode": (Kind.GRAPH, ""),
    "cuGraphAddExternalSemaphoresWaitNode": (Kind.GRAPH, ""),
    "cuGraphConditionalHandleCreate": (Kind.GRAPH, ""),
    "cuGraphRetainUserObject": (Kind.GRAPH, ""),
    "cuEventRecordWithFlags": (Kind.GRAPH, ""),
}
"""Calls after which the object that the parameter names, or (without a parameter) every object of the kind, ends at once, because
something sees or needs its end: managed memory goes back to all streams when its stream ends, user objects end with their graphs, memory
nodes hold addresses, and a graph names the events and semaphores of its nodes, which may end before it is really destroyed."""

RELEASED_BEFORE: Mapping[str, Kind] = {"cuModuleUnload": Kind.GRAPH, "cuLibraryUnload": Kind.GRAPH}
"""Calls before which what is kept of that kind is really destroyed: graphs name functions of modules."""

FREE_MEMORY = "cuMemGetInfo"
"""Its answer does not show what is kept."""
