# --guard https://github.com/vllm-project/vllm/pull/36013
# The CPU reads the sampled tokens before the copy has brought them.
import ctypes

stream, copied = cu.cuStreamCreate(1), cu.cuEventCreate(2)
sampled, pinned = cu.cuMemAlloc(4096), cu.cuMemAllocHost(4096)
cu.cuMemsetD8Async(sampled, 1, 4096, stream)
cu.cuMemcpyDtoHAsync(pinned, sampled, 4096, stream)  # other
cu.cuEventRecord(copied, stream)
if not racy:
    cu.cuEventSynchronize(copied)
first = ctypes.string_at(pinned, 1)  # found: [race-with-host]
cu.cuStreamSynchronize(stream)
