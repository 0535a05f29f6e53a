import argparse
import glob

import numpy as np
import pycuda.autoinit  # noqa: F401
import pycuda.driver as drv
from pycuda.compiler import SourceModule

SRC = """
extern "C" __global__
void median_stack(const unsigned short* const* frames, int nframes,
                  unsigned short* out, int npix)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= npix) return;
    unsigned short v[64];
    for (int k = 0; k < nframes; ++k) {
        unsigned short x = frames[k][p];
        int j = k;
        while (j > 0 && v[j - 1] > x) { v[j] = v[j - 1]; --j; }
        v[j] = x;
    }
    out[p] = v[nframes / 2];
}
"""


def load_raw(path, shape):
    return np.fromfile(path, np.uint16, count=shape[0] * shape[1]).reshape(shape)


class FrameTable:
    """Device array of pointers to device frames."""

    def __init__(self, frames):
        self.frames = [drv.to_device(f) for f in frames]
        addrs = np.array([int(d) for d in self.frames], dtype=np.uint64)
        self.count = len(addrs)
        self.gpudata = drv.to_device(addrs)


def stack(frames):
    if not 0 < len(frames) <= 64:
        raise ValueError("need 1..64 frames")
    h, w = frames[0].shape
    mod = SourceModule(SRC, no_extern_c=True)
    fn = mod.get_function("median_stack")
    table = FrameTable(frames)
    out = np.empty((h, w), np.uint16)
    npix = h * w
    fn(table.gpudata, np.int32(table.count), drv.Out(out), np.int32(npix),
       block=(256, 1, 1), grid=((npix + 255) // 256, 1))
    return out


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("pattern")
    ap.add_argument("--width", type=int, required=True)
    ap.add_argument("--height", type=int, required=True)
    ap.add_argument("-o", default="stack.raw")
    a = ap.parse_args()
    paths = sorted(glob.glob(a.pattern))
    shape = (a.height, a.width)
    stack([load_raw(p, shape) for p in paths]).tofile(a.o)


if __name__ == "__main__":
    main()
