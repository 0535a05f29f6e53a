from cuvet.catalog import EntryPoint
from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, ModelView
from cuvet.model.capturing import OF_ALL_STREAMS, whole_context
from cuvet.rules.capturing import CaptureRule, begun, streams_named
from cuvet.rules.occasions import while_capturing
from cuvet.rules.rule import Violations


class CaptureWait(CaptureRule):
    """
    checks: The host waits for, or queries, a capturing stream or its context; or an event is recorded on, or awaited by, all streams of
      the context (`cuCtxRecordEvent`, `cuCtxWaitEvent`).
    why: Captured work is not enqueued for execution, so there is nothing to wait for. The call returns
      CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and invalidates the capture.
    instead: Move the synchronisation out of the capture: before `cuStreamBeginCapture`, or after the launch of the graph.
    limits: In C++, `cuvet check` knows captures that begin and end in one block of a function. In Python, it knows the captures of
      `torch.cuda.graph`, and those that one block begins and ends with a `torch.cuda.CUDAGraph` or a `cupy.cuda.Stream`. Of them it looks
      at what is done without a condition.
    """

    code = "CV801"
    only_when = while_capturing
    summary = "the host waits for a stream that is capturing"
    help = "move the synchronisation before the capture begins, or after the graph is launched"
    evidence = """
    recorded: on a stream whose capture was invalidated before: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED all the same
    measured: cuStreamQuery and cuCtxSynchronize, on this thread and on another, during a relaxed capture: the same as
      during a global one (capture_wait_relaxed)
    measured: cuStreamSynchronize, cuStreamQuery and cuCtxSynchronize: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the
      capture is invalidated (capture_invalid_sync, capture_calls_global)
    recorded: cuCtxRecordEvent and cuCtxWaitEvent, 5 of 5: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    documented: what makes the CPU wait for the GPU, as `.item()` does, is prohibited in a capture (PyTorch documentation, CUDA semantics,
      CUDA Graphs, Constraints)
    documented: no torch.cuda.synchronize(), no synchronize() of a stream, no .item() and .cpu() in a capture (NVIDIA, CUDA Graph Best
      Practice for PyTorch, Quick Checklist)
    documented: a capturing stream, and a device or context with such a stream, cannot be synchronised or queried: the
      work is not scheduled (CUDA C++ Programming Guide, CUDA Graphs, Prohibited and Unhandled Operations)
    """
    VALID = """
## waited for after the launch
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
graph = cu.cuStreamEndCapture(stream)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphLaunch(executable, stream)
cu.cuStreamSynchronize(stream)

## asked whether it is capturing
note: cuStreamIsCapturing is not a query of the work
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuStreamIsCapturing(stream)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
"""
    INVALID = """
## stream synchronised
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuStreamSynchronize(stream)  # error: [capture-wait]
cu.cuStreamEndCapture(stream)  # error: [capture-invalidated]

## stream queried in relaxed mode
relaxed = 2
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, relaxed)
cu.cuStreamQuery(stream)  # error: [capture-wait]

## event recorded on all streams
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuCtxRecordEvent(context, event)  # error: [capture-wait]

## context synchronised
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuCtxSynchronize()  # error: [capture-wait]
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return entry_point.name in OF_ALL_STREAMS or any(
            role.kind in (Kind.STREAM, Kind.CONTEXT) and role.verb in (Verb.BLOCKS, Verb.QUERIES)
            for role in entry_point.roles
        )

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for argument, stream in streams_named(call, model, Verb.BLOCKS, Verb.QUERIES):
            if stream.alive and stream.capture is not None:
                yield cls.broken(
                    f"{stream.name} is capturing",
                    stream,
                    argument=argument,
                    because=(begun(stream.capture),),
                    outcomes=(900,),
                )
        context = whole_context(call, model)
        capture = next((each for each in model.captures() if each.origin.context is context), None)
        if context is not None and capture is not None:
            message = f"{capture.origin.name}, a stream of this context, is capturing"
            yield cls.broken(message, capture.origin, context, because=(begun(capture),), outcomes=(900,))
