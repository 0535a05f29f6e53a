"""torch.utils.cpp_extension: a kernel that nvcc compiles while the program runs."""

import contextlib
import io
import tempfile

import torch
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
__global__ void twice_kernel(float* values, int count) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < count) values[index] *= 2;
}
torch::Tensor twice(torch::Tensor values) {
    int count = values.numel();
    twice_kernel<<<(count + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(values.data_ptr<float>(), count);
    return values;
}
"""

with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
    extension = load_inline(
        "twice_extension",
        cpp_sources="torch::Tensor twice(torch::Tensor values);",
        cuda_sources=CUDA,
        functions=["twice"],
        build_directory=folder,
    )
print("sum", extension.twice(torch.ones(1000, device="cuda")).sum().item())
