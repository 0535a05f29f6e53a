#include <cufft.h>
#include <cuda_runtime.h>
#include <stdexcept>
#include <string>

namespace {
void fft(cufftResult r, const char* what)
{
    if (r != CUFFT_SUCCESS)
        throw std::runtime_error(std::string(what) + " " + std::to_string(r));
}
}

class Spectrum {
public:
    explicit Spectrum(int length) : length_(length) { fft(cufftPlan1d(&plan_, length, CUFFT_C2C, 1), "plan"); }
    ~Spectrum() { cufftDestroy(plan_); }
    Spectrum(const Spectrum&) = delete;
    Spectrum& operator=(const Spectrum&) = delete;

    void resize(int length)
    {
        if (length == length_)
            return;
        cufftHandle fresh = 0;
        fft(cufftPlan1d(&fresh, length, CUFFT_C2C, 1), "plan");
        fft(cufftDestroy(plan_), "destroy");
        plan_ = fresh;
        length_ = length;
    }

    void forward(cufftComplex* data, cudaStream_t stream)
    {
        fft(cufftSetStream(plan_, stream), "stream");
        fft(cufftExecC2C(plan_, data, data, CUFFT_FORWARD), "exec");
    }

private:
    cufftHandle plan_ = 0;
    int length_;
};

void transform(cufftComplex* data, int length, cudaStream_t stream)
{
    Spectrum spectrum(256);
    spectrum.resize(length);
    spectrum.forward(data, stream);
    if (cudaStreamSynchronize(stream) != cudaSuccess)
        throw std::runtime_error("synchronize");
}
