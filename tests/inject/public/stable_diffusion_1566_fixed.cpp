// leejet/stable-diffusion.cpp#1566: "fix: prevent crash in case of a mem alloc error and graceful exit".
// The same with the fix.
// Fix b4ba55d8d75f3b63a1d638e309998fd6204f4ed0, parent b54bd83a3f1a3fab2375c41ce3e933803dedf10d.
// src/stable-diffusion.cpp, StableDiffusionGGML::init; src/model.cpp, ModelLoader::load_tensors.
//
// This is not the code of stable-diffusion.cpp: the same calls, the same models that are checked and that are not,
// written anew. A model has one tensor, the mapped file is one array, and one thread loads. There is no kernel.

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr size_t TENSOR_BYTES = 4096;

#define LOG_ERROR(...) (std::fprintf(stderr, __VA_ARGS__), std::fputc('\n', stderr))

struct ggml_tensor {
    void* buffer = nullptr;  // of the device; without one, the tensor is taken to be in host memory
    void* data = nullptr;
};

struct GGMLRunner {
    const char* desc;
    ggml_tensor tensor;

    explicit GGMLRunner(const char* desc) : desc(desc) {}
    ~GGMLRunner() {
        if (tensor.buffer && cudaFree(tensor.buffer) != cudaSuccess) LOG_ERROR("%s: cudaFree failed", desc);
    }

    bool alloc_params_buffer() {
        void* base = nullptr;
        cudaError_t err = cudaMalloc(&base, TENSOR_BYTES);
        if (err != cudaSuccess) {
            LOG_ERROR("%s: cudaMalloc of the params buffer failed: %s", desc, cudaGetErrorString(err));
            return false;
        }
        tensor.buffer = tensor.data = base;
        return true;
    }
};

// A conditioner passes the request and its result on.
struct Conditioner {
    GGMLRunner text_model{"text encoder"};
    bool alloc_params_buffer() { return text_model.alloc_params_buffer(); }
};

bool load_tensor(ggml_tensor* dst_tensor, const std::vector<char>& file) {
    if (dst_tensor->data == nullptr) {
        LOG_ERROR("process tensor data failed");
        return false;
    }
    std::vector<char> read_buffer(TENSOR_BYTES);
    const bool is_host = dst_tensor->buffer == nullptr;
    char* read_buf = is_host ? static_cast<char*>(dst_tensor->data) : read_buffer.data();
    std::memcpy(read_buf, file.data(), TENSOR_BYTES);
    if (is_host) return true;
    cudaError_t err = cudaMemcpy(dst_tensor->data, read_buf, TENSOR_BYTES, cudaMemcpyHostToDevice);
    if (err != cudaSuccess) LOG_ERROR("cudaMemcpy of a tensor failed: %s", cudaGetErrorString(err));
    return err == cudaSuccess;
}

bool load_tensors(const std::vector<ggml_tensor*>& tensors, const std::vector<char>& file) {
    std::atomic<bool> failed(false);
    std::thread worker([&] {
        for (ggml_tensor* tensor : tensors)
            if (!failed && !load_tensor(tensor, file)) failed = true;
    });
    worker.join();
    return !failed;
}

struct StableDiffusionGGML {
    std::unique_ptr<Conditioner> cond_stage_model = std::make_unique<Conditioner>();
    std::unique_ptr<GGMLRunner> diffusion_model = std::make_unique<GGMLRunner>("diffusion model");
    std::unique_ptr<GGMLRunner> first_stage_model = std::make_unique<GGMLRunner>("VAE");

    bool init(const std::vector<char>& file) {
        if (cond_stage_model && !cond_stage_model->alloc_params_buffer()) {
            LOG_ERROR("Conditioner model params buffer allocation failed");
            return false;
        }
        if (diffusion_model && !diffusion_model->alloc_params_buffer()) {
            LOG_ERROR("Diffusion model params buffer allocation failed");
            return false;
        }
        if (first_stage_model && !first_stage_model->alloc_params_buffer()) {
            LOG_ERROR("VAE params buffer allocation failed");
            return false;
        }
        if (!load_tensors({&cond_stage_model->text_model.tensor, &diffusion_model->tensor, &first_stage_model->tensor},
                          file)) {
            LOG_ERROR("load tensors from model loader failed");
            return false;
        }
        return true;
    }
};

}  // namespace

int main() {
    const std::vector<char> file(TENSOR_BYTES, 'w');
    StableDiffusionGGML sd;
    if (!sd.init(file)) return 1;
    std::puts("three models loaded");
    return 0;
}
