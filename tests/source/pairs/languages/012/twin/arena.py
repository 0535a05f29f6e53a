import bisect
import threading

from cuda.bindings import runtime as cudart

ALIGN = 256
MIN_CHUNK = 64 << 20


def _raise(err, what):
    if err != cudart.cudaError_t.cudaSuccess:
        _, msg = cudart.cudaGetErrorString(err)
        raise MemoryError(f"{what}: {msg.decode()}")


class _Chunk:
    __slots__ = ("base", "size", "holes")

    def __init__(self, base, size):
        self.base = base
        self.size = size
        self.holes = [(0, size)]


class ColumnArena:
    """Sub-allocates device columns out of large chunks."""

    def __init__(self, device):
        self.device = device
        self.chunks = []
        self.live = {}
        self.lock = threading.Lock()

    def _grow(self, nbytes):
        size = max(MIN_CHUNK, nbytes)
        err, base = cudart.cudaMalloc(size)
        _raise(err, f"cudaMalloc({size})")
        chunk = _Chunk(base, size)
        self.chunks.append(chunk)
        return chunk

    def _carve(self, chunk, nbytes):
        for i, (off, size) in enumerate(chunk.holes):
            if size >= nbytes:
                if size == nbytes:
                    del chunk.holes[i]
                else:
                    chunk.holes[i] = (off + nbytes, size - nbytes)
                return chunk.base + off
        return None

    def alloc(self, nbytes):
        nbytes = (max(nbytes, 1) + ALIGN - 1) // ALIGN * ALIGN
        with self.lock:
            err, = cudart.cudaSetDevice(self.device)
            _raise(err, "cudaSetDevice")
            for c in self.chunks:
                p = self._carve(c, nbytes)
                if p is not None:
                    self.live[p] = (c, nbytes)
                    return p
            c = self._grow(nbytes)
            p = self._carve(c, nbytes)
            self.live[p] = (c, nbytes)
            return p

    def release(self, ptr):
        """Caller has already synchronized every stream that used ptr."""
        with self.lock:
            c, nbytes = self.live.pop(ptr)
            bisect.insort(c.holes, (ptr - c.base, nbytes))
            merged = []
            for off, size in c.holes:
                if merged and merged[-1][0] + merged[-1][1] == off:
                    merged[-1] = (merged[-1][0], merged[-1][1] + size)
                else:
                    merged.append((off, size))
            c.holes = merged

    def close(self):
        with self.lock:
            err, = cudart.cudaSetDevice(self.device)
            _raise(err, "cudaSetDevice")
            chunks, self.chunks = self.chunks, []
            self.live.clear()
            first = cudart.cudaError_t.cudaSuccess
            for c in chunks:
                err, = cudart.cudaFree(c.base)
                if first == cudart.cudaError_t.cudaSuccess:
                    first = err
            _raise(first, "cudaFree")
