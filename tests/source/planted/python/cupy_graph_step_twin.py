import cupy as cp


class Integrator:
    def __init__(self, positions, velocities, dt):
        self.positions = positions
        self.velocities = velocities
        self.dt = dt
        self.stream = cp.cuda.Stream(non_blocking=True)
        self.force = cp.empty_like(positions)
        self.kick = cp.ElementwiseKernel("T x, T dt", "T v", "v -= dt * x", "kick")
        self.drift = cp.ElementwiseKernel("T v, T dt", "T x", "x += dt * v", "drift")
        self.graph = self.record()

    def record(self):
        with self.stream:
            self.kick(self.positions, self.dt, self.velocities)
            self.drift(self.velocities, self.dt, self.positions)
            self.stream.synchronize()
            self.stream.begin_capture()
            self.kick(self.positions, self.dt, self.velocities)
            self.drift(self.velocities, self.dt, self.positions)
            return self.stream.end_capture()

    def run(self, steps):
        for _ in range(steps):
            self.graph.launch(self.stream)
        self.stream.synchronize()
        return self.positions.get()
