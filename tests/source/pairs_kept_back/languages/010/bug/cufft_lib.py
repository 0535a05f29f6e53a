from ctypes import CDLL, POINTER, c_int, c_void_p

R2C, C2R, C2C = 0x2A, 0x2C, 0x29
FORWARD, INVERSE = -1, 1

_lib = CDLL("libcufft.so")

_lib.cufftPlan1d.argtypes = [POINTER(c_int), c_int, c_int, c_int]
_lib.cufftSetStream.argtypes = [c_int, c_void_p]
_lib.cufftExecR2C.argtypes = [c_int, c_void_p, c_void_p]
_lib.cufftExecC2C.argtypes = [c_int, c_void_p, c_void_p, c_int]
_lib.cufftDestroy.argtypes = [c_int]


def _ok(rc, fn):
    if rc != 0:
        raise RuntimeError(f"{fn} failed with {rc}")


def plan1d(n, kind, batch):
    h = c_int()
    _ok(_lib.cufftPlan1d(h, n, kind, batch), "cufftPlan1d")
    return h.value


def set_stream(plan, stream_ptr):
    _ok(_lib.cufftSetStream(plan, stream_ptr), "cufftSetStream")


def r2c(plan, src, dst):
    _ok(_lib.cufftExecR2C(plan, src, dst), "cufftExecR2C")


def destroy(plan):
    _ok(_lib.cufftDestroy(plan), "cufftDestroy")
