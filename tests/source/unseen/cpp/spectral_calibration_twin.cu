#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define GPU(x) do { cudaError_t r = (x); if (r != cudaSuccess) { \
    fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(r)); exit(2); } } while (0)

__global__ void darkCurrent(float* acc, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) acc[i] = 0.01f * (i % 13);
}

__global__ void applyGain(float* samples, const float* gain, float dark, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) samples[i] = (samples[i] - dark) * gain[i];
}

static float calibrate(int n) {
    std::vector<float> host(n);
    float* acc = nullptr;
    GPU(cudaMalloc(&acc, n * sizeof(float)));
    darkCurrent<<<(n + 255) / 256, 256>>>(acc, n);
    GPU(cudaGetLastError());
    GPU(cudaMemcpy(host.data(), acc, n * sizeof(float), cudaMemcpyDeviceToHost));
    GPU(cudaFree(acc));
    GPU(cudaDeviceSynchronize());
    double sum = 0;
    for (float v : host) sum += v;
    return static_cast<float>(sum / n);
}

int main() {
    const int n = 1 << 16;
    std::vector<float> gain(n, 1.25f), samples(n, 3.0f);

    float* dGain = nullptr;
    GPU(cudaMalloc(&dGain, n * sizeof(float)));
    GPU(cudaMemcpy(dGain, gain.data(), n * sizeof(float), cudaMemcpyHostToDevice));

    const float dark = calibrate(n);

    float* dSamples = nullptr;
    GPU(cudaMalloc(&dSamples, n * sizeof(float)));
    GPU(cudaMemcpy(dSamples, samples.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    applyGain<<<(n + 255) / 256, 256>>>(dSamples, dGain, dark, n);
    GPU(cudaGetLastError());
    GPU(cudaMemcpy(samples.data(), dSamples, n * sizeof(float), cudaMemcpyDeviceToHost));
    printf("sample[0]=%f\n", samples[0]);

    GPU(cudaFree(dSamples));
    GPU(cudaFree(dGain));
    return 0;
}
