import threading

import pycuda.driver as drv
from pycuda.compiler import SourceModule

_SRC = r"""
extern "C" __global__ void diff_mask(const unsigned char *a,
                                     const unsigned char *b,
                                     unsigned char *m, int n, int thr)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int d = (int)a[i] - (int)b[i];
        m[i] = (d > thr || d < -thr) ? 255 : 0;
    }
}
"""


class GpuCore:
    """Context, code and lock shared by all cameras of one card."""

    def __init__(self, index):
        drv.init()
        self.lock = threading.Lock()
        self.ctx = drv.Device(index).make_context()
        try:
            mod = SourceModule(_SRC, no_extern_c=True)
            self.mod = mod
            self.diff = mod.get_function("diff_mask")
        except Exception:
            self.ctx.pop()
            self.ctx.detach()
            raise
        self.ctx.pop()

    def shutdown(self):
        with self.lock:
            self.ctx.push()
            self.diff = None
            self.mod = None
            self.ctx.pop()
            self.ctx.detach()
            self.ctx = None
