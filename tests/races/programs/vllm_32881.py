# --races https://github.com/vllm-project/vllm/pull/32881
# Experts' weights are moved through one staging buffer by two streams: the second transfer overwrites it while the first is still read.
fill, main = cu.cuStreamCreate(1), cu.cuStreamCreate(1)
filled, taken = cu.cuEventCreate(2), cu.cuEventCreate(2)
size, layers = 4096, 2
weights, staging, experts = cu.cuMemAllocHost(size * layers), cu.cuMemAlloc(size), cu.cuMemAlloc(size * layers)
for layer in range(layers):
    if not racy:
        cu.cuStreamWaitEvent(fill, taken, 0)
    cu.cuMemcpyHtoDAsync(staging, weights + size * layer, size, fill)  # found: [race-between-streams]
    cu.cuEventRecord(filled, fill)
    cu.cuStreamWaitEvent(main, filled, 0)
    cu.cuMemcpyDtoDAsync(experts + size * layer, staging, size, main)  # other
    cu.cuEventRecord(taken, main)
cu.cuCtxSynchronize()
