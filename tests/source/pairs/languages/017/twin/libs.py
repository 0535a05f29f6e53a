import ctypes as C

rt = C.CDLL("libcudart.so.12")
blas = C.CDLL("libcublas.so.12")

vp = C.c_void_p
rt.cudaSetDevice.argtypes = [C.c_int]
rt.cudaStreamCreateWithFlags.argtypes = [C.POINTER(vp), C.c_uint]
rt.cudaStreamSynchronize.argtypes = [vp]
rt.cudaStreamDestroy.argtypes = [vp]
blas.cublasCreate_v2.argtypes = [C.POINTER(vp)]
blas.cublasDestroy_v2.argtypes = [vp]
blas.cublasSetStream_v2.argtypes = [vp, vp]
blas.cublasSgemm_v2.argtypes = [
    vp, C.c_int, C.c_int, C.c_int, C.c_int, C.c_int, C.POINTER(C.c_float),
    vp, C.c_int, vp, C.c_int, C.POINTER(C.c_float), vp, C.c_int]

STREAM_NON_BLOCKING = 1
OP_N, OP_T = 0, 1


def cu(rc):
    if rc:
        raise RuntimeError(f"cudart status {rc}")


def cb(rc):
    if rc:
        raise RuntimeError(f"cublas status {rc}")
