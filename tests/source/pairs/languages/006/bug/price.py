import math
import sys

import cupy as cp

from slots import GpuSlot


def build_slots(total_paths, seed):
    ngpu = cp.cuda.runtime.getDeviceCount()
    per = (total_paths + ngpu - 1) // ngpu
    return [GpuSlot(i, per, seed) for i in range(ngpu)]


def price_call(slots, s0, strike, rate, sigma, years, steps=252):
    dt = years / steps
    for s in slots:
        s.start(s0, rate, sigma, dt, steps, strike)
    mean = sum(s.result() for s in slots) / len(slots)
    return math.exp(-rate * years) * mean


if __name__ == "__main__":
    slots = build_slots(int(sys.argv[1]), seed=1234)
    for k in (90.0, 100.0, 110.0):
        print(k, price_call(slots, 100.0, k, 0.03, 0.2, 1.0))
