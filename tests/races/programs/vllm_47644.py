# --guard https://github.com/vllm-project/vllm/pull/47644
# Pipeline stages: counts of the last microbatch are read on the CPU after a wait for the copy before it.
import ctypes

stream = cu.cuStreamCreate(1)
copied = [cu.cuEventCreate(2) for _ in range(2)]
counts, pinned = cu.cuMemAlloc(64), [cu.cuMemAllocHost(64) for _ in range(2)]
for microbatch in range(2):
    cu.cuMemcpyDtoHAsync(pinned[microbatch], counts, 64, stream)  # other
    cu.cuEventRecord(copied[microbatch], stream)
cu.cuEventSynchronize(copied[0 if racy else 1])
indices = ctypes.string_at(pinned[1], 64)  # found: [race-with-host]
cu.cuStreamSynchronize(stream)
