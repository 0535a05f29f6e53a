"""CuPy: arrays, streams, events, pinned memory, a raw kernel, both memory pools."""

import cupy as cp

a = cp.arange(1 << 16, dtype=cp.float32)
stream = cp.cuda.Stream(non_blocking=True)
with stream:
    b = cp.sqrt(a) * 2
event = stream.record()
cp.cuda.get_current_stream().wait_event(event)
CODE = """
extern "C" __global__ void scale(float *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] *= 3;
}
"""
kernel = cp.RawKernel(CODE, "scale")
kernel((256,), (256,), (b, cp.int32(b.size)))
print("sum", f"{float(b.sum()):.0f}")
host = cp.cuda.alloc_pinned_memory(4096)
del host
with cp.cuda.using_allocator(cp.cuda.MemoryAsyncPool().malloc):
    c = cp.ones(1000) + 1
    print("async", float(c.sum()))
    del c
del a, b
cp.get_default_memory_pool().free_all_blocks()
