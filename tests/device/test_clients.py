"""Python clients of the driver, unmodified."""

from __future__ import annotations

from pathlib import Path

import pytest

from .support import Device

CTYPES = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
word = ctypes.c_uint64
def ok(status): assert status == 0, status
ok(cuda.cuInit(0))
device, context, stream, memory = ctypes.c_int(), word(), word(), word()
ok(cuda.cuDeviceGet(ctypes.byref(device), 0))
ok(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
ok(cuda.cuCtxSetCurrent(context))
ok(cuda.cuStreamCreate(ctypes.byref(stream), 0))
ok(cuda.cuMemAlloc_v2(ctypes.byref(memory), word(1 << 20)))
sent, back = bytes(range(256)) * 16, ctypes.create_string_buffer(4096)
ok(cuda.cuMemcpyHtoDAsync_v2(memory, sent, word(4096), stream))
ok(cuda.cuMemcpyDtoHAsync_v2(back, memory, word(4096), stream))
ok(cuda.cuStreamSynchronize(stream))
assert back.raw == sent
text = ctypes.c_char_p()
ok(cuda.cuGetErrorName(400, ctypes.byref(text)))
assert text.value == b"CUDA_ERROR_INVALID_HANDLE"
ok(cuda.cuMemFree_v2(memory))
assert cuda.cuMemFree_v2(memory) == 1
ok(cuda.cuStreamDestroy_v2(stream))
"""

UNMAPPED = """
import ctypes, mmap
cuda, libc = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(None)
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_size_t] * 6
word, size = ctypes.c_uint64, 4096
def page(): return libc.mmap(0, size, 3, 0x22, -1 & 0xFFFFFFFF, 0)
def ok(status): assert status == 0, status
context, memory = word(), word()
ok(cuda.cuInit(0))
ok(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
ok(cuda.cuCtxSetCurrent(context))
ok(cuda.cuMemAlloc_v2(ctypes.byref(memory), word(size)))
count, sent, registered = page(), page(), page()
for again in range(3):
    ok(cuda.cuDeviceGetCount(word(count)))
    ok(cuda.cuMemcpyHtoD_v2(memory, word(sent), word(size)))
assert ctypes.c_int.from_address(count).value == 1
ok(cuda.cuMemHostRegister_v2(word(registered), word(size), 0))
ok(cuda.cuMemcpyHtoD_v2(memory, word(registered), word(size)))
for start in (count, sent, registered): libc.munmap(word(start), word(size))
assert cuda.cuDeviceGetCount(word(count)) == 1
assert cuda.cuMemcpyHtoD_v2(memory, word(sent), word(size)) == 1
ok(cuda.cuMemcpyHtoD_v2(memory, word(registered), word(size)))
found = ctypes.c_int()
ok(cuda.cuDeviceGetCount(ctypes.byref(found)))
assert found.value == 1
"""

BINDINGS = """
from cuda.bindings import driver
def ok(result):
    status, *values = result
    assert status == 0, status
    return values[0] if len(values) == 1 else tuple(values)
ok(driver.cuInit(0))
device = ok(driver.cuDeviceGet(0))
ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(device))))
ptx = b".version 8.0\\n.target sm_90\\n.address_size 64\\n.visible .entry k(.param .u64 p, .param .u32 n){ ret; }\\n"
module = ok(driver.cuModuleLoadData(ptx))
function = ok(driver.cuModuleGetFunction(module, b"k"))
assert ok(driver.cuFuncGetParamInfo(function, 1)) == (8, 4)
assert driver.cuFuncGetParamInfo(function, 2)[0] == 1
memory, stream = ok(driver.cuMemAlloc(64)), ok(driver.cuStreamCreate(0))
import ctypes, numpy
ok(driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, ((int(memory), 5), (ctypes.c_uint64, ctypes.c_uint32)), 0))
assert driver.cuLaunchKernel(function, 1, 1, 1, 2000, 1, 1, 0, stream, ((int(memory), 5), (ctypes.c_uint64, ctypes.c_uint32)), 0)[0] == 1
sent, back = numpy.arange(8.0), numpy.zeros(8)
ok(driver.cuMemcpyHtoD(memory, sent, 64))
ok(driver.cuMemcpyDtoH(back, memory, 64))
assert (sent == back).all()
assert driver.cuModuleGetFunction(module, b"absent")[0] == 500
ok(driver.cuModuleUnload(module))
assert ok(driver.cuDriverGetVersion()) == 13000
"""

CORE = """
from cuda.core import Device, LaunchConfig, ObjectCode, launch
device = Device()
device.set_current()
assert device.name == "Emulated device (sm_90)" and device.compute_capability == (9, 0)
stream = device.create_stream()
start = stream.record()
buffer = device.allocate(1024, stream=stream)
assert buffer.size == 1024 and buffer.is_device_accessible and not buffer.is_host_accessible
other = device.allocate(1024, stream=stream)
buffer.copy_to(other, stream=stream)
end = stream.record()
other_stream = device.create_stream()
other_stream.wait(end)
ptx = b".version 8.0\\n.target sm_90\\n.address_size 64\\n.visible .entry k(.param .u64 p){ ret; }\\n"
kernel = ObjectCode.from_ptx(ptx).get_kernel("k")
launch(stream, LaunchConfig(grid=1, block=32), kernel, buffer)
stream.sync()
buffer.close(stream)
other.close(stream)
stream.close()
"""

NUMBA = """
import warnings
import numpy
from numba import cuda
warnings.simplefilter("ignore")
stream = cuda.stream()
start, end = cuda.event(), cuda.event()
sent = numpy.arange(1000, dtype=numpy.float32)
start.record(stream)
there = cuda.to_device(sent, stream=stream)
end.record(stream)
back = there.copy_to_host(stream=stream)
stream.synchronize()
assert (back == sent).all()
assert cuda.event_elapsed_time(start, end) >= 0
@cuda.jit("void(float32[:])")
def add(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1
add[8, 128, stream](there)
stream.synchronize()
assert (there.copy_to_host() == sent).all()
pinned, managed = cuda.pinned_array(10), cuda.managed_array(10)
pinned[:], managed[:] = 1, 2
assert pinned.sum() + managed.sum() == 30
"""

CUDART_12 = """
import ctypes
runtime = ctypes.CDLL("libcudart.so.12")
version, memory = ctypes.c_int(), ctypes.c_void_p()
assert runtime.cudaRuntimeGetVersion(ctypes.byref(version)) == 0 and version.value // 1000 == 12
assert runtime.cudaMallocManaged(ctypes.byref(memory), ctypes.c_size_t(64), 1) == 0
assert runtime.cudaMemPrefetchAsync(memory, ctypes.c_size_t(64), 0, None) == 0
properties = ctypes.create_string_buffer(2048)
assert runtime.cudaGetDeviceProperties_v2(properties, 0) == 0
assert properties.raw.startswith(b"Emulated device (sm_90)\\0") and b"Emulated" not in properties.raw[1:]
runtime.cudaGetErrorName.restype = ctypes.c_char_p
assert runtime.cudaGetErrorName(runtime.cudaFree(memory) or runtime.cudaFree(memory)) == b"cudaErrorInvalidValue"
"""


@pytest.mark.parametrize(
    "client",
    [
        pytest.param(CTYPES, id="ctypes"),
        pytest.param(UNMAPPED, id="unmapped pages"),
        pytest.param(BINDINGS, id="cuda.bindings"),
        pytest.param(CORE, id="cuda.core"),
        pytest.param(NUMBA, id="numba"),
        pytest.param(CUDART_12, id="libcudart.so.12"),
    ],
)
def test_client_works(client: str, device: Device) -> None:
    ended = device.python(client)
    assert ended.returncode == 0, ended.stderr
    assert not (device.trace / "unsupported").exists()


def test_cuda_bindings_runtime_is_refused_and_named(device: Device) -> None:
    """It has NVIDIA's runtime inside."""
    ended = device.python("from cuda.bindings import runtime\nassert runtime.cudaMalloc(16)[0] != 0")
    note: Path = device.trace / "unsupported"
    assert ended.returncode == 0, ended.stderr
    assert "/cuda/bindings/" in note.read_text(encoding="utf-8").split("\n")[1]
    note.unlink()
