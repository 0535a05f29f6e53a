from collections.abc import Iterator

from cuvet.catalog import Kind
from cuvet.model import Call, ModelView, Object
from cuvet.model.accesses import COPIES, SETS, accesses, pinned_at
from cuvet.rules.frees import ENTRY_POINTS, Case, freed
from cuvet.rules.lifecycle import by_reset, chain
from cuvet.rules.occasions import beyond_ordinary_memory
from cuvet.rules.rule import CRASH, CallRule, Violations

_OF_VARIABLE = "keep the module or library loaded for as long as its variables are used"


class MemoryUseAfterContextDestroy(CallRule):
    """
    checks: Memory is freed, copied or set after `cuCtxDestroy` (or the last `cuDevicePrimaryCtxRelease`) destroyed its context.
    why: Destroying a context frees its memory. The address belongs to nobody, or to an allocation of another context.
    instead: Free memory before its context is destroyed, and destroy the context last.
    limits: For resets of the device see `device-use-after-reset`. Silent if a new allocation has the address.
    """

    code = "CV411"
    in_source = True
    only_after_end = True
    summary = "memory is used or freed after its context was destroyed"
    help = "free the memory before its context is destroyed"
    entry_points = ENTRY_POINTS | COPIES | SETS
    only_when = beyond_ordinary_memory
    evidence = """
    measured: cuMemFree after cuCtxDestroy returns CUDA_ERROR_INVALID_VALUE (ctx_destroy_then_use)
    measured: memory of a green context's context after cuGreenCtxDestroy, where nothing else retains the primary
      context: cuMemsetD8 and cuMemFree return CUDA_ERROR_INVALID_VALUE (green_gone_memory)
    recorded: where a destroyed context is current: CUDA_ERROR_CONTEXT_IS_DESTROYED
    documented: destroys everything that belongs to the context (CUDA Driver API, Context Management, cuCtxDestroy)
    """
    VALID = """
## freed before the context ends
other = cu.cuCtxCreate(0, 0, device)
memory = cu.cuMemAlloc(4096)
cu.cuMemFree(memory)
cu.cuCtxDestroy(other)

## memory of a context that lives
memory = cu.cuMemAlloc(4096)
other = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(other)
cu.cuCtxSetCurrent(context)
cu.cuMemsetD8(memory, 0, 4096)
cu.cuMemFree(memory)

## of a green context, while the primary context is retained [no-setup]
cu.cuInit(0)
green = cu.green_context()
cu.cuCtxSetCurrent(cu.cuCtxFromGreenCtx(green))
memory = cu.cuMemAlloc(64)
primary = cu.cuDevicePrimaryCtxRetain(0)
cu.cuGreenCtxDestroy(green)
cu.cuCtxSetCurrent(primary)
cu.cuMemsetD8(memory, 0, 64)
cu.cuMemFree(memory)

## C++: freed before its context [c++]
void compute(CUdevice device, const void *host, size_t bytes) {
    CUcontext context;
    CUdeviceptr values;
    cuCtxCreate(&context, nullptr, 0, device);
    cuMemAlloc(&values, bytes);
    cuMemcpyHtoD(values, host, bytes);
    cuMemFree(values);
    cuCtxDestroy(context);
}
"""
    INVALID = """
## freed after cuCtxDestroy
other = cu.cuCtxCreate(0, 0, device)
memory = cu.cuMemAlloc(4096)
cu.cuCtxDestroy(other)
cu.cuCtxSetCurrent(context)
cu.cuMemFree(memory)  # error: [memory-use-after-context-destroy]

## set after cuCtxDestroy
other = cu.cuCtxCreate(0, 0, device)
memory = cu.cuMemAlloc(4096)
cu.cuCtxDestroy(other)
cu.cuCtxSetCurrent(context)
cu.cuMemsetD8(memory, 0, 4096)  # error: [memory-use-after-context-destroy]

## of a green context that was all that retained the primary context [no-setup]
cu.cuInit(0)
green = cu.green_context()
cu.cuCtxSetCurrent(cu.cuCtxFromGreenCtx(green))
memory = cu.cuMemAlloc(64)
cu.cuGreenCtxDestroy(green)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(0))
cu.cuMemsetD8(memory, 0, 64)  # error: [memory-use-after-context-destroy]
cu.cuMemFree(memory)  # error: [memory-use-after-context-destroy]

## C++: freed after its context [c++]
void compute(CUdevice device, const void *host, size_t bytes) {
    CUcontext context;
    CUdeviceptr values;
    cuCtxCreate(&context, nullptr, 0, device);
    cuMemAlloc(&values, bytes);
    cuMemcpyHtoD(values, host, bytes);
    cuCtxDestroy(context);
    cuMemFree(values);  // error: [memory-use-after-context-destroy]
}

## Python: copied after its context's end [python driver]
def compute(device, host, size, work):
    error, context = driver.cuCtxCreate(None, 0, device)
    error, values = driver.cuMemAlloc(size)
    work(values)
    error, = driver.cuCtxDestroy(context)
    error, = driver.cuMemcpyDtoH(host, values, size)  # error: [memory-use-after-context-destroy]

## C#: freed after its context [c# method]
void Compute(CUdevice device, int size) {
    CUcontext context = new CUcontext();
    CUdeviceptr values = new CUdeviceptr();
    Check(ContextManagement.cuCtxCreate_v2(ref context, CUCtxFlags.SchedAuto, device));
    Check(MemoryManagement.cuMemAlloc_v2(ref values, size));
    Launch(values);
    Check(ContextManagement.cuCtxDestroy_v2(context));
    Check(MemoryManagement.cuMemFree_v2(values));  // error: [memory-use-after-context-destroy]
}
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        current = model.current_context(call)
        for argument, dead in _named(call, model):
            if dead.killed_by is None or dead.destroyed_by is None or by_reset(dead.destroyed_by):
                continue
            yield cls.refused(
                f"{dead.name} died with {dead.killed_by.name} before this call",
                dead,
                argument=argument,
                because=chain(dead),
                outcomes=_refused(call) if current is None or current.alive else (709,),
                help=_OF_VARIABLE if dead.killed_by.kind in (Kind.MODULE, Kind.CULIBRARY) else "",
            )


def _refused(call: Call) -> tuple[int, ...]:
    """A copy that finds out by itself what an address is takes it for the host's."""
    return (1, CRASH) if call.name in ("cuMemcpy", "cuMemcpyAsync") else (1,)


def _named(call: Call, model: ModelView) -> Iterator[tuple[int, Object]]:
    """Dead memory that the call names, with the argument."""
    if call.name in ENTRY_POINTS:
        given = freed(call, model)
        if given.case is Case.CONTEXT_GONE and given.object is not None:
            yield given.argument, given.object
        return
    for access in accesses(call):
        memory = model.allocation_at(access.address) if access.side != "host" else None
        if memory is not None and not memory.alive and not pinned_at(model, access.address):
            yield access.argument, memory
