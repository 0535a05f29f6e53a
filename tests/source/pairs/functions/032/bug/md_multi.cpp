// Molecular dynamics demo: the same force kernel on every GPU, driver API.
#include <cuda.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace md {

static void ok(CUresult r, const char* what) {
    if (r == CUDA_SUCCESS) return;
    const char* name = nullptr;
    cuGetErrorName(r, &name);
    throw std::runtime_error(std::string(what) + " " + (name ? name : "?"));
}

struct Part {
    CUdevice dev = 0;
    CUcontext ctx = nullptr;
    CUmodule mod = nullptr;
    CUdeviceptr pos = 0, frc = 0;
    int atoms = 0;
};

class Cluster {
public:
    Cluster(const char* ptx, int atoms_per_gpu) {
        ok(cuInit(0), "init");
        int n = 0;
        ok(cuDeviceGetCount(&n), "count");
        parts_.resize(n);
        try {
            for (int i = 0; i < n; ++i) setup(parts_[i], i, ptx, atoms_per_gpu);
        } catch (...) {
            teardown();
            throw;
        }
    }
    ~Cluster() { teardown(); }
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    int gpus() const { return int(parts_.size()); }

    void upload(int gpu, const float* xyz) {
        Part& p = parts_[gpu];
        ok(cuCtxSetCurrent(p.ctx), "ctx");
        ok(cuMemcpyHtoD(p.pos, xyz, size_t(p.atoms) * 3 * sizeof(float)), "upload");
    }

    void compute(float cutoff) {
        for (Part& p : parts_) {
            ok(cuCtxSetCurrent(p.ctx), "ctx");
            void* args[] = {&p.pos, &p.frc, &p.atoms, &cutoff};
            ok(cuLaunchKernel(forces_, (p.atoms + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr,
                              args, nullptr), "launch");
        }
        for (Part& p : parts_) {
            ok(cuCtxSetCurrent(p.ctx), "ctx");
            ok(cuCtxSynchronize(), "sync");
        }
    }

    void download(int gpu, float* f) {
        Part& p = parts_[gpu];
        ok(cuCtxSetCurrent(p.ctx), "ctx");
        ok(cuMemcpyDtoH(f, p.frc, size_t(p.atoms) * 3 * sizeof(float)), "download");
    }

private:
    void setup(Part& p, int ordinal, const char* ptx, int atoms) {
        ok(cuDeviceGet(&p.dev, ordinal), "device");
        ok(cuDevicePrimaryCtxRetain(&p.ctx, p.dev), "retain");
        ok(cuCtxSetCurrent(p.ctx), "ctx");
        ok(cuModuleLoadData(&p.mod, ptx), "module");
        if (!forces_) ok(cuModuleGetFunction(&forces_, p.mod, "lj_forces"), "lj_forces");
        p.atoms = atoms;
        ok(cuMemAlloc(&p.pos, size_t(atoms) * 3 * sizeof(float)), "pos");
        ok(cuMemAlloc(&p.frc, size_t(atoms) * 3 * sizeof(float)), "frc");
    }

    void teardown() {
        for (Part& p : parts_) {
            if (!p.ctx) continue;
            cuCtxSetCurrent(p.ctx);
            if (p.frc) cuMemFree(p.frc);
            if (p.pos) cuMemFree(p.pos);
            if (p.mod) cuModuleUnload(p.mod);
            cuCtxSetCurrent(nullptr);
            cuDevicePrimaryCtxRelease(p.dev);
            p = Part();
        }
    }

    std::vector<Part> parts_;
    CUfunction forces_ = nullptr;
};

float max_force(const char* ptx, const std::vector<std::vector<float>>& shards) {
    int atoms = int(shards.at(0).size() / 3);
    Cluster c(ptx, atoms);
    if (int(shards.size()) != c.gpus()) throw std::invalid_argument("one shard per gpu");
    for (int g = 0; g < c.gpus(); ++g) c.upload(g, shards[g].data());
    c.compute(9.0f);
    float best = 0.f;
    std::vector<float> f(size_t(atoms) * 3);
    for (int g = 0; g < c.gpus(); ++g) {
        c.download(g, f.data());
        for (float v : f) best = v > best ? v : best;
    }
    return best;
}

}  // namespace md
