"""What outlives a test, and markers about it."""

from __future__ import annotations

import pytest
from cuda.bindings import driver as cu

from conftest import ok

kept = {}


def made_at_first_use():
    if "stream" not in kept:
        kept["stream"] = ok(cu.cuStreamCreate(0))


def test_first_use_and_leak():
    made_at_first_use()
    ok(cu.cuMemAlloc(64))


@pytest.mark.cuvet(leaks=True)
def test_second_use():
    made_at_first_use()


def forgotten():
    ok(cu.cuMemAlloc(64))


def test_forgets():
    forgotten()


def test_forgets_again():
    forgotten()


@pytest.mark.cuvet(leaks=True)
def test_forgets_and_is_told():
    forgotten()


@pytest.mark.cuvet(leaks=False)
def test_may_forget():
    forgotten()
