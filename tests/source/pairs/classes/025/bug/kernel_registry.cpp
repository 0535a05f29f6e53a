#include "kernel_registry.h"

namespace jit {

CUfunction KernelRegistry::find(const std::string& expr)
{
    auto it = entries_.find(expr);
    if (it != entries_.end()) return it->second.fn;

    auto module = std::make_shared<Module>(compile_(expr));
    Entry e;
    e.fn = module->function("expr_kernel");
    entries_.emplace(expr, e);
    return e.fn;
}

void KernelRegistry::evaluate(const std::string& expr, CUdeviceptr in, CUdeviceptr out, int n, CUstream s)
{
    if (n <= 0) return;
    CUfunction fn = find(expr);

    int block = 0, minGrid = 0;
    drv(cuOccupancyMaxPotentialBlockSize(&minGrid, &block, fn, nullptr, 0, 0), "occupancy");
    const unsigned grid = static_cast<unsigned>((n + block - 1) / block);

    void* args[] = {&in, &out, &n};
    drv(cuLaunchKernel(fn, grid, 1, 1, static_cast<unsigned>(block), 1, 1, 0, s, args, nullptr),
        "cuLaunchKernel");
}

} // namespace jit
