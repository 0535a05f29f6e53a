"""What the driver answers to a call that breaks no rule, and the values it hands out that the model knows."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from cuvet.catalog import driver
from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.code import code_of, loaded_from
from cuvet.model.current import needs_context, refuses_destroyed_context
from cuvet.model.ledger import bytes_of_array
from cuvet.model.naming import member
from cuvet.model.nodes import frees_before, frees_memory, node_types
from cuvet.model.objects import Allocation, Event, Function, Graph, GraphExec, Linker, Stream
from cuvet.model.precedence import Stage
from cuvet.rules.rule import CRASH

if TYPE_CHECKING:
    from cuvet.catalog import EntryPoint
    from cuvet.model.call import Call
    from cuvet.model.model import Model

SUCCESS = 0
INVALID_VALUE = 1
OUT_OF_MEMORY = 2
NOT_INITIALIZED = 3
DEINITIALIZED = 4
INVALID_DEVICE = 101
INVALID_CONTEXT = 201
NOT_FOUND = 500
NOT_READY = 600
CONTEXT_IS_DESTROYED = 709
INVALID_IMAGE = 200
INVALID_SOURCE = 300
INVALID_HANDLE = 400
ILLEGAL_STATE = 401
ILLEGAL_ADDRESS = 700
LAUNCH_FAILED = 719
NOT_PERMITTED = 800
NOT_SUPPORTED = 801
GRAPH_EXEC_UPDATE_FAILURE = 910
UNKNOWN = 999

STICKY = frozenset({226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 911})
"""Errors after which, says the documentation of CUresult, any further CUDA work returns the same error (710: the context
cannot be used any more)."""

BEFORE_INIT = frozenset(
    {
        "cuDriverGetVersion",
        "cuGetErrorName",
        "cuGetErrorString",
        "cuGetProcAddress",
        "cuInit",
        "cuModuleGetLoadingMode",
        "cuThreadExchangeStreamCaptureMode",
        "cuGetExportTable",
    }
)
"""Entry points that do not need cuInit."""

_WORK = frozenset(
    {
        Verb.CREATES,
        Verb.ALLOCATES,
        Verb.REGISTERS,
        Verb.LOADS,
        Verb.ON,
        Verb.BLOCKS,
        Verb.QUERIES,
        Verb.LAUNCHES,
        Verb.RETAINS,
    }
)
_UNIFIED = frozenset({"cuMemcpy", "cuMemcpyAsync"})
"""Copies that find out themselves what an address is."""
_MOVES = frozenset({Verb.READS, Verb.WRITES})
_ENDS = frozenset({Verb.DESTROYS, Verb.FREES, Verb.UNREGISTERS})
_PTX = b".version"
"""What every PTX text begins with, after comments: it is what programs link."""
_EVENT_NODES = {6: "eventWait.event", 7: "eventRecord.event"}
"""CU_GRAPH_NODE_TYPE_WAIT_EVENT and CU_GRAPH_NODE_TYPE_EVENT_RECORD: where CUgraphNodeParams holds the event."""
_ARRAY_COPIES = tuple(
    f"cuMemcpy{kind}{suffix}" for kind in ("HtoA", "AtoH", "DtoA", "AtoD", "AtoA") for suffix in ("", "Async")
)
_DYNAMIC_SHARED = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""
_MOST_THREADS = 1024
"""Of a block, on every GPU so far."""
_WITHOUT_PLANES = frozenset({0x01, 0x02, 0x03, 0x08, 0x09, 0x0A, 0x10, 0x20})
"""CUarray_format: whole numbers, half and float."""
_WITHOUT_CONTEXT = frozenset(
    {
        Kind.GRAPH,
        Kind.GRAPH_NODE,
        Kind.LINKER,
        Kind.USER_OBJECT,
        Kind.CONTEXT,
        Kind.LIBRARY,
        Kind.MEMORY_POOL,
        Kind.MEMORY_HANDLE,
        Kind.ADDRESS_RANGE,
    }
)
"""Kinds that no context owns: they go on working when one is lost."""


def of_process(model: Model, call: Call) -> tuple[Stage, int] | None:
    """What every call returns while the driver is not there."""
    if not call.entry_point.status:
        return None
    if model.shutdown_by:
        return Stage.PROCESS, DEINITIALIZED
    if model.initialised_by is None and call.name not in BEFORE_INIT:
        return Stage.PROCESS, NOT_INITIALIZED
    return None


def of_context(model: Model, call: Call) -> tuple[Stage, int] | None:
    """What every call returns that works in the current context, where there is none, or it was destroyed or has a sticky error."""
    if not call.entry_point.status or not refuses_destroyed_context(call):
        return None
    context = model.current_context(call)
    if context is None:
        return (Stage.CONTEXT, INVALID_CONTEXT) if needs_context(call) and not model.current_handle(call) else None
    if context.destroyed_by is not None:
        return Stage.CONTEXT, CONTEXT_IS_DESTROYED
    error = model.sticky_error(call)
    return None if error is None else (Stage.CONTEXT, error[1])


def of_legal_call(model: Model, call: Call) -> tuple[int, ...]:
    """Statuses of a call that breaks no rule, the likeliest first."""
    entry_point = call.entry_point
    if not entry_point.status:
        return (SUCCESS,)
    error = model.sticky_error(call)
    if error is not None:
        verbs = {role.verb for role in entry_point.roles if role.kind not in _WITHOUT_CONTEXT}
        if verbs & (_WORK | _ENDS) or _names_working(entry_point):
            return (error[1],)
    for role in entry_point.roles:
        if role.verb is Verb.QUERIES:
            return _of_query(model, call, role)
        if role.verb is Verb.ALLOCATES and _bytes(call, role) > model.memory:
            return (OUT_OF_MEMORY,)
    if model.graphs_allocate and _uses_graph_memory(model, call):
        return (SUCCESS, INVALID_VALUE, CRASH) if entry_point.name in _UNIFIED else (SUCCESS, INVALID_VALUE)
    special = _SPECIAL.get(entry_point.name)
    if special is not None:
        return special(model, call)
    context = model.current_context(call)
    if context is not None and context.launched and _waits(entry_point):
        return (SUCCESS, LAUNCH_FAILED, ILLEGAL_ADDRESS)
    return (SUCCESS,)


def of_late_fault(model: Model, call: Call) -> tuple[int, ...]:
    """What any call may return that works on the device, once work has lost its memory and until the host has waited for that work; and
    of one that waits, after memory was freed twice. Rules call both frees wrong (memory-free-unordered, memory-free-twice)."""
    if model.freed_twice and _ends_or_waits(call.entry_point):
        return (CRASH,)
    if all(map(model.finished, model.endangered)) or not _tells_faults(call.entry_point):
        return ()
    return (ILLEGAL_ADDRESS, LAUNCH_FAILED)


def _uses_graph_memory(model: Model, call: Call) -> bool:
    """Whether the call, outside of a capture, copies, sets or frees memory that a graph allocates. From a launch on it is there, until
    another launch or the program frees it: which of the two is not followed. A copy that finds out what an address is takes one that
    is not there for the host's."""
    stream = model.stream_on(call)
    if stream is not None and stream.capture is not None:
        return False
    return any(
        isinstance(found, Allocation) and found.variant == "graph"
        for role in call.entry_point.roles
        if role.verb in _MOVES or role.verb is Verb.FREES
        for found in model.objects_named(call, role)
    )


@cache
def _ends_or_waits(entry_point: EntryPoint) -> bool:
    """Whether its calls wait for a context, or end one: then the driver frees for good what was freed in stream order."""
    return _waits(entry_point) or any(
        role.kind is Kind.CONTEXT and role.verb is Verb.DESTROYS for role in entry_point.roles
    )


@cache
def _tells_faults(entry_point: EntryPoint) -> bool:
    """Whether its calls tell how work does that was enqueued before."""
    return entry_point.status and any(
        role.kind in (Kind.STREAM, Kind.EVENT)
        or role.verb in _MOVES
        or (role.verb in _WORK | _ENDS and (role.kind not in _WITHOUT_CONTEXT or role.kind is Kind.CONTEXT))
        for role in entry_point.roles
    )


@cache
def _names_working(entry_point: EntryPoint) -> bool:
    """Whether its calls are about streams or functions."""
    return any(role.kind in (Kind.STREAM, Kind.FUNCTION) and role.verb is Verb.USES for role in entry_point.roles)


@cache
def _waits(entry_point: EntryPoint) -> bool:
    """Whether its calls wait for kernels, and so tell first that one has failed."""
    return any(
        role.verb is Verb.BLOCKS and role.kind in (Kind.CONTEXT, Kind.STREAM, Kind.EVENT) for role in entry_point.roles
    )


def outputs(model: Model, call: Call) -> dict[int, int]:
    """Values that the driver writes, where the model knows them, by parameter index."""
    known = _KNOWN.get(call.entry_point.name)
    return {} if known is None else known(model, call)


def _of_query(model: Model, call: Call, role: Role) -> tuple[int, ...]:
    """Of the legacy stream it is not known: copies that name no stream need not be done when the call returns."""
    found = model.object_of(call, call.entry_point.index[role.parameter], role.kind)
    if isinstance(found, Stream):
        drained = model.complete and not found.legacy and model.order.is_drained(found)
        return (SUCCESS,) if drained else (SUCCESS, NOT_READY)
    if isinstance(found, Event):
        return _readiness(model, _unfinished(model, found))
    return (SUCCESS, NOT_READY)


def _of_elapsed_time(model: Model, call: Call) -> tuple[int, ...]:
    """Whether a graph has recorded an event is not seen."""
    events = [model.object_of(call, call.entry_point.index[name], Kind.EVENT) for name in ("hStart", "hEnd")]
    if any(isinstance(event, Event) and event.external and event.recorded_by is None for event in events):
        return (INVALID_HANDLE, SUCCESS, NOT_READY)
    unfinished = [event for event in events if isinstance(event, Event) and _unfinished(model, event) is not None]
    return (SUCCESS, NOT_READY) if unfinished else (SUCCESS,)


def _of_pop(model: Model, call: Call) -> tuple[int, ...]:
    """Programs pop until there is nothing left: it is no mistake."""
    return (SUCCESS,) if model.current_handle(call) or not model.complete else (INVALID_CONTEXT,)


def _of_host_flags(model: Model, call: Call) -> tuple[int, ...]:
    """Programs ask so whether memory is pinned: "no" is no mistake."""
    found = model.host_memory_at(call.arg("p"))
    return (SUCCESS,) if found is not None and found.alive else (INVALID_VALUE,)


def _of_address_range(model: Model, call: Call) -> tuple[int, ...]:
    """Memory that a graph allocates is there from its launch on; freed memory may still be found, and that of another device not."""
    address = call.arg("dptr")
    memory, host = model.allocation_at(address), model.host_memory_at(address)
    if memory is not None and memory.alive and memory.variant == "graph":
        return (NOT_FOUND, SUCCESS)
    if host is not None and host.alive:
        return (SUCCESS,)
    if memory is None:
        return (NOT_FOUND,)
    if not memory.alive:
        return (NOT_FOUND, SUCCESS)
    return (SUCCESS, NOT_FOUND) if memory.device not in (None, model.device_of(call)) else (SUCCESS,)


def _of_pointer(model: Model, call: Call) -> tuple[int, ...]:
    """Programs ask so what an address is: that it is nothing of CUDA's is no mistake. Memory of cuMemAlloc that cuMemFreeAsync freed is
    there for a while."""
    memory, host = model.allocation_at(call.arg("ptr")), model.host_memory_at(call.arg("ptr"))
    attribute, attributes = call.arg("attribute"), driver().enumerations["CUpointer_attribute"]
    if attribute not in attributes.values():
        return (INVALID_VALUE,)
    if host is not None and host.alive:
        return (SUCCESS,)
    if memory is not None and memory.freed_on is not None and memory.variant in ("linear", "pitched"):
        return (INVALID_VALUE, SUCCESS)
    if memory is None or not memory.alive or memory.variant == "graph":
        return (INVALID_VALUE,)
    if attribute == attributes["CU_POINTER_ATTRIBUTE_DEVICE_POINTER"] and memory.variant != "managed":
        return _of_device_pointer(model, call, memory)
    of_host = attribute == attributes["CU_POINTER_ATTRIBUTE_HOST_POINTER"]
    return (INVALID_VALUE,) if of_host and memory.variant != "managed" else (SUCCESS,)


def _of_device_pointer(model: Model, call: Call, memory: Allocation) -> tuple[int, ...]:
    """The address "through which ptr may be accessed by kernels running in the current CUcontext" (cuPointerGetAttribute)."""
    context = model.current_context(call)
    if context is None:
        return (SUCCESS, INVALID_CONTEXT)
    if not context.alive:
        return (INVALID_CONTEXT,)
    return (SUCCESS,) if model.reaches(context, memory) else (INVALID_VALUE,)


def _of_access(model: Model, call: Call) -> tuple[int, ...]:
    memory = model.allocation_at(call.arg("ptr"))
    return (SUCCESS,) if memory is not None and memory.alive and memory.variant == "mapped" else (INVALID_VALUE,)


def _of_pointer_attributes(model: Model, call: Call) -> tuple[int, ...]:
    known = driver().enumerations["CUpointer_attribute"].values()
    data = call.inputs.get(call.entry_point.index["attributes"], b"")
    asked = (int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4))
    return (SUCCESS,) if all(attribute in known for attribute in asked) else (INVALID_VALUE,)


def _of_variable(model: Model, call: Call) -> tuple[int, ...]:
    """Which variables an image has is known of PTX only."""
    index = call.entry_point.index
    kind, owner = (Kind.MODULE, "hmod") if "hmod" in index else (Kind.LIBRARY, "library")
    found = model.object_of(call, index[owner], kind)
    code = code_of(found)
    if code is None or (call.name == "cuLibraryGetManaged" and b".managed" in loaded_from(found)):
        return (SUCCESS, NOT_FOUND)
    name = call.inputs.get(index["name"], b"").split(b"\0")[0].decode("utf-8", "replace")
    return (SUCCESS,) if name in code.variables and call.name != "cuLibraryGetManaged" else (NOT_FOUND,)


def _of_unified_function(model: Model, call: Call) -> tuple[int, ...]:
    text = loaded_from(model.object_of(call, call.entry_point.index["library"], Kind.LIBRARY))
    return (SUCCESS, INVALID_VALUE) if not text or b".unified" in text else (INVALID_VALUE,)


def _of_kernel_parameter(model: Model, call: Call) -> tuple[int, ...]:
    """How many parameters a kernel has is known of PTX only."""
    function = model.object_of(call, 0, Kind.FUNCTION)
    code = code_of(function)
    kernel = code.kernels.get(function.symbol) if code is not None and isinstance(function, Function) else None
    if kernel is None:
        return (SUCCESS, INVALID_VALUE)
    return (SUCCESS,) if call.arg("paramIndex") < len(kernel.parameters) else (INVALID_VALUE,)


def _of_pool(model: Model, call: Call) -> tuple[int, ...]:
    """A device takes its own pools only."""
    index = call.entry_point.index
    pool = model.object_of(call, index["pool"], Kind.MEMORY_POOL)
    made = None if pool is None else pool.created_by
    if made is None or made.name != "cuMemPoolCreate":
        return (SUCCESS,)
    device = member(made, "poolProps", "location.id")
    wanted = call.arg("dev") if "dev" in index else member(call, "location", "id")
    return (SUCCESS,) if device is None or wanted in (None, device) else (INVALID_VALUE,)


def _of_clusters(model: Model, call: Call) -> tuple[int, ...]:
    """Asked in the context of the function."""
    function = model.object_of(call, call.entry_point.index["func"], Kind.FUNCTION)
    context = None if function is None else function.context
    return (SUCCESS,) if context in (None, model.current_context(call)) else (INVALID_HANDLE,)


def _of_array_copy(model: Model, call: Call) -> tuple[int, ...]:
    """Of one array, or between two: not past its end."""
    index = call.entry_point.index
    for name in ("dstArray", "srcArray"):
        array = model.object_of(call, index[name], Kind.ARRAY) if name in index else None
        offset = f"{name.removesuffix('Array')}Offset"
        past = call.arg("ByteCount") + (call.arg(offset) if offset in index else 0)
        made = None if array is None else array.created_by
        if made is not None and "pAllocateArray" in made.entry_point.index and 0 < bytes_of_array(made) < past:
            return (INVALID_VALUE,)
    return (SUCCESS,)


def _of_function_attribute(model: Model, call: Call) -> tuple[int, ...]:
    """Shared memory that a block asks for is not less than nothing."""
    return (INVALID_VALUE,) if call.arg("attrib") == _DYNAMIC_SHARED and call.arg("value") < 0 else (SUCCESS,)


def _of_active_blocks(model: Model, call: Call) -> tuple[int, ...]:
    return (SUCCESS,) if call.arg("blockSize") else (INVALID_VALUE,)


def _of_reset(model: Model, call: Call) -> tuple[int, ...]:
    """Green contexts hold the primary context of their device."""
    greens = (green for green in model.objects(Kind.GREEN_CONTEXT) if green.device == call.arg("dev"))
    return (SUCCESS,) if next(greens, None) is None else (NOT_PERMITTED,)


def _of_batch(model: Model, call: Call) -> tuple[int, ...]:
    """The context of the operations may not be modified, says its documentation (cuGraphExecBatchMemOpNodeSetParams)."""
    node = model.object_of(call, call.entry_point.index["hNode"], Kind.GRAPH_NODE)
    made = None if node is None else node.created_by
    if made is None or made.name != "cuGraphAddBatchMemOpNode":
        return (SUCCESS,)
    before, now = member(made, "nodeParams", "ctx"), member(call, "nodeParams", "ctx")
    return (SUCCESS,) if before == now else (INVALID_VALUE,)


def _of_graph_launch(model: Model, call: Call) -> tuple[int, ...]:
    """Whether memory is there that the graph frees, or still there that it allocates, is not known of all graphs."""
    made = model.object_of(call, 0, Kind.GRAPH_EXEC)
    if not isinstance(made, GraphExec) or not made.unique:
        return (SUCCESS,)
    frees = made.types is not None and frees_memory(made)
    again = made.types is None and made.last_launch is not None and not frees_before(made)
    return (SUCCESS, INVALID_VALUE) if frees or again else (SUCCESS,)


def _of_block_size(model: Model, call: Call) -> tuple[int, ...]:
    return (INVALID_VALUE,) if call.arg("blockSize") > _MOST_THREADS else (SUCCESS,)


def _of_memory_attribute(model: Model, call: Call) -> tuple[int, ...]:
    memory, context = model.allocation_at(call.arg("ptr")), model.current_context(call)
    if context is not None and not context.alive:
        return (INVALID_VALUE,)
    if memory is None:
        return (SUCCESS,)
    return (SUCCESS,) if memory.alive and memory.variant != "graph" else (SUCCESS, INVALID_VALUE)


def _of_graph_memory(model: Model, call: Call) -> tuple[int, ...]:
    """Which addresses allocation nodes were given is not seen, nor whether the graph was launched."""
    memory = model.allocation_at(call.arg("dptr"))
    own = memory is None or not memory.alive or memory.variant == "graph"
    return (SUCCESS, INVALID_VALUE) if own else (SUCCESS,)


def _of_node(model: Model, call: Call) -> tuple[int, ...]:
    """An event node needs an event."""
    field = _EVENT_NODES.get(member(call, "nodeParams", "type") or 0)
    return (INVALID_VALUE,) if field and member(call, "nodeParams", field) == 0 else (SUCCESS,)


def _of_plane(model: Model, call: Call) -> tuple[int, ...]:
    """Only arrays of some formats have planes."""
    array = model.object_of(call, call.entry_point.index["hArray"], Kind.ARRAY)
    made = None if array is None else array.created_by
    if made is None or "pAllocateArray" not in made.entry_point.index:
        return (SUCCESS, INVALID_VALUE)
    return (INVALID_VALUE,) if member(made, "pAllocateArray", "Format") in _WITHOUT_PLANES else (SUCCESS,)


def _of_graph_end(model: Model, call: Call) -> tuple[int, ...]:
    """A graph that a capture adds nodes to stays, and so do its nodes."""
    if "hNode" in call.entry_point.index:
        node = model.object_of(call, call.entry_point.index["hNode"], Kind.GRAPH_NODE)
        graph = None if node is None else node.parent
    else:
        graph = model.object_of(call, 0, Kind.GRAPH)
    if graph is not None and any(capture.graph is graph for capture in model.captures()):
        return (ILLEGAL_STATE,)
    damaged = isinstance(graph, Graph) and graph.released_too_often and call.name == "cuGraphDestroy"
    return (SUCCESS, CRASH) if damaged else (SUCCESS,)


def _of_user_object(model: Model, call: Call) -> tuple[int, ...]:
    """After the last release it is undefined to use one (cuUserObjectRelease)."""
    found = model.object_of(call, call.entry_point.index["object"], Kind.USER_OBJECT)
    return (SUCCESS,) if found is None or found.alive else (SUCCESS, CRASH)


def _of_update(model: Model, call: Call) -> tuple[int, ...]:
    """Programs update first and instantiate anew if that fails: it is no mistake that the graphs have other nodes. Which nodes a capture
    adds is not known, nor which of two errors it is that another graph allocates memory."""
    made = model.object_of(call, call.entry_point.index["hGraphExec"], Kind.GRAPH_EXEC)
    graph = model.object_of(call, call.entry_point.index["hGraph"], Kind.GRAPH)
    if not isinstance(made, GraphExec) or not isinstance(graph, Graph):
        return (SUCCESS,)
    types = node_types(graph)
    if made.types is None or types is None:
        return (SUCCESS, GRAPH_EXEC_UPDATE_FAILURE)
    if made.types == types:
        return (SUCCESS,)
    foreign = graph.allocates and not graph.conditional and made.graph is not graph
    return (GRAPH_EXEC_UPDATE_FAILURE, NOT_SUPPORTED) if foreign else (GRAPH_EXEC_UPDATE_FAILURE,)


def _of_link(model: Model, call: Call) -> tuple[int, ...]:
    """What is added twice is defined twice, if it is the same: 10 of 12 times the error told so. Nothing is added to what is complete."""
    linker = model.object_of(call, call.entry_point.index["state"], Kind.LINKER)
    if not isinstance(linker, Linker):
        return (SUCCESS,)
    if linker.completed_by is not None:
        return (INVALID_VALUE,)
    if call.image and _PTX not in call.image:
        return (INVALID_IMAGE,)
    return (SUCCESS,) if linker.added_by is None else (SUCCESS, INVALID_SOURCE, UNKNOWN)


def _of_two_devices(model: Model, call: Call) -> tuple[int, ...]:
    if call.arg("srcDevice") == call.arg("dstDevice"):
        return (INVALID_DEVICE,)
    known = driver().enumerations["CUdevice_P2PAttribute"].values()
    return (SUCCESS,) if call.arg("attrib") in known else (INVALID_VALUE,)


def _unfinished(model: Model, event: Event) -> Call | None:
    """The record of the event if the host does not know that it is done; of all streams of a context, it never knows."""
    record = event.recorded_by
    if record is None or (record.position is not None and model.finished(record)):
        return None
    return record


def _readiness(model: Model, unfinished: Call | None) -> tuple[int, ...]:
    """Work that nobody has waited for may be done all the same, and work that nobody saw may be pending."""
    return (SUCCESS,) if unfinished is None and model.complete else (SUCCESS, NOT_READY)


def _bytes(call: Call, role: Role) -> int:
    index = call.entry_point.index.get(role.size)
    return 0 if index is None or index >= len(call.args) else call.args[index]


def _current(model: Model, call: Call) -> dict[int, int]:
    return {0: model.current_handle(call)}


def _current_device(model: Model, call: Call) -> dict[int, int]:
    device = model.device_of(call)
    return {} if device is None else {0: device}


def _primary(model: Model, call: Call) -> dict[int, int]:
    context = model.primaries.get(call.arg("dev"))
    return {} if context is None else {0: context.handle}


def _primary_state(model: Model, call: Call) -> dict[int, int]:
    context = model.primaries.get(call.arg("dev"))
    return {1: 0 if context is None else context.flags, 2: int(context is not None and context.alive)}


def _device_count(model: Model, call: Call) -> dict[int, int]:
    return {0: model.devices}


def _device(model: Model, call: Call) -> dict[int, int]:
    return {0: call.arg("ordinal")}


def _default_pool(model: Model, call: Call) -> dict[int, int]:
    pool = model.default_pools.get(call.arg("dev"))
    return {} if pool is None else {0: pool.handle}


def _stream_flags(model: Model, call: Call) -> dict[int, int]:
    stream = model.stream_of(call, 0)
    green = stream is not None and stream.builtin and model.green_context(call) is not None
    return {} if stream is None or green else {1: stream.flags}


def _stream_context(model: Model, call: Call) -> dict[int, int]:
    stream = model.stream_of(call, 0)
    known = stream is not None and (stream.parent is None or stream.parent.kind is not Kind.GREEN_CONTEXT)
    if stream is not None and stream.builtin and model.green_context(call) is not None:
        return {}
    return {1: stream.context.handle} if stream is not None and known and stream.context is not None else {}


def _condition(model: Model, call: Call) -> dict[int, int]:
    """The conditions of a graph are numbered from 1."""
    graph = model.object_of(call, call.entry_point.index["hGraph"], Kind.GRAPH)
    made = isinstance(graph, Graph) and graph.created_by is not None and graph.created_by.name == "cuGraphCreate"
    return {0: len(graph.conditions) + 1} if isinstance(graph, Graph) and made else {}


def _capture_status(model: Model, call: Call) -> dict[int, int]:
    """CU_STREAM_CAPTURE_STATUS_NONE, _ACTIVE or _INVALIDATED."""
    stream = model.stream_of(call, 0)
    if stream is None:
        return {}
    return {1: 0 if stream.capture is None else 1 if stream.capture.invalidated_by is None else 2}


_SPECIAL = {
    "cuEventElapsedTime": _of_elapsed_time,
    "cuMemHostGetFlags": _of_host_flags,
    "cuMemGetAddressRange": _of_address_range,
    "cuCtxPopCurrent": _of_pop,
    "cuMemGetAccess": _of_access,
    "cuPointerGetAttribute": _of_pointer,
    "cuPointerGetAttributes": _of_pointer_attributes,
    "cuModuleGetGlobal": _of_variable,
    "cuLibraryGetGlobal": _of_variable,
    "cuLibraryGetManaged": _of_variable,
    "cuDeviceGetP2PAttribute": _of_two_devices,
    "cuLibraryGetUnifiedFunction": _of_unified_function,
    "cuFuncGetParamInfo": _of_kernel_parameter,
    "cuKernelGetParamInfo": _of_kernel_parameter,
    "cuArrayGetPlane": _of_plane,
    "cuGraphAddNode": _of_node,
    "cuDeviceSetMemPool": _of_pool,
    "cuMemSetMemPool": _of_pool,
    "cuOccupancyMaxActiveClusters": _of_clusters,
    "cuOccupancyMaxPotentialClusterSize": _of_clusters,
    "cuOccupancyAvailableDynamicSMemPerBlock": _of_block_size,
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": _of_active_blocks,
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": _of_active_blocks,
    "cuDevicePrimaryCtxReset": _of_reset,
    "cuGraphExecBatchMemOpNodeSetParams": _of_batch,
    "cuGraphLaunch": _of_graph_launch,
    "cuPointerSetAttribute": _of_memory_attribute,
    "cuGraphAddMemFreeNode": _of_graph_memory,
    "cuMemFreeAsync": _of_graph_memory,
    "cuGraphDestroy": _of_graph_end,
    "cuGraphDestroyNode": _of_graph_end,
    "cuUserObjectRelease": _of_user_object,
    "cuUserObjectRetain": _of_user_object,
    "cuGraphExecUpdate": _of_update,
    "cuLinkAddData": _of_link,
    "cuLinkAddFile": _of_link,
    **dict.fromkeys(_ARRAY_COPIES, _of_array_copy),
    "cuFuncSetAttribute": _of_function_attribute,
}
_KNOWN = {
    "cuGraphConditionalHandleCreate": _condition,
    "cuCtxGetCurrent": _current,
    "cuCtxPopCurrent": _current,
    "cuCtxGetDevice": _current_device,
    "cuDevicePrimaryCtxRetain": _primary,
    "cuDevicePrimaryCtxGetState": _primary_state,
    "cuDeviceGetCount": _device_count,
    "cuDeviceGet": _device,
    "cuDeviceGetDefaultMemPool": _default_pool,
    "cuStreamGetFlags": _stream_flags,
    "cuStreamGetCtx": _stream_context,
    "cuStreamIsCapturing": _capture_status,
    "cuStreamGetCaptureInfo": _capture_status,
}
