from cuda.bindings import driver as cu


def test_too_large():
    cu.cuMemAlloc(1 << 50)
