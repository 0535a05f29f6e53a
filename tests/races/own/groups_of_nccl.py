# --races calls of NCCL that are done together: the copy does not wait for the end of their group
import ctypes

a, b = cu.cuStreamCreate(1), cu.cuStreamCreate(1)
sent, received, copy = cu.cuMemAlloc(4096), cu.cuMemAlloc(4096), cu.cuMemAlloc(4096)
event = cu.cuEventCreate(2)
identifier = cu.host(128)
cu.nccl.ncclGetUniqueId(identifier)
communicator = cu.nccl.ncclCommInitRank(1, ctypes.string_at(identifier, 128), 0)
cu.nccl.ncclGroupStart()
cu.nccl.ncclSend(sent, 1024, 7, 0, communicator, a)
cu.nccl.ncclRecv(received, 1024, 7, 0, communicator, a)
if racy:
    cu.cuEventRecord(event, a)
    cu.nccl.ncclGroupEnd()  # other
else:
    cu.nccl.ncclGroupEnd()
    cu.cuEventRecord(event, a)
cu.cuStreamWaitEvent(b, event, 0)
cu.cuMemcpyDtoDAsync(copy, received, 4096, b)  # found: [race-between-streams]
cu.cuCtxSynchronize()
