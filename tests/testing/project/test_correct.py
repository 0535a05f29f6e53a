"""Nothing is wrong here, and some is unusual."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import unittest

import pytest
from cuda.bindings import driver as cu
from test_whose import CHILD

from conftest import ok


@pytest.fixture(scope="module")
def shared():
    stream = ok(cu.cuStreamCreate(0))
    yield stream
    ok(cu.cuStreamDestroy(stream))


@pytest.mark.parametrize("count", [1, 2000])
def test_streams(count):
    for _ in range(count):
        ok(cu.cuStreamDestroy(ok(cu.cuStreamCreate(0))))


def test_shared(shared, memory):
    ok(cu.cuMemsetD8Async(memory, 0, 4096, shared))


def test_shared_again(shared):
    ok(cu.cuStreamSynchronize(shared))
    assert cu.cuStreamQuery(shared) == (cu.CUresult.CUDA_SUCCESS,)


def test_kept_until_the_end():
    globals()["kept"] = ok(cu.cuStreamCreate(0))


def test_kept_is_used():
    ok(cu.cuStreamSynchronize(globals()["kept"]))


def test_launch(function, memory, stream):
    for _ in range(100):
        ok(cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, ((int(memory),), (ctypes.c_void_p,)), 0))
    ok(cu.cuStreamSynchronize(stream))


def test_threads(memory):
    def run():
        ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))
        ok(cu.cuMemsetD8(memory, 1, 4096))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_subprocess():
    subprocess.run([sys.executable, "-c", CHILD], check=True)


def test_fork():
    child = os.fork()
    if not child:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


class TestOfUnittest(unittest.TestCase):
    def setUp(self):
        self.memory = ok(cu.cuMemAlloc(64))

    def tearDown(self):
        ok(cu.cuMemFree(self.memory))

    def test_memory(self):
        ok(cu.cuMemsetD8(self.memory, 0, 64))


@pytest.mark.cuvet(ignore=["CV201"])
def test_ignores_what_is_not_there():
    pass


def test_without_cuda(tmp_path):
    assert tmp_path.exists()
