"""Each test whose name has the code of a rule makes that mistake; the one of the same name without it does the same correctly."""

from __future__ import annotations

import ctypes

import pytest
from cuda.bindings import driver as cu

from conftest import PTX, ok

ELF_WITHOUT_SECTIONS = b"\x7fELF\2\1\1" + bytes(57)
CAPTURE = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL


@pytest.fixture
def event():
    event = ok(cu.cuEventCreate(0))
    yield event
    ok(cu.cuEventDestroy(event))


@pytest.fixture
def graph():
    graph = ok(cu.cuGraphCreate(0))
    yield graph
    ok(cu.cuGraphDestroy(graph))


@pytest.fixture
def pages():
    return (ctypes.c_char * 8192)()


def pool_of_device():
    properties = cu.CUmemPoolProps()
    properties.allocType = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    return ok(cu.cuMemPoolCreate(properties))


def array_of_bytes():
    pixels = cu.CUDA_ARRAY_DESCRIPTOR()
    pixels.Width, pixels.Height, pixels.NumChannels = 64, 64, 1
    pixels.Format = cu.CUarray_format.CU_AD_FORMAT_UNSIGNED_INT8
    return ok(cu.cuArrayCreate(pixels))


def test_ordinal_CV123():
    cu.cuDeviceGet(77)


def test_ordinal():
    ok(cu.cuDeviceGet(0))


def test_destroys_default_CV203():
    cu.cuStreamDestroy(0)


def test_destroys_no_default():
    ok(cu.cuStreamDestroy(ok(cu.cuStreamCreate(0))))


def test_waits_for_another_kind_CV204(event):
    cu.cuStreamSynchronize(cu.CUstream(int(event)))


def test_waits_for_its_kind(stream):
    ok(cu.cuStreamSynchronize(cu.CUstream(int(stream))))


def test_event_twice_CV302():
    event = ok(cu.cuEventCreate(0))
    ok(cu.cuEventDestroy(event))
    cu.cuEventDestroy(event)


def test_event_once(event, stream):
    ok(cu.cuEventRecord(event, stream))


def test_elapsed_CV308(event, stream):
    end = ok(cu.cuEventCreate(0))
    ok(cu.cuEventRecord(event, stream))
    ok(cu.cuStreamSynchronize(stream))
    cu.cuEventElapsedTime(event, end)
    ok(cu.cuEventDestroy(end))


def test_elapsed(event, stream):
    end = ok(cu.cuEventCreate(0))
    ok(cu.cuEventRecord(event, stream))
    ok(cu.cuEventRecord(end, stream))
    ok(cu.cuStreamSynchronize(stream))
    ok(cu.cuEventElapsedTime(event, end))
    ok(cu.cuEventDestroy(end))


def test_interior_CV402(memory):
    cu.cuMemFree(int(memory) + 64)


def test_interior(memory):
    ok(cu.cuMemsetD8(int(memory) + 64, 0, 64))


def test_wrong_function_CV404():
    memory = ok(cu.cuMemHostAlloc(64, 0))
    cu.cuMemFree(memory)
    ok(cu.cuMemFreeHost(memory))


def test_right_function():
    ok(cu.cuMemFreeHost(ok(cu.cuMemHostAlloc(64, 0))))


def test_past_end_CV406(memory, pages):
    cu.cuMemcpyHtoD(memory, pages, 8192)


def test_to_the_end(memory, pages):
    ok(cu.cuMemcpyHtoD(memory, pages, 4096))


def test_host_as_device_CV407(pages):
    cu.cuMemsetD8(ctypes.addressof(pages), 0, 64)


def test_device_as_device(memory):
    ok(cu.cuMemsetD8(int(memory), 0, 64))


def test_pitch_CV424(memory):
    cu.cuMemsetD2D8(memory, 64, 0, 100, 10)


def test_pitch(memory):
    ok(cu.cuMemsetD2D8(memory, 128, 0, 100, 10))


def test_null_host_CV425(memory):
    cu.cuMemcpyHtoD(memory, 0, 64)


def test_nothing_from_null_host(memory):
    ok(cu.cuMemcpyHtoD(memory, 0, 0))


def test_pool_CV451():
    pool = pool_of_device()
    ok(cu.cuMemPoolDestroy(pool))
    cu.cuMemPoolTrimTo(pool, 0)


def test_pool():
    pool = pool_of_device()
    ok(cu.cuMemPoolTrimTo(pool, 0))
    ok(cu.cuMemPoolDestroy(pool))


def test_array_CV462():
    array = array_of_bytes()
    ok(cu.cuArrayDestroy(array))
    cu.cuArrayDestroy(array)


def test_array():
    ok(cu.cuArrayDestroy(array_of_bytes()))


def test_registers_again_CV504(pages):
    ok(cu.cuMemHostRegister(pages, 8192, 0))
    cu.cuMemHostRegister(pages, 8192, 0)
    ok(cu.cuMemHostUnregister(pages))


def test_registers_anew(pages):
    for _ in range(2):
        ok(cu.cuMemHostRegister(pages, 8192, 0))
        ok(cu.cuMemHostUnregister(pages))


def test_module_twice_CV602():
    module = ok(cu.cuModuleLoadData(PTX + b"\0"))
    ok(cu.cuModuleUnload(module))
    cu.cuModuleUnload(module)


def test_module_loaded_twice():
    for _ in range(2):
        ok(cu.cuModuleUnload(ok(cu.cuModuleLoadData(PTX + b"\0"))))


def test_function_CV611():
    module = ok(cu.cuModuleLoadData(PTX + b"\0"))
    function = ok(cu.cuModuleGetFunction(module, b"clear"))
    ok(cu.cuModuleUnload(module))
    cu.cuFuncGetAttribute(cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NUM_REGS, function)


def test_function(function):
    ok(cu.cuFuncGetAttribute(cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NUM_REGS, function))


def test_library_twice_CV622():
    library = ok(cu.cuLibraryLoadData(PTX + b"\0", [], [], 0, [], [], 0))
    ok(cu.cuLibraryUnload(library))
    cu.cuLibraryUnload(library)


def test_library_once():
    ok(cu.cuLibraryUnload(ok(cu.cuLibraryLoadData(PTX + b"\0", [], [], 0, [], [], 0))))


def test_image_CV652():
    cu.cuModuleLoadData(ELF_WITHOUT_SECTIONS)


def test_image():
    ok(cu.cuModuleUnload(ok(cu.cuModuleLoadData(PTX + b"\0"))))


def test_dependency_twice_CV708(graph):
    first = ok(cu.cuGraphAddEmptyNode(graph, [], 0))
    second = ok(cu.cuGraphAddEmptyNode(graph, [first], 1))
    cu.cuGraphAddDependencies(graph, [first], [second], None, 1)


def test_dependency_once(graph):
    first, second = ok(cu.cuGraphAddEmptyNode(graph, [], 0)), ok(cu.cuGraphAddEmptyNode(graph, [], 0))
    ok(cu.cuGraphAddDependencies(graph, [first], [second], None, 1))


def test_executable_twice_CV722(graph):
    executable = ok(cu.cuGraphInstantiate(graph, 0))
    ok(cu.cuGraphExecDestroy(executable))
    cu.cuGraphExecDestroy(executable)


def test_executable_once(graph, stream):
    executable = ok(cu.cuGraphInstantiate(graph, 0))
    ok(cu.cuGraphLaunch(executable, stream))
    ok(cu.cuStreamSynchronize(stream))
    ok(cu.cuGraphExecDestroy(executable))


def test_node_twice_CV741(graph):
    node = ok(cu.cuGraphAddEmptyNode(graph, [], 0))
    ok(cu.cuGraphDestroyNode(node))
    cu.cuGraphDestroyNode(node)


def test_node_once(graph):
    ok(cu.cuGraphDestroyNode(ok(cu.cuGraphAddEmptyNode(graph, [], 0))))


def test_begins_twice_CV811(stream):
    ok(cu.cuStreamBeginCapture(stream, CAPTURE))
    cu.cuStreamBeginCapture(stream, CAPTURE)
    ok(cu.cuGraphDestroy(ok(cu.cuStreamEndCapture(stream))))


def test_begins_again(stream):
    for _ in range(2):
        ok(cu.cuStreamBeginCapture(stream, CAPTURE))
        ok(cu.cuGraphDestroy(ok(cu.cuStreamEndCapture(stream))))


def forked(stream, other, event, memory):
    """The capture of work on two streams begins."""
    ok(cu.cuStreamBeginCapture(stream, CAPTURE))
    ok(cu.cuEventRecord(event, stream))
    ok(cu.cuStreamWaitEvent(other, event, 0))
    ok(cu.cuMemsetD8Async(memory, 0, 64, other))


@pytest.fixture
def other_stream():
    stream = ok(cu.cuStreamCreate(0))
    yield stream
    ok(cu.cuStreamDestroy(stream))


def test_unjoined_CV813(stream, other_stream, event, memory):
    forked(stream, other_stream, event, memory)
    cu.cuStreamEndCapture(stream)


def test_joined(stream, other_stream, event, memory):
    forked(stream, other_stream, event, memory)
    ok(cu.cuEventRecord(event, other_stream))
    ok(cu.cuStreamWaitEvent(stream, event, 0))
    ok(cu.cuGraphDestroy(ok(cu.cuStreamEndCapture(stream))))


def test_flags_CV951():
    cu.cuStreamCreate(0x40)


def test_flags():
    flags = cu.CUstream_flags.CU_STREAM_NON_BLOCKING
    ok(cu.cuStreamDestroy(ok(cu.cuStreamCreate(flags))))
