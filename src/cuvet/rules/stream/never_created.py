from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.evidence import measured
from cuvet.rules.lifecycle import NeverCreated
from cuvet.rules.rule import CRASH, Example


class StreamNeverCreated(NeverCreated):
    """
    ## What it checks
    A call that needs a stream is given a number that no call handed out as one, and the call fails or crashes.

    ## Why it is wrong
    The driver follows the handle as a pointer. A number that points nowhere was measured to die of SIGSEGV
    inside the driver; one that points at readable memory of another kind to return CUDA_ERROR_INVALID_HANDLE.

    ## Use instead
    Initialise the variable to NULL, look at the status of the call that should have made the stream, and pass
    handles with their own types rather than as integers.

    ## Limits
    Silent when the call succeeds: the handle may have been made in a way that cannot be seen (another process,
    graphics interoperability, NVIDIA's own libraries).
    """

    code = "CV204"
    name = "stream-never-created"
    severity = "error"
    summary = "a stream is named that was never created"
    help = "initialise the variable, and look at the status of the call that should have made the stream"
    kind = Kind.STREAM
    outcomes = (CRASH, 400, 709)
    evidence = (
        measured(
            "cudaStreamSynchronize((cudaStream_t)0xdeadbeef): SIGSEGV in the driver",
            "stream_garbage_handle",
        ),
        measured(
            "a handle that points at zeroed memory: CUDA_ERROR_INVALID_HANDLE",
            "stream_uninit_heap_handle",
        ),
    )
    VALID = (
        Example(
            "created first",
            """
stream = cu.cuStreamCreate(0)
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)
""",
        ),
        Example(
            "created by another thread",
            """
stream = cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.cuStreamCreate(0))[1])
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)
""",
        ),
    )
    INVALID = (
        Example(
            "a number from nowhere",
            """
cu.cuStreamSynchronize(0x1234567000)  # error: [stream-never-created]
""",
        ),
        Example(
            "an object of another kind",
            """
other = cu.cuEventCreate(0)
cu.cuStreamSynchronize(other)  # error: [stream-never-created]
""",
        ),
    )
