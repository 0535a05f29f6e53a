from cuda.bindings import driver as cu

from conftest import ok, stale

ok(cu.cuInit(0))
ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))
stale()


def test_correct():
    pass
