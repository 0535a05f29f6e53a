"""A project whose tests make mistakes with CUDA, on the emulated device."""

from __future__ import annotations

import pytest
from cuda.bindings import driver as cu

PTX = b"""
.version 7.0 .target sm_75 .address_size 64
.visible .entry clear(.param .u64 memory) { .reg .u64 %a; ld.param.u64 %a, [memory]; st.global.u32 [%a], 0; ret; }
"""


def ok(result):
    status, *values = result
    assert status == 0, status
    return values[0] if len(values) == 1 else tuple(values)


def stale():
    stream = ok(cu.cuStreamCreate(0))
    ok(cu.cuStreamDestroy(stream))
    cu.cuStreamSynchronize(stream)


@pytest.fixture(scope="session", autouse=True)
def context():
    ok(cu.cuInit(0))
    ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))


@pytest.fixture
def function():
    module = ok(cu.cuModuleLoadData(PTX + b"\0"))
    yield ok(cu.cuModuleGetFunction(module, b"clear"))
    ok(cu.cuModuleUnload(module))


@pytest.fixture
def stream():
    stream = ok(cu.cuStreamCreate(0))
    yield stream
    ok(cu.cuStreamDestroy(stream))


@pytest.fixture
def memory():
    memory = ok(cu.cuMemAlloc(4096))
    yield memory
    ok(cu.cuMemFree(memory))
