from cuvet.catalog.kinds import BY_NUMBER, NEEDED_BY_LIBRARIES
from cuvet.catalog.roles import Verb
from cuvet.model import Call, ModelView
from cuvet.model.library import not_made
from cuvet.model.precedence import Stage
from cuvet.rules.lifecycle import a, named_among
from cuvet.rules.rule import CallRule, Violations

_USES = frozenset({Verb.USES})
_KINDS = frozenset(kind for kind in NEEDED_BY_LIBRARIES - BY_NUMBER if not kind.stands_for)


class LibraryHandleNeverCreated(CallRule):
    """
    checks: With `--record full`: a library call uses a handle that no call of this process created.
    why: The variable was never set, or holds something else. cuDNN was measured to return CUDNN_STATUS_SUCCESS.
    instead: Initialise the variable to NULL, and create the handle before its first use.
    limits: A warning, and only if every call is recorded: an unseen copy of the library may have created the handle. Silent about cuFFT
      plans, which are small numbers, and about cuBLASLt, which accepts cuBLAS handles. In source code only where a goto leads past the
      creation, to where the handle is destroyed.
    """

    code = "CV973"
    in_source = True
    severity = "warning"
    summary = "a call of a library uses a handle that was never created"
    help = "create the handle before its first use, and initialise the variable to NULL"
    kinds = _KINDS
    verbs = _USES
    libraries = True
    only_for_dead = True
    stage = Stage.HANDLE
    evidence = """
    measured, succeeds: no handle: cudnnSetStream returned CUDNN_STATUS_SUCCESS (cuDNN 9.19) (cudnn_garbage_handle)
    documented: the handle that cublasCreate() made is explicitly passed to every subsequent library function call
      (cuBLAS, Using the cuBLAS API, cuBLAS Context, https://docs.nvidia.com/cuda/cublas/#cublas-context)
    """
    VALID = """
## handle that was made
handle = cu.cudnn.cudnnCreate()
cu.cudnn.cudnnSetStream(handle, 0)

## handle that another thread made
handle = cu.in_thread(cu.cublas.cublasCreate)
cu.cublas.cublasSetStream(handle, 0)

## C++: NULL until it is created [cuda]
int solve(double *values, int n) {
    int result = -1;
    cublasHandle_t handle = nullptr;
    if (n > limit())
        goto end;
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS)
        goto end;
    result = work(handle, values, n);
end:
    if (handle)
        cublasDestroy(handle);
    return result;
}
"""
    INVALID = """
## memory that is no handle
cu.cudnn.cudnnSetStream(cu.host(1 << 16), 0)  # warning: [library-handle-never-created]

## C++: left out [cuda]
int solve(double *values, int n) {
    int result = -1;
    cublasHandle_t handle;
    if (n > limit())
        goto end;
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS)
        goto end;
    result = work(handle, values, n);
end:
    cublasDestroy(handle);  // warning: [library-handle-never-created]
    return result;
}
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        if not model.complete:
            return
        for use in named_among(call, model, _KINDS - not_made(model, call).keys(), _USES):
            if not use.handle or use.object is not None or use.argument in call.seen:
                continue
            if not any(other.alive for other in model.kinds_of(use.handle)):
                yield cls.broken(
                    f"{use.handle:#x} was never made as {a(use.role.kind.noun)}", argument=use.argument, undefined=True
                )
