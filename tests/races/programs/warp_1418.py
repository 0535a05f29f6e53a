# --races https://github.com/NVIDIA/warp/issues/1418
# In a capture on two streams, memory of the graph is freed on the branch that does not wait for the branch that reads it.
main, side = cu.cuStreamCreate(1), cu.cuStreamCreate(1)
forked, joined = cu.cuEventCreate(2), cu.cuEventCreate(2)
out = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(main, 0)
memory = cu.cuMemAllocAsync(4096, main)
cu.cuMemsetD8Async(memory, 0, 4096, main)
cu.cuEventRecord(forked, main)
cu.cuStreamWaitEvent(side, forked, 0)
cu.cuMemcpyDtoDAsync(out, memory, 4096, side)  # other
cu.cuEventRecord(joined, side)
if racy:
    cu.cuMemFreeAsync(memory, main)  # found: [race-in-graph]
    cu.cuStreamWaitEvent(main, joined, 0)
else:
    cu.cuStreamWaitEvent(main, joined, 0)
    cu.cuMemFreeAsync(memory, main)
graph = cu.cuStreamEndCapture(main)
executable = cu.cuGraphInstantiate(graph, 0)
cu.cuGraphLaunch(executable, main)
cu.cuStreamSynchronize(main)
