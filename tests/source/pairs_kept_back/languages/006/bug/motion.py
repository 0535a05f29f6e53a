import numpy as np
import pycuda.driver as drv


class MotionDetector:
    def __init__(self, core, width, height, threshold=18):
        self.core = core
        self.shape = (height, width)
        self.n = width * height
        self.threshold = threshold
        with core.lock:
            core.ctx.push()
            try:
                self.prev = drv.mem_alloc(self.n)
                self.cur = drv.mem_alloc(self.n)
                self.mask = drv.mem_alloc(self.n)
                drv.memset_d8(self.prev, 0, self.n)
            finally:
                core.ctx.pop()
        self.primed = False

    def ratio(self, gray):
        """Share of pixels that changed since the last frame; any thread."""
        with self.core.lock:
            self.core.ctx.push()
            if gray is None or gray.shape != self.shape:
                return 0.0
            try:
                drv.memcpy_htod(self.cur, np.ascontiguousarray(gray, np.uint8))
                if self.primed:
                    grid = ((self.n + 255) // 256, 1)
                    self.core.diff(
                        self.cur, self.prev, self.mask,
                        np.int32(self.n), np.int32(self.threshold),
                        block=(256, 1, 1), grid=grid,
                    )
                    out = np.empty(self.n, np.uint8)
                    drv.memcpy_dtoh(out, self.mask)
                    moved = np.count_nonzero(out) / self.n
                else:
                    moved = 0.0
                    self.primed = True
                self.cur, self.prev = self.prev, self.cur
                return moved
            finally:
                self.core.ctx.pop()

    def close(self):
        with self.core.lock:
            self.core.ctx.push()
            try:
                for buf in (self.prev, self.cur, self.mask):
                    buf.free()
            finally:
                self.core.ctx.pop()
