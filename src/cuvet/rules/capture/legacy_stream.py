from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind, Verb
from cuvet.rules.capturing import begun
from cuvet.rules.evidence import documented, measured
from cuvet.rules.rule import Example, Rule, Violation

if TYPE_CHECKING:
    from cuvet.catalog import EntryPoint
    from cuvet.model import Call, Model


class CaptureLegacyStream(Rule):
    """
    ## What it checks
    Work is enqueued on the legacy default stream, or a synchronous copy or set is made, and fails, while a stream of the same
    context that synchronises with the legacy stream is capturing.

    ## Why it is wrong
    The legacy stream waits for all streams that were not created with `CU_STREAM_NON_BLOCKING`; enqueueing to it would make work that
    runs depend on work that is only captured. The call returns CUDA_ERROR_STREAM_CAPTURE_IMPLICIT and invalidates the capture.

    ## Use instead
    Enqueue on the capturing stream, use asynchronous copies, or create the streams with `CU_STREAM_NON_BLOCKING`
    (`cudaStreamNonBlocking`); compile with `--default-stream per-thread` if the default stream is used a lot.

    ## Limits
    Reported only when the call fails.
    """

    code = "CV803"
    name = "capture-legacy-stream"
    severity = "error"
    summary = "the legacy default stream is used while a blocking stream is capturing"
    help = "enqueue on the capturing stream, or capture on a stream created with CU_STREAM_NON_BLOCKING"
    evidence = (
        measured(
            "launch, cudaMemcpy and cudaMemset on the legacy stream: CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, and the capture is "
            "invalidated; with a capturing stream that was created non-blocking the launch succeeds",
            "capture_legacy_stream_use",
            "capture_calls_global",
            "capture_legacy_stream_use_nonblocking",
        ),
        documented(
            "When any stream in the same context is being captured, and it was not created with cudaStreamNonBlocking, any "
            "attempted use of the legacy stream is invalid. It is therefore also invalid to call synchronous APIs in this case.",
            "CUDA C++ Programming Guide, CUDA Graphs, Prohibited and Unhandled Operations",
        ),
        documented(
            "This error indicates a disallowed implicit dependency on a current capture sequence from cudaStreamLegacy.",
            "CUDA Driver API, Data types, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
        ),
    )
    VALID = (
        Example(
            "non-blocking stream captures",
            """
non_blocking = 1
stream = cu.cuStreamCreate(non_blocking)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemsetD8Async(memory, 0, 4096, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
""",
        ),
        Example(
            "legacy stream used before and after",
            """
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, 0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
cu.cuMemsetD8Async(memory, 0, 4096, 0)
""",
        ),
    )
    INVALID = (
        Example(
            "set on the default stream",
            """
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemsetD8Async(memory, 0, 4096, 0)  # error: [capture-legacy-stream]
""",
        ),
        Example(
            "event recorded on the default stream",
            """
stream, event = cu.cuStreamCreate(0), cu.cuEventCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuEventRecord(event, 0)  # error: [capture-legacy-stream]
""",
        ),
        Example(
            "synchronous copy",
            """
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemcpyHtoD(memory, cu.host(4096), 4096)  # error: [capture-legacy-stream]
""",
        ),
    )

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        roles = entry_point.roles
        return any(role.verb is Verb.ON for role in roles) or any(
            role.kind is Kind.MEMORY and role.verb in (Verb.READS, Verb.WRITES) for role in roles
        )

    @classmethod
    def check(cls, call: Call, model: Model) -> Iterator[Violation]:
        if not model.captures():
            return
        stream = model.stream_on(call)
        synchronous = not any(role.verb is Verb.ON and role.parameter for role in call.entry_point.roles)
        if not synchronous and (stream is None or not stream.legacy):
            return
        context = model.current_context(call)
        for capture in model.captures():
            capturing = next((one for one in capture.streams if one.blocking and one.context is context), None)
            if capturing is not None and context is not None and capture.invalidated_by is None:
                what = "a synchronous call uses" if synchronous else "the call is on"
                yield Violation(
                    rule=cls,
                    message=f"{what} the legacy default stream while {capturing.name} is capturing",
                    objects=(capturing,),
                    because=(begun(capture), f"{capturing.name} was created without CU_STREAM_NON_BLOCKING"),
                    outcomes=(906,),
                    only_if_failed=True,
                )
                return
