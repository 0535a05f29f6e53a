import argparse
import math

import numpy as np
from numba import cuda


@cuda.jit
def mandel(image, x0, y0, dx, dy, limit):
    col, row = cuda.grid(2)
    if row >= image.shape[0] or col >= image.shape[1]:
        return
    c = complex(x0 + col * dx, y0 + row * dy)
    z = 0j
    steps = 0
    while steps < limit and z.real * z.real + z.imag * z.imag < 4.0:
        z = z * z + c
        steps += 1
    image[row, col] = steps


class Renderer:
    TILE = (32, 64)

    def __init__(self, width, height, limit):
        self.shape = (height, width)
        self.limit = limit

    def _grid(self):
        height, width = self.shape
        return (math.ceil(width / self.TILE[0]), math.ceil(height / self.TILE[1]))

    def render(self, centre, span):
        height, width = self.shape
        dx = span / width
        dy = span / height
        image = cuda.device_array(self.shape, dtype=np.int32)
        mandel[self._grid(), self.TILE](image, centre[0] - span / 2, centre[1] - span / 2, dx, dy, self.limit)
        cuda.synchronize()
        return image.copy_to_host()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--limit", type=int, default=200)
    args = parser.parse_args()
    renderer = Renderer(args.size, args.size, args.limit)
    for zoom in range(4):
        picture = renderer.render((-0.74, 0.18), 2.5 / (4**zoom))
        inside = np.count_nonzero(picture == args.limit)
        print(f"zoom {zoom}: {inside} interior pixels")


if __name__ == "__main__":
    main()
