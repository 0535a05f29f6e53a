#include <cuda_runtime.h>
#include <cufft.h>

#include <cstdio>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace audio {

struct CudaFree {
    void operator()(void* p) const { cudaFree(p); }
};
template <class T>
using dev_ptr = std::unique_ptr<T[], CudaFree>;

template <class T>
dev_ptr<T> dev_alloc(size_t n) {
    void* p = nullptr;
    if (cudaMalloc(&p, n * sizeof(T)) != cudaSuccess) throw std::bad_alloc();
    return dev_ptr<T>(static_cast<T*>(p));
}

class Spectrogram {
public:
    Spectrogram() = default;
    ~Spectrogram() {
        if (have_plan_) cufftDestroy(plan_);
    }
    Spectrogram(const Spectrogram&) = delete;
    Spectrogram& operator=(const Spectrogram&) = delete;

    // The UI calls this when the user drags the window-length slider.
    void configure(int window, int frames) {
        if (window == window_ && frames == frames_) return;
        if (have_plan_) {
            have_plan_ = false;
            cufftDestroy(plan_);
        }
        window_ = frames_ = 0;
        cufftResult r = cufftPlan1d(&plan_, window, CUFFT_R2C, frames);
        if (r != CUFFT_SUCCESS)
            throw std::runtime_error("cufftPlan1d: " + std::to_string(int(r)));
        have_plan_ = true;
        in_ = dev_alloc<cufftReal>(size_t(window) * frames);
        out_ = dev_alloc<cufftComplex>(size_t(window / 2 + 1) * frames);
        window_ = window;
        frames_ = frames;
    }

    std::vector<cufftComplex> run(const std::vector<float>& samples) {
        const size_t n = size_t(window_) * frames_;
        if (n == 0 || samples.size() < n) throw std::invalid_argument("too few samples");
        if (cudaMemcpy(in_.get(), samples.data(), n * sizeof(float), cudaMemcpyHostToDevice) !=
            cudaSuccess)
            throw std::runtime_error("upload");
        if (cufftExecR2C(plan_, in_.get(), out_.get()) != CUFFT_SUCCESS)
            throw std::runtime_error("cufftExecR2C");
        std::vector<cufftComplex> bins(size_t(window_ / 2 + 1) * frames_);
        if (cudaMemcpy(bins.data(), out_.get(), bins.size() * sizeof(cufftComplex),
                       cudaMemcpyDeviceToHost) != cudaSuccess)
            throw std::runtime_error("download");
        return bins;
    }

private:
    cufftHandle plan_ = 0;
    bool have_plan_ = false;
    int window_ = 0, frames_ = 0;
    dev_ptr<cufftReal> in_;
    dev_ptr<cufftComplex> out_;
};

}  // namespace audio

int main() {
    try {
        std::vector<float> pcm(1 << 20, 0.1f);
        audio::Spectrogram s;
        for (int w = 256; w <= 8192; w *= 2) {
            s.configure(w, 64);
            std::printf("%d: %zu bins\n", w, s.run(pcm).size());
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
