from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.evidence import documented, measured
from cuvet.rules.lifecycle import UseAfterDestroy
from cuvet.rules.rule import CRASH, Example


class StreamUseAfterDestroy(UseAfterDestroy):
    """
    ## What it checks
    A call names a stream (to launch, copy, record, wait, query or synchronise) that was destroyed before.

    ## Why it is wrong
    The handle points at memory that the driver has given back. Nothing is promised about the call: on the hardware
    where it was measured the process dies of SIGSEGV inside the driver, with no error code.

    ## Use instead
    Destroy the stream after its last use. Work that was enqueued before the destruction still completes, so it need not be
    waited for; other threads that still hold the handle must be done with it.

    ## Limits
    The driver issues handle values again at once. When a new stream has the old one's value, a call through the old handle
    looks like a use of the new stream.
    """

    code = "CV201"
    name = "stream-use-after-destroy"
    severity = "error"
    summary = "a destroyed stream is used"
    help = "destroy the stream after its last use, or clear the variable that still holds it"
    kind = Kind.STREAM
    libraries = True
    outcomes = (CRASH,)
    evidence = (
        measured(
            "a launch, a copy, a query and a synchronisation on a destroyed stream: SIGSEGV in the driver, no error code",
            "launch_on_destroyed_stream",
            "memcpyasync_on_destroyed_stream",
            "stream_query_after_destroy",
            "stream_sync_after_destroy",
        ),
        documented(
            "Use of the handle after this call is undefined behavior.",
            "CUDA Runtime API, Stream Management, cudaStreamDestroy",
        ),
    )
    VALID = (
        Example(
            "destroyed after the last use",
            """
stream = cu.cuStreamCreate(0)
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)
""",
        ),
        Example(
            "destroyed with work pending",
            """
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuStreamDestroy(stream)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)
""",
            note="work enqueued before the destruction completes",
        ),
        Example(
            "handle issued again",
            """
old = cu.cuStreamCreate(0)
cu.cuStreamDestroy(old)
new = cu.cuStreamCreate(0)
cu.cuStreamSynchronize(new)
cu.cuStreamDestroy(new)
""",
            note="the new stream often has the old one's handle value",
        ),
    )
    INVALID = (
        Example(
            "synchronised after destruction",
            """
stream = cu.cuStreamCreate(0)
cu.cuStreamDestroy(stream)
cu.cuStreamSynchronize(stream)  # error: [stream-use-after-destroy]
""",
        ),
        Example(
            "event recorded on a destroyed stream",
            """
stream = cu.cuStreamCreate(0)
event = cu.cuEventCreate(0)
cu.cuStreamDestroy(stream)
cu.cuEventRecord(event, stream)  # error: [stream-use-after-destroy]
""",
        ),
        Example(
            "destroyed by another thread",
            """
stream = cu.cuStreamCreate(0)
cu.in_thread(lambda: cu.cuStreamDestroy(stream))
cu.cuStreamQuery(stream)  # error: [stream-use-after-destroy]
""",
        ),
    )
