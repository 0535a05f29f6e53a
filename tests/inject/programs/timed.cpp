// Drops an error and says how long it took, which two runs have in common by luck: timed FILE, in which it counts its runs.
#include <cuda_runtime.h>

#include <cstdio>

int main(int, char** words) {
    FILE* runs = fopen(words[1], "a");
    if (!runs) return 2;
    fputc('.', runs);
    const long count = ftell(runs);
    fclose(runs);
    cudaDeviceSynchronize();
    printf("1 warning in 0.%d s\n", count > 2 ? 2 : 1);
    return 0;
}
