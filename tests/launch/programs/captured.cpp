#include <cuda.h>
#include <cuda_runtime.h>
#include <stdio.h>

// Rounds of a plain graph, destroyed, and a captured one whose nodes get the plain one's handles. With an argument, then
// the last captured node is named after its graph has ended.
int main(int argc, char**) {
    cudaGraphNode_t stale = nullptr;
    cudaStream_t stream;
    char* memory;
    int wrong = 0, reissued = 0;
    cudaStreamCreate(&stream);
    cudaMalloc(&memory, 4096);
    for (int round = 0; round < 4; round++) {
        cudaGraph_t plain, into, captured;
        cudaGraphNode_t node, extra;
        cudaStreamCaptureStatus status;
        const cudaGraphNode_t* last;
        const cudaGraphEdgeData* edges;
        cudaGraphNodeType type;
        size_t count;
        wrong +=
            cudaGraphCreate(&plain, 0) || cudaGraphAddEmptyNode(&node, plain, nullptr, 0) || cudaGraphDestroy(plain);
        wrong +=
            cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) || cudaMemsetAsync(memory, 0, 4096, stream);
        wrong += !!cudaStreamGetCaptureInfo(stream, &status, nullptr, &into, &last, &edges, &count);
        reissued += last[0] == node;
        stale = last[0];
        wrong += cudaGraphNodeGetType(last[0], &type) || cudaGraphAddEmptyNode(&extra, into, last, count);
        wrong += !!cuStreamUpdateCaptureDependencies(stream, &extra, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
        wrong += cudaStreamEndCapture(stream, &captured) || cudaGraphDestroy(captured);
    }
    if (argc > 1) wrong += !!cudaGraphDestroyNode(stale);
    printf("%d wrong, %d reissued\n", wrong, reissued);
    return wrong;
}
