"""Two streams take turns on a buffer. Events of a pool order them; each event goes back to the pool after its turn."""

from __future__ import annotations

import sys

from cuda.bindings import driver

TURNS = 4
SIZE = 1 << 16
NO_TIMING = driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
NON_BLOCKING = driver.CUstream_flags.CU_STREAM_NON_BLOCKING


class CudaError(Exception):
    pass


def check(call, result):
    """The values of a result (none, one or a tuple), or CudaError with the name of the call."""
    status, *values = result
    if status != driver.CUresult.CUDA_SUCCESS:
        raise CudaError(f"{call}: {driver.CUresult(status).name}")
    return values[0] if len(values) == 1 else tuple(values)


class Closing:
    """What has to be ended, in reverse order. Every step is tried; those that fail are told and counted."""

    def __init__(self):
        self.steps = []
        self.failed = 0

    def add(self, call, end, *arguments):
        self.steps.append((call, end, arguments))

    def close(self):
        while self.steps:
            call, end, arguments = self.steps.pop()
            try:
                check(call, end(*arguments))
            except CudaError as error:
                print(f"event_pool: {error}", file=sys.stderr)
                self.failed += 1


class EventPool:
    def __init__(self, closing):
        self.free = []
        self.made = 0
        self.closing = closing

    def take(self):
        if self.free:
            return self.free.pop()
        event = check("cuEventCreate", driver.cuEventCreate(NO_TIMING))
        self.closing.add("cuEventDestroy", driver.cuEventDestroy, event)
        self.made += 1
        return event

    def put_back(self, event):
        self.free.append(event)


def set_up(closing):
    check("cuInit", driver.cuInit(0))
    device = check("cuDeviceGet", driver.cuDeviceGet(0))
    context = check("cuDevicePrimaryCtxRetain", driver.cuDevicePrimaryCtxRetain(device))
    closing.add("cuDevicePrimaryCtxRelease", driver.cuDevicePrimaryCtxRelease, device)
    check("cuCtxSetCurrent", driver.cuCtxSetCurrent(context))


def make_stream(closing):
    stream = check("cuStreamCreate", driver.cuStreamCreate(NON_BLOCKING))
    closing.add("cuStreamDestroy", driver.cuStreamDestroy, stream)
    return stream


def turn(pool, buffer, mine, other, value):
    """Work on one stream, and an event after which the other may go on."""
    event = pool.take()
    check("cuMemsetD8Async", driver.cuMemsetD8Async(buffer, value, SIZE, mine))
    check("cuEventRecord", driver.cuEventRecord(event, mine))
    check("cuStreamWaitEvent", driver.cuStreamWaitEvent(other, event, 0))
    check("cuEventSynchronize", driver.cuEventSynchronize(event))
    pool.put_back(event)


def work(closing):
    set_up(closing)
    streams = [make_stream(closing), make_stream(closing)]
    buffer = check("cuMemAlloc", driver.cuMemAlloc(SIZE))
    closing.add("cuMemFree", driver.cuMemFree, buffer)
    host = check("cuMemAllocHost", driver.cuMemAllocHost(SIZE))
    closing.add("cuMemFreeHost", driver.cuMemFreeHost, host)
    pool = EventPool(closing)
    for number in range(TURNS):
        turn(pool, buffer, streams[number % 2], streams[1 - number % 2], number)
    check("cuMemcpyDtoHAsync", driver.cuMemcpyDtoHAsync(host, buffer, SIZE, streams[0]))
    check("cuStreamSynchronize", driver.cuStreamSynchronize(streams[0]))
    return pool.made


def main():
    closing = Closing()
    try:
        made = work(closing)
    except CudaError as error:
        print(f"event_pool: {error}", file=sys.stderr)
        made = None
    closing.close()
    if made is None or closing.failed:
        return 1
    print(f"event_pool: {TURNS} turns with {made} event")
    return 0


if __name__ == "__main__":
    sys.exit(main())
