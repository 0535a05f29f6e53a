#include "spectrum.cuh"
#include <vector>

namespace ra {

__global__ void accumulate(float* acc, const float* in, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) acc[i] += in[i];
}

class Integrator {
public:
    Integrator(size_t nchan, size_t npol, int dumps_per_file)
        : nchan_(nchan), npol_(npol), per_file_(dumps_per_file)
    {
        start_file();
    }

    // returns true when a file's worth has been integrated
    bool add(const Spectrum& s)
    {
        const unsigned tpb = 256;
        const unsigned nb = (unsigned)((acc_.count() + tpb - 1) / tpb);
        accumulate<<<nb, tpb>>>(acc_.data(), s.data(), acc_.count());
        throw_if(cudaGetLastError(), "accumulate");
        return ++seen_ == per_file_;
    }

    std::vector<float> finish_file()
    {
        std::vector<float> host(acc_.count());
        throw_if(cudaMemcpy(host.data(), acc_.data(), acc_.bytes(),
                            cudaMemcpyDeviceToHost), "dump");
        start_file();
        return host;
    }

    void set_channels(size_t nchan)
    {
        nchan_ = nchan;
        start_file();
    }

private:
    void start_file()
    {
        acc_ = Spectrum(nchan_, npol_);
        throw_if(cudaMemset(acc_.data(), 0, acc_.bytes()), "clear");
        seen_ = 0;
    }

    size_t nchan_, npol_;
    int per_file_;
    int seen_ = 0;
    Spectrum acc_;
};

void observe(Integrator& integ, const std::vector<Spectrum>& block,
             std::vector<std::vector<float>>& out)
{
    for (const auto& s : block)
        if (integ.add(s))
            out.push_back(integ.finish_file());
}

} // namespace ra
