#include <cub/cub.cuh>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

namespace search {

inline void must(cudaError_t e, const char* f, int l)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s(%d): %s\n", f, l, cudaGetErrorString(e));
        std::exit(EXIT_FAILURE);
    }
}
#define MUST(x) ::search::must((x), __FILE__, __LINE__)

__global__ void distances(const float* db, const float* q, float* d, int n, int dim)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0.f;
    for (int k = 0; k < dim; ++k) {
        float t = db[(size_t)i * dim + k] - q[k];
        s += t * t;
    }
    d[i] = s;
}

class Ranker {
public:
    Ranker(const float* d_db, int n, int dim) : db_(d_db), n_(n), dim_(dim)
    {
        MUST(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        MUST(cudaMalloc(&query_, dim * sizeof(float)));
        MUST(cudaMalloc(&dist_, n * sizeof(float)));
        MUST(cudaMalloc(&sorted_, n * sizeof(float)));
    }
    ~Ranker()
    {
        cudaStreamSynchronize(stream_);
        if (exec_) cudaGraphExecDestroy(exec_);
        cudaFree(temp_);
        cudaFree(sorted_);
        cudaFree(dist_);
        cudaFree(query_);
        cudaStreamDestroy(stream_);
    }
    Ranker(const Ranker&) = delete;
    Ranker& operator=(const Ranker&) = delete;

    void nearest(const float* query, float* out, int k)
    {
        if (!exec_) record();
        MUST(cudaMemcpyAsync(query_, query, dim_ * sizeof(float), cudaMemcpyHostToDevice, stream_));
        MUST(cudaGraphLaunch(exec_, stream_));
        MUST(cudaMemcpyAsync(out, sorted_, k * sizeof(float), cudaMemcpyDeviceToHost, stream_));
        MUST(cudaStreamSynchronize(stream_));
    }

private:
    void ensureTemp()
    {
        size_t need = 0;
        MUST(cub::DeviceRadixSort::SortKeys(nullptr, need, dist_, sorted_, n_, 0, 32, stream_));
        if (need <= tempBytes_) return;
        cudaFree(temp_);
        MUST(cudaMalloc(&temp_, need));
        tempBytes_ = need;
    }

    void enqueue()
    {
        distances<<<(n_ + 255) / 256, 256, 0, stream_>>>(db_, query_, dist_, n_, dim_);
        MUST(cudaGetLastError());
        MUST(cub::DeviceRadixSort::SortKeys(temp_, tempBytes_, dist_, sorted_, n_, 0, 32, stream_));
    }

    void record()
    {
        cudaGraph_t graph = nullptr;
        ensureTemp();
        MUST(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
        enqueue();
        MUST(cudaStreamEndCapture(stream_, &graph));
        MUST(cudaGraphInstantiateWithFlags(&exec_, graph, 0));
        MUST(cudaGraphDestroy(graph));
    }

    const float* db_;
    int n_, dim_;
    cudaStream_t stream_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
    float *query_ = nullptr, *dist_ = nullptr, *sorted_ = nullptr;
    void* temp_ = nullptr;
    size_t tempBytes_ = 0;
};

} // namespace search
