// ggml-org/llama.cpp#27817: "discarded ggml_gallocr_reserve_n return value turns an allocation failure into a
// The same with the fix.
// segfault". Fix: pull request 28149 (merged). Parent: read at commit d99724f2 of ggml-org/ggml, which has the code of
// the issue. src/ggml-backend.cpp, ggml_backend_sched_alloc_splits; src/ggml-alloc.c, ggml_gallocr_reserve_n_impl.
//
// This is not the code of ggml: the same calls, the same checks and the same one that is missing, written anew. A graph
// became the number of bytes that it needs, a tensor one address, a backend one device. There is no kernel.

#include <cuda_runtime_api.h>

#include <cstdio>

namespace {

struct ggml_backend_buffer {
    void* base = nullptr;
    size_t size = 0;
};

struct ggml_tensor {
    ggml_backend_buffer* buffer = nullptr;
    void* data = nullptr;
};

struct ggml_cgraph {
    size_t bytes;
    ggml_tensor tensor;
};

struct ggml_gallocr {
    ggml_backend_buffer* buffer = nullptr;
    size_t reserved = 0;
};

ggml_backend_buffer* ggml_backend_cuda_buffer_type_alloc_buffer(size_t size) {
    void* dev_ptr = nullptr;
    cudaError_t err = cudaMalloc(&dev_ptr, size);
    if (err != cudaSuccess) {
        (void)cudaGetLastError();
        std::fprintf(stderr, "%s: allocating %zu bytes: cudaMalloc failed: %s\n", __func__, size,
                     cudaGetErrorString(err));
        return nullptr;
    }
    return new ggml_backend_buffer{dev_ptr, size};
}

void ggml_backend_buffer_free(ggml_backend_buffer* buffer) {
    if (!buffer) return;
    if (cudaFree(buffer->base) != cudaSuccess) std::fprintf(stderr, "%s: cudaFree failed\n", __func__);
    delete buffer;
}

bool ggml_gallocr_reserve_n(ggml_gallocr* galloc, const ggml_cgraph* graph) {
    galloc->reserved = graph->bytes;
    if (galloc->buffer && galloc->buffer->size >= graph->bytes) return true;
    ggml_backend_buffer_free(galloc->buffer);
    galloc->buffer = ggml_backend_cuda_buffer_type_alloc_buffer(graph->bytes);
    if (!galloc->buffer) {
        std::fprintf(stderr, "%s: failed to allocate buffer of size %zu\n", __func__, graph->bytes);
        return false;
    }
    return true;
}

bool ggml_gallocr_alloc_graph(ggml_gallocr* galloc, ggml_cgraph* graph) {
    if (galloc->reserved < graph->bytes) return false;
    graph->tensor.buffer = galloc->buffer;
    graph->tensor.data = galloc->buffer->base;
    return true;
}

struct ggml_backend_sched {
    ggml_gallocr galloc;
    cudaStream_t stream = nullptr;
};

bool ggml_backend_sched_reserve(ggml_backend_sched* sched, const ggml_cgraph* measure_graph) {
    if (!ggml_gallocr_reserve_n(&sched->galloc, measure_graph)) return false;
    return true;
}

bool ggml_backend_sched_alloc_splits(ggml_backend_sched* sched, ggml_cgraph* graph) {
    if (ggml_gallocr_alloc_graph(&sched->galloc, graph)) return true;
    if (cudaStreamSynchronize(sched->stream) != cudaSuccess) {
        std::fprintf(stderr, "%s: cudaStreamSynchronize failed\n", __func__);
        return false;
    }
    if (!ggml_gallocr_reserve_n(&sched->galloc, graph)) return false;
    if (!ggml_gallocr_alloc_graph(&sched->galloc, graph)) {
        std::fprintf(stderr, "%s: failed to allocate graph\n", __func__);
        return false;
    }
    return true;
}

bool compute(ggml_backend_sched* sched) {
    const ggml_cgraph worst_case{1 << 16, {}};
    ggml_cgraph prompts[] = {{1 << 16, {}}, {1 << 20, {}}};
    if (cudaStreamCreate(&sched->stream) != cudaSuccess) {
        std::fprintf(stderr, "%s: cudaStreamCreate failed\n", __func__);
        return false;
    }
    if (!ggml_backend_sched_reserve(sched, &worst_case)) return false;
    for (ggml_cgraph& graph : prompts)
        if (!ggml_backend_sched_alloc_splits(sched, &graph)) return false;
    return true;
}

void ggml_backend_sched_free(ggml_backend_sched* sched) {
    ggml_backend_buffer_free(sched->galloc.buffer);
    if (sched->stream && cudaStreamDestroy(sched->stream) != cudaSuccess)
        std::fprintf(stderr, "%s: cudaStreamDestroy failed\n", __func__);
}

}  // namespace

int main() {
    ggml_backend_sched sched;
    const bool computed = compute(&sched);
    ggml_backend_sched_free(&sched);
    if (!computed) return 1;
    std::puts("both prompts have their memory");
    return 0;
}
