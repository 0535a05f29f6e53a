# --races a product whose result lies in a descriptor
a, b = cu.cuStreamCreate(1), cu.cuStreamCreate(1)
memory, copy = cu.cuMemAlloc(1 << 16), cu.cuMemAlloc(64)
event, one = cu.cuEventCreate(2), cu.host(8)
handle = cu.cusparse.cusparseCreate()
cu.cusparse.cusparseSetStream(handle, a)
matrix = cu.cusparse.cusparseCreateCsr(16, 16, 64, memory, memory + 1024, memory + 2048, 2, 2, 0, 0)
vector = cu.cusparse.cusparseCreateDnVec(16, memory + 4096, 0)
result = cu.cusparse.cusparseCreateDnVec(16, memory + 8192, 0)
cu.cusparse.cusparseSpMV(handle, 0, one, matrix, vector, one, result, 0, 0, None)  # other
cu.cuEventRecord(event, a)
if not racy:
    cu.cuStreamWaitEvent(b, event, 0)
cu.cuMemcpyDtoDAsync(copy, memory + 8192 + 32, 32, b)  # found: [race-between-streams]
cu.cuCtxSynchronize()
