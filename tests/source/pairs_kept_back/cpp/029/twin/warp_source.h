#pragma once
#include <cuda_runtime.h>

// Gray frame in a CUDA array, sampled through a texture by the stabiliser.
class WarpSource {
public:
    WarpSource() {}
    ~WarpSource() { release(); }

    cudaError_t load(const unsigned char* gray, int w, int h, cudaStream_t s);
    cudaTextureObject_t texture() const { return tex_; }
    int width() const { return w_; }
    int height() const { return h_; }

private:
    WarpSource(const WarpSource&);
    void operator=(const WarpSource&);

    cudaError_t bind();
    void release();

    cudaArray_t arr_ = nullptr;
    cudaTextureObject_t tex_ = 0;
    int w_ = 0, h_ = 0;
};
