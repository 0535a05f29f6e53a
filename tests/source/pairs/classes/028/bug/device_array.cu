#include <cuda_runtime.h>
#include <cstdint>
#include <iostream>
#include <new>
#include <vector>

namespace ga {

template <typename T>
class DeviceArray {
public:
    explicit DeviceArray(size_t count = 0) : count_(count) { allocate(); }

    explicit DeviceArray(const std::vector<T>& v) : count_(v.size())
    {
        allocate();
        if (count_ && cudaMemcpy(ptr_, v.data(), count_ * sizeof(T), cudaMemcpyHostToDevice) != cudaSuccess) {
            cudaFree(ptr_);
            throw std::bad_alloc();
        }
    }

    DeviceArray(const DeviceArray& o) : count_(o.count_)
    {
        allocate();
        if (count_ && cudaMemcpy(ptr_, o.ptr_, count_, cudaMemcpyDeviceToDevice) != cudaSuccess) {
            cudaFree(ptr_);
            throw std::bad_alloc();
        }
    }

    DeviceArray& operator=(DeviceArray o) noexcept
    {
        swap(o);
        return *this;
    }

    ~DeviceArray() { cudaFree(ptr_); }

    void swap(DeviceArray& o) noexcept
    {
        std::swap(ptr_, o.ptr_);
        std::swap(count_, o.count_);
    }

    T* data() { return ptr_; }
    const T* data() const { return ptr_; }
    size_t size() const { return count_; }

    std::vector<T> host() const
    {
        std::vector<T> v(count_);
        if (count_ && cudaMemcpy(v.data(), ptr_, count_ * sizeof(T), cudaMemcpyDeviceToHost) != cudaSuccess)
            throw std::bad_alloc();
        return v;
    }

private:
    void allocate()
    {
        if (count_ && cudaMalloc(&ptr_, count_ * sizeof(T)) != cudaSuccess) {
            ptr_ = nullptr;
            throw std::bad_alloc();
        }
    }

    T* ptr_ = nullptr;
    size_t count_ = 0;
};

__global__ void mutate(float* genes, size_t n, unsigned seed)
{
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i >= n) return;
    unsigned h = (unsigned)i * 2654435761u ^ seed;
    if ((h & 63u) == 0) genes[i] = -genes[i];
}

struct Population {
    DeviceArray<float> genes;
    int generation = 0;

    Population offspring(unsigned seed) const
    {
        Population child(*this);
        child.generation++;
        const size_t n = child.genes.size();
        mutate<<<unsigned((n + 255) / 256), 256>>>(child.genes.data(), n, seed);
        if (cudaGetLastError() != cudaSuccess) throw std::bad_alloc();
        return child;
    }
};

} // namespace ga

int main()
{
    std::vector<float> init(1 << 16, 0.5f);
    ga::Population pop{ga::DeviceArray<float>(init), 0};
    for (unsigned g = 0; g < 50; ++g) pop = pop.offspring(g * 7919u);
    double sum = 0;
    for (float f : pop.genes.host()) sum += f;
    std::cout << "gen " << pop.generation << " sum " << sum << "\n";
}
