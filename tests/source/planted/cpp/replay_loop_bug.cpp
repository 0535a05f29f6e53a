#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

static inline void must(cudaError_t e)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "fatal: %s\n", cudaGetErrorString(e));
        std::exit(1);
    }
}

extern void record_step(cudaStream_t stream, int shape);

void serve(cudaStream_t stream, const int* shapes, int requests)
{
    cudaGraphExec_t exec = nullptr;
    for (int r = 0; r < requests; ++r) {
        cudaGraph_t graph = nullptr;
        must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        record_step(stream, shapes[r]);
        must(cudaStreamEndCapture(stream, &graph));
        if (exec) {
            cudaGraphExecUpdateResultInfo info;
            if (cudaGraphExecUpdate(exec, graph, &info) != cudaSuccess) {
                (void)cudaGetLastError();
                must(cudaStreamSynchronize(stream));
                must(cudaGraphExecDestroy(exec));
            }
        }
        if (!exec)
            must(cudaGraphInstantiateWithFlags(&exec, graph, 0));
        must(cudaGraphDestroy(graph));
        must(cudaGraphLaunch(exec, stream));
    }
    must(cudaStreamSynchronize(stream));
    if (exec)
        must(cudaGraphExecDestroy(exec));
}
