import ctypes as C
import threading
from concurrent.futures import ThreadPoolExecutor

from libs import OP_N, OP_T, STREAM_NON_BLOCKING, blas, cb, cu, rt, vp

ONE = C.c_float(1.0)
ZERO = C.c_float(0.0)


class Lane:
    def __init__(self, device):
        cu(rt.cudaSetDevice(device))
        self.stream = vp()
        self.handle = vp()
        cu(rt.cudaStreamCreateWithFlags(C.byref(self.stream), STREAM_NON_BLOCKING))
        try:
            cb(blas.cublasCreate_v2(C.byref(self.handle)))
        except RuntimeError:
            rt.cudaStreamDestroy(self.stream)
            raise

    def close(self):
        blas.cublasDestroy_v2(self.handle)
        rt.cudaStreamDestroy(self.stream)


class Scorer:
    """scores[q, d] = queries[q, :] . docs[d, :], row major, fp32"""

    def __init__(self, device, docs, ndocs, dim, threads=4):
        self.device = device
        self.docs, self.ndocs, self.dim = docs, ndocs, dim
        self.tls = threading.local()
        self.lanes = []
        self.lock = threading.Lock()
        self.pool = ThreadPoolExecutor(threads)

    def _lane(self):
        lane = getattr(self.tls, "lane", None)
        if lane is None:
            lane = Lane(self.device)
            with self.lock:
                self.lanes.append(lane)
            self.tls.lane = lane
        return lane

    def _score(self, queries, nq, scores):
        lane = self._lane()
        handle = lane.handle
        cb(blas.cublasSetStream_v2(handle, lane.stream))
        cb(blas.cublasSgemm_v2(
            handle, OP_T, OP_N, self.ndocs, nq, self.dim, C.byref(ONE),
            self.docs, self.dim, queries, self.dim, C.byref(ZERO),
            scores, self.ndocs))
        cu(rt.cudaStreamSynchronize(lane.stream))
        return scores

    def submit(self, queries, nq, scores):
        return self.pool.submit(self._score, queries, nq, scores)

    def close(self):
        self.pool.shutdown(wait=True)
        cu(rt.cudaSetDevice(self.device))
        for lane in self.lanes:
            lane.close()
        self.lanes.clear()
