"""Numba: streams, events, pinned and mapped memory, a kernel."""

import numpy as np
from numba import cuda


@cuda.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


stream = cuda.stream()
start, stop = cuda.event(), cuda.event()
host = cuda.pinned_array(1000, np.float32)
host[:] = 1
start.record(stream)
device = cuda.to_device(host, stream=stream)
increment[8, 128, stream](device)
device.copy_to_host(host, stream=stream)
stop.record(stream)
stream.synchronize()
assert start.elapsed_time(stop) > 0
print("sum", host.sum())
with cuda.defer_cleanup():
    other = cuda.device_array(100)
    del other
