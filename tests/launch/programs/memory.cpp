// Holds memory of every kind, at places that the tests know; an argument chooses what is done besides.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

static const size_t MIB = 1 << 20;

__attribute__((noinline)) static void *take(size_t bytes) {
    void *memory = nullptr;
    cudaMalloc(&memory, bytes);
    return memory;
}

__attribute__((noinline)) static CUmemGenericAllocationHandle back(size_t bytes) {
    CUmemAllocationProp properties = {};
    CUmemGenericAllocationHandle handle = 0;
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    cuMemCreate(&handle, bytes, &properties, 0);
    return handle;
}

static void every_kind() {
    void *pitched, *managed, *ordered, *host;
    cudaArray_t array;
    size_t pitch;
    const cudaChannelFormatDesc floats = {32, 32, 0, 0, cudaChannelFormatKindFloat};
    cudaMallocPitch(&pitched, &pitch, 1000, 1024);
    cudaMallocManaged(&managed, 3 * MIB);
    cudaMallocAsync(&ordered, 5 * MIB, nullptr);
    cudaMallocHost(&host, 7 * MIB);
    cudaMallocArray(&array, &floats, 1024, 512);
    cudaFreeAsync(ordered, nullptr);
    cudaFreeHost(host);
}

static void rise_and_fall() {
    void *blocks[8];
    for (void *&block : blocks) block = take(16 * MIB);
    for (void *block : blocks) cudaFree(block);
    cudaMalloc(&blocks[0], 100 * MIB);
    cudaFree(blocks[0]);
    take(MIB);
}

static void unmap_last() {
    const CUmemGenericAllocationHandle handle = back(32 * MIB);
    CUdeviceptr address;
    cuMemAddressReserve(&address, 32 * MIB, 0, 0, 0);
    cuMemMap(address, 32 * MIB, 0, handle, 0);
    cuMemRelease(handle);
    take(MIB);
    cuMemUnmap(address, 32 * MIB);
    take(MIB);
}

static void exhaust() {
    void *memory = nullptr;
    take(MIB);
    while (cudaMalloc(&memory, 4096 * MIB) == cudaSuccess) {
    }
    printf("%d\n", cudaMalloc(&memory, 4096 * MIB));
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    cudaFree(nullptr);
    if (!strcmp(what, "every-kind")) every_kind();
    if (!strcmp(what, "rise-and-fall")) rise_and_fall();
    if (!strcmp(what, "unmap-last")) unmap_last();
    if (!strcmp(what, "exhaust")) exhaust();
    if (!strcmp(what, "reset")) {
        take(64 * MIB);
        cudaDeviceReset();
    }
    if (!strcmp(what, "loop"))
        for (int i = 0; i < 20000; i++) cudaFree(take(MIB));
    return 0;
}
