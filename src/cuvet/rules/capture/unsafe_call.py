from cuvet.catalog import EntryPoint
from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.capturing import implied, is_unsafe, of_named
from cuvet.model.objects import Event
from cuvet.rules.capturing import MODES, CaptureRule, begun
from cuvet.rules.occasions import while_capturing
from cuvet.rules.rule import Violations


class CaptureUnsafeCall(CaptureRule):
    """
    checks: A call fails because a capture forbids it. This thread's captures forbid potentially unsafe calls unless they began in relaxed
      mode; other threads' captures forbid them if they began in global mode. Potentially unsafe are:

      * allocating, freeing and registering memory, on no stream or on one that is not captured;
      * waiting for another stream or event, or querying it;
      * making and destroying arrays, mipmapped arrays, texture and surface objects, memory pools and executable graphs;
      * unloading a module or library;
      * trimming a memory pool or making it a device's own (`cuDeviceSetMemPool`), and enabling or disabling peer access.
    why: The graph does not contain the call, so a replay would not repeat it. The call returns CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and
      invalidates the capture, even if it would do nothing (`cudaFree(NULL)`). An invalidated capture forbids the same calls until it ends.
    instead: Allocate before the capture, or with `cuMemAllocAsync` on the capturing stream. If the graph does not need the memory, begin
      the capture in thread-local mode (for other threads), or switch this thread to relaxed mode (`cuThreadExchangeStreamCaptureMode`).
    limits: Reported only when the call fails. The documentation names one potentially unsafe call, `cudaMalloc`, as an example. The rule
      checks the calls that were measured, and similar ones. In C++, `cuvet check` knows captures that begin and end in one block of
      a function, and functions of the file that are called there: those that always make such a call (a note), and those that
      allocate in a branch what nothing else allocates, if only this capture leads to them.
    """

    code = "CV804"
    only_when = while_capturing
    summary = "a call is made that a capture forbids"
    help = "move the call out of the capture; on another thread, begin the capture in thread-local mode instead"
    evidence = """
    recorded: while a capture of any thread in global mode, or of the same thread in thread-local mode, is active or
      invalidated, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: allocating and freeing, registering and unregistering memory,
      making and destroying arrays, mipmapped arrays, texture and surface objects, memory pools and executable graphs,
      unloading modules and libraries, cuDeviceSetMemPool, cuCtxDisablePeerAccess. Allowed: making and destroying
      streams, events and graphs, loading modules and libraries, cuMemCreate, cuMemMap, cuCtxCreate
    measured: during a global capture of the same thread: cudaMalloc, cudaMallocHost, cudaFree and cudaFreeHost (also of
      NULL), cudaHostRegister, synchronising or querying other streams and events: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
      (capture_calls_global)
    measured: cudaMallocAsync and cudaFreeAsync on a stream that is not captured, during a global capture: the same;
      cudaFreeAsync there during a relaxed one: allowed (capture_free_on_other_stream)
    measured: cudaHostUnregister and cudaMemPoolTrimTo: the same; cuModuleLoadData and cudaMemGetInfo: allowed
      (capture_more_calls)
    measured: cudaMalloc on another thread: the same during a global capture, allowed during a thread-local one; on the
      same thread: forbidden during a thread-local capture, allowed during a relaxed one (capture_other_thread_global,
      capture_other_thread_threadlocal, capture_malloc_threadlocal_same_thread, capture_malloc_relaxed)
    documented: a thread must not make potentially unsafe calls while it has a capture that is not relaxed, or another
      thread has a global one (CUDA Driver API, Stream Management, cuThreadExchangeStreamCaptureMode)
    """
    VALID = """
## streams, events, graphs and modules made in the capture
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
other, event, graph, module = cu.cuStreamCreate(0), cu.cuEventCreate(0), cu.cuGraphCreate(0), cu.module()
cu.cuEventRecord(event, other)
cu.cuEventDestroy(event)
cu.cuStreamDestroy(other)
cu.cuGraphDestroy(graph)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
cu.cuModuleUnload(module)

## allocated before the capture
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
cu.cuMemFree(memory)

## relaxed capture
relaxed = 2
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, relaxed)
memory = cu.cuMemAlloc(4096)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
cu.cuMemFree(memory)

## memory freed on another stream in a relaxed capture
relaxed, non_blocking = 2, 1
captured, other = cu.cuStreamCreate(0), cu.cuStreamCreate(non_blocking)
memory = cu.cuMemAllocAsync(4096, other)
cu.cuStreamBeginCapture(captured, relaxed)
cu.cuMemFreeAsync(memory, other)
cu.cuGraphDestroy(cu.cuStreamEndCapture(captured))

## another thread during a thread-local capture
thread_local = 1
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, thread_local)
cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.cuMemAlloc(4096)))
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
"""
    INVALID = """
## executable graph destroyed
graph = cu.cuGraphCreate(0)
executable, stream = cu.cuGraphInstantiateWithFlags(graph, 0), cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuGraphExecDestroy(executable)  # error: [capture-unsafe-call]
cu.cuStreamEndCapture(stream)  # error: [capture-invalidated]

## array made on another thread
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.array()))  # error: [capture-unsafe-call]

## allocation on the capturing thread
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemAlloc(4096)  # error: [capture-unsafe-call]

## event polled on another thread
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.in_thread(lambda: cu.cuEventQuery(event))  # error: [capture-unsafe-call]

## nothing freed
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemFree(0)  # error: [capture-unsafe-call]

## memory freed on a stream that is not captured
non_blocking = 1
captured, other = cu.cuStreamCreate(0), cu.cuStreamCreate(non_blocking)
memory = cu.cuMemAllocAsync(4096, other)
cu.cuStreamBeginCapture(captured, 0)
cu.cuMemFreeAsync(memory, other)  # error: [capture-unsafe-call]
cu.cuStreamEndCapture(captured)  # error: [capture-invalidated]

## memory pool trimmed
stream, pool = cu.cuStreamCreate(0), cu.cuDeviceGetDefaultMemPool(device)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemPoolTrimTo(pool, 0)  # error: [capture-unsafe-call]
cu.cuStreamEndCapture(stream)  # error: [capture-invalidated]

## allocation on another thread
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)

def work():
    cu.cuCtxSetCurrent(context)
    cu.cuMemAlloc(4096)  # error: [capture-unsafe-call]

cu.in_thread(work)
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return is_unsafe(entry_point)

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        capture = next(model.captures_forbidding(call), None)
        if capture is None or of_named(call, model) or implied(call, model) or _names_captured_event(call, model):
            return
        whose = "this thread" if capture.thread == call.thread else f"thread {capture.thread}"
        message = f"the {MODES[capture.mode]} capture of {capture.origin.name} by {whose} forbids this call"
        yield cls.refused(message, capture.origin, because=(begun(capture),), outcomes=(900,))


def _names_captured_event(call: Call, model: ModelView) -> bool:
    """Whether the call names an event that was recorded in a capture: the rule ``capture-event-wait`` tells what becomes of it."""
    events = (model.object_named(call, role) for role in call.entry_point.roles if role.kind is Kind.EVENT)
    return any(isinstance(event, Event) and event.captured is not None for event in events)
