from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind, Verb
from cuvet.model.objects import Event
from cuvet.rules.capturing import MODES, begun
from cuvet.rules.evidence import documented, measured
from cuvet.rules.rule import Example, Rule, Violation

if TYPE_CHECKING:
    from cuvet.catalog import EntryPoint
    from cuvet.model import Call, Model

_ON_STREAM = frozenset({(Kind.MEMORY, Verb.ALLOCATES), (Kind.MEMORY, Verb.FREES)})
"""Forbidden as well when the work goes to a stream, if that one is not captured."""

_UNSAFE = frozenset(
    {
        *((kind, verb) for kind in (Kind.MEMORY, Kind.HOST_MEMORY) for verb in (Verb.ALLOCATES, Verb.FREES)),
        *((Kind.HOST_MEMORY, verb) for verb in (Verb.REGISTERS, Verb.UNREGISTERS)),
        *((kind, verb) for kind in (Kind.STREAM, Kind.EVENT, Kind.CONTEXT) for verb in (Verb.BLOCKS, Verb.QUERIES)),
    }
)


class CaptureUnsafeCall(Rule):
    """
    ## What it checks
    Memory is allocated, freed or registered, on no stream or on one that is not captured, a memory pool is trimmed, or another
    stream or event is waited for or queried, and the call fails, while a capture forbids calls that are potentially unsafe: a
    capture of this thread that was not begun in relaxed mode, or one of another thread that was begun in global mode.

    ## Why it is wrong
    The call is not part of the graph, so replaying the graph would not repeat it. It returns
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and invalidates the capture, even where nothing would be done (`cudaFree(NULL)`). Polling an
    event is such a call too.

    ## Use instead
    Allocate before the capture, or with `cuMemAllocAsync` on the capturing stream. If the allocation has nothing to do with the
    graph, begin the capture in thread-local mode (other threads) or switch this thread to relaxed mode around it
    (`cuThreadExchangeStreamCaptureMode`).

    ## Limits
    Reported only when the call fails. Which calls are potentially unsafe is not documented; those that were measured are checked.
    """

    code = "CV804"
    name = "capture-unsafe-call"
    severity = "error"
    summary = "a call is made that a capture forbids"
    help = "move the call out of the capture; on another thread, begin the capture in thread-local mode instead"
    evidence = (
        measured(
            "during a global capture of the same thread: cudaMalloc, cudaMallocHost, cudaFree and cudaFreeHost (also of NULL), "
            "cudaHostRegister, synchronising or querying other streams and events: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
            "capture_calls_global",
        ),
        measured(
            "cudaMallocAsync and cudaFreeAsync on a stream that is not captured, during a global capture: the same; cudaFreeAsync "
            "there during a relaxed one: allowed",
            "capture_free_on_other_stream",
        ),
        measured(
            "cudaHostUnregister and cudaMemPoolTrimTo: the same; cuModuleLoadData and cudaMemGetInfo: allowed",
            "capture_more_calls",
        ),
        measured(
            "cudaMalloc on another thread: the same during a global capture, allowed during a thread-local one; on the same thread: "
            "forbidden during a thread-local capture, allowed during a relaxed one",
            "capture_other_thread_global",
            "capture_other_thread_threadlocal",
            "capture_malloc_threadlocal_same_thread",
            "capture_malloc_relaxed",
        ),
        documented(
            "If the local thread has an ongoing capture sequence that was not initiated with CU_STREAM_CAPTURE_MODE_RELAXED at "
            "cuStreamBeginCapture, or if any other thread has a concurrent capture sequence initiated with "
            "CU_STREAM_CAPTURE_MODE_GLOBAL, this thread is prohibited from potentially unsafe API calls.",
            "CUDA Driver API, Stream Management, cuThreadExchangeStreamCaptureMode",
        ),
    )
    VALID = (
        Example(
            "allocated before the capture",
            """
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
cu.cuMemFree(memory)
""",
        ),
        Example(
            "relaxed capture",
            """
relaxed = 2
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, relaxed)
memory = cu.cuMemAlloc(4096)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
cu.cuMemFree(memory)
""",
        ),
        Example(
            "memory freed on another stream in a relaxed capture",
            """
relaxed, non_blocking = 2, 1
captured, other = cu.cuStreamCreate(0), cu.cuStreamCreate(non_blocking)
memory = cu.cuMemAllocAsync(4096, other)
cu.cuStreamBeginCapture(captured, relaxed)
cu.cuMemFreeAsync(memory, other)
cu.cuGraphDestroy(cu.cuStreamEndCapture(captured))
""",
        ),
        Example(
            "another thread during a thread-local capture",
            """
thread_local = 1
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, thread_local)
cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.cuMemAlloc(4096)))
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
""",
        ),
    )
    INVALID = (
        Example(
            "allocation on the capturing thread",
            """
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemAlloc(4096)  # error: [capture-unsafe-call]
""",
        ),
        Example(
            "event polled on another thread",
            """
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.in_thread(lambda: cu.cuEventQuery(event))  # error: [capture-unsafe-call]
""",
        ),
        Example(
            "nothing freed",
            """
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemFree(0)  # error: [capture-unsafe-call]
""",
        ),
        Example(
            "memory freed on a stream that is not captured",
            """
non_blocking = 1
captured, other = cu.cuStreamCreate(0), cu.cuStreamCreate(non_blocking)
memory = cu.cuMemAllocAsync(4096, other)
cu.cuStreamBeginCapture(captured, 0)
cu.cuMemFreeAsync(memory, other)  # error: [capture-unsafe-call]
cu.cuStreamEndCapture(captured)  # error: [capture-invalidated]
""",
        ),
        Example(
            "memory pool trimmed",
            """
stream, pool = cu.cuStreamCreate(0), cu.cuDeviceGetDefaultMemPool(device)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemPoolTrimTo(pool, 0)  # error: [capture-unsafe-call]
cu.cuStreamEndCapture(stream)  # error: [capture-invalidated]
""",
        ),
        Example(
            "allocation on another thread",
            """
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)

def work():
    cu.cuCtxSetCurrent(context)
    cu.cuMemAlloc(4096)  # error: [capture-unsafe-call]

cu.in_thread(work)
""",
        ),
    )

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        on_stream = any(role.verb is Verb.ON for role in entry_point.roles)
        unsafe = _ON_STREAM if on_stream else _UNSAFE
        return entry_point.name == "cuMemPoolTrimTo" or any(
            (role.kind, role.verb) in unsafe and not role.field for role in entry_point.roles
        )

    @classmethod
    def check(cls, call: Call, model: Model) -> Iterator[Violation]:
        capture = model.capture_forbidding(call)
        if capture is None or _names_captured(call, model):
            return
        whose = "this thread" if capture.thread == call.thread else f"thread {capture.thread}"
        yield Violation(
            rule=cls,
            message=f"the {MODES[capture.mode]} capture of {capture.origin.name} by {whose} forbids this call",
            objects=(capture.origin,),
            because=(begun(capture),),
            outcomes=(900,),
            only_if_failed=True,
        )


def _names_captured(call: Call, model: Model) -> bool:
    """Whether the call is about what is being captured itself, or about a default stream, which other rules tell."""
    for role in call.entry_point.roles:
        if role.kind is Kind.CONTEXT and role.verb is Verb.BLOCKS:
            return any(capture.origin.context is model.current_context(call) for capture in model.captures())
        if role.kind is Kind.STREAM:
            stream = model.stream_of(call, call.entry_point.index[role.parameter])
            return stream is not None and (stream.capture is not None or stream.builtin)
        if role.kind is Kind.EVENT:
            event = model.object_named(call, role)
            return isinstance(event, Event) and event.captured is not None
    return False
