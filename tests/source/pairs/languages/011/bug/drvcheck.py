from cuda.bindings import driver as drv


class DriverError(RuntimeError):
    def __init__(self, code, what):
        _, name = drv.cuGetErrorName(code)
        super().__init__(f"{what}: {name.decode() if name else int(code)}")
        self.code = code


def ok(ret, what=""):
    err, *rest = ret
    if err != drv.CUresult.CUDA_SUCCESS:
        raise DriverError(err, what)
    if not rest:
        return None
    return rest[0] if len(rest) == 1 else tuple(rest)


class pushed:
    """with pushed(ctx): ..."""

    def __init__(self, ctx):
        self.ctx = ctx

    def __enter__(self):
        ok(drv.cuCtxPushCurrent(self.ctx), "push")

    def __exit__(self, *exc):
        ok(drv.cuCtxPopCurrent(), "pop")
        return False
