# --races https://github.com/NVIDIA/TensorRT-LLM/issues/15265
# A block of the cache is handed on while another stream still sends it out: its next owner overwrites it.
offload, forward, sent = cu.cuStreamCreate(1), cu.cuStreamCreate(1), cu.cuEventCreate(2)
size, count = 4096, 4
cache, host = cu.cuMemAlloc(size * count), cu.cuMemAllocHost(size)
first, second = cache, cache + size
cu.cuMemcpyDtoHAsync(host, first, size, offload)  # other
cu.cuEventRecord(sent, offload)
cu.cuMemsetD8Async(second, 0, size, forward)
if not racy:
    cu.cuStreamWaitEvent(forward, sent, 0)
cu.cuMemsetD8Async(first, 0, size, forward)  # found: [race-between-streams]
cu.cuCtxSynchronize()
