import cupy as cp

_SRC = r"""
extern "C" __global__
void step_paths(const float* z, float* s, float drift, float vol, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) s[i] *= __expf(drift + vol * z[i]);
}
"""


class GpuSlot:
    """One GPU's share of the paths."""

    def __init__(self, ordinal, npaths, seed):
        self.ordinal = ordinal
        self.npaths = npaths
        self.stream = cp.cuda.Stream(non_blocking=True)
        with cp.cuda.Device(ordinal):
            with self.stream:
                self.rng = cp.random.default_rng(seed + ordinal)
                self.spot = cp.empty(npaths, dtype=cp.float32)
            self.kernel = cp.RawKernel(_SRC, "step_paths")

    def start(self, s0, rate, sigma, dt, steps, strike):
        drift = cp.float32((rate - 0.5 * sigma * sigma) * dt)
        vol = cp.float32(sigma * dt ** 0.5)
        grid = ((self.npaths + 255) // 256,)
        with cp.cuda.Device(self.ordinal), self.stream:
            self.spot.fill(s0)
            for _ in range(steps):
                z = self.rng.standard_normal(self.npaths, dtype=cp.float32)
                self.kernel(grid, (256,),
                            (z, self.spot, drift, vol, cp.int32(self.npaths)))
            self.payoff = cp.maximum(self.spot - strike, 0).mean(dtype=cp.float64)

    def result(self):
        with cp.cuda.Device(self.ordinal):
            self.stream.synchronize()
            with self.stream:
                return float(self.payoff)
