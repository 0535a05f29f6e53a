from cuvet.catalog.kinds import LIBRARY_OBJECTS
from cuvet.model import Call, ModelView
from cuvet.rules.library_handles import dead_unseen
from cuvet.rules.lifecycle import USES, UseAfterDestroy, a
from cuvet.rules.rule import Violations


class LibraryHandleUseAfterDestroy(UseAfterDestroy):
    """
    checks: A library call uses a handle, plan, descriptor, generator, communicator or program that was destroyed before.
    why: Its resources were released, and the library may not notice: `cudnnSetStream` was measured to return CUDNN_STATUS_SUCCESS.
    instead: Destroy the handle after its last use, and clear the variable that holds it. A cache of handles must not outlive their owner.
    limits: If a new object has the old one's value, a call through the old one looks like a use of the new one. Where one place creates
      hundreds of descriptors, only the first are recorded; findings about later ones do not say where they were created and destroyed.
    """

    code = "CV961"
    summary = "a destroyed handle of a library is used"
    help = "destroy the handle after its last use, or clear the variable that still holds it"
    kinds = LIBRARY_OBJECTS
    libraries = True
    evidence = """
    measured, succeeds: cudnnSetStream on a destroyed handle: CUDNN_STATUS_SUCCESS (cuDNN 9.19) (cudnn_destroy_then_use)
    documented: cublasDestroy() releases the library's resources and is usually the last call with a particular handle
      (cuBLAS, cublasDestroy(), https://docs.nvidia.com/cuda/cublas/#cublasdestroy)
    documented: cufftDestroy() frees the GPU resources of a plan and destroys its internal data structure (cuFFT API
      Reference, cufftDestroy(), https://docs.nvidia.com/cuda/cufft/#function-cufftdestroy)
    documented: cutensorDestroy, cutensorDestroyPlan: free all resources (cuTENSOR 2.8.1, cutensor.h)
    """
    VALID = """
## destroyed after the last use
handle = cu.cudnn.cudnnCreate()
cu.cudnn.cudnnSetStream(handle, 0)
cu.cudnn.cudnnDestroy(handle)

## handle issued again
note: the new handle often has the old one's value
cu.cublas.cublasDestroy(cu.cublas.cublasCreate())
handle = cu.cublas.cublasCreate()
cu.cublas.cublasSetStream(handle, 0)
cu.cublas.cublasDestroy(handle)

## descriptor outlives the handle
note: a descriptor belongs to no handle
handle = cu.cudnn.cudnnCreate()
descriptor = cu.cudnn.cudnnCreateTensorDescriptor()
cu.cudnn.cudnnDestroy(handle)
cu.cudnn.cudnnSetTensor4dDescriptor(descriptor, 0, 0, 1, 1, 8, 8)
cu.cudnn.cudnnDestroyTensorDescriptor(descriptor)

## cuTENSOR preference outlives the handle
note: no document says that it ends with the handle
handle = cu.cutensor.cutensorCreate()
preference = cu.cutensor.cutensorCreatePlanPreference(handle, -1, 0)
cu.cutensor.cutensorDestroy(handle)
cu.cutensor.cutensorDestroyPlanPreference(preference)

## C++: a plan of cuTENSOR made, used and destroyed [c++]
void contract(cutensorHandle_t handle, cutensorOperationDescriptor_t operation, const float *a, const float *b, float *c) {
    const float one = 1, zero = 0;
    cutensorPlan_t plan;
    cutensorCreatePlan(handle, &plan, operation, nullptr, 0);
    cutensorContract(handle, plan, &one, a, b, &zero, c, c, nullptr, 0, 0);
    cutensorDestroyPlan(plan);
}
"""
    INVALID = """
## cuDNN handle
handle = cu.cudnn.cudnnCreate()
cu.cudnn.cudnnDestroy(handle)
cu.cudnn.cudnnSetStream(handle, 0)  # error: [library-handle-use-after-destroy]

## cuDNN descriptor
descriptor = cu.cudnn.cudnnCreateTensorDescriptor()
cu.cudnn.cudnnDestroyTensorDescriptor(descriptor)
cu.cudnn.cudnnSetTensor4dDescriptor(descriptor, 0, 0, 1, 1, 8, 8)  # error: [library-handle-use-after-destroy]

## cuBLAS handle destroyed by another thread
handle = cu.cublas.cublasCreate()
cu.in_thread(lambda: cu.cublas.cublasDestroy(handle))
cu.cublas.cublasSetStream(handle, 0)  # error: [library-handle-use-after-destroy]

## cuTENSOR handle
handle = cu.cutensor.cutensorCreate()
cu.cutensor.cutensorDestroy(handle)
cu.cutensor.cutensorHandleResizePlanCache(handle, 128)  # error: [library-handle-use-after-destroy]

## C++: a plan of cuTENSOR that was destroyed [c++]
void contract(cutensorHandle_t handle, cutensorOperationDescriptor_t operation, const float *a, const float *b, float *c) {
    const float one = 1, zero = 0;
    cutensorPlan_t plan;
    cutensorCreatePlan(handle, &plan, operation, nullptr, 0);
    cutensorDestroyPlan(plan);
    cutensorContract(handle, plan, &one, a, b, &zero, c, c, nullptr, 0, 0);  // error: [library-handle-use-after-destroy]
}

## C++: a plan that was destroyed [c++]
void transform(cufftComplex *values, int n) {
    cufftHandle plan;
    cufftPlan1d(&plan, n, CUFFT_C2C, 1);
    cufftDestroy(plan);
    cufftExecC2C(plan, values, values, CUFFT_FORWARD);  // error: [library-handle-use-after-destroy]
}

## C++: a descriptor that was destroyed [c++]
void convolve(cudnnHandle_t handle, const float *values, float *result) {
    cudnnTensorDescriptor_t shape;
    float one = 1, zero = 0;
    cudnnCreateTensorDescriptor(&shape);
    cudnnSetTensor4dDescriptor(shape, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 3, 64, 64);
    cudnnDestroyTensorDescriptor(shape);
    cudnnAddTensor(handle, &one, shape, values, &zero, shape, result);  // error: [library-handle-use-after-destroy]
}

## C#: ManagedCuda's functions [c#]
class Solver {
    void Run(CUstream stream) {
        CudaBlasHandle handle = new CudaBlasHandle();
        Check(CudaBlasNativeMethods.cublasCreate_v2(ref handle));
        Check(CudaBlasNativeMethods.cublasDestroy_v2(handle));
        Check(CudaBlasNativeMethods.cublasSetStream_v2(handle, stream));  // error: [library-handle-use-after-destroy]
    }
}
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        yield from super().check(call, model)
        for use in dead_unseen(call, model, USES):
            yield cls.violation(call, use, f"{a(use.role.kind.noun)} is used that was destroyed before this call")
