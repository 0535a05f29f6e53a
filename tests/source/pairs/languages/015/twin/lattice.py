"""Lattice snapshots: every few sweeps the field is copied and reduced on a
second stream while the update goes on."""
import numpy as np
from cuda.core.experimental import (
    Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch)

CODE = r"""
extern "C" __global__
void sweep(float* f, unsigned n, float beta, unsigned parity)
{
    unsigned i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + parity;
    if (i >= n) return;
    float l = f[(i + n - 1) % n], r = f[(i + 1) % n];
    f[i] = tanhf(beta * (l + r));
}
extern "C" __global__
void action(const float* f, unsigned n, float* out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { float d = f[i] - f[(i + 1) % n]; atomicAdd(out, d * d); }
}
"""


class Lattice:
    def __init__(self, n, beta, ordinal=0):
        self.dev = Device(ordinal)
        self.dev.set_current()
        self.n = n
        self.beta = np.float32(beta)
        prog = Program(CODE, "c++", ProgramOptions(std="c++17", arch=f"sm_{self.dev.arch}"))
        mod = prog.compile("cubin")
        self.k_sweep = mod.get_kernel("sweep")
        self.k_action = mod.get_kernel("action")
        self.upd = self.dev.create_stream()
        self.obs = self.dev.create_stream()
        self.pinned = LegacyPinnedMemoryResource()
        self.field = self.dev.allocate(4 * n, stream=self.upd)
        init = self.pinned.allocate(4 * n)
        np.from_dlpack(init).view(np.float32)[:] = np.random.default_rng(7).normal(size=n)
        self.field.copy_from(init, stream=self.upd)
        self.upd.sync()
        init.close()

    def _cfg(self, items):
        return LaunchConfig(grid=(items + 255) // 256, block=256)

    def measure(self, host_out):
        snap = self.dev.allocate(4 * self.n, stream=self.upd)
        snap.copy_from(self.field, stream=self.upd)
        self.obs.wait(self.upd.record())
        zero = self.pinned.allocate(4)
        np.from_dlpack(zero).view(np.float32)[0] = 0
        acc = self.dev.allocate(4, stream=self.obs)
        acc.copy_from(zero, stream=self.obs)
        launch(self.obs, self._cfg(self.n), self.k_action, snap, np.uint32(self.n), acc)
        host_out.copy_from(acc, stream=self.obs)
        acc.close(self.obs)
        snap.close(self.obs)
        return zero

    def run(self, sweeps, every):
        count = sweeps // every
        outs = [self.pinned.allocate(4) for _ in range(count)]
        keep = []
        half = self._cfg((self.n + 1) // 2)
        for s in range(count * every):
            for parity in (0, 1):
                launch(self.upd, half, self.k_sweep, self.field,
                       np.uint32(self.n), self.beta, np.uint32(parity))
            if (s + 1) % every == 0:
                keep.append(self.measure(outs[s // every]))
        self.obs.sync()
        self.upd.sync()
        vals = [float(np.from_dlpack(o).view(np.float32)[0]) for o in outs]
        for b in outs + keep:
            b.close()
        return vals

    def close(self):
        self.field.close(self.upd)
        self.upd.sync()
        self.upd.close()
        self.obs.close()
