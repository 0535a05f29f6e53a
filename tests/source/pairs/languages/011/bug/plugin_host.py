import os

from cuda.bindings import driver as drv

from drvcheck import DriverError, ok, pushed

REQUIRED = (b"filter_init", b"filter_run")


class Plugin:
    def __init__(self, ctx, path):
        self.ctx = ctx
        self.name = os.path.splitext(os.path.basename(path))[0]
        with open(path, "rb") as f:
            image = f.read()
        with pushed(ctx):
            self.module = ok(drv.cuModuleLoadData(image), "load " + self.name)
            self.entry = {}
            for sym in REQUIRED:
                self.entry[sym] = ok(
                    drv.cuModuleGetFunction(self.module, sym),
                    f"{self.name}:{sym.decode()}")

    def function(self, sym):
        return self.entry[sym]

    def unload(self):
        if self.module is None:
            return
        with pushed(self.ctx):
            ok(drv.cuCtxSynchronize(), "sync")
            ok(drv.cuModuleUnload(self.module), "unload")
        self.module = None
        self.entry = {}


class PluginHost:
    def __init__(self, ordinal=0):
        ok(drv.cuInit(0), "init")
        self.dev = ok(drv.cuDeviceGet(ordinal), "device")
        self.ctx = ok(drv.cuDevicePrimaryCtxRetain(self.dev), "retain")
        self.plugins = {}

    def rescan(self, folder):
        """Called every few seconds while the editor runs."""
        bad = []
        for fn in sorted(os.listdir(folder)):
            if not fn.endswith(".cubin"):
                continue
            key = fn[:-6]
            if key in self.plugins:
                continue
            try:
                self.plugins[key] = Plugin(self.ctx, os.path.join(folder, fn))
            except DriverError as e:
                bad.append(str(e))
        return bad

    def close(self):
        for p in self.plugins.values():
            p.unload()
        self.plugins.clear()
        if self.ctx is not None:
            ok(drv.cuDevicePrimaryCtxRelease(self.dev), "release")
            self.ctx = None
