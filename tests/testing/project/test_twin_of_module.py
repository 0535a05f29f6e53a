"""The only test of a module: the tear-down of the module is its own."""

import ctypes

import pytest
from cuda.bindings import driver as cu

from conftest import ok


@pytest.fixture(scope="module")
def registered():
    pages = (ctypes.c_char * 8192)()
    ok(cu.cuMemHostRegister(pages, 8192, 0))
    yield pages
    ok(cu.cuMemHostUnregister(pages))
    cu.cuMemHostUnregister(pages)


def test_module_ends_wrong_CV511(registered):
    pass
