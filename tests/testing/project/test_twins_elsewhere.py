"""As test_twins.py, but the mistake is not simply in the function of the test."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import os
import subprocess
import sys
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

import pytest
from cuda.bindings import driver as cu
from test_whose import CHILD

from conftest import ok, stale

RELAXED = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
ON_HOST = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def use_primary_context():
    ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))


def in_thread(run):
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


# Classes.


class TestDestroysInSetUp:
    def setup_method(self):
        event = ok(cu.cuEventCreate(0))
        ok(cu.cuEventDestroy(event))
        cu.cuEventRecord(event, 0)

    def test_method_set_up_CV301(self):
        ok(cu.cuCtxSynchronize())


class TestDestroysInTearDown:
    def setup_method(self):
        self.stream = ok(cu.cuStreamCreate(0))

    def teardown_method(self):
        ok(cu.cuStreamDestroy(self.stream))
        cu.cuStreamDestroy(self.stream)

    def test_method_torn_down_CV202(self):
        ok(cu.cuStreamSynchronize(self.stream))


class TestOfClass:
    def setup_method(self):
        self.stream = ok(cu.cuStreamCreate(0))

    def teardown_method(self):
        ok(cu.cuStreamDestroy(self.stream))

    def test_method(self):
        ok(cu.cuStreamSynchronize(self.stream))

    def test_method_CV801(self):
        ok(cu.cuStreamBeginCapture(self.stream, RELAXED))
        cu.cuStreamSynchronize(self.stream)
        cu.cuStreamEndCapture(self.stream)

    def test_other_method(self):
        ok(cu.cuStreamQuery(self.stream))


class TestOfUnittest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.memory = ok(cu.cuMemAlloc(64))

    async def asyncTearDown(self):
        ok(cu.cuMemFree(self.memory))

    async def test_awaits_CV406(self):
        await asyncio.to_thread(use_primary_context)
        cu.cuMemsetD8(self.memory, 0, 128)

    async def test_awaits(self):
        await asyncio.to_thread(use_primary_context)
        ok(cu.cuMemsetD8(self.memory, 0, 64))


# Parameters.


@pytest.mark.parametrize(
    ("rows", "columns"),
    [pytest.param(4, 64, id="fit"), pytest.param(0, 64, id="none_CV415"), pytest.param(8, 64, id="more")],
)
def test_of_parameters(rows, columns):
    memory = ok(cu.cuMemAlloc(64)) if rows else cu.cuMemAlloc(rows * columns)
    if rows:
        ok(cu.cuMemFree(memory))


@pytest.fixture(params=[pytest.param(4096, id="all"), pytest.param(4095, id="part_CV402"), pytest.param(64, id="few")])
def size(request):
    return request.param


def test_of_fixture_with_parameters(size):
    memory = ok(cu.cuMemAlloc(4096))
    if size % 2:
        cu.cuMemFree(int(memory) + size)
    ok(cu.cuMemsetD8(memory, 0, size))
    ok(cu.cuMemFree(memory))


# Fixtures of the module.


@pytest.fixture(scope="module")
def wrong_of_module():
    memory = ok(cu.cuMemAlloc(64))
    ok(cu.cuMemFree(memory))
    cu.cuMemFree(memory)
    yield
    ok(cu.cuCtxSynchronize())


@pytest.fixture(scope="module")
def freed_of_module():
    memory = ok(cu.cuMemAlloc(64))
    ok(cu.cuMemFree(memory))
    return memory


@pytest.fixture(scope="module")
def memory_of_module():
    memory = ok(cu.cuMemAlloc(64))
    yield memory
    ok(cu.cuMemFree(memory))


def test_made_by_module_CV401(wrong_of_module):
    ok(cu.cuCtxSynchronize())


def test_uses_what_module_freed_CV405(freed_of_module):
    cu.cuMemsetD8(freed_of_module, 0, 64)


def test_does_not_use_what_module_freed(freed_of_module):
    assert int(freed_of_module)


def test_uses_what_module_keeps(memory_of_module):
    ok(cu.cuMemsetD8(memory_of_module, 0, 64))


# Threads.


def test_thread_without_context_CV107():
    in_thread(lambda: cu.cuMemAlloc(64))


def test_thread_with_context():
    def run():
        use_primary_context()
        ok(cu.cuMemFree(ok(cu.cuMemAlloc(64))))

    in_thread(run)


def test_executor_CV806(stream):
    ok(cu.cuStreamBeginCapture(stream, cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
    with ThreadPoolExecutor(1) as pool:
        pool.submit(cu.cuStreamEndCapture, stream).result()


def test_executor(stream):
    ok(cu.cuStreamBeginCapture(stream, RELAXED))
    with ThreadPoolExecutor(1) as pool:
        graph = pool.submit(cu.cuStreamEndCapture, stream).result()
    ok(cu.cuGraphDestroy(ok(graph)))


def on_host(stream, run):
    """The driver calls a function in the order of the stream, on a thread of its own."""
    called = ON_HOST(lambda _: run())
    address = ctypes.cast(called, ctypes.c_void_p)
    ok(cu.cuLaunchHostFunc(stream, cu.CUhostFn(_ptr=ctypes.addressof(address)), 0))
    ok(cu.cuStreamSynchronize(stream))


def test_host_function_CV208(stream):
    on_host(stream, lambda: cu.cuMemAlloc(64))


def test_host_function(stream):
    called = []
    on_host(stream, lambda: called.append(True))
    assert called


# Processes.


@pytest.mark.parametrize("more", [pytest.param("cu.cuMemFree_v2(memory)", id="more_CV401"), pytest.param("", id="so")])
def test_of_child(more):
    subprocess.run([sys.executable, "-c", CHILD + more], check=True)


def forked(run):
    child = os.fork()
    if not child:
        run()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_fork_CV122():
    forked(lambda: cu.cuMemAlloc(64))


def test_fork_without_cuda():
    forked(lambda: None)


# Coroutines, generators, and what Python calls by itself.


def test_coroutine_CV802(stream):
    async def run():
        event = ok(cu.cuEventCreate(0))
        ok(cu.cuStreamBeginCapture(stream, RELAXED))
        ok(cu.cuEventRecord(event, stream))
        await asyncio.sleep(0)
        cu.cuEventQuery(event)
        cu.cuStreamEndCapture(stream)
        ok(cu.cuEventDestroy(event))

    asyncio.run(run())


def test_coroutine(stream):
    async def run():
        event = ok(cu.cuEventCreate(0))
        ok(cu.cuEventRecord(event, stream))
        await asyncio.sleep(0)
        ok(cu.cuEventSynchronize(event))
        ok(cu.cuEventDestroy(event))

    asyncio.run(run())


def test_thread_of_coroutine_CV107():
    asyncio.run(asyncio.to_thread(cu.cuMemAlloc, 64))


def test_thread_of_coroutine():
    asyncio.run(asyncio.to_thread(use_primary_context))


def blocks(count):
    memory = ok(cu.cuMemAlloc(64 * count))
    try:
        for number in range(count):
            yield int(memory) + 64 * number
    finally:
        ok(cu.cuMemFree(memory))


def test_generator_CV405():
    every = list(blocks(2))
    cu.cuMemsetD8(every[0], 0, 64)


def test_generator():
    for each in blocks(2):
        ok(cu.cuMemsetD8(each, 0, 64))


def test_generator_that_is_closed_CV405():
    every = blocks(2)
    first = next(every)
    every.close()
    cu.cuMemsetD8(first, 0, 64)


def test_generator_that_is_closed():
    every = blocks(2)
    ok(cu.cuMemsetD8(next(every), 0, 64))
    every.close()


class Owner:
    """In a cycle, so that the garbage collection ends it."""

    def __init__(self, stream):
        self.stream, self.itself = stream, self

    def __del__(self):
        cu.cuStreamDestroy(self.stream)


def test_owners_of_one_CV202():
    stream = ok(cu.cuStreamCreate(0))
    for _ in range(2):
        Owner(stream)
    gc.collect()


def test_owners():
    for _ in range(2):
        Owner(ok(cu.cuStreamCreate(0)))
    gc.collect()


def test_exit_stack_CV702():
    graph = ok(cu.cuGraphCreate(0))
    with contextlib.ExitStack() as stack:
        stack.callback(cu.cuGraphDestroy, graph)
        stack.callback(cu.cuGraphDestroy, graph)


def test_exit_stack():
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.callback(cu.cuGraphDestroy, ok(cu.cuGraphCreate(0)))


def test_of_finalizer_CV201(request):
    request.addfinalizer(stale)


def test_of_finalizer(request):
    request.addfinalizer(cu.cuCtxSynchronize)


# Without a binding.


@pytest.fixture(scope="module")
def library():
    return ctypes.CDLL("libcuda.so.1")


@pytest.fixture
def page(library):
    page = ctypes.c_uint64()
    assert library.cuMemAlloc_v2(ctypes.byref(page), 4096) == 0
    yield page
    assert library.cuMemFree_v2(page) == 0


def test_ctypes_CV304(library):
    library.cuEventSynchronize(ctypes.c_void_p(0x1234567000))


def test_ctypes(library):
    event = ctypes.c_void_p()
    assert library.cuEventCreate(ctypes.byref(event), 0) == 0
    assert library.cuEventSynchronize(event) == 0
    assert library.cuEventDestroy_v2(event) == 0


def test_ctypes_past_end_CV406(library, page):
    library.cuMemsetD8_v2(page, 0, ctypes.c_size_t(4097))


def test_ctypes_to_the_end(library, page):
    assert library.cuMemsetD8_v2(page, 0, ctypes.c_size_t(4096)) == 0
