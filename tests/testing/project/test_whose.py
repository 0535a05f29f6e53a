"""Whose a mistake is that was not made by the function of a test."""

from __future__ import annotations

import shlex
import subprocess
import sys
import threading
import unittest

import pytest
from cuda.bindings import driver as cu

from conftest import ok, stale

CHILD = """
import ctypes
cu = ctypes.CDLL("libcuda.so.1")
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
assert cu.cuInit(0) == 0
assert cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cu.cuCtxSetCurrent(context) == 0
assert cu.cuMemAlloc_v2(ctypes.byref(memory), 64) == 0
assert cu.cuMemFree_v2(memory) == 0
"""


@pytest.fixture(scope="module")
def wrong_set_up():
    stale()


@pytest.fixture(scope="module")
def wrong_tear_down():
    yield
    stale()


@pytest.fixture(scope="module", params=["first", "second_CV202"])
def first_is_torn_down_wrong(request):
    stream = ok(cu.cuStreamCreate(0))
    yield
    ok(cu.cuStreamDestroy(stream))
    if request.param == "first":
        cu.cuStreamDestroy(stream)


@pytest.fixture
def own_wrong_set_up():
    stale()


@pytest.fixture
def own_wrong_tear_down():
    yield
    stale()


def test_subprocess_correct():
    subprocess.run([sys.executable, "-c", CHILD], check=True)


def test_subprocess_CV401():
    subprocess.run([sys.executable, "-c", CHILD + "cu.cuMemFree_v2(memory)"], check=True)


def test_subprocess_of_a_shell_CV401():
    child = shlex.join([sys.executable, "-c", CHILD + "cu.cuMemFree_v2(memory)"])
    subprocess.run(["sh", "-c", f"{child}; true"], check=True)


def test_first_with_fixture_CV201(wrong_set_up):
    pass


def test_second_with_fixture(wrong_set_up, wrong_tear_down):
    pass


def test_of_each(first_is_torn_down_wrong):
    pass


class TestOfClass:
    @classmethod
    def setup_class(cls):
        stale()

    @classmethod
    def teardown_class(cls):
        ok(cu.cuCtxSynchronize())

    def test_of_class_CV201(self):
        pass


def test_own_fixture_CV201(own_wrong_set_up):
    pass


def test_own_fixture_at_its_end_CV201(own_wrong_tear_down):
    pass


def test_thread_CV201():
    def run():
        ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))
        stale()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


class TestOfUnittest(unittest.TestCase):
    def test_correct(self):
        ok(cu.cuCtxSynchronize())

    def test_CV201(self):
        stale()

    def test_skips_CV201(self):
        stale()
        self.skipTest("too late")

    def test_fails_as_well_CV201(self):
        stale()
        self.fail("by itself")


def test_also_fails_CV201():
    stale()
    raise AssertionError("by itself")


def test_only_a_warning_CV412():
    cu.cuMemAlloc(1 << 50)


@pytest.mark.xfail
def test_expected_to_fail_CV201():
    stale()


def test_skips_itself_CV201():
    stale()
    pytest.skip("too late")


@pytest.mark.skip
def test_skipped():
    stale()


@pytest.mark.cuvet(ignore=["CV201"])
def test_ignored():
    stale()


@pytest.mark.cuvet(ignore=["stream-use-after-destroy"])
def test_ignored_by_name_CV202():
    stale()
    stream = ok(cu.cuStreamCreate(0))
    ok(cu.cuStreamDestroy(stream))
    cu.cuStreamDestroy(stream)


def test_comment():
    stream = ok(cu.cuStreamCreate(0))
    ok(cu.cuStreamDestroy(stream))
    cu.cuStreamSynchronize(stream)  # cuvet: ignore[CV201] it is meant


def test_last_of_the_module_CV201():
    pass
