#include <cuda_runtime.h>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace px {

struct Quote { double bid, ask; unsigned qty; unsigned instrument; };

static void ensure(cudaError_t st, const char* op)
{
    if (st != cudaSuccess)
        throw std::runtime_error(std::string(op) + ": " + cudaGetErrorString(st));
}

__global__ void midPrices(const Quote* q, double* mid, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) mid[i] = 0.5 * (q[i].bid + q[i].ask);
}

class BookPricer {
public:
    explicit BookPricer(int depth) : depth_(depth)
    {
        ensure(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
        ensure(cudaMalloc(&quotes_, depth * sizeof(Quote)), "quotes");
        ensure(cudaMalloc(&mids_, depth * sizeof(double)), "mids");
        ensure(cudaMallocHost(&stage_, depth * sizeof(Quote)), "stage");
    }

    ~BookPricer() { cleanup(); }

    BookPricer(const BookPricer&) = delete;
    BookPricer& operator=(const BookPricer&) = delete;

    std::vector<double> price(const std::vector<Quote>& book)
    {
        if (static_cast<int>(book.size()) > depth_)
            throw std::length_error("book deeper than pricer");
        const int n = static_cast<int>(book.size());
        std::vector<double> out(n);
        if (n == 0) return out;

        std::memcpy(stage_, book.data(), n * sizeof(Quote));
        ensure(cudaMemcpyAsync(quotes_, stage_, n * sizeof(Quote), cudaMemcpyHostToDevice, stream_), "h2d");
        midPrices<<<(n + 127) / 128, 128, 0, stream_>>>(quotes_, mids_, n);
        ensure(cudaGetLastError(), "midPrices");
        ensure(cudaMemcpyAsync(out.data(), mids_, n * sizeof(double), cudaMemcpyDeviceToHost, stream_), "d2h");
        ensure(cudaStreamSynchronize(stream_), "sync");
        return out;
    }

private:
    void cleanup() noexcept
    {
        if (stream_) cudaStreamSynchronize(stream_);
        cudaFreeHost(stage_);
        cudaFree(mids_);
        cudaFree(quotes_);
        if (stream_) cudaStreamDestroy(stream_);
    }

    int depth_;
    cudaStream_t stream_ = nullptr;
    Quote* quotes_ = nullptr;
    double* mids_ = nullptr;
    Quote* stage_ = nullptr;
};

// Falls back to shallower books when the card is crowded.
std::unique_ptr<BookPricer> openPricer(int wanted, int least)
{
    for (int depth = wanted; depth >= least && depth > 0; depth /= 2) {
        try {
            return std::make_unique<BookPricer>(depth);
        } catch (const std::runtime_error&) {
            cudaGetLastError();
        }
    }
    return nullptr;
}

} // namespace px
