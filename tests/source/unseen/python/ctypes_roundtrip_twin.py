import contextlib
import ctypes
import sys

import numpy as np

cudart = ctypes.CDLL("libcudart.so")
cudart.cudaGetErrorString.restype = ctypes.c_char_p
cudart.cudaGetErrorString.argtypes = [ctypes.c_int]
cudart.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
cudart.cudaMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
cudart.cudaFree.argtypes = [ctypes.c_void_p]

H2D, D2H = 1, 2


class CudaError(RuntimeError):
    pass


def call(name, *args):
    rc = getattr(cudart, name)(*args)
    if rc != 0:
        raise CudaError(f"{name}: {cudart.cudaGetErrorString(rc).decode()}")


@contextlib.contextmanager
def device_buffer(nbytes):
    ptr = ctypes.c_void_p()
    call("cudaMalloc", ctypes.byref(ptr), nbytes)
    try:
        yield ptr
    finally:
        call("cudaFree", ptr)


def roundtrip(values: np.ndarray) -> np.ndarray:
    back = np.empty_like(values)
    with device_buffer(values.nbytes) as dev:
        call("cudaMemcpy", dev, values.ctypes.data, values.nbytes, H2D)
        call("cudaMemcpy", back.ctypes.data, dev, back.nbytes, D2H)
    return back


def main(argv):
    megabytes = int(argv[1]) if len(argv) > 1 else 8
    data = np.linspace(-1.0, 1.0, megabytes * 131072, dtype=np.float64)
    copy = roundtrip(data)
    same = np.array_equal(data, copy)
    print("identical" if same else "mismatch")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
