import cupy as cp
import numpy as np


def split_dot(a: np.ndarray, b: np.ndarray) -> float:
    half = len(a) // 2
    with cp.cuda.Device(0):
        first = cp.cuda.Stream(non_blocking=True)
        second = cp.cuda.Stream(non_blocking=True)
        with first:
            left = cp.dot(cp.asarray(a[:half]), cp.asarray(b[:half]))
    with cp.cuda.Device(1):
        with second:
            right = cp.dot(cp.asarray(a[half:]), cp.asarray(b[half:]))
    with cp.cuda.Device(0):
        first.synchronize()
        total = float(left.get())
    with cp.cuda.Device(1):
        second.synchronize()
        total += float(right.get())
    return total


if __name__ == "__main__":
    rng = np.random.default_rng(7)
    x = rng.standard_normal(1 << 22, dtype=np.float32)
    y = rng.standard_normal(1 << 22, dtype=np.float32)
    print(split_dot(x, y), float(np.dot(x, y)))
