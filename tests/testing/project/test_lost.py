"""A kernel that writes to freed memory: the context is lost."""

from __future__ import annotations

import ctypes

from cuda.bindings import driver as cu

from conftest import ok


def test_before(function, memory):
    ok(cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, ((int(memory),), (ctypes.c_void_p,)), 0))
    ok(cu.cuCtxSynchronize())


def test_loses_it():
    from conftest import PTX

    function = ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData(PTX + b"\0")), b"clear"))
    memory = ok(cu.cuMemAlloc(1 << 25))
    ok(cu.cuMemFree(memory))
    cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, ((int(memory),), (ctypes.c_void_p,)), 0)
    cu.cuCtxSynchronize()


def test_after(memory):
    raise AssertionError("it is not run")


def test_after_that():
    raise AssertionError("it is not run")
