"""Dictionary-decodes parquet-like columns on the GPU, one row group at a time."""
import numpy as np
from cuda.core.experimental import (
    Device,
    LaunchConfig,
    LegacyPinnedMemoryResource,
    Program,
    ProgramOptions,
    launch,
)

SRC = r"""
extern "C" __global__
void gather(const unsigned *codes, const float *dict, float *out, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = dict[codes[i]];
}
"""


class ColumnDecoder:
    def __init__(self, dictionary, max_rows):
        self.dev = Device()
        self.dev.set_current()
        arch = "".join(str(x) for x in self.dev.compute_capability)
        opts = ProgramOptions(std="c++17", arch=f"sm_{arch}")
        self.kernel = (
            Program(SRC, code_type="c++", options=opts)
            .compile("cubin")
            .get_kernel("gather")
        )
        self.max_rows = max_rows
        self.load = self.dev.create_stream()
        self.compute = self.dev.create_stream()

        pinned = LegacyPinnedMemoryResource()
        self.stage = pinned.allocate(4 * max_rows, stream=self.load)
        self.stage_np = np.from_dlpack(self.stage).view(np.uint32)

        dictionary = np.ascontiguousarray(dictionary, dtype=np.float32)
        self.dict_host = pinned.allocate(dictionary.nbytes, stream=self.load)
        np.from_dlpack(self.dict_host).view(np.float32)[:] = dictionary
        self.dict_dev = self.dev.allocate(dictionary.nbytes, stream=self.load)
        self.dict_dev.copy_from(self.dict_host, stream=self.load)
        self.compute.wait(self.load)

    def decode(self, codes, out):
        """Enqueues one row group; `out` is a device Buffer of float32."""
        n = len(codes)
        if n == 0 or n > self.max_rows:
            raise ValueError(f"row group of {n} rows")
        self.load.sync()
        self.stage_np[:n] = codes
        d_codes = self.dev.allocate(4 * self.max_rows, stream=self.load)
        d_codes.copy_from(self.stage, stream=self.load)

        self.compute.wait(self.load.record())
        cfg = LaunchConfig(grid=(n + 255) // 256, block=256)
        launch(
            self.compute, cfg, self.kernel,
            d_codes, self.dict_dev, out, np.uint64(n),
        )
        d_codes.close(self.load)

    def finish(self):
        self.load.sync()
        self.compute.sync()

    def close(self):
        self.finish()
        self.dict_dev.close(self.compute)
        self.compute.sync()
        self.stage_np = None
        self.stage.close()
        self.dict_host.close()
        self.load.close()
        self.compute.close()


def decode_groups(dec, reader):
    """One device Buffer of float32 per row group; the caller closes them."""
    outs = []
    try:
        for codes in reader:
            out = dec.dev.allocate(4 * len(codes), stream=dec.compute)
            outs.append(out)
            dec.decode(codes, out)
        dec.finish()
    except Exception:
        dec.finish()
        for out in outs:
            out.close(dec.compute)
        raise
    return outs
