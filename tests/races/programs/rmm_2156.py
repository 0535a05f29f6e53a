# --races https://github.com/rapidsai/rmm/issues/2156
# An allocation that promises to be valid on all streams is made on the default stream, and nobody waits for it.
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAllocAsync(4096, 0)  # other
if not racy:
    cu.cuStreamSynchronize(0)
cu.cuMemsetD8Async(memory, 0, 4096, stream)  # found: [memory-use-unordered]
cu.cuStreamSynchronize(stream)
cu.cuMemFreeAsync(memory, stream)
cu.cuStreamSynchronize(stream)
