# --races a product on the stream of the handle, and a copy of its result on another
a, b = cu.cuStreamCreate(1), cu.cuStreamCreate(1)
left, right, result, copy = (cu.cuMemAlloc(4096) for _ in range(4))
event = cu.cuEventCreate(2)
handle = cu.cublas.cublasCreate()
cu.cublas.cublasSetStream(handle, a)
one = cu.host(4)
cu.cublas.cublasSgemm(handle, 0, 0, 16, 16, 16, one, left, 16, right, 16, one, result, 32)  # other
cu.cuMemsetD2D8Async(result + 64, 128, 0, 64, 16, b)
cu.cuEventRecord(event, a)
if not racy:
    cu.cuStreamWaitEvent(b, event, 0)
cu.cuMemcpyDtoDAsync(copy, result, 1024, b)  # found: [race-between-streams]
cu.cuCtxSynchronize()
