import ctypes
import ctypes.util
import os


def _open():
    names = [os.environ.get("SONDE_CUDART"), "libcudart.so.12", "libcudart.so"]
    for name in filter(None, names):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise ImportError("no CUDA runtime found")


lib = _open()
lib.cudaGetErrorString.restype = ctypes.c_char_p

H2D, D2H, D2D = 1, 2, 3


class CudaError(RuntimeError):
    def __init__(self, code, what):
        self.code = code
        text = lib.cudaGetErrorString(code).decode()
        super().__init__(f"{what}: {text} ({code})")


def check(code, what):
    if code:
        raise CudaError(code, what)
