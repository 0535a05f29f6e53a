from cuvet.model import Call, ModelView
from cuvet.rules.rule import CallRule, Violations

_NAMES = ("the default stream (NULL)", "the legacy default stream", "the per-thread default stream")


class StreamDestroyDefault(CallRule):
    """
    checks: `cuStreamDestroy` is called with a default stream: NULL, `CU_STREAM_LEGACY` or `CU_STREAM_PER_THREAD`.
    why: Default streams are not created and cannot be destroyed. Unlike `free(NULL)`, destroying the NULL stream is an error: it was
      measured to return CUDA_ERROR_INVALID_HANDLE. Often the variable's stream was never created, or was destroyed and cleared.
    instead: Destroy only streams of `cuStreamCreate`, and test the handle first.
    limits: None known.
    """

    code = "CV203"
    summary = "a default stream is destroyed"
    help = "destroy only streams that were created: test the handle before the call"
    entry_points = frozenset({"cuStreamDestroy"})
    evidence = """
    measured: of cudaStreamLegacy, cudaStreamPerThread and 0: CUDA_ERROR_INVALID_HANDLE (stream_destroy_builtin)
    """
    VALID = """
## created and destroyed
stream = cu.cuStreamCreate(0)
cu.cuStreamDestroy(stream)

## default streams used
note: default streams may be used everywhere else
cu.cuStreamSynchronize(0)
cu.cuStreamSynchronize(2)
"""
    INVALID = """
## NULL
cu.cuStreamDestroy(0)  # error: [stream-destroy-default]

## per-thread default stream
per_thread = 2
cu.cuStreamDestroy(per_thread)  # error: [stream-destroy-default]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        stream = call.arg("hStream")
        if stream < len(_NAMES):
            yield cls.broken(f"{_NAMES[stream]} cannot be destroyed", argument=0, outcomes=(400,))
