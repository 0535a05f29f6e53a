import numpy as np
import pycuda.driver as drv
from pycuda.compiler import SourceModule

CODE = r"""
__global__ void half(const float *src, int sw, int sh, float *dst, int dw, int dh)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= dw || y >= dh) return;
    int x0 = 2 * x, y0 = 2 * y;
    int x1 = min(x0 + 1, sw - 1), y1 = min(y0 + 1, sh - 1);
    dst[y * dw + x] = 0.25f * (src[y0 * sw + x0] + src[y0 * sw + x1] +
                               src[y1 * sw + x0] + src[y1 * sw + x1]);
}
"""


class Level:
    __slots__ = ("width", "height", "mem", "ptr")

    def __init__(self, width, height):
        self.width = width
        self.height = height
        self.mem = drv.mem_alloc(self.nbytes)
        self.ptr = int(self.mem)

    @property
    def nbytes(self):
        return 4 * self.width * self.height

    @property
    def grid(self):
        return ((self.width + 15) // 16, (self.height + 15) // 16)


class Pyramid:
    """Box pyramid for the frame aligner. Needs a current context."""

    def __init__(self, width, height, min_side=32):
        self.mod = SourceModule(CODE)
        self.half = self.mod.get_function("half")
        self.half.prepare("PiiPii")
        self.levels = [Level(width, height)]
        while min(width, height) // 2 >= min_side:
            width, height = width // 2, height // 2
            self.levels.append(Level(width, height))
        self.stream = drv.Stream()
        self.top = drv.pagelocked_empty((self.levels[0].height,
                                         self.levels[0].width), np.float32)

    def build(self, frame):
        self.stream.synchronize()
        np.copyto(self.top, frame, casting="same_kind")
        drv.memcpy_htod_async(self.levels[0].ptr, self.top, self.stream)
        for fine, coarse in zip(self.levels, self.levels[1:]):
            self.half.prepared_async_call(
                coarse.grid, (16, 16, 1), self.stream,
                fine.ptr, fine.width, fine.height,
                coarse.ptr, coarse.width, coarse.height,
            )

    def fetch(self, k):
        lv = self.levels[k]
        self.stream.synchronize()
        out = np.empty((lv.height, lv.width), np.float32)
        drv.memcpy_dtoh(out, lv.ptr)
        return out


def estimate_shift(pyr, ref, cur):
    """Integer shift between two frames from the coarsest level."""
    k = len(pyr.levels) - 1
    pyr.build(ref)
    a = pyr.fetch(k)
    pyr.build(cur)
    b = pyr.fetch(k)
    spec = np.fft.rfft2(a) * np.conj(np.fft.rfft2(b))
    spec /= np.abs(spec) + 1e-12
    corr = np.fft.irfft2(spec, a.shape)
    dy, dx = np.unravel_index(np.argmax(corr), corr.shape)
    if dy > a.shape[0] // 2:
        dy -= a.shape[0]
    if dx > a.shape[1] // 2:
        dx -= a.shape[1]
    return dx << k, dy << k
