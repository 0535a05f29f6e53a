from cuvet.model import Call, ModelView, Object
from cuvet.rules.current import CurrentContextRule, contexts_elsewhere


class ContextCurrentElsewhere(CurrentContextRule):
    """
    checks: A driver call that needs a current context fails on a thread without one, while a context is current on another thread.
    why: Each thread has its own current context. A new thread starts without one, and the call returns CUDA_ERROR_INVALID_CONTEXT.
    instead: Call `cuCtxSetCurrent` at the start of each thread that uses the context. One context may be current on many threads.
    limits: Silent about calls of the CUDA runtime, which makes the primary context current and tries again.
    """

    code = "CV107"
    summary = "the context is current on another thread only"
    help = "call cuCtxSetCurrent with that context at the start of this thread"
    outcomes = (201,)
    evidence = """
    measured: cuTexObjectDestroy on a thread without a context: CUDA_ERROR_INVALID_CONTEXT, and the object lives on
      (texture_destroy_without_context)
    documented: binds the context to the calling CPU thread (CUDA Driver API, Context Management, cuCtxSetCurrent)
    measured: cuMemAlloc, cuStreamCreate and cuStreamSynchronize(NULL) on another thread: CUDA_ERROR_INVALID_CONTEXT;
      calls on a created stream succeed (context_current_on_other_thread)
    """
    VALID = """
## made current on each thread
def work():
    cu.cuCtxSetCurrent(context)
    cu.cuMemFree(cu.cuMemAlloc(4096))

cu.in_thread(work)

## a stream brings its context along
note: waiting for a stream needs no current context
stream = cu.cuStreamCreate(0)
cu.in_thread(lambda: cu.cuStreamSynchronize(stream))
cu.cuStreamDestroy(stream)
"""
    INVALID = """
## allocation on a new thread
memory = cu.cuMemAlloc(4096)
cu.in_thread(lambda: cu.cuMemAlloc(4096))  # error: [context-current-elsewhere]

## stream created on a new thread
event = cu.cuEventCreate(0)

def work():
    return cu.cuStreamCreate(0)  # error: [context-current-elsewhere]

cu.in_thread(work)

## default stream waited for on a new thread
event = cu.cuEventCreate(0)
cu.in_thread(lambda: cu.cuStreamSynchronize(0))  # error: [context-current-elsewhere]
"""

    @classmethod
    def reason(cls, call: Call, model: ModelView) -> tuple[str, tuple[Object, ...], tuple[str, ...]] | None:
        if model.current_handle(call):
            return None
        found = contexts_elsewhere(call, model)
        if not found:
            return None
        context = found[0][0]
        because = tuple(f"{other.name} is current on thread {number}" for other, on in found for number in on)
        return f"no context is current on thread {call.thread}", (context,), because[:3]
