"""Device-side voxel volumes for the sonar mosaicker."""
import ctypes

import numpy as np

import cudart as rt


class Volume:
    def __init__(self, shape, dtype=np.float32):
        self.shape = tuple(int(s) for s in shape)
        self.dtype = np.dtype(dtype)
        self.nbytes = int(np.prod(self.shape)) * self.dtype.itemsize
        self.ptr = None
        p = ctypes.c_void_p()
        rt.check(
            rt.lib.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(self.nbytes)),
            "cudaMalloc",
        )
        self.ptr = p.value

    def clear(self):
        rt.check(
            rt.lib.cudaMemset(self.ptr, 0, ctypes.c_size_t(self.nbytes)),
            "cudaMemset",
        )

    def upload(self, a):
        a = np.ascontiguousarray(a, dtype=self.dtype)
        if a.shape != self.shape:
            raise ValueError(f"{a.shape} is not {self.shape}")
        rt.check(
            rt.lib.cudaMemcpy(
                ctypes.c_void_p(self.ptr),
                ctypes.c_void_p(a.ctypes.data),
                ctypes.c_size_t(self.nbytes),
                rt.H2D,
            ),
            "cudaMemcpy",
        )

    def download(self):
        a = np.empty(self.shape, dtype=self.dtype)
        rt.check(
            rt.lib.cudaMemcpy(
                ctypes.c_void_p(a.ctypes.data),
                ctypes.c_void_p(self.ptr),
                ctypes.c_size_t(self.nbytes),
                rt.D2H,
            ),
            "cudaMemcpy",
        )
        return a

    def clone(self):
        other = Volume(self.shape, self.dtype)
        rc = rt.lib.cudaMemcpy(
            ctypes.c_void_p(other.ptr),
            ctypes.c_void_p(self.ptr),
            ctypes.c_size_t(self.nbytes),
            rt.D2D,
        )
        if rc:
            other.release()
            rt.check(rc, "cudaMemcpy")
        return other

    def release(self):
        if self.ptr is not None:
            p, self.ptr = self.ptr, None
            rt.check(rt.lib.cudaFree(ctypes.c_void_p(p)), "cudaFree")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.release()


def empty_mosaic(shape):
    vol = Volume(shape)
    try:
        vol.clear()
    except rt.CudaError:
        vol.release()
        raise
    return vol
