from cuvet.catalog.kinds import BY_NUMBER, NEEDED_BY_LIBRARIES
from cuvet.catalog.roles import Verb
from cuvet.model import Call, ModelView
from cuvet.model.precedence import Stage
from cuvet.rules.lifecycle import a, named_among, was_seen_made
from cuvet.rules.rule import CallRule, Violations

_USES = frozenset({Verb.USES})
_POINTERS = NEEDED_BY_LIBRARIES - BY_NUMBER


class LibraryHandleWrongKind(CallRule):
    """
    checks: A library call gets another object's value as its handle: a stream, a descriptor, another library's handle.
    why: All these handles are pointers, a cast converts any into any other, and the library may not notice: cuDNN was measured to return
      CUDNN_STATUS_SUCCESS for memory that is no handle.
    instead: Pass the handle that this library created. Only a cuBLAS handle also works as a cuBLASLt handle.
    limits: With `--record full`, or if the call fails. Silent about values of unseen creation, and about cuFFT plans.
    """

    code = "CV964"
    summary = "a call of a library gets the handle of something else"
    help = "pass the handle that this library created"
    kinds = _POINTERS
    verbs = _USES
    libraries = True
    only_for_dead = True
    stage = Stage.HANDLE
    evidence = """
    measured, succeeds: no handle: cudnnSetStream returned CUDNN_STATUS_SUCCESS (cuDNN 9.19) (cudnn_garbage_handle)
    documented: the handle is explicitly passed to every library function call: the one that cublasCreate() made
      (cuBLAS, Using the cuBLAS API, cuBLAS Context, https://docs.nvidia.com/cuda/cublas/#cublas-context)
    documented: any valid cublasHandle_t can be used in place of cublasLtHandle_t (cuBLAS, cublasLtHandle_t,
      https://docs.nvidia.com/cuda/cublas/#cublaslthandle-t)
    """
    VALID = """
## cuBLAS handle for cuBLASLt
handle = cu.cublas.cublasCreate()
compute_32f, real_32f = 68, 0
cu.cublaslt.cublasLtMatmulAlgoGetIds(handle, compute_32f, *[real_32f] * 5, 1, cu.host(4), cu.host(4))
cu.cublas.cublasDestroy(handle)

## each library's own
blas, dnn = cu.cublas.cublasCreate(), cu.cudnn.cudnnCreate()
cu.cublas.cublasSetStream(blas, 0)
cu.cudnn.cudnnSetStream(dnn, 0)
"""
    INVALID = """
## descriptor in place of the handle
descriptor = cu.cudnn.cudnnCreateTensorDescriptor()
cu.cudnn.cudnnSetStream(descriptor, 0)  # error: [library-handle-wrong-kind]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for use in named_among(call, model, _POINTERS, _USES):
            if use.object is not None or not use.handle or was_seen_made(call, use):
                continue
            others = [other for other in model.kinds_of(use.handle) if other.alive]
            if others:
                message = f"{use.handle:#x} is {others[-1].name}, not {a(use.role.kind.noun)}"
                yield cls.broken(message, others[-1], argument=use.argument, undefined=True)
