"""Stack seismic traces: filtering on one stream, correlation on another."""

import cupy as cp
import numpy as np

_taper = cp.ElementwiseKernel(
    "float32 x, int32 period",
    "float32 y",
    "y = x * (0.5f - 0.5f * cospif(2.0f * (i % period) / period))",
    "taper_traces",
)


class StackPipeline:
    def __init__(self, traces, samples):
        self.traces = traces
        self.samples = samples
        self.filter_stream = cp.cuda.Stream(non_blocking=True)
        self.stack_stream = cp.cuda.Stream(non_blocking=True)
        self.tapered = cp.empty((traces, samples), dtype=cp.float32)
        self.result = cp.zeros(samples, dtype=cp.float32)
        cp.cuda.Device().synchronize()

    def run(self, gather):
        with self.filter_stream:
            raw = cp.asarray(gather, dtype=cp.float32)
            _taper(raw, np.int32(self.samples), self.tapered)
            done = self.filter_stream.record()
        with self.stack_stream:
            cp.sum(self.tapered, axis=0, out=self.result)
            self.result /= self.traces
        self.stack_stream.synchronize()
        done.synchronize()
        return cp.asnumpy(self.result)


def synthetic(traces, samples, shot):
    rng = np.random.default_rng(shot)
    t = np.linspace(0.0, 1.0, samples, dtype=np.float32)
    signal = np.sin(40.0 * t) * np.exp(-3.0 * t)
    noise = rng.standard_normal((traces, samples)).astype(np.float32)
    return (signal + 0.2 * noise).astype(np.float32)


def main():
    pipeline = StackPipeline(traces=480, samples=4096)
    for shot in range(6):
        stacked = pipeline.run(synthetic(480, 4096, shot))
        print(f"shot {shot}: peak {np.abs(stacked).max():.4f}")


if __name__ == "__main__":
    main()
