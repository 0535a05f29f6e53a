import numpy as np
from numba import cuda


@cuda.jit
def gamma(frame, power):
    x, y = cuda.grid(2)
    if x < frame.shape[0] and y < frame.shape[1]:
        frame[x, y] = frame[x, y] ** power


class FrameClock:
    def __init__(self):
        self.samples = []

    def run(self, frame, power):
        stream = cuda.stream()
        before = cuda.event(timing=False)
        after = cuda.event(timing=False)
        d_frame = cuda.to_device(frame, stream=stream)
        grid = ((frame.shape[0] + 15) // 16, (frame.shape[1] + 15) // 16)
        before.record(stream)
        gamma[grid, (16, 16), stream](d_frame, power)
        after.record(stream)
        after.synchronize()
        self.samples.append(before.elapsed_time(after))
        return d_frame.copy_to_host()

    def median(self):
        return float(np.median(self.samples))


if __name__ == "__main__":
    clock = FrameClock()
    picture = np.random.default_rng(0).random((1080, 1920))
    for _ in range(5):
        picture = clock.run(picture, 0.9)
    print(clock.median())
