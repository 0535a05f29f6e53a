import cupy as cp

SOURCE = r"""
extern "C" __global__ void softplus(const float* x, float* y, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) y[i] = log1pf(expf(x[i]));
}
"""


def measure(n: int, repeats: int) -> float:
    kernel = cp.RawKernel(SOURCE, "softplus")
    x = cp.random.standard_normal(n, dtype=cp.float32)
    y = cp.empty_like(x)
    grid = ((n + 255) // 256,)
    kernel(grid, (256,), (x, y, cp.int32(n)))
    start = cp.cuda.Event(disable_timing=True)
    stop = cp.cuda.Event(disable_timing=True)
    start.record()
    for _ in range(repeats):
        kernel(grid, (256,), (x, y, cp.int32(n)))
    stop.record()
    stop.synchronize()
    return cp.cuda.get_elapsed_time(start, stop) / repeats


if __name__ == "__main__":
    for power in range(16, 25, 2):
        print(1 << power, measure(1 << power, 100))
