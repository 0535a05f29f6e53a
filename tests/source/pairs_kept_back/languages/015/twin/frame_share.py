"""Hands decoded frames from the capture process to the analytics process."""
import multiprocessing as mp

import numpy as np
from cuda.bindings import runtime as cudart


class CudaFailure(Exception):
    pass


def _c(result):
    err, *rest = result
    if err != cudart.cudaError_t.cudaSuccess:
        _, name = cudart.cudaGetErrorName(err)
        raise CudaFailure(name.decode())
    if not rest:
        return None
    return rest[0] if len(rest) == 1 else tuple(rest)


class Publisher:
    """Owns the ring of frames; lives in the capture process."""

    def __init__(self, conn, frame_bytes, depth=4):
        self.conn = conn
        self.frame_bytes = frame_bytes
        self.frames = []
        try:
            for _ in range(depth):
                self.frames.append(_c(cudart.cudaMalloc(frame_bytes)))
            tokens = [
                bytes(_c(cudart.cudaIpcGetMemHandle(p)).reserved)
                for p in self.frames
            ]
            conn.send((frame_bytes, tokens))
        except Exception:
            self._free()
            raise
        self.idle = list(range(depth))

    def _free(self):
        for p in self.frames:
            cudart.cudaFree(p)
        self.frames = []

    def publish(self, frame):
        while not self.idle or self.conn.poll():
            k = self.conn.recv()
            if k is None:
                raise EOFError("analytics process left")
            self.idle.append(k)
        k = self.idle.pop()
        frame = np.ascontiguousarray(frame, dtype=np.uint8)
        if frame.nbytes != self.frame_bytes:
            self.idle.append(k)
            raise ValueError("frame size")
        _c(cudart.cudaMemcpy(
            self.frames[k], frame.ctypes.data, frame.nbytes,
            cudart.cudaMemcpyKind.cudaMemcpyHostToDevice))
        _c(cudart.cudaDeviceSynchronize())
        self.conn.send(k)

    def close(self):
        try:
            self.conn.send(None)
            while self.conn.recv() is not None:
                pass
        except (EOFError, OSError):
            pass
        finally:
            self._free()


class Subscriber:
    """Sees the same frames from the analytics process."""

    def __init__(self, conn):
        self.conn = conn
        self.frame_bytes, tokens = conn.recv()
        self.views = []
        try:
            for tok in tokens:
                h = cudart.cudaIpcMemHandle_t()
                h.reserved = tok
                self.views.append(_c(cudart.cudaIpcOpenMemHandle(
                    h, cudart.cudaIpcMemLazyEnablePeerAccess)))
        except Exception:
            self._unmap()
            raise

    def _unmap(self):
        cudart.cudaDeviceSynchronize()
        for p in self.views:
            cudart.cudaIpcCloseMemHandle(p)
        self.views = []

    def run(self, consume):
        try:
            while True:
                k = self.conn.recv()
                if k is None:
                    break
                consume(self.views[k], self.frame_bytes)
                _c(cudart.cudaDeviceSynchronize())
                self.conn.send(k)
        finally:
            self._unmap()
            self.conn.send(None)


def _analytics(conn, consume):
    _c(cudart.cudaSetDevice(0))
    Subscriber(conn).run(consume)


def start(frame_bytes, consume):
    ctx = mp.get_context("spawn")
    ours, theirs = ctx.Pipe()
    proc = ctx.Process(target=_analytics, args=(theirs, consume))
    proc.start()
    theirs.close()
    _c(cudart.cudaSetDevice(0))
    return Publisher(ours, frame_bytes), proc
