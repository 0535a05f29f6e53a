// Launches whose errors nobody asks for. Of an optimised program the compiler puts the stub of a template in line.
#include <cstdio>

__global__ void store(int* memory) { *memory = 1; }

template <class T>
__global__ void fill(T* memory, T value) {
    *memory = value;
}

int main() {
    int* memory = nullptr;
    if (cudaMalloc(&memory, 64)) return 1;
    store<<<1, 1>>>(memory);
    fill<int><<<1, 1>>>(memory, 2);
    if (cudaFree(memory)) return 1;
    puts("done");
    return 0;
}
