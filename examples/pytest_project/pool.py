"""A pool of CUDA streams, with a mistake: what is given back twice is destroyed twice."""

from cuda.bindings import driver as cu


def ok(result):
    status, *values = result
    if status != cu.CUresult.CUDA_SUCCESS:
        raise RuntimeError(status.name)
    return values[0] if values else None


class Pool:
    def __init__(self, most=2):
        self.most = most
        self.free = []

    def take(self):
        return self.free.pop() if self.free else ok(cu.cuStreamCreate(0))

    def give_back(self, stream):
        if len(self.free) < self.most:
            self.free.append(stream)
        else:
            ok(cu.cuStreamDestroy(stream))

    def close(self):
        for stream in self.free:
            cu.cuStreamDestroy(stream)
        self.free.clear()
