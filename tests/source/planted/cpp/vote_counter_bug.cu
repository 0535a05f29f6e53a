#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define SAFE(call)                                                                          \
    {                                                                                       \
        cudaError_t err = call;                                                             \
        if (cudaSuccess != err) {                                                           \
            fprintf(stderr, "Cuda error in file '%s' in line %i : %s.\n", __FILE__, __LINE__, cudaGetErrorString(err)); \
            exit(EXIT_FAILURE);                                                             \
        }                                                                                   \
    }

const int kCandidates = 64;

__global__ void count_votes(const int* votes, int n, int* tally)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(tally + votes[i], 1);
}

int winner(const int* d_votes, int n)
{
    int* d_tally = NULL;
    int tally[kCandidates];
    SAFE(cudaMalloc((void**)&d_tally, kCandidates * sizeof(int)));
    SAFE(cudaMemset(d_tally, 0, sizeof(d_tally)));
    count_votes<<<64, 128>>>(d_votes, n, d_tally);
    SAFE(cudaGetLastError());
    SAFE(cudaMemcpy(tally, d_tally, sizeof(tally), cudaMemcpyDeviceToHost));
    SAFE(cudaFree(d_tally));
    int best = 0;
    for (int i = 1; i < kCandidates; ++i)
        if (tally[i] > tally[best])
            best = i;
    return best;
}
