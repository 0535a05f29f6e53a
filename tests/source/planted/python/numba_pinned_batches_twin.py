import numpy as np
from numba import cuda


@cuda.jit
def accumulate(batch, total):
    i = cuda.grid(1)
    if i < batch.size:
        cuda.atomic.add(total, 0, batch[i])


def total_of(batches):
    stream = cuda.stream()
    size = max(len(batch) for batch in batches)
    d_batch = cuda.device_array(size, dtype=np.float64, stream=stream)
    d_total = cuda.to_device(np.zeros(1), stream=stream)
    for batch in batches:
        with cuda.pinned(batch):
            d_batch[: len(batch)].copy_to_device(batch, stream=stream)
            blocks = (len(batch) + 255) // 256
            accumulate[blocks, 256, stream](d_batch[: len(batch)], d_total)
            stream.synchronize()
    total = d_total.copy_to_host(stream=stream)
    stream.synchronize()
    return float(total[0])


if __name__ == "__main__":
    rng = np.random.default_rng(3)
    print(total_of([rng.random(n) for n in (1000, 5000, 20000)]))
