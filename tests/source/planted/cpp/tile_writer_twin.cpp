#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static int report(cudaError_t e, const char* what)
{
    if (e == cudaSuccess)
        return 0;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
    return 1;
}

int load_tile(const char* path, void* d_tile, size_t bytes, cudaStream_t stream)
{
    void* tile = std::malloc(bytes);
    if (!tile)
        return 1;
    std::FILE* in = std::fopen(path, "rb");
    if (!in) {
        std::free(tile);
        return 1;
    }
    size_t got = std::fread(tile, 1, bytes, in);
    std::fclose(in);
    if (got < bytes)
        std::memset(static_cast<char*>(tile) + got, 0, bytes - got);
    if (report(cudaHostRegister(tile, bytes, cudaHostRegisterDefault), "register")) {
        std::free(tile);
        return 1;
    }
    int failed = report(cudaMemcpyAsync(d_tile, tile, bytes, cudaMemcpyHostToDevice, stream), "copy");
    failed |= report(cudaStreamSynchronize(stream), "sync");
    failed |= report(cudaHostUnregister(tile), "unregister");
    std::free(tile);
    return failed;
}
