import math

import numpy as np
from numba import cuda


@cuda.jit
def row_norms(matrix, norms):
    row = cuda.grid(1)
    if row < matrix.shape[0]:
        total = 0.0
        for column in range(matrix.shape[1]):
            total += matrix[row, column] * matrix[row, column]
        norms[row] = math.sqrt(total)


def normalise(matrix):
    stream = cuda.stream()
    norms = cuda.pinned_array(matrix.shape[0], dtype=np.float32)
    d_matrix = cuda.to_device(matrix, stream=stream)
    d_norms = cuda.device_array(matrix.shape[0], dtype=np.float32, stream=stream)
    row_norms[(matrix.shape[0] + 127) // 128, 128, stream](d_matrix, d_norms)
    d_norms.copy_to_host(norms, stream=stream)
    stream.synchronize()
    scale = 1.0 / np.maximum(norms, 1e-12)
    return matrix * scale[:, None]


if __name__ == "__main__":
    data = np.random.default_rng(1).standard_normal((4096, 64)).astype(np.float32)
    print(np.linalg.norm(normalise(data), axis=1)[:4])
