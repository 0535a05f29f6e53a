from cuvet.catalog.kinds import LIBRARY_OBJECTS
from cuvet.catalog.results import SUCCESS
from cuvet.catalog.roles import ENDS
from cuvet.model import Call, ModelView
from cuvet.rules.library_handles import dead_unseen
from cuvet.rules.lifecycle import DestroyTwice, a
from cuvet.rules.rule import ABORT, CRASH, Violations

_ABORTING = "cublasDestroy cudnnDestroy cudnnDestroyTensorDescriptor curandDestroyGenerator cusparseDestroyMatDescr"
_OUTCOMES = {
    **dict.fromkeys(_ABORTING.split(), (ABORT,)),
    "cusolverDnDestroy": (CRASH,),
    "nvrtcDestroyProgram": (CRASH,),
    "cufftDestroy": (1,),
    "cusparseDestroy": (3,),
    "cublasLtDestroy": (SUCCESS,),
}
"""As measured."""


class LibraryHandleDestroyTwice(DestroyTwice):
    """
    checks: A library's handle, plan, descriptor, generator, communicator or program is destroyed a second time.
    why: Destroying a cuDNN or cuBLAS handle twice was measured to end the process with SIGABRT ("double free or corruption"). If the value
      has been issued again, the second call destroys another owner's handle.
    instead: Let one owner destroy the handle; in C++ delete the copy constructor and clear what was moved from.
    limits: If a new object has the old one's value, the second call looks like the destruction of the new one.
    """

    code = "CV962"
    summary = "a handle of a library is destroyed twice"
    help = "let one owner destroy the handle, and clear the variable afterwards"
    kinds = LIBRARY_OBJECTS
    libraries = True
    outcomes_of = _OUTCOMES
    evidence = """
    measured: the second cudnnDestroy: SIGABRT, double free or corruption (cuDNN 9.19) (cudnn_destroy_twice)
    measured: likewise cublasDestroy, curandDestroyGenerator, cusparseDestroyMatDescr and cudnnDestroyTensorDescriptor;
      nvrtcDestroyProgram: SIGSEGV (cublas_destroy_twice, curand_destroy_twice, cusparse_descriptor_destroy_twice,
      cudnn_descriptor_destroy_twice, nvrtc_destroy_twice)
    measured: the second cufftDestroy: CUFFT_INVALID_PLAN; the second cusparseDestroy: CUSPARSE_STATUS_INVALID_VALUE
      (cufft_destroy_twice, cusparse_destroy_twice)
    measured: the second cusolverDnDestroy: SIGSEGV (cusolver_destroy_twice)
    measured, cublasLtDestroy succeeds: the second cublasLtDestroy: CUBLAS_STATUS_SUCCESS (cublaslt_destroy_twice)
    documented: cublasDestroy() is usually the last call with a particular handle (cuBLAS, cublasDestroy(),
      https://docs.nvidia.com/cuda/cublas/#cublasdestroy)
    """
    VALID = """
## each handle once
first, second = cu.cudnn.cudnnCreate(), cu.cudnn.cudnnCreate()
cu.cudnn.cudnnDestroy(first)
cu.cudnn.cudnnDestroy(second)

## handle issued again
cu.cudnn.cudnnDestroy(cu.cudnn.cudnnCreate())
cu.cudnn.cudnnDestroy(cu.cudnn.cudnnCreate())

## C++: destroyed on each way out [c++]
bool solve(int n) {
    cublasHandle_t handle;
    cublasCreate(&handle);
    if (!factor(handle, n)) {
        cublasDestroy(handle);
        return false;
    }
    cublasDestroy(handle);
    return true;
}
"""
    INVALID = """
## cuDNN handle
handle = cu.cudnn.cudnnCreate()
cu.cudnn.cudnnDestroy(handle)
cu.cudnn.cudnnDestroy(handle)  # error: [library-handle-destroy-twice]

## cuBLAS handle of two owners
handle = cu.cublas.cublasCreate()
cu.in_thread(lambda: cu.cublas.cublasDestroy(handle))
cu.cublas.cublasDestroy(handle)  # error: [library-handle-destroy-twice]

## C++: in a branch and at the end [c++]
bool solve(int n) {
    cublasHandle_t handle;
    cublasCreate(&handle);
    bool solved = factor(handle, n);
    if (!solved)
        cublasDestroy(handle);
    cublasDestroy(handle);  // error: [library-handle-destroy-twice]
    return solved;
}

## C#: ManagedCuda's functions [c#]
class Solver {
    void Run() {
        CudaBlasHandle handle = new CudaBlasHandle();
        Check(CudaBlasNativeMethods.cublasCreate_v2(ref handle));
        Factor(handle);
        Check(CudaBlasNativeMethods.cublasDestroy_v2(handle));
        Check(CudaBlasNativeMethods.cublasDestroy_v2(handle));  // error: [library-handle-destroy-twice]
    }
}
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        yield from super().check(call, model)
        for use in dead_unseen(call, model, ENDS):
            yield cls.violation(call, use, f"{a(use.role.kind.noun)} is destroyed that was destroyed before")
