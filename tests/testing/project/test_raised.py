"""A test that raises while it is told of the one before it."""

from __future__ import annotations

import pytest

from conftest import stale


def test_uses_a_stale_stream_CV201():
    stale()


@pytest.mark.xfail(reason="on purpose")
def test_raises_something_else():
    raise ValueError("of another test")
