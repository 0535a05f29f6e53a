"""One mistake in each test whose name ends with the code of a rule; the others make none."""

from __future__ import annotations

import ctypes

import pytest
from cuda.bindings import driver as cu

from conftest import PTX, ok, stale


def test_streams(stream):
    ok(cu.cuStreamSynchronize(stream))


def test_stream_CV201():
    stream = ok(cu.cuStreamCreate(0))
    ok(cu.cuStreamDestroy(stream))
    cu.cuStreamSynchronize(stream)


def test_streams_again(stream):
    ok(cu.cuStreamSynchronize(stream))


def test_stream_twice_CV202():
    stream = ok(cu.cuStreamCreate(0))
    ok(cu.cuStreamDestroy(stream))
    cu.cuStreamDestroy(stream)


def test_event_CV301(stream):
    event = ok(cu.cuEventCreate(0))
    ok(cu.cuEventDestroy(event))
    cu.cuEventRecord(event, stream)


def test_events(stream):
    event = ok(cu.cuEventCreate(0))
    ok(cu.cuEventRecord(event, stream))
    ok(cu.cuEventSynchronize(event))
    ok(cu.cuEventDestroy(event))


def test_timing_CV307(stream):
    first, second = (ok(cu.cuEventCreate(cu.CUevent_flags.CU_EVENT_DISABLE_TIMING)) for _ in range(2))
    ok(cu.cuEventRecord(first, stream))
    ok(cu.cuEventRecord(second, stream))
    ok(cu.cuStreamSynchronize(stream))
    cu.cuEventElapsedTime(first, second)


def test_memory(memory):
    ok(cu.cuMemsetD8(memory, 0, 4096))
    ok(cu.cuCtxSynchronize())


def test_free_CV401():
    memory = ok(cu.cuMemAlloc(64))
    ok(cu.cuMemFree(memory))
    cu.cuMemFree(memory)


def test_freed_CV405():
    memory = ok(cu.cuMemAlloc(64))
    ok(cu.cuMemFree(memory))
    cu.cuMemsetD8(memory, 0, 64)


def test_size_CV415():
    cu.cuMemAlloc(0)


def test_module_CV601():
    module = ok(cu.cuModuleLoadData(PTX + b"\0"))
    ok(cu.cuModuleUnload(module))
    cu.cuModuleGetFunction(module, b"clear")


def test_launch(function, memory, stream):
    ok(cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, ((int(memory),), (ctypes.c_void_p,)), 0))
    ok(cu.cuStreamSynchronize(stream))


def test_block_CV921(function, memory, stream):
    cu.cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, stream, ((int(memory),), (ctypes.c_void_p,)), 0)


def test_graph_CV701():
    graph = ok(cu.cuGraphCreate(0))
    ok(cu.cuGraphDestroy(graph))
    cu.cuGraphInstantiate(graph, 0)


def test_capture_CV801(stream):
    ok(cu.cuStreamBeginCapture(stream, cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
    cu.cuStreamSynchronize(stream)
    cu.cuStreamEndCapture(stream)


def test_captures(stream):
    ok(cu.cuStreamBeginCapture(stream, cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
    ok(cu.cuGraphDestroy(ok(cu.cuStreamEndCapture(stream))))


def test_host_CV510():
    cu.cuMemHostUnregister(1 << 40)


def test_host_twice_CV401():
    memory = ok(cu.cuMemHostAlloc(64, 0))
    ok(cu.cuMemFreeHost(memory))
    cu.cuMemFreeHost(memory)


@pytest.mark.parametrize("number", range(3))
def test_each_of_those_that_are_alike_CV201(number):
    stale()
