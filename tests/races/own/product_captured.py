# --races two transforms that are captured on two branches
a, b = cu.cuStreamCreate(1), cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
fork, join = cu.cuEventCreate(2), cu.cuEventCreate(2)
plan = cu.cufft.cufftPlan1d(64, 0x29, 1)
cu.cuStreamBeginCapture(a, 2)
cu.cuEventRecord(fork, a)
cu.cuStreamWaitEvent(b, fork, 0)
cu.cuMemsetD8Async(memory, 0, 512, b)  # other
cu.cuEventRecord(join, b)
cu.cufft.cufftSetStream(plan, a)
if not racy:
    cu.cuStreamWaitEvent(a, join, 0)
cu.cufft.cufftExecC2C(plan, memory, memory + 2048, -1)  # found: [race-in-graph]
cu.cuStreamWaitEvent(a, join, 0)
graph = cu.cuStreamEndCapture(a)
