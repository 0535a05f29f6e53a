"""Reads 8-bit baseband dumps and integrates power spectra."""
import argparse

import cupy as cp
import numpy as np


class Slot:
    def __init__(self, nbytes):
        self.mem = cp.cuda.alloc_pinned_memory(nbytes)
        self.host = np.frombuffer(self.mem, dtype=np.int8, count=nbytes)
        self.dev = cp.empty(nbytes, dtype=np.int8)
        self.sent = cp.cuda.Event(disable_timing=True)


class Integrator:
    def __init__(self, nchan, spectra_per_block, nslots=3):
        self.nchan = nchan
        self.nspec = spectra_per_block
        self.nbytes = 2 * nchan * spectra_per_block      # re, im
        self.stream = cp.cuda.Stream(non_blocking=True)
        with self.stream:
            self.slots = [Slot(self.nbytes) for _ in range(nslots)]
            self.power = cp.zeros(nchan, dtype=np.float64)
        self.window = self._hann()
        self.blocks = 0

    def _hann(self):
        with self.stream:
            w = cp.hanning(self.nchan).astype(np.float32)
        self.stream.synchronize()
        return w

    def feed(self, fh):
        """Consumes whole blocks until the file ends."""
        i = 0
        while True:
            slot = self.slots[i % len(self.slots)]
            slot.sent.synchronize()
            got = fh.readinto(memoryview(slot.host))
            if got is None or got < self.nbytes:
                return
            with self.stream:
                slot.dev.set(slot.host, stream=self.stream)
                slot.sent.record(self.stream)
                self._accumulate(slot.dev)
            i += 1

    def _accumulate(self, raw):
        iq = raw.reshape(self.nspec, self.nchan, 2).astype(np.float32)
        z = (iq[..., 0] + 1j * iq[..., 1]).astype(np.complex64)
        spec = cp.fft.fft(z * self.window, axis=1)
        self.power += cp.sum(cp.abs(spec) ** 2, axis=0)
        self.blocks += 1

    def result(self):
        with self.stream:
            p = self.power.get()
        n = max(1, self.blocks * self.nspec)
        return np.fft.fftshift(p / n)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("files", nargs="+")
    ap.add_argument("-c", "--channels", type=int, default=4096)
    ap.add_argument("-s", "--spectra", type=int, default=256)
    ap.add_argument("-o", "--out", default="bandpass.npy")
    args = ap.parse_args()

    integ = Integrator(args.channels, args.spectra)
    for name in args.files:
        with open(name, "rb", buffering=0) as fh:
            integ.feed(fh)
    np.save(args.out, integ.result())


if __name__ == "__main__":
    main()
