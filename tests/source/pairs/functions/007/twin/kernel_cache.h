#ifndef EFFECTS_KERNEL_CACHE_H
#define EFFECTS_KERNEL_CACHE_H

#include <cuda.h>
#include <map>
#include <stdexcept>
#include <string>

namespace effects {

inline void drv(CUresult r, const std::string &what)
{
    if (r == CUDA_SUCCESS) return;
    const char *s = 0;
    cuGetErrorString(r, &s);
    throw std::runtime_error(what + ": " + (s ? s : "unknown"));
}

// Functions of one .cubin, looked up once and kept by name.
class KernelCache {
public:
    explicit KernelCache(const std::string &path) : module_(0), path_(path)
    {
        drv(cuModuleLoad(&module_, path_.c_str()), path_);
    }

    ~KernelCache() { if (module_) cuModuleUnload(module_); }

    CUfunction get(const std::string &name)
    {
        std::map<std::string, CUfunction>::const_iterator it = fns_.find(name);
        if (it != fns_.end()) return it->second;
        CUfunction f;
        drv(cuModuleGetFunction(&f, module_, name.c_str()), name);
        fns_[name] = f;
        return f;
    }

    // Called by the file watcher when the artist rebuilt the effect.
    void reload()
    {
        CUmodule fresh;
        drv(cuModuleLoad(&fresh, path_.c_str()), path_);
        CUresult r = cuCtxSynchronize();
        if (r != CUDA_SUCCESS) {
            cuModuleUnload(fresh);
            drv(r, "reload");
        }
        cuModuleUnload(module_);
        module_ = fresh;
        fns_.clear();
    }

private:
    KernelCache(const KernelCache &);
    KernelCache &operator=(const KernelCache &);

    CUmodule module_;
    std::string path_;
    std::map<std::string, CUfunction> fns_;
};

}  // namespace effects

#endif
