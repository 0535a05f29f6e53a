"""CuPy's NCCL: one process, two communicators, an all-reduce."""

import cupy
from cupy.cuda import nccl

communicators = nccl.NcclCommunicator.initAll([0, 1])
arrays = []
for device in (0, 1):
    with cupy.cuda.Device(device):
        arrays.append(cupy.full(1024, device + 1, dtype=cupy.float32))
nccl.groupStart()
for device, (communicator, array) in enumerate(zip(communicators, arrays, strict=True)):
    with cupy.cuda.Device(device):
        pointer = array.data.ptr
        stream = cupy.cuda.Stream.null.ptr
        communicator.allReduce(pointer, pointer, array.size, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, stream)
nccl.groupEnd()
for device, array in enumerate(arrays):
    with cupy.cuda.Device(device):
        cupy.cuda.Stream.null.synchronize()
        print("device", device, "sum", float(array.sum()))
