// Objects that outlive a reset of their device, and what owners do then. The first argument says how; the program's own
// way out is exit code 3, if a call failed.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

static bool failed;

static void check(cudaError_t status) {
    std::printf("%d ", static_cast<int>(status));
    std::fflush(stdout);
    if (status != cudaSuccess) failed = true;
}

static int way_out() { return failed ? 3 : 0; }

struct Owner {
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;

    void make() {
        check(cudaStreamCreate(&stream));
        check(cudaEventCreate(&event));
    }
    void end() {
        check(cudaStreamDestroy(stream));
        check(cudaEventDestroy(event));
    }
};

struct AtExit : Owner {
    ~AtExit() {
        if (stream) end();
        if (stream && failed) std::_Exit(way_out());
    }
};

struct Throws : Owner {
    ~Throws() noexcept(false) {
        if (cudaStreamDestroy(stream) != cudaSuccess) throw 1;
    }
};

static AtExit of_the_process;

static void library_shuts_down() { check(cudaDeviceReset()); }

static void use_after_reset() {
    Owner owner;
    owner.make();
    library_shuts_down();
    check(cudaStreamSynchronize(owner.stream));
    owner.end();
}

static void pending_work() {
    Owner owner;
    void *memory, *ordered;
    owner.make();
    check(cudaMalloc(&memory, 4096));
    check(cudaMallocAsync(&ordered, 4096, owner.stream));
    check(cudaMemsetAsync(memory, 0, 4096, owner.stream));
    check(cudaFreeAsync(ordered, owner.stream));
    library_shuts_down();
    owner.end();
    check(cudaFree(memory));
}

static void pending_launch() {
    const char* ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
    Owner owner;
    CUmodule module;
    CUfunction kernel;
    owner.make();
    check(static_cast<cudaError_t>(cuModuleLoadData(&module, ptx)));
    check(static_cast<cudaError_t>(cuModuleGetFunction(&kernel, module, "k")));
    check(static_cast<cudaError_t>(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, owner.stream, nullptr, nullptr)));
    library_shuts_down();
    owner.end();
}

static void pending_capture() {
    Owner owner;
    owner.make();
    check(cudaStreamBeginCapture(owner.stream, cudaStreamCaptureModeRelaxed));
    library_shuts_down();
    owner.end();
}

static void destructor_throws() {
    try {
        Throws owner;
        owner.make();
        library_shuts_down();
    } catch (int) {
        failed = true;
    }
}

static void correct() {
    Owner owner;
    owner.make();
    owner.end();
    library_shuts_down();
    owner.make();
    owner.end();
}

int main(int, char** argv) {
    const char* how = argv[1];
    if (!std::strcmp(how, "use")) use_after_reset();
    if (!std::strcmp(how, "work")) pending_work();
    if (!std::strcmp(how, "launch")) pending_launch();
    if (!std::strcmp(how, "capture")) pending_capture();
    if (!std::strcmp(how, "throw")) destructor_throws();
    if (!std::strcmp(how, "correct")) correct();
    if (!std::strcmp(how, "static")) {
        of_the_process.make();
        library_shuts_down();
    }
    return way_out();
}
