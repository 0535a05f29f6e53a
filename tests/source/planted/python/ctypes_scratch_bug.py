import ctypes

import numpy as np

cudart = ctypes.CDLL("libcudart.so")
cudart.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
cudart.cudaMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
cudart.cudaFree.argtypes = [ctypes.c_void_p]

HOST_TO_DEVICE = 1
DEVICE_TO_HOST = 2


def check(code):
    if code != 0:
        raise RuntimeError(f"CUDA error {code}")


def echo(values: np.ndarray) -> np.ndarray:
    pointer = ctypes.c_void_p()
    check(cudart.cudaMalloc(ctypes.byref(pointer), values.size))
    try:
        check(cudart.cudaMemcpy(pointer, values.ctypes.data, values.nbytes, HOST_TO_DEVICE))
        out = np.empty_like(values)
        check(cudart.cudaMemcpy(out.ctypes.data, pointer, out.nbytes, DEVICE_TO_HOST))
    finally:
        check(cudart.cudaFree(pointer))
    return out


if __name__ == "__main__":
    print(echo(np.linspace(0.0, 1.0, 1000)).sum())
