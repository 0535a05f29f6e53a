"""A test that closes descriptors which it did not open, and opens files in their place."""

import os

from cuda.bindings import driver as cu

from conftest import ok, stale


def test_before():
    stream = ok(cu.cuStreamCreate(0))
    ok(cu.cuStreamDestroy(stream))


def test_closes_all(request, tmp_path):
    judge = request.config.pluginmanager.get_plugin("cuvet-session")._judge
    for descriptor in judge._ours:
        os.close(descriptor)
    files = [os.open(tmp_path / str(number), os.O_RDWR | os.O_CREAT) for number in range(40)]
    assert set(judge._ours) <= set(files)
    request.config.opened = tmp_path, files


def test_after(request):
    stale()
    path, files = request.config.opened
    assert [os.fstat(file).st_size for file in files] == [0] * len(files)
    assert {file.stat().st_size for file in path.iterdir()} == {0}
