#include <cuda_runtime.h>
#include <cassert>
#include <cstdio>
#include <cstring>

namespace vol {

static bool ok(cudaError_t e, const char* what)
{
    if (e == cudaSuccess) return true;
    std::fprintf(stderr, "volume renderer: %s: %s\n", what, cudaGetErrorString(e));
    return false;
}

__global__ void shade(cudaTextureObject_t tf, const float* density, uchar4* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 c = tex1D<float4>(tf, density[i]);
    out[i] = make_uchar4(c.x * 255, c.y * 255, c.z * 255, c.w * 255);
}

class TransferFunction {
public:
    TransferFunction() {}
    ~TransferFunction() { destroy(); }
    TransferFunction(const TransferFunction&) = delete;
    TransferFunction& operator=(const TransferFunction&) = delete;

    bool set(const float4* rgba, int entries)
    {
        if (entries != entries_) {
            destroy();
            if (!create(entries)) return false;
        }
        return ok(cudaMemcpy2DToArray(array_, 0, 0, rgba, entries * sizeof(float4),
                                      entries * sizeof(float4), 1, cudaMemcpyHostToDevice),
                  "transfer function upload");
    }

    cudaTextureObject_t texture() const { return tex_; }

private:
    bool create(int entries)
    {
        cudaChannelFormatDesc fmt = cudaCreateChannelDesc<float4>();
        if (!ok(cudaMallocArray(&array_, &fmt, entries, 1), "transfer function array")) {
            array_ = nullptr;
            return false;
        }
        if (!tex_) {
            cudaResourceDesc res;
            std::memset(&res, 0, sizeof(res));
            res.resType = cudaResourceTypeArray;
            res.res.array.array = array_;
            cudaTextureDesc desc;
            std::memset(&desc, 0, sizeof(desc));
            desc.addressMode[0] = cudaAddressModeClamp;
            desc.filterMode = cudaFilterModeLinear;
            desc.readMode = cudaReadModeElementType;
            desc.normalizedCoords = 1;
            if (!ok(cudaCreateTextureObject(&tex_, &res, &desc, nullptr), "texture object")) {
                tex_ = 0;
                cudaFreeArray(array_);
                array_ = nullptr;
                return false;
            }
        }
        entries_ = entries;
        return true;
    }

    void destroy()
    {
        if (tex_) {
            cudaDeviceSynchronize();
            cudaDestroyTextureObject(tex_);
            tex_ = 0;
        }
        if (array_) cudaFreeArray(array_);
        array_ = nullptr;
        entries_ = 0;
    }

    cudaArray_t array_ = nullptr;
    cudaTextureObject_t tex_ = 0;
    int entries_ = 0;
};

bool renderSlice(TransferFunction& tf, const float4* rgba, int entries,
                 const float* d_density, uchar4* d_out, int n)
{
    if (!tf.set(rgba, entries)) return false;
    shade<<<(n + 255) / 256, 256>>>(tf.texture(), d_density, d_out, n);
    return ok(cudaGetLastError(), "shade");
}

} // namespace vol
