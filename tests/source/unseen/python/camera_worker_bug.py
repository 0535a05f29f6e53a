import queue
import threading

import numpy as np
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

KERNEL = """
__global__ void threshold(unsigned char *img, int n, int level)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) img[i] = img[i] > level ? 255 : 0;
}
"""


class ThresholdWorker(threading.Thread):
    def __init__(self, ctx, func, frames, level):
        super().__init__()
        self.ctx = ctx
        self.func = func
        self.frames = frames
        self.level = np.int32(level)
        self.counts = []
        self.error = None

    def run(self):
        try:
            self._consume()
        except Exception as exc:
            self.error = exc

    def _consume(self):
        while True:
            frame = self.frames.get()
            if frame is None:
                return
            dev = cuda.mem_alloc(frame.nbytes)
            try:
                cuda.memcpy_htod(dev, frame)
                grid = ((frame.size + 255) // 256, 1)
                self.func(dev, np.int32(frame.size), self.level, block=(256, 1, 1), grid=grid)
                cuda.memcpy_dtoh(frame, dev)
            finally:
                dev.free()
            self.counts.append(int(np.count_nonzero(frame)))


def main():
    cuda.init()
    ctx = cuda.Device(0).make_context()
    try:
        func = SourceModule(KERNEL).get_function("threshold")
        frames = queue.Queue()
        worker = ThresholdWorker(ctx, func, frames, 128)
        worker.start()
        for seed in range(8):
            rng = np.random.default_rng(seed)
            frames.put(rng.integers(0, 256, size=640 * 480, dtype=np.uint8))
        frames.put(None)
        worker.join()
        if worker.error is not None:
            raise worker.error
        print(worker.counts)
    finally:
        ctx.pop()


if __name__ == "__main__":
    main()
