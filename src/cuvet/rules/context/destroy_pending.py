from cuvet.model import Call, ModelView
from cuvet.model.objects import Context
from cuvet.rules.rule import Violations
from cuvet.rules.unfinished import UnfinishedWork


class ContextDestroyPending(UnfinishedWork):
    """
    checks: `cuCtxDestroy` is called before the program has waited for work in that context.
    why: It destroys the context's memory, streams and events. Nobody knows whether the work was done, and its results are lost.
    instead: Call `cuCtxSynchronize` before `cuCtxDestroy`, and check its status, which reports errors of the work.
    limits: A note: the call succeeds. Without `--record full`, only work counts that is always stored, on non-blocking streams: unstored
      calls may have waited for the rest. Destroying streams, events, pools or executable graphs with pending work is documented to be safe.
    """

    code = "CV109"
    severity = "note"
    summary = "a context is destroyed while work in it is pending"
    help = "call cuCtxSynchronize and check its status before destroying the context"
    entry_points = frozenset({"cuCtxDestroy"})
    evidence = """
    documented: destroys all resources associated with the context (CUDA Driver API, Context Management, cuCtxDestroy)
    recorded, succeeds: cuCtxDestroy while work was pending: no error, 9 of 10 times
    """
    VALID = """
## waited for first
note: the memory goes with the context
own = cu.cuCtxCreate(0, 0, device)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, 0)
cu.cuCtxSynchronize()
cu.cuCtxDestroy(own)

## work pending in another context
memory = cu.cuMemAlloc(4096)
stream = cu.cuStreamCreate(0)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
cu.cuStreamSynchronize(stream)
"""
    INVALID = """
## nobody waited
own = cu.cuCtxCreate(0, 0, device)
non_blocking = 1
stream = cu.cuStreamCreate(non_blocking)
memory = cu.cuMemAllocAsync(4096, stream)
cu.cuMemFreeAsync(memory, stream)
cu.cuCtxDestroy(own)  # note: [context-destroy-pending]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        context = model.object_named(call, call.entry_point.roles[0])
        if isinstance(context, Context):
            yield from cls.about(call, model, context, "destroyed")
