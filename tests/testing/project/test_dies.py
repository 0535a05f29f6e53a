import os
import signal

from conftest import stale


def test_before():
    pass


def test_dies():
    stale()
    os.kill(os.getpid(), signal.SIGKILL)


def test_other():
    pass
