from cuvet.model import Call, ModelView
from cuvet.rules.capturing import begun
from cuvet.rules.frees import Case, freed
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import CallRule, Violations


class CaptureFreeOutsideMemory(CallRule):
    """
    checks: Memory that was allocated outside the capture is freed with `cuMemFreeAsync` on a capturing stream, and the call fails.
    why: The free becomes a node of the graph, and such a node frees only what a node of a graph allocates. The call was measured to
      return CUDA_ERROR_INVALID_VALUE; the capture continues.
    instead: Free the memory before the capture, or after it when no launch of the graph needs the memory any more. Or allocate it with
      `cuMemAllocAsync` on the capturing stream, so that it belongs to the graph.
    limits: Reported only when the call fails.
    """

    code = "CV814"
    summary = "memory from outside a capture is freed on a capturing stream"
    help = "free the memory outside the capture, or allocate it on the capturing stream"
    entry_points = frozenset({"cuMemFreeAsync"})
    evidence = """
    measured: memory of cudaMallocAsync: CUDA_ERROR_INVALID_VALUE, and the capture ends well
      (capture_free_outside_async)
    measured: memory of cudaMalloc: CUDA_ERROR_INVALID_VALUE, and the capture ends well (capture_calls_global)
    documented: in a capture the call makes a free node, so it needs the address of a graph allocation (CUDA Driver API,
      Stream Ordered Memory Allocator, cuMemFreeAsync)
    """
    VALID = """
## allocated and freed in the capture
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
memory = cu.cuMemAllocAsync(4096, stream)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuMemFreeAsync(memory, stream)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))

## freed after the capture
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAllocAsync(4096, stream)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
graph = cu.cuStreamEndCapture(stream)
cu.cuMemFreeAsync(memory, stream)
cu.cuGraphDestroy(graph)
"""
    INVALID = """
## memory of cuMemAlloc
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemFreeAsync(memory, stream)  # error: [capture-free-outside-memory]
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
cu.cuMemFree(memory)
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        stream = model.stream_on(call)
        given = freed(call, model)
        memory = given.object
        if stream is None or stream.capture is None or stream.capture.invalidated_by is not None:
            return
        if given.case is not Case.RIGHT or memory is None or getattr(memory, "variant", "") == "graph":
            return
        because = [] if memory.created_by is None else [f"{memory.name} was allocated by {place(memory.created_by)}"]
        message = f"{memory.name} is not memory of the graph that {stream.name} captures"
        yield cls.refused(message, memory, stream, argument=given.argument, because=(*because, begun(stream.capture)))
