import queue

import numpy as np
import torch


class Ticket:
    """One batch on its way back from the GPU."""

    def __init__(self, engine, buf, n, done):
        self._engine = engine
        self._buf = buf
        self._n = n
        self._done = done

    def ready(self):
        return self._done.query()

    def scores(self):
        """Scores of the batch as a fresh (n, classes) array; call once."""
        self._done.synchronize()
        out = self._buf[: self._n].numpy().copy()
        self._engine.recycle(self._buf)
        self._buf = None
        return out


class Engine:
    def __init__(self, weights, classes, max_batch=64, depth=4, device="cuda:0"):
        self.device = torch.device(device)
        self.max_batch = max_batch
        self.net = torch.jit.load(weights, map_location=self.device).eval()
        self._stream = torch.cuda.Stream(device=self.device)
        # the weights were written on the default stream
        self._stream.wait_stream(torch.cuda.current_stream(self.device))
        self._bufs = queue.SimpleQueue()
        for _ in range(depth):
            self._bufs.put(
                torch.empty((max_batch, classes), dtype=torch.float32, pin_memory=True)
            )

    def recycle(self, buf):
        self._bufs.put(buf)

    @torch.inference_mode()
    def submit(self, images: np.ndarray) -> Ticket:
        n = len(images)
        if n > self.max_batch:
            raise ValueError(f"batch of {n}")
        x = torch.from_numpy(images).pin_memory()
        with torch.cuda.stream(self._stream):
            x = x.to(self.device, non_blocking=True)
            y = self.net(x.float().div_(255.0)).softmax(dim=1)
            buf = self._bufs.get()
            try:
                buf[:n].copy_(y, non_blocking=True)
                done = torch.cuda.Event()
                done.record(self._stream)
            except Exception:
                self.recycle(buf)
                raise
        return Ticket(self, buf, n, done)
