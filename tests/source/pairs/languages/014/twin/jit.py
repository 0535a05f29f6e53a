import hashlib
import os
import tempfile

from cuda.bindings import driver, nvrtc, runtime

_NV_OK = nvrtc.nvrtcResult.NVRTC_SUCCESS


class CompileError(Exception):
    pass


def _nv(ret):
    if ret[0] != _NV_OK:
        _, s = nvrtc.nvrtcGetErrorString(ret[0])
        raise CompileError(s.decode())
    return ret[1] if len(ret) > 1 else None


def _arch(device):
    A = runtime.cudaDeviceAttr
    e1, major = runtime.cudaDeviceGetAttribute(A.cudaDevAttrComputeCapabilityMajor, device)
    e2, minor = runtime.cudaDeviceGetAttribute(A.cudaDevAttrComputeCapabilityMinor, device)
    if int(e1) or int(e2):
        raise CompileError(f"no device {device}")
    return f"sm_{major}{minor}"


def _compile(source, name, options):
    prog = _nv(nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), 0, None, None))
    try:
        opts = [o.encode() for o in options]
        err, = nvrtc.nvrtcCompileProgram(prog, len(opts), opts)
        if err != _NV_OK:
            n = _nv(nvrtc.nvrtcGetProgramLogSize(prog))
            text = b" " * n
            _nv(nvrtc.nvrtcGetProgramLog(prog, text))
            raise CompileError(text.rstrip(b"\0 ").decode(errors="replace"))
        n = _nv(nvrtc.nvrtcGetCUBINSize(prog))
        code = b" " * n
        _nv(nvrtc.nvrtcGetCUBIN(prog, code))
        return code
    finally:
        nvrtc.nvrtcDestroyProgram(prog)


class KernelCache:
    def __init__(self, root, device=0):
        self.root = root
        self.arch = _arch(device)
        err, = runtime.cudaSetDevice(device)
        if int(err):
            raise CompileError(f"cudaSetDevice: {int(err)}")
        self.modules = {}
        os.makedirs(root, exist_ok=True)

    def _blob(self, source, name, options):
        opts = [f"--gpu-architecture={self.arch}", "--std=c++17", *options]
        h = hashlib.sha256("\0".join([source, *opts]).encode()).hexdigest()
        path = os.path.join(self.root, h + ".cubin")
        if os.path.exists(path):
            with open(path, "rb") as f:
                return h, f.read()
        blob = _compile(source, name, opts)
        fd, tmp = tempfile.mkstemp(dir=self.root)
        with os.fdopen(fd, "wb") as f:
            f.write(blob)
        os.replace(tmp, path)
        return h, blob

    def function(self, source, entry, options=()):
        h, blob = self._blob(source, entry + ".cu", list(options))
        mod = self.modules.get(h)
        if mod is None:
            err, mod = driver.cuModuleLoadData(blob)
            if int(err):
                raise CompileError(f"cuModuleLoadData: {int(err)}")
            self.modules[h] = mod
        err, fn = driver.cuModuleGetFunction(mod, entry.encode())
        if int(err):
            raise CompileError(f"{entry}: {int(err)}")
        return fn

    def clear(self):
        for mod in self.modules.values():
            driver.cuModuleUnload(mod)
        self.modules.clear()
