#pragma once
#include <cuda.h>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

namespace jit {

inline void drv(CUresult r, const char* where)
{
    if (r == CUDA_SUCCESS) return;
    const char* s = nullptr;
    cuGetErrorString(r, &s);
    throw std::runtime_error(std::string(where) + ": " + (s ? s : "unknown"));
}

class Module {
public:
    explicit Module(const std::string& ptx) { drv(cuModuleLoadData(&m_, ptx.c_str()), "cuModuleLoadData"); }
    ~Module() { cuModuleUnload(m_); }
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    CUfunction function(const std::string& name) const
    {
        CUfunction f = nullptr;
        drv(cuModuleGetFunction(&f, m_, name.c_str()), name.c_str());
        return f;
    }

private:
    CUmodule m_ = nullptr;
};

// Compiled expression kernels by expression text. Not thread safe; the
// context must be current for all calls and for the destructor, which is
// to run after the launched work has finished.
class KernelRegistry {
public:
    using Compiler = std::string (*)(const std::string& expr);
    explicit KernelRegistry(Compiler c) : compile_(c) {}

    CUfunction find(const std::string& expr);
    void evaluate(const std::string& expr, CUdeviceptr in, CUdeviceptr out, int n, CUstream s);

private:
    struct Entry {
        CUfunction fn = nullptr;
    };
    Compiler compile_;
    std::map<std::string, Entry> entries_;
};

} // namespace jit
