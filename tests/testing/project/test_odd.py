"""What tests do to the process that they run in."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest

import pytest
from cuda.bindings import driver as cu
from test_whose import CHILD

from conftest import ok, stale

SERVER = "import sys\nfor line in sys.stdin:\n    exec(CHILD, {'__name__': 'child'})\n    print(flush=True)\n"


@pytest.fixture(scope="module")
def server():
    program = f"CHILD = {CHILD + 'cu.cuMemFree_v2(memory)'!r}\n{SERVER}"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], text=True, start_new_session=True, **pipes) as child:
        yield child
        child.stdin.close()


def ask(child):
    child.stdin.write("\n")
    child.stdin.flush()
    child.stdout.readline()


def test_getpid(monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: 42)


def test_between():
    ok(cu.cuStreamDestroy(ok(cu.cuStreamCreate(0))))


def test_after_getpid_CV201():
    stale()


def test_waits_for_all_children():
    for _ in range(2):
        if os.fork() == 0:
            os._exit(0)
    ended = 0
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
        ended += 1
    assert ended == 2


def test_skipped_as_in_unittest_CV201():
    stale()
    raise unittest.SkipTest


class Stop(BaseException):
    pass


@pytest.fixture
def ends_badly():
    yield
    stale()
    raise Stop


def test_own_exception_at_the_end_CV201(ends_badly):
    pass


def test_behind_it():
    ok(cu.cuStreamDestroy(ok(cu.cuStreamCreate(0))))


def test_json(monkeypatch):
    monkeypatch.setattr("json.dumps", None)
    monkeypatch.setattr("json.loads", None)
    monkeypatch.setattr(os, "write", None)


def test_server_CV401(server):
    ask(server)


def test_of_nobody(server):
    ok(cu.cuStreamDestroy(ok(cu.cuStreamCreate(0))))


def test_without_variables():
    os.environ.pop("CUVET_TRACE")
