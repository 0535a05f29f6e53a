import cupy as cp
from cupy.cuda import runtime


class CopyEngine:
    def __init__(self):
        self.copied = 0

    def copy(self, dst: cp.ndarray, src: cp.ndarray) -> None:
        stream = runtime.streamCreateWithFlags(runtime.streamNonBlocking)
        try:
            runtime.memcpyAsync(dst.data.ptr, src.data.ptr, src.nbytes, runtime.memcpyDeviceToDevice, stream)
            runtime.streamSynchronize(stream)
            self.copied += src.nbytes
        finally:
            runtime.streamDestroy(stream)


def main():
    source = cp.arange(1 << 20, dtype=cp.float32)
    target = cp.empty_like(source)
    engine = CopyEngine()
    cp.cuda.get_current_stream().synchronize()
    engine.copy(target, source)
    print(engine.copied, bool((source == target).all()))


if __name__ == "__main__":
    main()
