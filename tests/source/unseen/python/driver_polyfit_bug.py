import ctypes
import sys

import numpy as np
from cuda.bindings import driver


def check(result):
    err, *rest = result
    if err != driver.CUresult.CUDA_SUCCESS:
        _, name = driver.cuGetErrorName(err)
        raise RuntimeError(f"driver call failed: {name.decode()}")
    return rest[0] if len(rest) == 1 else (tuple(rest) or None)


def run_kernel(image: bytes, coeffs: np.ndarray, xs: np.ndarray) -> np.ndarray:
    out = np.empty_like(xs)
    module = check(driver.cuModuleLoadData(image))
    buffers = []
    try:
        try:
            horner = check(driver.cuModuleGetFunction(module, b"horner"))
        finally:
            check(driver.cuModuleUnload(module))
        for arr in (coeffs, xs, out):
            buffers.append(check(driver.cuMemAlloc(arr.nbytes)))
        d_coeffs, d_xs, d_out = buffers
        check(driver.cuMemcpyHtoD(d_coeffs, coeffs.ctypes.data, coeffs.nbytes))
        check(driver.cuMemcpyHtoD(d_xs, xs.ctypes.data, xs.nbytes))
        values = (int(d_coeffs), coeffs.size, int(d_xs), int(d_out), xs.size)
        types = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
        grid = (xs.size + 127) // 128
        check(driver.cuLaunchKernel(horner, grid, 1, 1, 128, 1, 1, 0, 0, (values, types), 0))
        check(driver.cuMemcpyDtoH(out.ctypes.data, d_out, out.nbytes))
    finally:
        for buf in buffers:
            check(driver.cuMemFree(buf))
    return out


def main(path):
    with open(path, "rb") as handle:
        image = handle.read()
    check(driver.cuInit(0))
    device = check(driver.cuDeviceGet(0))
    ctx = check(driver.cuDevicePrimaryCtxRetain(device))
    try:
        check(driver.cuCtxSetCurrent(ctx))
        coeffs = np.array([1.0, -2.0, 0.5, 3.0], dtype=np.float32)
        xs = np.linspace(-1, 1, 10000, dtype=np.float32)
        ys = run_kernel(image, coeffs, xs)
        print("max error", np.abs(ys - np.polyval(coeffs, xs)).max())
    finally:
        check(driver.cuDevicePrimaryCtxRelease(device))


if __name__ == "__main__":
    main(sys.argv[1])
