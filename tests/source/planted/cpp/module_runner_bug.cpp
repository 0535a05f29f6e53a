#include <cuda.h>
#include <cstdio>

static bool good(CUresult r, const char* what)
{
    if (r == CUDA_SUCCESS)
        return true;
    const char* text = nullptr;
    cuGetErrorString(r, &text);
    std::fprintf(stderr, "%s: %s\n", what, text ? text : "?");
    return false;
}

bool run_kernel(const char* image, CUdeviceptr in, CUdeviceptr out, int n, CUstream stream)
{
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    if (!good(cuModuleLoadData(&module, image), "load"))
        return false;
    if (!good(cuModuleGetFunction(&function, module, "transform"), "lookup")) {
        cuModuleUnload(module);
        return false;
    }
    if (!good(cuModuleUnload(module), "unload"))
        return false;
    void* args[] = {&in, &out, &n};
    unsigned int blocks = (n + 255) / 256;
    bool launched = good(cuLaunchKernel(function, blocks, 1, 1, 256, 1, 1, 0, stream, args, nullptr), "launch");
    bool finished = good(cuStreamSynchronize(stream), "synchronize");
    return launched && finished;
}
