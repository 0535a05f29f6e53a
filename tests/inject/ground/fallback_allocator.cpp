// Memory for a solver: on the device if there is room, else managed, else pinned memory of the host, which the device
// reads over the bus. Only "out of memory" leads on to the next kind; the result line says what each block became.

#include <cuda_runtime_api.h>

#include <cstdio>
#include <initializer_list>

namespace {

enum Kind { DEVICE, MANAGED, PINNED, NONE };
const char* const NAMES[] = {"device", "managed", "pinned", "none"};
const char* const CALLS[] = {"cudaMalloc", "cudaMallocManaged", "cudaMallocHost"};

struct Block {
    void* address = nullptr;
    size_t bytes = 0;
    Kind kind = NONE;
};

const char STEP[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry step(.param .u64 matrix, .param .u64 vector) { ret; }\n";

bool fine(const char* call, cudaError_t status) {
    if (status != cudaSuccess) std::fprintf(stderr, "solver: %s failed: %s\n", call, cudaGetErrorName(status));
    return status == cudaSuccess;
}

cudaError_t take(Block& block, Kind kind) {
    if (kind == DEVICE) return cudaMalloc(&block.address, block.bytes);
    if (kind == MANAGED) return cudaMallocManaged(&block.address, block.bytes, cudaMemAttachGlobal);
    return cudaMallocHost(&block.address, block.bytes);
}

bool allocate(Block& block, size_t bytes, Kind preferred) {
    cudaError_t status = cudaErrorMemoryAllocation;
    int kind = preferred;
    block.bytes = bytes;
    for (; kind <= PINNED; ++kind) {
        status = take(block, static_cast<Kind>(kind));
        if (status != cudaErrorMemoryAllocation) break;
        (void)cudaGetLastError();  // it is dealt with here: no later check shall see it
    }
    if (status == cudaSuccess) block.kind = static_cast<Kind>(kind);
    if (kind > PINNED) kind = preferred;  // all were refused: the first is told
    return fine(CALLS[kind], status);
}

bool release(Block& block) {
    const Kind kind = block.kind;
    block.kind = NONE;
    if (kind == NONE) return true;
    if (kind == PINNED) return fine("cudaFreeHost", cudaFreeHost(block.address));
    return fine("cudaFree", cudaFree(block.address));
}

bool iterate(cudaKernel_t step, const Block& matrix, const Block& vector) {
    void* arguments[] = {const_cast<void**>(&matrix.address), const_cast<void**>(&vector.address)};
    for (int i = 0; i < 3; ++i) {
        (void)cudaLaunchKernel(step, dim3(64), dim3(128), arguments, 0, nullptr);
        if (!fine("launch of step", cudaGetLastError())) return false;
    }
    return fine("cudaDeviceSynchronize", cudaDeviceSynchronize());
}

bool solve(cudaKernel_t step, Block& matrix, Block& vector, Block& result) {
    if (!allocate(matrix, 4 << 20, DEVICE)) return false;
    if (!allocate(vector, 64 << 10, MANAGED)) return false;
    if (!allocate(result, 64 << 10, PINNED)) return false;
    if (!fine("cudaMemset(matrix)", cudaMemset(matrix.address, 0, matrix.bytes))) return false;
    if (!fine("cudaMemset(vector)", cudaMemset(vector.address, 1, vector.bytes))) return false;
    if (!iterate(step, matrix, vector)) return false;
    return fine("cudaMemcpy", cudaMemcpy(result.address, vector.address, result.bytes, cudaMemcpyDefault));
}

}  // namespace

int main() {
    cudaLibrary_t library = nullptr;
    cudaKernel_t step = nullptr;
    Block matrix, vector, result;
    if (!fine("cudaLibraryLoadData", cudaLibraryLoadData(&library, STEP, nullptr, nullptr, 0, nullptr, nullptr, 0)))
        return 1;
    bool solved = fine("cudaLibraryGetKernel", cudaLibraryGetKernel(&step, library, "step"));
    if (solved) solved = solve(step, matrix, vector, result);
    const char* kinds[] = {NAMES[matrix.kind], NAMES[vector.kind], NAMES[result.kind]};
    for (Block* block : {&result, &vector, &matrix}) solved = release(*block) && solved;
    solved = fine("cudaLibraryUnload", cudaLibraryUnload(library)) && solved;
    if (!solved) return 1;
    std::printf("solver: matrix in %s, vector in %s, result in %s memory\n", kinds[0], kinds[1], kinds[2]);
    return 0;
}
