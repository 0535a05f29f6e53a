from cuvet.model import Call, ModelView
from cuvet.model.accesses import COPIES, accesses
from cuvet.rules.occasions import beyond_ordinary_memory
from cuvet.rules.rule import CallRule, Violations


class MemoryHostPointerNull(CallRule):
    """
    checks: A copy of at least one byte is given NULL as its host memory, or as an end that may be host or device memory.
    why: There is nothing to copy from or to. The call is refused and copies nothing, also in a stream capture and as a node of a graph.
    instead: Check that the host memory was allocated, and that the number of bytes is its own. An empty container has no first element.
    limits: Of unmapped host addresses, only NULL is recognised. Another one was measured to end the process with SIGSEGV inside the driver.
    """

    code = "CV425"
    summary = "a copy is given NULL as its host memory"
    help = "check that the host memory was allocated and that the container is not empty; with 0 bytes NULL is allowed"
    entry_points = COPIES | {"cuGraphAddMemcpyNode"}
    only_when = beyond_ordinary_memory
    evidence = """
    measured: NULL as the host memory of copies, linear and of rows, blocking, asynchronous, captured and as nodes of
      graphs: CUDA_ERROR_INVALID_VALUE; with no bytes, or no rows: no error (copy_host_null)
    measured: other addresses that are not mapped: SIGSEGV in the driver, no error code (copy_host_unmapped)
    documented: data() of an empty container may be null (cppreference.com, std::vector::data)
    """
    VALID = """
## no bytes
note: NULL is accepted when nothing is copied
memory = cu.cuMemAlloc(64)
cu.cuMemcpyHtoD(memory, 0, 0)
cu.cuMemcpyDtoH(0, memory, 0)

## no rows
memory, host, device = cu.cuMemAlloc(64), 1, 2
cu.cuMemcpy2D(
    cu.struct("CUDA_MEMCPY2D", srcMemoryType=host, dstMemoryType=device, dstDevice=memory, WidthInBytes=64, Height=0)
)

## host memory that is there
memory = cu.cuMemAlloc(64)
cu.cuMemcpyHtoD(memory, cu.host(64), 64)
cu.cuMemcpy(cu.host(64), memory, 64)
"""
    INVALID = """
## from an empty container
memory = cu.cuMemAlloc(64)
cu.cuMemcpyHtoD(memory, 0, 64)  # error: [memory-host-pointer-null]

## to memory that could not be allocated
memory, stream = cu.cuMemAlloc(64), cu.cuStreamCreate(0)
cu.cuMemcpyDtoHAsync(0, memory, 64, stream)  # error: [memory-host-pointer-null]

## direction found out by the driver
note: cudaMemcpyDefault
memory = cu.cuMemAlloc(64)
cu.cuMemcpy(memory, 0, 64)  # error: [memory-host-pointer-null]

## rows
memory, host, device = cu.cuMemAlloc(128), 1, 2
rows = cu.struct(
    "CUDA_MEMCPY2D",
    srcMemoryType=host, srcPitch=64, dstMemoryType=device, dstDevice=memory, dstPitch=64, WidthInBytes=64, Height=2,
)
cu.cuMemcpy2D(rows)  # error: [memory-host-pointer-null]

## captured
note: the capture goes on
memory, stream = cu.cuMemAlloc(64), cu.cuStreamCreate(1)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemcpyHtoDAsync(memory, 0, 64, stream)  # error: [memory-host-pointer-null]
cu.cuStreamEndCapture(stream)

## node of a graph
memory, graph, host, device = cu.cuMemAlloc(64), cu.cuGraphCreate(0), 1, 2
copy = cu.struct(
    "CUDA_MEMCPY3D",
    srcMemoryType=host, dstMemoryType=device, dstDevice=memory, WidthInBytes=64, Height=1, Depth=1,
)
cu.cuGraphAddMemcpyNode(graph, 0, 0, copy, context)  # error: [memory-host-pointer-null]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        null = [access for access in accesses(call) if not access.address]
        if not null or any(access.side == "device" for access in null):
            return
        yield cls.refused(f"the {null[0].role} is NULL", argument=null[0].argument)
