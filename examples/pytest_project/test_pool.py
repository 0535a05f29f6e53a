import pytest
from cuda.bindings import driver as cu
from pool import Pool, ok


@pytest.fixture(scope="session", autouse=True)
def context():
    ok(cu.cuInit(0))
    ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))


@pytest.fixture
def pool():
    pool = Pool()
    yield pool
    pool.close()


def test_a_stream_is_used_again(pool):
    stream = pool.take()
    pool.give_back(stream)
    assert pool.take() is stream
    pool.give_back(stream)


def test_a_stream_that_is_given_back_twice(pool):
    stream = pool.take()
    pool.give_back(stream)
    pool.give_back(stream)


def test_work_on_a_stream(pool):
    stream = pool.take()
    memory = ok(cu.cuMemAlloc(4096))
    ok(cu.cuMemsetD8Async(memory, 0, 4096, stream))
    ok(cu.cuStreamSynchronize(stream))
    ok(cu.cuMemFree(memory))
    pool.give_back(stream)
