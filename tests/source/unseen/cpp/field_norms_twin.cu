#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <vector>

static void verify(cudaError_t rc, const char* op) {
    if (rc != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", op, cudaGetErrorString(rc));
        throw std::runtime_error(op);
    }
}

template <typename T>
class Field {
public:
    explicit Field(size_t n) : size_(n) {
        verify(cudaMalloc(reinterpret_cast<void**>(&data_), n * sizeof(T)), "cudaMalloc");
    }
    Field(const Field&) = delete;
    Field& operator=(const Field&) = delete;
    ~Field() { cudaFree(data_); }

    T* data() { return data_; }
    const T* data() const { return data_; }
    size_t size() const { return size_; }

private:
    T* data_ = nullptr;
    size_t size_;
};

__global__ void ramp(float* v, size_t n, float slope) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) v[i] = slope * i;
}

template <typename T>
double norm2(const Field<T>& field) {
    std::vector<T> host(field.size());
    verify(cudaMemcpy(host.data(), field.data(), host.size() * sizeof(T), cudaMemcpyDeviceToHost),
           "norm2 copy");
    double acc = 0.0;
    for (T v : host) acc += static_cast<double>(v) * v;
    return std::sqrt(acc);
}

int main() {
    try {
        Field<float> pressure(1 << 15);
        for (float slope : {0.5f, 1.0f, 2.0f}) {
            const unsigned grid = static_cast<unsigned>((pressure.size() + 255) / 256);
            ramp<<<grid, 256>>>(pressure.data(), pressure.size(), slope);
            verify(cudaGetLastError(), "ramp");
            std::printf("slope %.1f norm %.3f\n", slope, norm2(pressure));
        }
    } catch (const std::exception& e) {
        return 1;
    }
    return 0;
}
