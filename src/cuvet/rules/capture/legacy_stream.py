from cuvet.catalog import EntryPoint
from cuvet.model import Call, ModelView
from cuvet.model.capturing import implied, is_synchronous_copy, names_stream
from cuvet.rules.capturing import CaptureRule, begun
from cuvet.rules.occasions import while_capturing
from cuvet.rules.rule import Violations


class CaptureLegacyStream(CaptureRule):
    """
    checks: The program uses the legacy default stream (even if only to ask for its flags), or makes a synchronous copy or set, and the
      call fails, while a stream of the same context that synchronises with the legacy stream is capturing.
    why: The legacy stream waits for all streams that were not created with `CU_STREAM_NON_BLOCKING`. So work that runs would depend on work
      that is only captured. The call returns CUDA_ERROR_STREAM_CAPTURE_IMPLICIT and invalidates the capture, in any thread and any capture
      mode. Asking for the capture's state (`cuStreamIsCapturing`, `cuStreamGetCaptureInfo`) is refused, too.
    instead: Enqueue on the capturing stream, use asynchronous copies, or create the streams with `CU_STREAM_NON_BLOCKING`
      (`cudaStreamNonBlocking`). If the program uses the default stream a lot, compile with `--default-stream per-thread`.
    limits: Reported only when the call fails.
    """

    code = "CV803"
    only_when = while_capturing
    same_for_alike = True
    summary = "the legacy default stream is used while a blocking stream is capturing"
    help = "enqueue on the capturing stream, or capture on a stream created with CU_STREAM_NON_BLOCKING"
    evidence = """
    recorded: any call that names the legacy stream, cuStreamGetFlags and cuStreamGetPriority too, and synchronous
      copies and sets, in every mode, from another thread, and while the capture is invalidated already:
      CUDA_ERROR_STREAM_CAPTURE_IMPLICIT; captures of blocking streams of the context are invalidated, also relaxed ones
    documented: on CU_STREAM_LEGACY while a blocking stream of the context captures: CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
      that capture stays valid (CUDA Driver API, Stream Management, cuStreamIsCapturing)
    measured: launch, cudaMemcpy and cudaMemset on the legacy stream: CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, and the
      capture is invalidated; with a capturing stream that was created non-blocking the launch succeeds
      (capture_legacy_stream_use, capture_calls_global, capture_legacy_stream_use_nonblocking)
    documented: while a stream that is not non-blocking captures, the legacy stream and synchronous calls must not be
      used (CUDA C++ Programming Guide, CUDA Graphs, Prohibited and Unhandled Operations)
    documented: an implicit dependency on a capture through cudaStreamLegacy (CUDA Driver API, Data types,
      CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    """
    VALID = """
## non-blocking stream captures
non_blocking = 1
stream = cu.cuStreamCreate(non_blocking)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemsetD8Async(memory, 0, 4096, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))

## legacy stream used before and after
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, 0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
cu.cuMemsetD8Async(memory, 0, 4096, 0)
"""
    INVALID = """
## flags of the default stream asked for
relaxed = 2
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, relaxed)
cu.cuStreamGetFlags(0)  # error: [capture-legacy-stream]
cu.cuStreamEndCapture(stream)  # error: [capture-invalidated]

## set on the default stream
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemsetD8Async(memory, 0, 4096, 0)  # error: [capture-legacy-stream]

## event recorded on the default stream
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuEventRecord(event, 0)  # error: [capture-legacy-stream]

## synchronous copy
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemcpyHtoD(memory, cu.host(4096), 4096)  # error: [capture-legacy-stream]
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return is_synchronous_copy(entry_point) or names_stream(entry_point)

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for capture, stream in implied(call, model):
            what = "a synchronous call uses" if is_synchronous_copy(call.entry_point) else "the call is on"
            message = f"{what} the legacy default stream while {stream.name} is capturing"
            because = (begun(capture), f"{stream.name} was created without CU_STREAM_NON_BLOCKING")
            yield cls.refused(message, stream, because=because, outcomes=(906,))
            return
