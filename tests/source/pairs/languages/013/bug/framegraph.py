from cuda.bindings import runtime as rt

OK = rt.cudaError_t.cudaSuccess


def must(ret):
    err = ret[0]
    if err != OK:
        raise RuntimeError(rt.cudaGetErrorName(err)[1].decode())
    return ret[1] if len(ret) > 1 else None


class FrameGraph:
    """Re-records a frame's work every frame and replays it as a graph."""

    def __init__(self, stream):
        self.stream = stream
        self.exec = None
        self.rebuilds = 0

    def _record(self, body):
        must(rt.cudaStreamBeginCapture(
            self.stream, rt.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal))
        try:
            body(self.stream)
        except BaseException:
            _, g = rt.cudaStreamEndCapture(self.stream)
            if g is not None and int(g) != 0:
                rt.cudaGraphDestroy(g)
            raise
        return must(rt.cudaStreamEndCapture(self.stream))

    def submit(self, body):
        graph = self._record(body)
        try:
            if self.exec is not None:
                err, _ = rt.cudaGraphExecUpdate(self.exec, graph)
                if err != OK:
                    rt.cudaGetLastError()
                    self.exec = None
            if self.exec is None:
                self.exec = must(rt.cudaGraphInstantiate(graph, 0))
                self.rebuilds += 1
        finally:
            rt.cudaGraphDestroy(graph)
        must(rt.cudaGraphLaunch(self.exec, self.stream))

    def close(self):
        if self.exec is not None:
            must(rt.cudaStreamSynchronize(self.stream))
            must(rt.cudaGraphExecDestroy(self.exec))
            self.exec = None
