#include <cuda.h>
#include <cuda_runtime.h>
#include <string.h>

#include <vector>

static std::vector<char> buffer(8 << 20);

static void grow() {
    cudaHostRegister(buffer.data(), buffer.size(), 0);
    buffer.resize(64 << 20);
    cudaHostUnregister(buffer.data());
}

static void uninitialised() {
    CUdevice device;
    CUcontext context;
    cuDeviceGet(&device, 0);
    cuDevicePrimaryCtxRetain(&context, device);
}

static void asked() {
    int here, can;
    cudaPointerAttributes attributes;
    cudaPointerGetAttributes(&attributes, &here);
    cudaDeviceCanAccessPeer(&can, 0, 1);
    cudaStreamQuery(0);
}

int main(int, char** argv) {
    char* memory;
    if (!strcmp(argv[1], "uninitialised")) return uninitialised(), 0;
    cudaMalloc(&memory, 4096);
    if (!strcmp(argv[1], "moved")) grow();
    if (!strcmp(argv[1], "pitch")) cudaMemset2D(memory, 16, 0, 64, 8);
    if (!strcmp(argv[1], "empty")) cudaMemcpy(memory, std::vector<char>().data(), 4096, cudaMemcpyHostToDevice);
    if (!strcmp(argv[1], "large")) cudaHostRegister(memory, size_t{4} << 40, 0);
    if (!strcmp(argv[1], "device")) cudaSetDevice(1);
    if (!strcmp(argv[1], "peer")) cudaDeviceEnablePeerAccess(1, 0);
    if (!strcmp(argv[1], "copy")) cudaMemcpyPeer(nullptr, 0, nullptr, 1, 16);
    if (!strcmp(argv[1], "properties")) cudaGetDeviceProperties(new cudaDeviceProp, -1);
    if (!strcmp(argv[1], "asked")) asked();
}
