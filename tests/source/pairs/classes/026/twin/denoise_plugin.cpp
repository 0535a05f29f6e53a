#include <cuda.h>
#include <stdint.h>
#include <stdio.h>

// Host application owns the current context of its threads; the plugin
// works in a context of its own and has to leave the caller's stack as it was.

extern const char kDenoisePtx[];

namespace {

bool good(CUresult r, const char* what)
{
    if (r == CUDA_SUCCESS) return true;
    const char* name = 0;
    cuGetErrorName(r, &name);
    fprintf(stderr, "[denoise] %s: %s\n", what, name ? name : "?");
    return false;
}

} // namespace

class DenoisePlugin {
public:
    DenoisePlugin() : dev_(0), ctx_(0), mod_(0), fn_(0), buf_(0), bytes_(0) {}

    ~DenoisePlugin()
    {
        if (!ctx_) return;
        if (cuCtxPushCurrent(ctx_) == CUDA_SUCCESS) {
            if (buf_) cuMemFree(buf_);
            if (mod_) cuModuleUnload(mod_);
            cuCtxPopCurrent(0);
        }
        cuDevicePrimaryCtxRelease(dev_);
    }

    bool open(int ordinal)
    {
        if (fn_) return true;
        if (!ctx_) {
            if (!good(cuInit(0), "cuInit")) return false;
            if (!good(cuDeviceGet(&dev_, ordinal), "cuDeviceGet")) return false;
            if (!good(cuDevicePrimaryCtxRetain(&ctx_, dev_), "retain")) {
                ctx_ = 0;
                return false;
            }
        }
        if (!good(cuCtxPushCurrent(ctx_), "push")) return false;
        bool ok = mod_ || good(cuModuleLoadData(&mod_, kDenoisePtx), "load");
        ok = ok && good(cuModuleGetFunction(&fn_, mod_, "median3x3"), "function");
        cuCtxPopCurrent(0);
        return ok;
    }

    bool process(uint8_t* px, int w, int h)
    {
        if (!ctx_ || !fn_) return false;
        if (!good(cuCtxPushCurrent(ctx_), "push")) return false;
        const size_t plane = (size_t)w * h;
        if (!grow(2 * plane)) {
            cuCtxPopCurrent(0);
            return false;
        }
        CUdeviceptr src = buf_, dst = buf_ + plane;
        void* args[] = { &src, &dst, &w, &h };
        bool ok = good(cuMemcpyHtoD(src, px, plane), "htod") &&
                  good(cuLaunchKernel(fn_, (w + 15) / 16, (h + 15) / 16, 1, 16, 16, 1, 0, 0, args, 0), "launch") &&
                  good(cuMemcpyDtoH(px, dst, plane), "dtoh");
        cuCtxPopCurrent(0);
        return ok;
    }

private:
    DenoisePlugin(const DenoisePlugin&);
    DenoisePlugin& operator=(const DenoisePlugin&);

    bool grow(size_t bytes)
    {
        if (bytes <= bytes_) return true;
        if (buf_) cuMemFree(buf_);
        buf_ = 0;
        bytes_ = 0;
        if (!good(cuMemAlloc(&buf_, bytes), "alloc")) {
            buf_ = 0;
            return false;
        }
        bytes_ = bytes;
        return true;
    }

    CUdevice dev_;
    CUcontext ctx_;
    CUmodule mod_;
    CUfunction fn_;
    CUdeviceptr buf_;
    size_t bytes_;
};
