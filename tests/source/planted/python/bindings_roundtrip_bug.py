import numpy as np
from cuda.bindings import runtime as cudart


def ok(result):
    error = result[0]
    if error != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(cudart.cudaGetErrorString(error)[1].decode())
    return result[1] if len(result) > 1 else None


def roundtrip(values: np.ndarray) -> np.ndarray:
    device = ok(cudart.cudaMalloc(values.nbytes))
    try:
        ok(cudart.cudaMemcpy(device, values.ctypes.data, values.nbytes, cudart.cudaMemcpyKind.cudaMemcpyHostToDevice))
        ok(cudart.cudaDeviceSynchronize())
        back = np.empty_like(values)
        ok(cudart.cudaMemcpy(back.ctypes.data, device, back.nbytes, cudart.cudaMemcpyKind.cudaMemcpyHostToDevice))
    finally:
        ok(cudart.cudaFree(device))
    return back


if __name__ == "__main__":
    sample = np.arange(1024, dtype=np.float32)
    assert (roundtrip(sample) == sample).all()
