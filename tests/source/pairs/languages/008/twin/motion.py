import queue
import threading

import numpy as np
from numba import cuda


@cuda.jit
def _absdiff(cur, prev, thr, out):
    y, x = cuda.grid(2)
    if y < cur.shape[0] and x < cur.shape[1]:
        d = int(cur[y, x]) - int(prev[y, x])
        out[y, x] = 255 if abs(d) > thr else 0


class _Ticket:
    def __init__(self, seq, slot):
        self.seq = seq
        self.slot = slot


class MotionMask:
    """submit() is called from the grabber; on_mask runs on our own thread."""

    def __init__(self, h, w, on_mask, threshold=18, depth=4):
        self.h, self.w = h, w
        self.threshold = threshold
        self.on_mask = on_mask
        self.stream = cuda.stream()
        self.h_in = [cuda.pinned_array((h, w), np.uint8) for _ in range(depth)]
        self.h_out = [cuda.pinned_array((h, w), np.uint8) for _ in range(depth)]
        self.d_frames = [cuda.to_device(np.zeros((h, w), np.uint8)) for _ in range(2)]
        self.d_mask = [cuda.device_array((h, w), np.uint8) for _ in range(depth)]
        self.idle = queue.Queue()
        for i in range(depth):
            self.idle.put(i)
        self.done = queue.Queue()
        self.seq = 0
        self.worker = threading.Thread(target=self._drain, daemon=True)
        self.worker.start()

    def submit(self, gray):
        slot = self.idle.get()
        np.copyto(self.h_in[slot], gray)
        cur = self.d_frames[self.seq & 1]
        prev = self.d_frames[(self.seq + 1) & 1]
        cur.copy_to_device(self.h_in[slot], stream=self.stream)
        grid = ((self.h + 15) // 16, (self.w + 15) // 16)
        _absdiff[grid, (16, 16), self.stream](
            cur, prev, self.threshold, self.d_mask[slot])
        self.d_mask[slot].copy_to_host(self.h_out[slot], stream=self.stream)
        self.stream.add_callback(self._finished, _Ticket(self.seq, slot))
        self.seq += 1

    def _finished(self, stream, status, ticket):
        self.done.put((status, ticket))

    def _drain(self):
        while True:
            item = self.done.get()
            if item is None:
                return
            status, ticket = item
            if status == 0:
                self.on_mask(ticket.seq, self.h_out[ticket.slot].copy())
            self.idle.put(ticket.slot)

    def close(self):
        self.stream.synchronize()
        self.done.put(None)
        self.worker.join()
