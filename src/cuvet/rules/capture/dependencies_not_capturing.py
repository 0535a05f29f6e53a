from cuvet.catalog.roles import Verb
from cuvet.model import Call, ModelView
from cuvet.rules.capturing import CaptureRule, streams_named
from cuvet.rules.rule import Violations


class CaptureDependenciesNotCapturing(CaptureRule):
    """
    checks: `cuStreamUpdateCaptureDependencies` is called on a stream that is not capturing, and fails.
    why: Only a capture has dependencies for the next captured work. The call returns CUDA_ERROR_ILLEGAL_STATE.
    instead: Make the call between `cuStreamBeginCapture` and `cuStreamEndCapture`. `cuStreamIsCapturing` tells whether it is.
    limits: Reported only when the call fails.
    """

    code = "CV817"
    summary = "the dependencies of a capture are changed on a stream that is not capturing"
    help = "make the call while the stream is capturing"
    entry_points = frozenset({"cuStreamUpdateCaptureDependencies"})
    evidence = """
    recorded: on streams that are not capturing, whatever the flags: CUDA_ERROR_ILLEGAL_STATE
    documented: CUDA_ERROR_ILLEGAL_STATE if the stream is not capturing (CUDA Driver API, Stream Management,
      cuStreamUpdateCaptureDependencies)
    """
    VALID = """
## while capturing
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuStreamUpdateCaptureDependencies(stream, 0, 0, 0, 1)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))

## asked first
stream = cu.cuStreamCreate(0)
if cu.cuStreamIsCapturing(stream):
    cu.cuStreamUpdateCaptureDependencies(stream, 0, 0, 0, 1)
"""
    INVALID = """
## after the capture
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
cu.cuStreamUpdateCaptureDependencies(stream, 0, 0, 0, 1)  # error: [capture-dependencies-not-capturing]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for argument, stream in streams_named(call, model, Verb.USES):
            if stream.alive and stream.capture is None:
                yield cls.refused(f"{stream.name} is not capturing", stream, argument=argument, outcomes=(401,))
