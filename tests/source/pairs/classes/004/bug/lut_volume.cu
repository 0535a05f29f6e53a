#include <cuda_runtime.h>
#include <array>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace grade {

struct CudaError : std::runtime_error {
    explicit CudaError(cudaError_t e) : std::runtime_error(cudaGetErrorString(e)) {}
};
inline void check(cudaError_t e) { if (e != cudaSuccess) throw CudaError(e); }

struct DeviceFree  { void operator()(void* p) const noexcept { cudaFree(p); } };
struct HostFree    { void operator()(void* p) const noexcept { cudaFreeHost(p); } };

template <class T> using device_ptr = std::unique_ptr<T[], DeviceFree>;
template <class T> using pinned_ptr = std::unique_ptr<T[], HostFree>;
using array_ptr = std::unique_ptr<std::remove_pointer_t<cudaArray_t>, DeviceFree>;

template <class T> device_ptr<T> make_device(size_t n)
{
    void* p = nullptr;
    check(cudaMalloc(&p, n * sizeof(T)));
    return device_ptr<T>(static_cast<T*>(p));
}

template <class T> pinned_ptr<T> make_pinned(size_t n)
{
    void* p = nullptr;
    check(cudaMallocHost(&p, n * sizeof(T)));
    return pinned_ptr<T>(static_cast<T*>(p));
}

inline array_ptr make_array3d(cudaExtent ext)
{
    cudaArray_t a = nullptr;
    auto fmt = cudaCreateChannelDesc<float4>();
    check(cudaMalloc3DArray(&a, &fmt, ext));
    return array_ptr(a);
}

class TextureHandle {
public:
    explicit TextureHandle(cudaArray_t arr)
    {
        cudaResourceDesc rd{};
        rd.resType = cudaResourceTypeArray;
        rd.res.array.array = arr;
        cudaTextureDesc td{};
        td.normalizedCoords = 1;
        td.filterMode = cudaFilterModeLinear;
        td.readMode = cudaReadModeElementType;
        for (auto& m : td.addressMode) m = cudaAddressModeClamp;
        check(cudaCreateTextureObject(&tex_, &rd, &td, nullptr));
    }
    ~TextureHandle() { cudaDestroyTextureObject(tex_); }
    TextureHandle(const TextureHandle&) = delete;
    TextureHandle& operator=(const TextureHandle&) = delete;
    cudaTextureObject_t get() const { return tex_; }
private:
    cudaTextureObject_t tex_ = 0;
};

__global__ void apply(cudaTextureObject_t lut, float4* px, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 c = px[i];
        px[i] = tex3D<float4>(lut, c.x, c.y, c.z);
    }
}

class Lut3D {
public:
    Lut3D(int dim, const std::vector<float4>& table)
        : array_(make_array3d(make_cudaExtent(dim, dim, dim)))
    {
        if (table.size() != size_t(dim) * dim * dim) throw std::invalid_argument("lut size");
        cudaMemcpy3DParms p{};
        p.srcPtr = make_cudaPitchedPtr(const_cast<float4*>(table.data()), dim * sizeof(float4), dim, dim);
        p.dstArray = array_.get();
        p.extent = make_cudaExtent(dim, dim, dim);
        p.kind = cudaMemcpyHostToDevice;
        check(cudaMemcpy3D(&p));
        tex_ = std::make_unique<TextureHandle>(array_.get());
    }

    void grade(std::vector<float4>& px)
    {
        auto d = make_device<float4>(px.size());
        check(cudaMemcpy(d.get(), px.data(), px.size() * sizeof(float4), cudaMemcpyHostToDevice));
        apply<<<(int(px.size()) + 255) / 256, 256>>>(tex_->get(), d.get(), int(px.size()));
        check(cudaGetLastError());
        check(cudaMemcpy(px.data(), d.get(), px.size() * sizeof(float4), cudaMemcpyDeviceToHost));
    }

private:
    array_ptr array_;
    std::unique_ptr<TextureHandle> tex_;
};

} // namespace grade
