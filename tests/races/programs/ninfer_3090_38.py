# --races https://github.com/ashalliants/ninfer-3090/issues/38
# A synchronous copy from pageable memory returns when the data is staged; a stream that does not wait for the default one comes too early.
stream, loaded = cu.cuStreamCreate(1), cu.cuEventCreate(2)
size = 1 << 20
weights, packed = cu.cuMemAlloc(size), cu.cuMemAlloc(size)
cu.cuMemcpyHtoD(weights, cu.host(size), size)  # other
if not racy:
    cu.cuEventRecord(loaded, 0)
    cu.cuStreamWaitEvent(stream, loaded, 0)
cu.cuMemcpyDtoDAsync(packed, weights, size, stream)  # found: [race-between-streams]
cu.cuCtxSynchronize()
