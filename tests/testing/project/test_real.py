"""Over a driver that dies of a stale stream."""

import ctypes

import pytest


@pytest.fixture(scope="session")
def cu():
    cu = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    assert cu.cuInit(0) == 0
    assert cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cu.cuCtxSetCurrent(context) == 0
    return cu


def test_stale(cu):
    stream = ctypes.c_void_p()
    assert cu.cuStreamCreate(ctypes.byref(stream), 0) == 0
    assert cu.cuStreamDestroy_v2(stream) == 0
    cu.cuStreamSynchronize(stream)


def test_next(cu):
    assert cu.cuCtxSynchronize() == 0
