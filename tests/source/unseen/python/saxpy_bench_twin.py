import cupy as cp
from cuda.core.experimental import (
    Device,
    EventOptions,
    LaunchConfig,
    Program,
    ProgramOptions,
    launch,
)

SOURCE = r"""
template <typename T>
__global__ void saxpy(const T a, const T* x, const T* y, T* out, size_t n) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride)
        out[i] = a * x[i] + y[i];
}
"""


def compile_kernel(dev):
    arch = "".join(str(part) for part in dev.compute_capability)
    options = ProgramOptions(std="c++17", arch=f"sm_{arch}")
    program = Program(SOURCE, code_type="c++", options=options)
    module = program.compile("cubin", name_expressions=("saxpy<float>",))
    return module.get_kernel("saxpy<float>")


def bench(n=1 << 22, rounds=50):
    dev = Device()
    dev.set_current()
    stream = dev.create_stream()
    try:
        kernel = compile_kernel(dev)
        x = cp.random.random(n, dtype=cp.float32)
        y = cp.random.random(n, dtype=cp.float32)
        out = cp.empty_like(x)
        dev.sync()

        config = LaunchConfig(grid=512, block=256)
        timed = EventOptions(enable_timing=True)
        begin = stream.record(options=timed)
        for _ in range(rounds):
            launch(stream, config, kernel, cp.float32(2.0), x.data.ptr, y.data.ptr, out.data.ptr, cp.uint64(n))
        end = stream.record(options=timed)
        end.sync()

        elapsed = end - begin
        assert cp.allclose(out, 2.0 * x + y)
        gbps = 3 * n * 4 * rounds / (elapsed * 1e-3) / 1e9
        print(f"{elapsed / rounds:.4f} ms per launch, {gbps:.1f} GB/s")
        dev.sync()
    finally:
        stream.close()


if __name__ == "__main__":
    bench()
