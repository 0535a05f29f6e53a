import cupy as cp
from cuda.core.experimental import Device, LaunchConfig, Program, ProgramOptions, launch

CODE = """
template <typename T>
__global__ void saxpy(const T a, const T* x, const T* y, T* out, size_t n)
{
    for (size_t i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = a * x[i] + y[i];
}
"""


def saxpy(n: int) -> cp.ndarray:
    device = Device()
    device.set_current()
    stream = device.create_stream()
    options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
    module = Program(CODE, code_type="c++", options=options).compile("cubin", name_expressions=("saxpy<float>",))
    kernel = module.get_kernel("saxpy<float>")
    x = cp.random.random(n, dtype=cp.float32)
    y = cp.random.random(n, dtype=cp.float32)
    out = cp.empty_like(x)
    device.sync()
    config = LaunchConfig(grid=(n + 255) // 256, block=256)
    launch(stream, config, kernel, cp.float32(2.0), x.data.ptr, y.data.ptr, out.data.ptr, cp.uint64(n))
    stream.sync()
    stream.close()
    return out


if __name__ == "__main__":
    print(saxpy(1 << 20).sum())
