from cuda.bindings import runtime as rt

from framegraph import FrameGraph, must


class Layer:
    def __init__(self, w, h):
        self.pitch = w * 4
        self.w, self.h = w, h
        self.ptr = must(rt.cudaMalloc(self.pitch * h))

    def free(self):
        if self.ptr is not None:
            must(rt.cudaFree(self.ptr))
            self.ptr = None


class Compositor:
    def __init__(self, w, h):
        self.stream = must(rt.cudaStreamCreateWithFlags(rt.cudaStreamNonBlocking))
        try:
            self.target = Layer(w, h)
        except RuntimeError:
            rt.cudaStreamDestroy(self.stream)
            raise
        self.graph = FrameGraph(self.stream)
        self.layers = []

    def add(self, w, h):
        layer = Layer(w, h)
        self.layers.append((layer, 0, 0))
        return layer

    def upload(self, layer, rgba):
        must(rt.cudaMemcpyAsync(
            layer.ptr, rgba.ctypes.data, layer.pitch * layer.h,
            rt.cudaMemcpyKind.cudaMemcpyHostToDevice, self.stream))
        must(rt.cudaStreamSynchronize(self.stream))

    def _draw(self, stream):
        t = self.target
        must(rt.cudaMemset2DAsync(t.ptr, t.pitch, 0, t.w * 4, t.h, stream))
        for layer, x, y in self.layers:
            dst = int(t.ptr) + y * t.pitch + x * 4
            w = min(layer.w, t.w - x)
            h = min(layer.h, t.h - y)
            must(rt.cudaMemcpy2DAsync(
                dst, t.pitch, layer.ptr, layer.pitch, w * 4, h,
                rt.cudaMemcpyKind.cudaMemcpyDeviceToDevice, stream))

    def frame(self):
        self.graph.submit(self._draw)

    def close(self):
        must(rt.cudaStreamSynchronize(self.stream))
        self.graph.close()
        for layer, _, _ in self.layers:
            layer.free()
        self.target.free()
        must(rt.cudaStreamDestroy(self.stream))
