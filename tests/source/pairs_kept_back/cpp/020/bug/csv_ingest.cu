#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace etl {

constexpr size_t kChunk = size_t(8) << 20;

[[noreturn]] void bail(const std::string& msg) {
    std::fprintf(stderr, "ingest: %s\n", msg.c_str());
    std::exit(1);
}
void rt(cudaError_t e, const char* what) {
    if (e != cudaSuccess) bail(std::string(what) + ": " + cudaGetErrorString(e));
}

__global__ void count_lines(const char* text, size_t n, unsigned long long* lines) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    unsigned c = 0;
    for (; i < n; i += size_t(gridDim.x) * blockDim.x) c += text[i] == '\n';
    if (c) atomicAdd(lines, (unsigned long long)c);
}

struct Lane {
    char* pinned = nullptr;
    char* dev = nullptr;
    cudaEvent_t copied = nullptr;
};

class Ingest {
public:
    Ingest() {
        rt(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
        for (Lane& l : lanes_) {
            rt(cudaMallocHost(&l.pinned, kChunk), "pinned");
            rt(cudaMalloc(&l.dev, kChunk), "device");
            rt(cudaEventCreateWithFlags(&l.copied, cudaEventDisableTiming), "event");
        }
        rt(cudaMalloc(&lines_, sizeof *lines_), "counter");
    }
    ~Ingest() {
        cudaStreamSynchronize(stream_);
        cudaFree(lines_);
        for (Lane& l : lanes_) {
            cudaEventDestroy(l.copied);
            cudaFree(l.dev);
            cudaFreeHost(l.pinned);
        }
        cudaStreamDestroy(stream_);
    }
    Ingest(const Ingest&) = delete;
    Ingest& operator=(const Ingest&) = delete;

    unsigned long long lines(std::istream& in) {
        rt(cudaMemsetAsync(lines_, 0, sizeof *lines_, stream_), "counter");
        for (unsigned k = 0; in; ++k) {
            Lane& l = lanes_[k % 2];
            in.read(l.pinned, kChunk);
            const size_t got = size_t(in.gcount());
            if (got == 0) break;
            rt(cudaMemcpyAsync(l.dev, l.pinned, got, cudaMemcpyHostToDevice, stream_), "copy");
            rt(cudaEventRecord(l.copied, stream_), "record");
            count_lines<<<512, 256, 0, stream_>>>(l.dev, got, lines_);
            rt(cudaGetLastError(), "count_lines");
        }
        unsigned long long total = 0;
        rt(cudaMemcpyAsync(&total, lines_, sizeof total, cudaMemcpyDeviceToHost, stream_), "total");
        rt(cudaStreamSynchronize(stream_), "finish");
        return total;
    }

private:
    Lane lanes_[2];
    cudaStream_t stream_ = nullptr;
    unsigned long long* lines_ = nullptr;
};

}  // namespace etl

int main(int argc, char** argv) {
    if (argc < 2) etl::bail("usage: csv_ingest FILE");
    std::ifstream in(argv[1], std::ios::binary);
    if (!in) etl::bail("cannot open input");
    etl::Ingest job;
    std::printf("%llu\n", job.lines(in));
}
