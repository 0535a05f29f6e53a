"""Boid simulation behind the engine's scripting API."""
import numpy as np
from cuda.bindings import driver, nvrtc

KERNEL = rb"""
extern "C" __global__
void integrate(float4 *pos, float4 *vel, unsigned n, float dt, float damp)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = vel[i];
    v.x *= damp; v.y *= damp; v.z *= damp;
    float4 p = pos[i];
    p.x += v.x * dt; p.y += v.y * dt; p.z += v.z * dt;
    vel[i] = v;
    pos[i] = p;
}
"""


def ok(res):
    err = res[0]
    if int(err) != 0:
        raise RuntimeError(f"{type(err).__name__}: {err}")
    if len(res) == 1:
        return None
    return res[1] if len(res) == 2 else res[1:]


def build(source, cc):
    prog = ok(nvrtc.nvrtcCreateProgram(source, b"swarm.cu", 0, [], []))
    try:
        opts = [f"--gpu-architecture=compute_{cc[0]}{cc[1]}".encode()]
        ok(nvrtc.nvrtcCompileProgram(prog, len(opts), opts))
        size = ok(nvrtc.nvrtcGetPTXSize(prog))
        ptx = b" " * size
        ok(nvrtc.nvrtcGetPTX(prog, ptx))
        return ptx
    finally:
        nvrtc.nvrtcDestroyProgram(prog)


class Swarm:
    def __init__(self, n, ordinal=0):
        self.n = n
        self.ctx = self.module = self.stream = None
        self.bufs = []
        ok(driver.cuInit(0))
        self.dev = ok(driver.cuDeviceGet(ordinal))
        self.ctx = ok(driver.cuDevicePrimaryCtxRetain(self.dev))
        try:
            ok(driver.cuCtxSetCurrent(self.ctx))
            A = driver.CUdevice_attribute
            cc = (
                ok(driver.cuDeviceGetAttribute(
                    A.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, self.dev)),
                ok(driver.cuDeviceGetAttribute(
                    A.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, self.dev)),
            )
            ptx = np.char.array(build(KERNEL, cc))
            self.module = ok(driver.cuModuleLoadData(ptx.ctypes.data))
            self.fn = ok(driver.cuModuleGetFunction(self.module, b"integrate"))
            self.stream = ok(driver.cuStreamCreate(0))
            for _ in range(2):
                self.bufs.append(ok(driver.cuMemAlloc(16 * n)))
        except Exception:
            self.close()
            raise

    def upload(self, pos, vel):
        for buf, arr in zip(self.bufs, (pos, vel)):
            a = np.ascontiguousarray(arr, dtype=np.float32).reshape(self.n, 4)
            ok(driver.cuMemcpyHtoD(buf, a.ctypes.data, a.nbytes))

    def step(self, dt, damp=0.99):
        cells = [
            np.array([int(self.bufs[0])], dtype=np.uint64),
            np.array([int(self.bufs[1])], dtype=np.uint64),
            np.array([self.n], dtype=np.uint32),
            np.array([dt], dtype=np.float32),
            np.array([damp], dtype=np.float32),
        ]
        params = np.array([c.ctypes.data for c in cells], dtype=np.uint64)
        ok(driver.cuLaunchKernel(
            self.fn, (self.n + 255) // 256, 1, 1, 256, 1, 1,
            0, self.stream, params.ctypes.data, 0))

    def positions(self):
        ok(driver.cuStreamSynchronize(self.stream))
        out = np.empty((self.n, 4), dtype=np.float32)
        ok(driver.cuMemcpyDtoH(out.ctypes.data, self.bufs[0], out.nbytes))
        return out

    def close(self):
        if self.ctx is None:
            return
        if self.stream is not None:
            driver.cuStreamSynchronize(self.stream)
            driver.cuStreamDestroy(self.stream)
        for buf in self.bufs:
            driver.cuMemFree(buf)
        if self.module is not None:
            driver.cuModuleUnload(self.module)
        driver.cuDevicePrimaryCtxRelease(self.dev)
        self.bufs, self.ctx, self.module, self.stream = [], None, None, None
