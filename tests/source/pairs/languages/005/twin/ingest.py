"""Voltage ingest for the correlator: packets -> pinned slabs -> spectra."""
import logging

import cupy as cp
import cupyx
import numpy as np

log = logging.getLogger(__name__)

_unpack = cp.ElementwiseKernel(
    "int8 re, int8 im", "complex64 z",
    "z = complex<float>((float)re, (float)im)", "unpack_iq8")


class Slab:
    def __init__(self, nsamp):
        self.host = cupyx.empty_pinned((nsamp, 2), dtype=np.int8)
        self.dev = cp.empty((nsamp, 2), dtype=cp.int8)
        self.uploaded = cp.cuda.Event(disable_timing=True)


class Ingest:
    def __init__(self, sock, nchan, nint, depth=3):
        self.sock = sock
        self.nchan = nchan
        self.nint = nint
        self.nsamp = nchan * nint
        self.stream = cp.cuda.Stream(non_blocking=True)
        with self.stream:
            self.slabs = [Slab(self.nsamp) for _ in range(depth)]
            self.acc = cp.zeros(nchan, dtype=cp.float32)
            self.window = cp.hanning(nchan).astype(cp.float32)
        self.count = 0
        self.stream.synchronize()

    def _fill(self, host):
        view = memoryview(host).cast("B")
        got = 0
        while got < len(view):
            n = self.sock.recv_into(view[got:])
            if n == 0:
                return False
            got += n
        return True

    def pump(self, max_slabs):
        for i in range(max_slabs):
            s = self.slabs[i % len(self.slabs)]
            s.uploaded.synchronize()
            if not self._fill(s.host):
                log.info("feed closed after %d slabs", i)
                break
            s.dev.data.copy_from_host_async(
                s.host.ctypes.data, s.host.nbytes, self.stream)
            s.uploaded.record(self.stream)
            with self.stream:
                z = _unpack(s.dev[:, 0], s.dev[:, 1])
                z = z.reshape(self.nint, self.nchan) * self.window
                f = cp.fft.fft(z, axis=1)
                self.acc += (f.real ** 2 + f.imag ** 2).sum(axis=0)
            self.count += self.nint

    def spectrum(self):
        self.stream.synchronize()
        with self.stream:
            out = cp.asnumpy(self.acc, stream=self.stream)
            self.acc.fill(0)
        self.stream.synchronize()
        n, self.count = self.count, 0
        return np.fft.fftshift(out) / max(n, 1)
