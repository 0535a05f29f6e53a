"""Uses what the device offers and does without the rest: memory from the stream's pool, a stream of high priority, and
memory of this process registered for copies. Each can be refused; the result line tells which were used. Errors that
leave the device unusable end the program, and so does whatever fails besides."""

from __future__ import annotations

import ctypes
import sys

runtime = ctypes.CDLL("libcudart.so.13")
runtime.cudaGetErrorName.restype = ctypes.c_char_p
Pointer, Size = ctypes.c_void_p, ctypes.c_size_t

REFUSALS = {1: "invalid value", 2: "out of memory", 801: "not supported"}
NON_BLOCKING, HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 1, 2
BYTES = 1 << 16


class CudaError(Exception):
    pass


def tell(call, status):
    print(f"optional_features: {call}: {runtime.cudaGetErrorName(status).decode()}", file=sys.stderr)


def need(call, status):
    if status:
        raise CudaError(f"{call}: {runtime.cudaGetErrorName(status).decode()}")


def works(call, status):
    """Whether an optional feature is there."""
    if status and status not in REFUSALS:
        need(call, status)
    if status:
        print(f"optional_features: {call}: {REFUSALS[status]}: doing without", file=sys.stderr)
        runtime.cudaGetLastError()
    return not status


class Memory:
    def __init__(self, stream):
        self.stream = stream
        self.address = Pointer()
        self.pooled = works("cudaMallocAsync", runtime.cudaMallocAsync(ctypes.byref(self.address), Size(BYTES), stream))
        if not self.pooled:
            need("cudaMalloc", runtime.cudaMalloc(ctypes.byref(self.address), Size(BYTES)))

    def free(self):
        if self.pooled:
            return "cudaFreeAsync", runtime.cudaFreeAsync(self.address, self.stream)
        return "cudaFree", runtime.cudaFree(self.address)


def make_stream():
    """The stream, and whether it has a priority."""
    stream, lowest, highest = Pointer(), ctypes.c_int(), ctypes.c_int()
    status = runtime.cudaDeviceGetStreamPriorityRange(ctypes.byref(lowest), ctypes.byref(highest))
    if works("cudaDeviceGetStreamPriorityRange", status):
        status = runtime.cudaStreamCreateWithPriority(ctypes.byref(stream), NON_BLOCKING, highest)
        if works("cudaStreamCreateWithPriority", status):
            return stream, True
    need("cudaStreamCreateWithFlags", runtime.cudaStreamCreateWithFlags(ctypes.byref(stream), NON_BLOCKING))
    return stream, False


def copy(memory, host, stream):
    need("cudaMemcpyAsync", runtime.cudaMemcpyAsync(memory.address, host, Size(BYTES), HOST_TO_DEVICE, stream))
    need("cudaMemsetAsync", runtime.cudaMemsetAsync(memory.address, 5, Size(BYTES // 2), stream))
    need("cudaMemcpyAsync", runtime.cudaMemcpyAsync(host, memory.address, Size(BYTES), DEVICE_TO_HOST, stream))
    need("cudaStreamSynchronize", runtime.cudaStreamSynchronize(stream))


class Session:
    """Makes things in order; close gives them back in reverse, tells what fails, and goes on."""

    def __init__(self):
        self.endings = []
        self.used = {}

    def run(self):
        need("cudaSetDevice", runtime.cudaSetDevice(0))
        stream, self.used["priority"] = make_stream()
        self.endings.append(lambda: ("cudaStreamDestroy", runtime.cudaStreamDestroy(stream)))
        host = (ctypes.c_char * BYTES)()
        flags = 0
        self.used["registered"] = works("cudaHostRegister", runtime.cudaHostRegister(host, Size(BYTES), flags))
        if self.used["registered"]:
            self.endings.append(lambda: ("cudaHostUnregister", runtime.cudaHostUnregister(host)))
        # Before the registration and the stream end, whatever still runs shall be done.
        self.endings.append(lambda: ("cudaStreamSynchronize", runtime.cudaStreamSynchronize(stream)))
        memory = Memory(stream)
        self.endings.append(memory.free)
        self.used["pool"] = memory.pooled
        copy(memory, host, stream)

    def close(self):
        good = True
        while self.endings:
            call, status = self.endings.pop()()
            if status:
                tell(call, status)
                good = False
        return good


def main():
    session = Session()
    good = True
    try:
        session.run()
    except CudaError as error:
        print(f"optional_features: {error}", file=sys.stderr)
        good = False
    good = session.close() and good
    if not good:
        return 1
    print("optional_features:", ", ".join(f"{name} {'on' if on else 'off'}" for name, on in session.used.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
