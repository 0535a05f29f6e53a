import numpy as np
from cuda.bindings import driver


def checked(result):
    status, *values = result
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(driver.cuGetErrorName(status)[1].decode())
    return values[0] if len(values) == 1 else values


def run(image: bytes, count: int) -> np.ndarray:
    checked(driver.cuInit(0))
    device = checked(driver.cuDeviceGet(0))
    context = checked(driver.cuDevicePrimaryCtxRetain(device))
    checked(driver.cuCtxSetCurrent(context))
    module = checked(driver.cuModuleLoadData(image))
    kernel = checked(driver.cuModuleGetFunction(module, b"fill"))
    checked(driver.cuModuleUnload(module))
    out = np.empty(count, dtype=np.float32)
    pointer = checked(driver.cuMemAlloc(out.nbytes))
    values = np.array([int(pointer)], dtype=np.uint64)
    size = np.array([count], dtype=np.int32)
    arguments = np.array([values.ctypes.data, size.ctypes.data], dtype=np.uint64)
    checked(driver.cuLaunchKernel(kernel, (count + 255) // 256, 1, 1, 256, 1, 1, 0, 0, arguments.ctypes.data, 0))
    checked(driver.cuMemcpyDtoH(out.ctypes.data, pointer, out.nbytes))
    checked(driver.cuMemFree(pointer))
    checked(driver.cuDevicePrimaryCtxRelease(device))
    return out
