from cuvet.rules.rule import SourceRule


class SourceDeviceOfTensors(SourceRule):
    """
    checks: In an extension of PyTorch, a function that is given tensors launches a kernel on ``getCurrentCUDAStream()``, and neither it nor
      a caller in the file makes the tensors' device current.
    why: If the tensors are of another device than the current one, the kernel runs on the wrong device. It fails with an illegal access, or
      reads over the bus, in no order with the work of the tensors' own device.
    instead: Begin the function with ``const c10::cuda::CUDAGuard guard(tensor.device());``.
    limits: Callers in other files, and in Python, are not seen. So only functions that ask the tensors for their size, or make some: a part
      of an operation is mostly given the sizes. One note for a file in which nothing makes a device current.
    """

    code = "CV881"
    severity = "note"
    summary = "a kernel is launched on the current device, whatever the device of the tensors"
    help = "make the device of the tensors current first: c10::cuda::CUDAGuard"
    evidence = """
    documented: CUDAGuard sets the current CUDA device to the passed device, and restores the previous one when it goes out of scope
      (PyTorch C++ API, CUDA Guards)
    documented: cudaSetDevice sets device as the current device for the calling host thread; memory, streams, events and launches
      that follow are on that device (CUDA Runtime API, Device Management, cudaSetDevice)
    measured: a kernel that uses another device's memory: CUDA_ERROR_ILLEGAL_ADDRESS (launch_memory_of_other_device)
    reported: kernels were launched on the current device instead of that of the tensors
      (https://github.com/pytorch/FBGEMM/commit/9685b2c5)
    """
    VALID = """
## a guard [cuda]
__global__ void scale(float *values, int n) { values[threadIdx.x] *= n; }
void scale_cuda(at::Tensor values) {
    const c10::cuda::CUDAGuard guard(values.device());
    scale<<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(values.data_ptr<float>(), 2);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

## the caller has a guard [cuda]
__global__ void scale(float *values, int n) { values[threadIdx.x] *= n; }
void launch(at::Tensor values) {
    scale<<<1, values.numel(), 0, at::cuda::getCurrentCUDAStream()>>>(values.data_ptr<float>(), 2);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
void scale_cuda(at::Tensor values) {
    const c10::cuda::CUDAGuard guard(values.device());
    launch(values);
}

## pointers, for which the caller has to see to it [cuda]
__global__ void scale(float *values, int n) { values[threadIdx.x] *= n; }
void scale_cuda(float *values) {
    scale<<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(values, 2);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

## a part of an operation [cuda]
__global__ void scale(float *values, int n) { values[threadIdx.x] *= n; }
void scale_cuda(at::Tensor values, int n) {
    scale<<<1, n, 0, at::cuda::getCurrentCUDAStream()>>>(values.data_ptr<float>(), 2);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

## a function of PyTorch itself [cuda]
namespace at { namespace native {
__global__ void scale(float *values, int n) { values[threadIdx.x] *= n; }
void scale_cuda(const Tensor &values) {
    scale<<<1, values.numel(), 0, at::cuda::getCurrentCUDAStream()>>>(values.data_ptr<float>(), 2);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
}}
"""
    INVALID = """
## no guard [cuda]
__global__ void scale(float *values, int n) { values[threadIdx.x] *= n; }
void scale_cuda(at::Tensor values) {
    scale<<<1, values.numel(), 0, at::cuda::getCurrentCUDAStream()>>>(values.data_ptr<float>(), 2);  // note: [source-device-of-tensors]
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

## one function without a guard [cuda]
__global__ void scale(float *values, int n) { values[threadIdx.x] *= n; }
torch::Tensor scaled(const torch::Tensor &values) {
    const at::cuda::OptionalCUDAGuard guard(device_of(values));
    torch::Tensor result = values.clone();
    scale<<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(result.data_ptr<float>(), 2);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return result;
}
void scale_in_place(torch::Tensor values) {
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    scale<<<1, values.size(0), 0, stream>>>(values.data_ptr<float>(), 2);  // note: [source-device-of-tensors]
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""
