# Asian option book: many strikes, one path generator.
import math

import numpy as np
from numba import cuda
from numba.cuda.random import (
    create_xoroshiro128p_states,
    xoroshiro128p_normal_float32,
)

TPB = 128


@cuda.jit
def asian_avg(rng, s0, drift, vol, steps, out):
    i = cuda.grid(1)
    if i >= out.shape[0]:
        return
    s = s0
    acc = 0.0
    for _ in range(steps):
        z = xoroshiro128p_normal_float32(rng, i)
        s *= math.exp(drift + vol * z)
        acc += s
    out[i] = acc / steps


class AsianBook:
    def __init__(self, npaths, steps, seed=7, depth=2):
        self.npaths = npaths
        self.steps = steps
        self.blocks = (npaths + TPB - 1) // TPB
        self.work = cuda.stream()
        self.back = cuda.stream()
        self.rng = create_xoroshiro128p_states(
            self.blocks * TPB, seed=seed, stream=self.work
        )
        self.d_avg = [
            cuda.device_array(npaths, dtype=np.float32) for _ in range(depth)
        ]
        self.h_avg = [
            cuda.pinned_array(npaths, dtype=np.float32) for _ in range(depth)
        ]
        self.computed = [cuda.event(timing=False) for _ in range(depth)]
        self.fetched = [cuda.event(timing=False) for _ in range(depth)]
        self.work.synchronize()

    def _enqueue(self, k, asset, years):
        dt = years / self.steps
        drift = (asset["rate"] - 0.5 * asset["sigma"] ** 2) * dt
        vol = asset["sigma"] * math.sqrt(dt)
        asian_avg[self.blocks, TPB, self.work](
            self.rng, asset["spot"], drift, vol, self.steps, self.d_avg[k]
        )
        self.computed[k].record(self.work)
        self.computed[k].wait(self.back)
        self.d_avg[k].copy_to_host(self.h_avg[k], stream=self.back)
        self.fetched[k].record(self.back)

    def _settle(self, k, asset, years):
        self.fetched[k].synchronize()
        avg = self.h_avg[k]
        df = math.exp(-asset["rate"] * years)
        return [
            df * float(np.maximum(avg - strike, 0.0).mean())
            for strike in asset["strikes"]
        ]

    def price(self, assets, years):
        depth = len(self.d_avg)
        prices = []
        for n, asset in enumerate(assets):
            if n >= depth:
                prices.append(self._settle(n % depth, assets[n - depth], years))
            self._enqueue(n % depth, asset, years)
        for n in range(max(0, len(assets) - depth), len(assets)):
            prices.append(self._settle(n % depth, assets[n], years))
        return prices
