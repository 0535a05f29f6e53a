from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind, Verb
from cuvet.rules.capturing import begun, streams_named
from cuvet.rules.evidence import documented, measured
from cuvet.rules.lifecycle import place, written
from cuvet.rules.rule import Example, Rule, Violation

if TYPE_CHECKING:
    from cuvet.model import Call, Model


class CaptureInvalidated(Rule):
    """
    ## What it checks
    A stream is used, or its capture ended, after an earlier call invalidated the capture.

    ## Why it is wrong
    The failure that counts is the earlier one: it was refused because of the capture and broke it. From then on every use of the
    streams in the capture, and `cuStreamEndCapture`, return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, and there is no graph.

    ## Use instead
    Mend the call that is named as the cause. `cuStreamEndCapture` still has to be called: it takes the streams out of the
    capture.

    ## Limits
    The cause is not known if it was a call that was not seen.
    """

    code = "CV805"
    name = "capture-invalidated"
    severity = "error"
    summary = "a capture is used that an earlier call invalidated"
    help = "correct the earlier call that invalidated the capture"
    kinds = frozenset({Kind.STREAM})
    verbs = frozenset({Verb.ON, Verb.ENDS_CAPTURE})
    evidence = (
        measured(
            "cuStreamEndCapture: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "capture_invalid_sync", "capture_calls_global"
        ),
        documented(
            "When a capture graph is invalidated, further use of any streams which are being captured or captured events "
            "associated with the graph is invalid and will return an error, until stream capture is ended with "
            "cudaStreamEndCapture().",
            "CUDA C++ Programming Guide, CUDA Graphs, Invalidation",
        ),
    )
    VALID = (
        Example(
            "ended in order",
            """
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
""",
        ),
        Example(
            "waited for after the capture",
            """
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
cu.cuStreamSynchronize(stream)
""",
        ),
    )
    INVALID = (
        Example(
            "captured again after a broken capture",
            """
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuStreamSynchronize(stream)  # error: [capture-wait]
cu.cuStreamEndCapture(stream)  # error: [capture-invalidated]
cu.cuStreamBeginCapture(stream, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
""",
            note="cuStreamEndCapture takes the stream out of the broken capture",
        ),
        Example(
            "ended after a forbidden allocation",
            """
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemAlloc(4096)  # error: [capture-unsafe-call]
cu.cuStreamEndCapture(stream)  # error: [capture-invalidated]
""",
        ),
        Example(
            "used after a forbidden synchronisation",
            """
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(stream, 0)
cu.cuStreamSynchronize(stream)  # error: [capture-wait]
cu.cuMemsetD8Async(memory, 0, 4096, stream)  # error: [capture-invalidated]
""",
        ),
    )

    @classmethod
    def check(cls, call: Call, model: Model) -> Iterator[Violation]:
        for argument, stream in streams_named(call, model, Verb.ON, Verb.ENDS_CAPTURE):
            capture = stream.capture
            if capture is None or capture.invalidated_by is None or not stream.alive:
                continue
            culprit = capture.invalidated_by
            yield Violation(
                rule=cls,
                message=f"the capture of {capture.origin.name} was invalidated before this call",
                objects=(stream,),
                argument=argument,
                because=(f"the capture was invalidated by {written(culprit)}, {place(culprit)}", begun(capture)),
                outcomes=(901,),
            )
            return
