"""A call that has not returned holds back what came after it: who did that can be told only later."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path

import pytest
from cuda.bindings import driver as cu

from conftest import ok, stale
from cuvet.recording import Recording
from cuvet.recording.layout import PENDING


@pytest.fixture(scope="module")
def blocked():
    """A thread that waits in a call for a host function, which waits for the event."""
    event, stream = threading.Event(), ok(cu.cuStreamCreate(0))

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def wait(_):
        event.wait()

    def run():
        ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))
        ok(cu.cuStreamSynchronize(stream))

    ok(cu.cuMemAllocAsync(64, stream))  # from then on waits are stored
    address = ctypes.cast(wait, ctypes.c_void_p).value
    ok(cu.cuLaunchHostFunc(stream, cu.CUhostFn(_ptr=ctypes.addressof(ctypes.c_void_p(address))), 0))
    thread = threading.Thread(target=run)
    thread.start()
    while not is_in_a_call():
        os.sched_yield()
    return event, thread, wait


def is_in_a_call():
    (path,) = Path(os.environ["CUVET_TRACE"]).glob("*.cuvet")
    return any((batch.calls["status"] == PENDING).any() for batch in Recording(path).poll(running=True))


def test_wrong(blocked):
    stale()


@pytest.mark.cuvet(ignore=["CV201"])
def test_ignored(blocked):
    stale()


def test_correct(blocked):
    event, thread, _ = blocked
    event.set()
    thread.join()
