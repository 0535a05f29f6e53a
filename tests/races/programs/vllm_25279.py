# --guard https://github.com/vllm-project/vllm/pull/25279
# The CPU writes the tensors of the next step into pinned memory from which the copy of this step may not have read yet.
import ctypes

stream, copied = cu.cuStreamCreate(1), cu.cuEventCreate(2)
pinned, tokens = cu.cuMemAllocHost(4096), cu.cuMemAlloc(4096)
for step in range(3):
    if not racy:
        cu.cuEventSynchronize(copied)
    ctypes.memset(pinned, step, 4096)  # found: [race-with-host]
    cu.cuMemcpyHtoDAsync(tokens, pinned, 4096, stream)  # other
    cu.cuEventRecord(copied, stream)
cu.cuStreamSynchronize(stream)
