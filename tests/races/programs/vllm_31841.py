# --guard https://github.com/vllm-project/vllm/pull/31841
# A mask in pinned memory is cleared for the next request while the copy of the last one is in flight. The event was recorded too early.
import ctypes

stream, copied = cu.cuStreamCreate(1), cu.cuEventCreate(2)
mask, on_device = cu.cuMemAllocHost(1024), cu.cuMemAlloc(1024)
if racy:
    cu.cuEventRecord(copied, stream)
cu.cuMemcpyHtoDAsync(on_device, mask, 1024, stream)  # other
if not racy:
    cu.cuEventRecord(copied, stream)
cu.cuEventSynchronize(copied)
ctypes.memset(mask, 0, 1024)  # found: [race-with-host]
cu.cuStreamSynchronize(stream)
