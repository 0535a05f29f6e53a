import cupy as cp

DILATE = cp.RawKernel(
    r"""
extern "C" __global__ void dilate(const unsigned char* in, unsigned char* out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    unsigned char m = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            int u = min(max(x + dx, 0), w - 1), v = min(max(y + dy, 0), h - 1);
            m = max(m, in[v * w + u]);
        }
    out[y * w + x] = m;
}
""",
    "dilate",
)


def dilate(bitmap: cp.ndarray) -> cp.ndarray:
    height, width = bitmap.shape
    out = cp.empty_like(bitmap)
    block = (32, 32)
    grid = ((width + block[0] - 1) // block[0], (height + block[1] - 1) // block[1])
    DILATE(grid, block, (bitmap, out, cp.int32(width), cp.int32(height)))
    return out


if __name__ == "__main__":
    image = (cp.random.random((2160, 3840)) > 0.99).astype(cp.uint8)
    print(int(dilate(image).sum()))
