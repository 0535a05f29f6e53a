import cupy as cp
import numpy as np

import cufft_lib as fft


class Spectrogram:
    """Live spectrogram of a microphone array; the user may drag the FFT size."""

    def __init__(self, channels, nfft=1024):
        self.channels = channels
        self.stream = cp.cuda.Stream()
        self.plan = None
        self.nfft = 0
        self.resize(nfft)

    def resize(self, nfft):
        if nfft == self.nfft:
            return
        if self.plan is not None:
            self.stream.synchronize()
            fft.destroy(self.plan)
            self.plan, self.nfft = None, 0
        with self.stream:
            self.win = cp.hanning(nfft).astype(cp.float32)
            self.inp = cp.empty((self.channels, nfft), cp.float32)
            self.out = cp.empty((self.channels, nfft // 2 + 1), cp.complex64)
        plan = fft.plan1d(nfft, fft.R2C, self.channels)
        try:
            fft.set_stream(plan, self.stream.ptr)
        except RuntimeError:
            fft.destroy(plan)
            raise
        self.plan, self.nfft = plan, nfft

    def push(self, block):
        """block: (channels, nfft) float32 on the host; returns dB rows."""
        block = np.asarray(block, dtype=np.float32)
        if block.shape != (self.channels, self.nfft):
            raise ValueError(f"block {block.shape}")
        with self.stream:
            cp.multiply(cp.asarray(block), self.win, out=self.inp)
            fft.r2c(self.plan, self.inp.data.ptr, self.out.data.ptr)
            db = 20 * cp.log10(cp.abs(self.out) + 1e-9)
            return db.get()

    def close(self):
        if self.plan is not None:
            self.stream.synchronize()
            fft.destroy(self.plan)
            self.plan, self.nfft = None, 0


class View:
    SIZES = (256, 512, 1024, 2048, 4096, 8192)

    def __init__(self, source, canvas):
        self.source = source
        self.canvas = canvas
        self.spec = Spectrogram(source.channels)

    def on_slider(self, pos):
        self.spec.resize(self.SIZES[pos])

    def on_tick(self):
        block = self.source.latest(self.spec.nfft)
        if block is not None:
            self.canvas.append(self.spec.push(block))

    def on_close(self):
        self.spec.close()
