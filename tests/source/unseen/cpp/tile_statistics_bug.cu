#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CK(expr)                                                              \
    do {                                                                      \
        cudaError_t e_ = (expr);                                              \
        if (e_ != cudaSuccess) {                                              \
            std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__,            \
                         cudaGetErrorString(e_));                             \
            std::exit(EXIT_FAILURE);                                          \
        }                                                                     \
    } while (0)

struct Tile {
    int row, col;
    std::vector<float> heights;
};

__global__ void countAbove(const float* h, int n, float level, int* hits) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && h[i] > level) atomicAdd(hits, 1);
}

static bool allWater(const Tile& t) {
    for (float h : t.heights)
        if (h > 0.0f) return false;
    return true;
}

long scan(const std::vector<Tile>& tiles, float level) {
    long total = 0;
    int* dHits = nullptr;
    CK(cudaMalloc(&dHits, sizeof(int)));
    for (const Tile& t : tiles) {
        if (t.heights.empty()) continue;
        const size_t bytes = t.heights.size() * sizeof(float);
        float* dHeights = nullptr;
        CK(cudaMalloc(&dHeights, bytes));
        if (allWater(t)) {
            std::printf("tile %d,%d skipped\n", t.row, t.col);
            continue;
        }
        CK(cudaMemcpy(dHeights, t.heights.data(), bytes, cudaMemcpyHostToDevice));
        CK(cudaMemset(dHits, 0, sizeof(int)));
        int n = static_cast<int>(t.heights.size());
        countAbove<<<(n + 127) / 128, 128>>>(dHeights, n, level, dHits);
        CK(cudaGetLastError());
        int hits = 0;
        CK(cudaMemcpy(&hits, dHits, sizeof(int), cudaMemcpyDeviceToHost));
        total += hits;
        CK(cudaFree(dHeights));
    }
    CK(cudaFree(dHits));
    return total;
}

int main() {
    std::vector<Tile> tiles;
    for (int r = 0; r < 8; ++r)
        for (int c = 0; c < 8; ++c)
            tiles.push_back({r, c, std::vector<float>(4096, (r + c) % 3 - 0.5f)});
    std::printf("above level: %ld\n", scan(tiles, 1.0f));
    return 0;
}
