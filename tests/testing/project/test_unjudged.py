import os
import signal
from pathlib import Path

from conftest import stale


def test_stale_CV201():
    stale()


def test_first(request):
    judge = request.config.pluginmanager.get_plugin("cuvet-session")._judge._process
    os.kill(judge, signal.SIGKILL)
    while is_alive(judge):
        os.sched_yield()


def test_second():
    pass


def is_alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
