"""What outlives a test."""

from __future__ import annotations

import pytest
from cuda.bindings import driver as cu

from conftest import ok

kept = {}


class Owner:
    """Ends its stream when nobody holds it any more; it is in a cycle, so that this takes a garbage collection."""

    def __init__(self):
        self.stream, self.itself = ok(cu.cuStreamCreate(0)), self

    def __del__(self):
        ok(cu.cuStreamDestroy(self.stream))


def made_at_first_use():
    if "stream" not in kept:
        kept["stream"] = ok(cu.cuStreamCreate(0))
    return kept["stream"]


def forgotten():
    return ok(cu.cuMemAlloc(64)), ok(cu.cuMemAlloc(64))


@pytest.fixture
def owner():
    return Owner()


@pytest.fixture(scope="module", params=[1, 2])
def shared(request):
    stream = ok(cu.cuStreamCreate(0))
    yield stream
    ok(cu.cuStreamDestroy(stream))


def test_first_use():
    ok(cu.cuStreamSynchronize(made_at_first_use()))


def test_second_use():
    ok(cu.cuStreamSynchronize(made_at_first_use()))


def test_forgets_first():
    forgotten()


def test_forgets_again():
    forgotten()


@pytest.mark.cuvet(ignore=["exit-leak"])
def test_may_forget():
    forgotten()


@pytest.mark.parametrize("number", range(3))
def test_owner(owner, number):
    Owner()


def test_shared(shared):
    pass


def test_shared_again(shared):
    pass
