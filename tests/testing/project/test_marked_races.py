"""Races, and markers about them."""

from __future__ import annotations

import pytest
from cuda.bindings import driver as cu

from conftest import ok


def two_streams(ordered):
    first, second, event = ok(cu.cuStreamCreate(1)), ok(cu.cuStreamCreate(1)), ok(cu.cuEventCreate(2))
    memory = ok(cu.cuMemAlloc(4096))
    ok(cu.cuMemsetD8Async(memory, 0, 4096, first))
    if ordered:
        ok(cu.cuEventRecord(event, first))
        ok(cu.cuStreamWaitEvent(second, event, 0))
    ok(cu.cuMemsetD8Async(memory, 1, 4096, second))
    ok(cu.cuCtxSynchronize())
    ok(cu.cuMemFree(memory))
    for stream in (first, second):
        ok(cu.cuStreamDestroy(stream))
    ok(cu.cuEventDestroy(event))


def test_race_CV441():
    two_streams(ordered=False)


def test_ordered():
    two_streams(ordered=True)


@pytest.mark.cuvet(races=False)
class TestWithout:
    def test_race(self):
        two_streams(ordered=False)

    @pytest.mark.cuvet(ignore=["CV201"])
    def test_race_too(self):
        two_streams(ordered=False)

    @pytest.mark.cuvet(races=True)
    def test_race_that_is_reported_CV441(self):
        two_streams(ordered=False)

    def test_stale_CV201(self):
        stream = ok(cu.cuStreamCreate(0))
        ok(cu.cuStreamDestroy(stream))
        cu.cuStreamSynchronize(stream)
