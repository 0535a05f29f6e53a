"""Calls that fail, some of them where the test says that they will."""

from __future__ import annotations

import contextlib
import functools
import unittest
from concurrent.futures import ThreadPoolExecutor

import pytest
from cuda.bindings import driver as cu

from conftest import ok


@pytest.fixture
def capturing():
    stream = ok(cu.cuStreamCreate(cu.CUstream_flags.CU_STREAM_NON_BLOCKING))
    ok(cu.cuStreamBeginCapture(stream, cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED))
    return stream


def wait_for(stream):
    ok(cu.cuStreamSynchronize(stream))


def end_capture(stream):
    cu.cuStreamEndCapture(stream)


def test_a_block(capturing):
    with pytest.raises(AssertionError):
        ok(cu.cuStreamSynchronize(capturing))


def test_a_block_around_a_helper(capturing):
    with pytest.raises(
        AssertionError,
        match="CAPTURE",
    ):
        wait_for(capturing)
    end_capture(capturing)


def test_a_function_that_is_given(capturing):
    pytest.raises(AssertionError, wait_for, capturing)  # noqa: RUF061


class Unit(unittest.TestCase):
    def test_of_unittest(self):
        stream = ok(cu.cuStreamCreate(cu.CUstream_flags.CU_STREAM_NON_BLOCKING))
        with self.assertRaisesRegex(AssertionError, "ILLEGAL_STATE"):  # noqa: PT027
            ok(cu.cuStreamEndCapture(stream))


@pytest.mark.parametrize("expectation", [pytest.raises(AssertionError)])
def test_a_block_that_was_made_elsewhere(capturing, expectation):
    with expectation:
        wait_for(capturing)


def test_a_stack_of_blocks(capturing):
    with contextlib.ExitStack() as stack:
        stack.enter_context(pytest.raises(AssertionError))
        wait_for(capturing)


@contextlib.contextmanager
def refused():
    with pytest.raises(AssertionError, match="CAPTURE"):
        yield


def test_a_block_of_their_own(capturing):
    with refused():
        wait_for(capturing)


def test_a_thread_that_is_waited_for(capturing):
    def wait():
        ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))
        wait_for(capturing)

    with ThreadPoolExecutor(1) as pool, pytest.raises(AssertionError):
        pool.submit(wait).result()


def test_what_follows_is_expected(capturing):
    cu.cuStreamQuery(capturing)
    with pytest.raises(AssertionError):
        ok(cu.cuStreamEndCapture(capturing))


def test_before_the_block_CV801(capturing):
    cu.cuStreamQuery(capturing)
    with pytest.raises(ZeroDivisionError):
        _ = 1 / 0


def test_behind_the_block_CV801(capturing):
    with pytest.raises(ZeroDivisionError):  # noqa: PT012
        later = functools.partial(cu.cuStreamQuery, capturing)
        _ = 1 / 0
    later()


def test_no_exception_came_CV801(capturing):
    with contextlib.suppress(pytest.fail.Exception), pytest.raises(AssertionError):
        cu.cuStreamQuery(capturing)


def test_status_is_looked_at_CV801(capturing):
    assert cu.cuStreamSynchronize(capturing)[0] != 0


def test_what_may_crash_cannot_be_expected_CV201():
    stream = ok(cu.cuStreamCreate(0))
    ok(cu.cuStreamDestroy(stream))
    with pytest.raises(AssertionError):
        wait_for(stream)
