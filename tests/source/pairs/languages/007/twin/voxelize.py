import math

import numpy as np
from numba import cuda


@cuda.jit
def _bin_points(pts, origin, inv_cell, dims, hist):
    i = cuda.grid(1)
    if i >= pts.shape[0]:
        return
    x = int((pts[i, 0] - origin[0]) * inv_cell)
    y = int((pts[i, 1] - origin[1]) * inv_cell)
    z = int((pts[i, 2] - origin[2]) * inv_cell)
    if x < 0 or y < 0 or z < 0 or x >= dims[0] or y >= dims[1] or z >= dims[2]:
        return
    cuda.atomic.add(hist, (x * dims[1] + y) * dims[2] + z, 1)


class Voxelizer:
    def __init__(self, origin, cell, dims, threads=256):
        self.dims = tuple(int(d) for d in dims)
        self.cells = int(np.prod(self.dims))
        self.inv_cell = np.float32(1.0 / cell)
        self.threads = threads
        self.stream = cuda.stream()
        self.d_origin = cuda.to_device(np.asarray(origin, np.float32))
        self.d_dims = cuda.to_device(np.asarray(self.dims, np.int32))
        self.d_hist = cuda.device_array(self.cells, np.int32)
        self.zeros = np.zeros(self.cells, np.int32)

    def tile(self, pts):
        pts = np.ascontiguousarray(pts, dtype=np.float32)
        counts = np.empty(self.cells, np.int32)
        if len(pts) == 0:
            counts[:] = 0
            return counts.reshape(self.dims)
        blocks = math.ceil(len(pts) / self.threads)
        with cuda.pinned(pts, counts):
            self.d_hist.copy_to_device(self.zeros, stream=self.stream)
            d_pts = cuda.to_device(pts, stream=self.stream)
            _bin_points[blocks, self.threads, self.stream](
                d_pts, self.d_origin, self.inv_cell, self.d_dims, self.d_hist)
            self.d_hist.copy_to_host(counts, stream=self.stream)
            self.stream.synchronize()
        return counts.reshape(self.dims)


def occupancy(tiles, origin, cell, dims, min_hits=3):
    vox = Voxelizer(origin, cell, dims)
    total = np.zeros(dims, np.int64)
    for pts in tiles:
        total += vox.tile(pts)
    return total >= min_hits
