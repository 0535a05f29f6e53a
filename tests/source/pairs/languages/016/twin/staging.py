import ctypes
import mmap

_rt = ctypes.CDLL("libcudart.so.12")
_rt.cudaHostRegister.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint]
_rt.cudaHostUnregister.argtypes = [ctypes.c_void_p]
_rt.cudaMemcpyAsync.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                                ctypes.c_int, ctypes.c_void_p]
_rt.cudaStreamSynchronize.argtypes = [ctypes.c_void_p]
_rt.cudaGetErrorString.argtypes = [ctypes.c_int]
_rt.cudaGetErrorString.restype = ctypes.c_char_p

H2D = 1


def _chk(rc):
    if rc:
        raise OSError(rc, _rt.cudaGetErrorString(rc).decode())


class PinnedRegion:
    def __init__(self, nbytes):
        self.nbytes = (nbytes + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE
        self.map = mmap.mmap(-1, self.nbytes)
        self.addr = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        rc = _rt.cudaHostRegister(self.addr, self.nbytes, 0)
        if rc:
            self.map.close()
            _chk(rc)

    def close(self):
        if self.map.closed:
            return
        _chk(_rt.cudaHostUnregister(self.addr))
        self.map.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


class ColumnLoader:
    """Streams column files of an ETL job to device columns."""

    def __init__(self, stream, chunk=32 << 20):
        self.stream = stream
        self.chunk = chunk

    def load(self, path, offset, nbytes, dptr):
        with open(path, "rb", buffering=0) as f, \
                PinnedRegion(min(self.chunk, max(nbytes, 1))) as reg:
            f.seek(offset)
            pos = 0
            while pos < nbytes:
                want = min(reg.nbytes, nbytes - pos)
                reg.map.seek(0)
                data = f.read(want)
                if not data:
                    raise EOFError(f"{path}: short column")
                reg.map.write(data)
                _chk(_rt.cudaMemcpyAsync(dptr + pos, reg.addr, len(data), H2D, self.stream))
                _chk(_rt.cudaStreamSynchronize(self.stream))
                pos += len(data)
        return pos


def load_table(stream, manifest, arena):
    loader = ColumnLoader(stream)
    table = {}
    for col in manifest:
        dptr = arena.alloc(col["bytes"])
        loader.load(col["path"], col["offset"], col["bytes"], dptr)
        table[col["name"]] = dptr
    return table
