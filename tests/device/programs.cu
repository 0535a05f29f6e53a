// Programs that behave: each checks its own results and ends with exit code 0, or says which check failed and ends with 1.
#include <cuda.h>
#include <cuda_runtime.h>

extern "C" CUresult cuProfilerStart();  // cudaProfiler.h is in no wheel
extern "C" CUresult cuProfilerStop();

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);           \
            exit(1);                                                          \
        }                                                                     \
    } while (0)
#define OK(call)                                                              \
    do {                                                                      \
        int returned = (call);                                                \
        if (returned != 0) {                                                  \
            fprintf(stderr, "line %d: %s = %d\n", __LINE__, #call, returned); \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

__global__ void add(float* x, int n, float y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += y;
}
__device__ int variable[16];
__constant__ float coefficients[8];

static std::vector<unsigned char> pattern(size_t bytes) {
    std::vector<unsigned char> made(bytes);
    for (size_t i = 0; i < bytes; ++i) made[i] = static_cast<unsigned char>(i * 7 + i / 251);
    return made;
}

static void linear_copy() {
    constexpr size_t bytes = (3u << 20) + 17;
    auto in = pattern(bytes);
    std::vector<unsigned char> out(bytes);
    void *a, *b;
    OK(cudaMalloc(&a, bytes));
    OK(cudaMalloc(&b, bytes));
    OK(cudaMemcpy(a, in.data(), bytes, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(b, a, bytes, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(out.data(), b, bytes, cudaMemcpyDefault));
    CHECK(in == out);
    OK(cudaMemset(static_cast<char*>(b) + 5, 0xee, 11));
    OK(cudaMemcpy(out.data(), b, 20, cudaMemcpyDeviceToHost));
    CHECK(out[4] == in[4] && out[5] == 0xee && out[15] == 0xee && out[16] == in[16]);
    OK(cudaFree(a));
    OK(cudaFree(b));
}

static void pitched_copy() {
    constexpr size_t width = 100, height = 13;
    auto in = pattern(width * height);
    std::vector<unsigned char> out(width * height);
    char* device;
    size_t pitch;
    OK(cudaMallocPitch(reinterpret_cast<void**>(&device), &pitch, width, height));
    CHECK(pitch >= width);
    OK(cudaMemcpy2D(device, pitch, in.data(), width, width, height, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(out.data(), width, device, pitch, width, height, cudaMemcpyDeviceToHost));
    CHECK(in == out);
    OK(cudaMemset2D(device, pitch, 9, 10, 2));
    OK(cudaMemcpy(out.data(), device + pitch, 12, cudaMemcpyDeviceToHost));
    CHECK(out[0] == 9 && out[9] == 9 && out[10] == in[width + 10]);
    OK(cudaFree(device));
}

static void box_copy() {
    cudaExtent extent = make_cudaExtent(20, 6, 4);
    auto in = pattern(20 * 6 * 4);
    std::vector<unsigned char> out(in.size());
    cudaPitchedPtr device;
    OK(cudaMalloc3D(&device, extent));
    cudaMemcpy3DParms to = {};
    to.srcPtr = make_cudaPitchedPtr(in.data(), 20, 20, 6);
    to.dstPtr = device;
    to.extent = extent;
    to.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&to));
    cudaMemcpy3DParms back = {};
    back.srcPtr = device;
    back.dstPtr = make_cudaPitchedPtr(out.data(), 20, 20, 6);
    back.extent = extent;
    back.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&back));
    CHECK(in == out);
}

static void array_copy() {
    constexpr size_t width = 64, height = 8;
    auto in = pattern(width * height * 4);
    std::vector<unsigned char> out(in.size());
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    OK(cudaMallocArray(&array, &format, width, height));
    OK(cudaMemcpy2DToArray(array, 0, 0, in.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DFromArray(out.data(), width * 4, array, 0, 0, width * 4, height, cudaMemcpyDeviceToHost));
    CHECK(in == out);
    cudaExtent extent;
    unsigned flags;
    cudaChannelFormatDesc described;
    OK(cudaArrayGetInfo(&described, &extent, &flags, array));
    CHECK(extent.width == width && extent.height == height && described.x == 32 && described.f == cudaChannelFormatKindFloat);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc texture = {};
    cudaTextureObject_t object;
    OK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
    cudaResourceDesc of_texture;
    OK(cudaGetTextureObjectResourceDesc(&of_texture, object));
    CHECK(of_texture.resType == cudaResourceTypeArray && of_texture.res.array.array == array);
    OK(cudaDestroyTextureObject(object));

    void* memory;
    OK(cudaMalloc(&memory, 4096));
    resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear = {memory, cudaCreateChannelDesc<float2>(), 4096};
    OK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
    OK(cudaGetTextureObjectResourceDesc(&of_texture, object));
    auto& linear = of_texture.res.linear;
    CHECK(of_texture.resType == cudaResourceTypeLinear && linear.devPtr == memory && linear.sizeInBytes == 4096);
    CHECK(linear.desc.x == 32 && linear.desc.y == 32 && linear.desc.z == 0 && linear.desc.f == cudaChannelFormatKindFloat);
    OK(cudaDestroyTextureObject(object));
    OK(cudaFree(memory));
    OK(cudaFreeArray(array));
}

static void managed_memory() {
    int* shared;
    OK(cudaMallocManaged(&shared, 4096));
    for (int i = 0; i < 1024; ++i) shared[i] = i;
    OK(cudaMemset(shared, 0, 4));
    CHECK(shared[0] == 0 && shared[1023] == 1023);
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, shared + 3));
    CHECK(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == shared + 3);
    OK(cudaMemPrefetchAsync(shared, 4096, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, nullptr));
    OK(cudaFree(shared));
}

static void pinned_memory() {
    int *pinned, *seen;
    OK(cudaHostAlloc(&pinned, 4096, cudaHostAllocMapped));
    pinned[7] = 42;
    OK(cudaHostGetDevicePointer(&seen, pinned, 0));
    int out = 0;
    OK(cudaMemcpy(&out, seen + 7, 4, cudaMemcpyDeviceToHost));
    CHECK(out == 42);
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, pinned));
    CHECK(attributes.type == cudaMemoryTypeHost);
    OK(cudaPointerGetAttributes(&attributes, &out));
    CHECK(attributes.type == cudaMemoryTypeUnregistered);
    OK(cudaFreeHost(pinned));
}

static void variables() {
    int in[16], out[16];
    for (int i = 0; i < 16; ++i) in[i] = i * i;
    OK(cudaMemcpyToSymbol(variable, in, sizeof in));
    OK(cudaMemcpyFromSymbol(out, variable, 8, 4 * sizeof(int)));
    CHECK(out[0] == 16 && out[1] == 25);
    size_t bytes;
    void* address;
    OK(cudaGetSymbolSize(&bytes, coefficients));
    OK(cudaGetSymbolAddress(&address, coefficients));
    CHECK(bytes == 32 && address != nullptr);
    CHECK(cudaMemcpyToSymbol(variable, in, sizeof in, 4) == cudaErrorInvalidValue);
}

static void bad_host_pointers() {
    char* device;
    OK(cudaMalloc(&device, 4096));
    CHECK(cudaMemcpy(device, reinterpret_cast<void*>(0x1000), 4096, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(reinterpret_cast<void*>(0x1000), device, 4096, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaSuccess);
    OK(cudaFree(device));
}

static void launches() {
    float* x;
    OK(cudaMalloc(&x, 4096));
    add<<<4, 256>>>(x, 1024, 1.0f);
    OK(cudaGetLastError());
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    add<<<4, 256, 0, stream>>>(x, 1024, 1.0f);
    CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
    CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
    CHECK(cudaStreamQuery(stream) == cudaSuccess);
    add<<<4, 256, 0, stream>>>(x, 1024, 1.0f);
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamQuery(stream));
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, add));
    CHECK(attributes.maxThreadsPerBlock == 1024 && attributes.binaryVersion == 90 && attributes.numRegs > 0);
    OK(cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
    add<<<1, 1, 200 << 10>>>(x, 1, 1.0f);
    (void)cudaGetLastError();
    int blocks;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
    CHECK(blocks == 8);
    OK(cudaFree(x));
}

static void callbacks_in_order() {
    static std::vector<int> order;
    static std::thread::id caller;
    static std::atomic<bool> elsewhere{true};
    caller = std::this_thread::get_id();
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    static int numbers[50];
    for (int i = 0; i < 50; ++i) {
        numbers[i] = i;
        auto note = [](void* number) {
            order.push_back(*static_cast<int*>(number));
            if (std::this_thread::get_id() == caller) elsewhere = false;
        };
        OK(cudaLaunchHostFunc(stream, note, &numbers[i]));
    }
    static cudaStream_t told;
    OK(cudaStreamAddCallback(stream, [](cudaStream_t s, cudaError_t, void*) { told = s; }, nullptr, 0));
    OK(cudaStreamSynchronize(stream));
    CHECK(order.size() == 50 && elsewhere && told == stream);
    for (int i = 0; i < 50; ++i) CHECK(order[i] == i);
}

static void graphs() {
    char *device, host[64], back[64] = {};
    memset(host, 'a', sizeof host);
    static int calls = 0;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc(&device, 64));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMemcpyAsync(device, host, 64, cudaMemcpyHostToDevice, stream));
    OK(cudaMemsetAsync(device, 'b', 8, stream));
    add<<<1, 1, 0, stream>>>(reinterpret_cast<float*>(device), 0, 0.0f);
    OK(cudaLaunchHostFunc(stream, [](void*) { ++calls; }, nullptr));
    OK(cudaMemcpyAsync(back, device, 64, cudaMemcpyDeviceToHost, stream));
    cudaGraph_t graph;
    OK(cudaStreamEndCapture(stream, &graph));
    CHECK(back[0] == 0 && calls == 0);
    size_t nodes = 0, edges = 0;
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    CHECK(nodes == 5 && edges == 4);
    cudaGraphExec_t ready;
    OK(cudaGraphInstantiate(&ready, graph, 0));
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(back[0] == 'b' && back[7] == 'b' && back[8] == 'a' && back[63] == 'a' && calls == 2);
    OK(cudaGraphExecDestroy(ready));
    OK(cudaGraphDestroy(graph));
}

static void built_graph() {
    char *device, back[16] = {};
    OK(cudaMalloc(&device, 16));
    cudaGraph_t graph;
    cudaGraphNode_t set, copy, empty;
    OK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams parameters = {};
    parameters.dst = device;
    parameters.value = 'x';
    parameters.elementSize = 1;
    parameters.width = 16;
    parameters.height = 1;
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, back, device, 16, cudaMemcpyDeviceToHost));
    OK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &parameters));
    OK(cudaGraphAddDependencies(graph, &set, &copy, nullptr, 1));
    OK(cudaGraphAddEmptyNode(&empty, graph, &copy, 1));
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(set, &type));
    CHECK(type == cudaGraphNodeTypeMemset);
    cudaGraphExec_t ready;
    OK(cudaGraphInstantiate(&ready, graph, 0));
    OK(cudaGraphLaunch(ready, nullptr));
    OK(cudaDeviceSynchronize());
    CHECK(back[0] == 'x' && back[15] == 'x');
    parameters.value = 'y';
    parameters.width = 4;
    OK(cudaGraphExecMemsetNodeSetParams(ready, set, &parameters));
    OK(cudaGraphLaunch(ready, nullptr));
    OK(cudaDeviceSynchronize());
    CHECK(back[0] == 'y' && back[3] == 'y' && back[4] == 'x');
    int one = 1;
    float* pointer = reinterpret_cast<float*>(device);
    float number = 0;
    void* arguments[] = {&pointer, &one, &number};
    cudaKernelNodeParams launch = {};
    launch.func = reinterpret_cast<void*>(add);
    launch.gridDim = launch.blockDim = dim3(1);
    launch.kernelParams = arguments;
    cudaGraphNode_t kernel;
    OK(cudaGraphAddKernelNode(&kernel, graph, &copy, 1, &launch));
    size_t edges = 0;
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    CHECK(edges == 3);
    OK(cudaGraphDestroyNode(copy));
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    CHECK(edges == 0);
}

static void captured_fork_and_join() {
    cudaStream_t first, second;
    cudaEvent_t split, join;
    char *device, back[2] = {};
    OK(cudaMalloc(&device, 2));
    OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    OK(cudaEventCreate(&split));
    OK(cudaEventCreate(&join));
    OK(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemsetAsync(device, 1, 2, first));
    OK(cudaEventRecord(split, first));
    OK(cudaStreamWaitEvent(second, split, 0));
    OK(cudaMemsetAsync(device + 1, 2, 1, second));
    OK(cudaEventRecord(join, second));
    OK(cudaStreamWaitEvent(first, join, 0));
    OK(cudaMemcpyAsync(back, device, 2, cudaMemcpyDeviceToHost, first));
    cudaStreamCaptureStatus status;
    OK(cudaStreamIsCapturing(second, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    cudaGraph_t graph, same;
    unsigned long long id;
    OK(cudaStreamGetCaptureInfo(first, &status, &id, &same));
    OK(cudaStreamEndCapture(first, &graph));
    CHECK(graph == same);
    cudaGraphNode_t nodes[3], from[8], to[8];
    size_t count = 3, edges = 8;
    OK(cudaGraphGetNodes(graph, nodes, &count));
    OK(cudaGraphGetEdges(graph, from, to, nullptr, &edges));
    CHECK(count == 3 && edges == 3);
    cudaGraphExec_t ready;
    OK(cudaGraphInstantiate(&ready, graph, 0));
    OK(cudaGraphLaunch(ready, first));
    OK(cudaStreamSynchronize(first));
    CHECK(back[0] == 1 && back[1] == 2);
}

static void two_devices() {
    int count = 0, device = -1, reachable = 0;
    OK(cudaGetDeviceCount(&count));
    CHECK(count == 2);
    char *first, *second, in[32], out[32] = {};
    memset(in, 'p', sizeof in);
    OK(cudaSetDevice(0));
    OK(cudaMalloc(&first, 32));
    OK(cudaMemcpy(first, in, 32, cudaMemcpyHostToDevice));
    OK(cudaSetDevice(1));
    OK(cudaGetDevice(&device));
    CHECK(device == 1);
    OK(cudaMalloc(&second, 32));
    OK(cudaDeviceCanAccessPeer(&reachable, 1, 0));
    CHECK(reachable == 1);
    OK(cudaDeviceEnablePeerAccess(0, 0));
    CHECK(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessAlreadyEnabled);
    CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessUnsupported);
    OK(cudaMemcpyPeer(second, 1, first, 0, 32));
    OK(cudaMemcpy(out, second, 32, cudaMemcpyDeviceToHost));
    CHECK(memcmp(in, out, 32) == 0);
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, first));
    CHECK(attributes.device == 0);
    CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
}

static void many_threads() {
    std::vector<std::thread> threads;
    for (int number = 0; number < 8; ++number) {
        threads.emplace_back([number] {
            std::vector<unsigned char> in(10000, static_cast<unsigned char>(number)), out(10000);
            cudaStream_t stream;
            void* device;
            OK(cudaStreamCreate(&stream));
            for (int turn = 0; turn < 10; ++turn) {
                OK(cudaMalloc(&device, in.size()));
                OK(cudaMemcpyAsync(device, in.data(), in.size(), cudaMemcpyHostToDevice, stream));
                OK(cudaMemcpyAsync(out.data(), device, out.size(), cudaMemcpyDeviceToHost, stream));
                OK(cudaStreamSynchronize(stream));
                CHECK(in == out);
                OK(cudaFree(device));
            }
            CHECK(cudaStreamDestroy(nullptr) == cudaErrorInvalidResourceHandle);
            CHECK(cudaPeekAtLastError() == cudaErrorInvalidResourceHandle);
            OK(cudaStreamDestroy(stream));
        });
    }
    for (auto& thread : threads) thread.join();
    OK(cudaGetLastError());
}

static int status_in_child(cudaError_t (*call)()) {
    pid_t child = fork();
    if (child == 0) _exit(call() == cudaErrorInitializationError ? 3 : 0);
    int state = 0;
    waitpid(child, &state, 0);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

static void fork_after_use() {
    OK(cudaFree(nullptr));
    auto allocate = [] {
        void* device;
        return cudaMalloc(&device, 16);
    };
    CHECK(status_in_child(allocate) == 3);
    OK(allocate());
}

static void fork_before_use() {
    auto use = [] {
        float* x;
        cudaError_t status = cudaMalloc(&x, 64);
        add<<<1, 1>>>(x, 16, 1.0f);
        if (status == cudaSuccess) status = cudaDeviceSynchronize();
        return status == cudaSuccess ? cudaErrorInitializationError : status;
    };
    CHECK(status_in_child(use) == 3);
}

static void waiting_does_not_block_others() {
    static std::atomic<bool> allowed{false}, waits{false};
    std::thread waiter([] {
        cudaStream_t stream;
        OK(cudaStreamCreate(&stream));
        OK(cudaLaunchHostFunc(stream, [](void*) { while (!allowed) std::this_thread::yield(); }, nullptr));
        CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
        waits = true;
        OK(cudaStreamSynchronize(stream));
    });
    while (!waits) std::this_thread::yield();
    void* device;
    for (int turn = 0; turn < 20; ++turn) {
        OK(cudaMalloc(&device, 1024));
        OK(cudaFree(device));
    }
    allowed = true;
    waiter.join();
}

static void objects_outlive_their_thread() {
    static void* device;
    std::thread([] {
        OK(cudaMalloc(&device, 64));
        OK(cudaMemset(device, 5, 64));
    }).join();
    char out = 0;
    OK(cudaMemcpy(&out, static_cast<char*>(device) + 63, 1, cudaMemcpyDeviceToHost));
    CHECK(out == 5);
    OK(cudaFree(device));
}

static void exec_begins_anew() {
    void* device;
    OK(cudaMalloc(&device, 64));
    execl("/proc/self/exe", "again", "linear_copy", static_cast<char*>(nullptr));
    CHECK(!"execl returned");
}

static void driver_pitfalls() {
    CUdevice device;
    CUcontext context, popped;
    OK(cuInit(0));
    CHECK(cuDeviceGet(&device, 99) == CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceGet(&device, 0));
    OK(cuCtxCreate(&context, nullptr, 0, device));
    CHECK(cuStreamCreate(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
    CUstream stream, again;
    CHECK(cuStreamCreate(&stream, 77) == CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamDestroy(stream));
    OK(cuStreamCreate(&again, 0));
    CHECK(stream != again);
    CUdeviceptr memory, reused;
    CHECK(cuMemAlloc(&memory, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemAlloc(&memory, 1ull << 50) == CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc(&memory, 5000));
    CUdeviceptr base;
    size_t bytes, before, after, total;
    OK(cuMemGetAddressRange(&base, &bytes, memory + 77));
    CHECK(base == memory && bytes == 5000);
    OK(cuMemGetInfo(&before, &total));
    OK(cuMemFree(memory));
    OK(cuMemGetInfo(&after, &total));
    CHECK(after == before + 5000);
    OK(cuMemAlloc(&reused, 5000));
    CHECK(memory != reused);
    int count;
    CHECK(cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) == 0 && count == 132);
    CHECK(cuDeviceGetAttribute(&count, static_cast<CUdevice_attribute>(99999), device) == CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxPopCurrent(&popped));
    CHECK(popped == context);
    CHECK(cuMemAlloc(&memory, 16) == CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxDestroy(context));
}

static size_t resident_bytes() {
    long total = 0, resident = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &total, &resident) == 2);
    fclose(file);
    return static_cast<size_t>(resident) * 4096;
}

static unsigned at(const unsigned char* memory, size_t offset) {
    unsigned word = 0;
    OK(cudaMemcpy(&word, memory + offset, sizeof word, cudaMemcpyDeviceToHost));
    return word;
}

__constant__ float table[300];
extern "C" __global__ void shared_kernel(float* x) {
    __shared__ float s[250];
    s[threadIdx.x] = x[threadIdx.x] + table[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void local_kernel(int* x) {
    int a[1000];
    for (int i = 0; i < 1000; ++i) a[i] = x[i];
    x[threadIdx.x] = a[x[threadIdx.x] % 1000];
}
extern "C" __global__ void __launch_bounds__(128) bounded_kernel(float* x) { x[threadIdx.x] = 0; }
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_kernel(float* x) { x[threadIdx.x] = 0; }
static const char* const memory_ptx = R"(
.version 8.0
.target sm_80
.address_size 64
.const .align 4 .b8 k[1000];
.const .align 8 .f64 two[2][5];
.shared .align 16 .b8 common[64];
.extern .shared .align 16 .b8 dynamic[];
.visible .entry s(.param .u64 p) { .reg .b64 %a; .shared .align 4 .b8 m[801]; .shared .f64 d; mov.u64 %a, m; ret; }
.visible .entry l(.param .u64 p) .maxntid 64, 1, 1 { .reg .b64 %a; .local .align 8 .b8 d[4000]; mov.u64 %a, common; ret; }
)";

static int attribute_of(CUfunction function, CUfunction_attribute attribute) {
    int value = -77;
    OK(cuFuncGetAttribute(&value, attribute, function));
    return value;
}

static int set_to(CUfunction function, CUfunction_attribute attribute, int value) {
    OK(cuFuncSetAttribute(function, attribute, value));
    return attribute_of(function, attribute);
}

// As an H200 answers.
static void function_attributes() {
    cudaFuncAttributes shared, local, bounded, cluster;
    OK(cudaFuncGetAttributes(&shared, shared_kernel));
    OK(cudaFuncGetAttributes(&local, local_kernel));
    OK(cudaFuncGetAttributes(&bounded, bounded_kernel));
    OK(cudaFuncGetAttributes(&cluster, cluster_kernel));
    CHECK(shared.sharedSizeBytes == 1000 && shared.maxDynamicSharedSizeBytes == 48152 && shared.localSizeBytes == 0);
    CHECK(local.localSizeBytes == 4000 && local.sharedSizeBytes == 0 && local.maxDynamicSharedSizeBytes == 49152);
    CHECK(shared.constSizeBytes >= 1200 && local.constSizeBytes == shared.constSizeBytes);
    CHECK(shared.numRegs > 0 && shared.ptxVersion == 90 && shared.binaryVersion == 90);
    CHECK(bounded.maxThreadsPerBlock == 128 && shared.maxThreadsPerBlock == 1024);
    CHECK(cluster.clusterDimMustBeSet && cluster.requiredClusterWidth == 2 && cluster.requiredClusterDepth == 1);
    CHECK(!shared.clusterDimMustBeSet && shared.requiredClusterWidth == 0);
    CUmodule module;
    CUfunction s, l;
    OK(cuModuleLoadData(&module, memory_ptx));
    OK(cuModuleGetFunction(&s, module, "s"));
    OK(cuModuleGetFunction(&l, module, "l"));
    CHECK(attribute_of(s, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) == 816 && attribute_of(s, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES) == 1080);
    CHECK(attribute_of(l, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) == 64 && attribute_of(l, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) == 4000);
    CHECK(attribute_of(s, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) == 0 && attribute_of(l, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) == 64);
    CHECK(attribute_of(s, CU_FUNC_ATTRIBUTE_PTX_VERSION) == 80 && attribute_of(s, CU_FUNC_ATTRIBUTE_BINARY_VERSION) == 90);
    CHECK(set_to(s, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 25) == 25);
    CHECK(cuFuncSetAttribute(s, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101) == CUDA_ERROR_INVALID_VALUE);
    CHECK(set_to(s, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1) == -1);
    CHECK(set_to(s, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2) == 2 && set_to(s, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, -1) == 1);
    CHECK(cuFuncSetAttribute(s, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, -1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuFuncSetAttribute(s, static_cast<CUfunction_attribute>(17), 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuFuncGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, s) == CUDA_ERROR_INVALID_VALUE);
}

// As an H200 answers.
static void small_questions() {
    CHECK(cuProfilerStart() == CUDA_ERROR_NOT_INITIALIZED);
    OK(cuInit(0));
    CHECK(cuProfilerStart() == CUDA_ERROR_INVALID_CONTEXT && cuProfilerStop() == CUDA_ERROR_INVALID_CONTEXT);
    OK(cudaFree(nullptr));
    OK(cuProfilerStop());
    OK(cuProfilerStart());
    OK(cuProfilerStart());
    OK(cuProfilerStop());
    CUfunc_cache cache;
    OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
    CHECK(cuCtxSetCacheConfig(static_cast<CUfunc_cache>(4)) == CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxGetCacheConfig(&cache));
    CHECK(cache == CU_FUNC_CACHE_PREFER_L1);
    CUdeviceptr memory = 77;
    OK(cuMemAllocAsync(&memory, 0, nullptr));
    CHECK(memory == 0);
    OK(cuMemFreeAsync(memory, nullptr));
    CHECK(cuMemAlloc(&memory, 0) == CUDA_ERROR_INVALID_VALUE);
    const char* text;
    OK(cuGetErrorString(CUDA_SUCCESS, &text));
    CHECK(!strcmp(text, "no error"));
}

static std::vector<uint64_t> graph_memory_of_device() {
    std::vector<uint64_t> found(4, 77);
    for (int attribute = 0; attribute < 4; ++attribute)
        OK(cuDeviceGetGraphMemAttribute(0, static_cast<CUgraphMem_attribute>(attribute), &found[attribute]));
    return found;
}

static std::vector<CUgraphNodeType> types_in(CUgraph graph, CUgraphNode* nodes, size_t most) {
    std::vector<CUgraphNodeType> types;
    OK(cuGraphGetNodes(graph, nodes, &most));
    for (size_t i = 0; i < most; ++i) {
        types.emplace_back();
        OK(cuGraphNodeGetType(nodes[i], &types.back()));
    }
    return types;
}

// As an H200 answers.
static void graph_memory() {
    constexpr uint64_t piece = 32u << 20;
    using Four = std::vector<uint64_t>;
    OK(cudaFree(nullptr));
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(graph_memory_of_device() == Four({0, 0, 0, 0}));
    uint64_t zero = 0, one = 1;
    CHECK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &one) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuDeviceGetGraphMemAttribute(5, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero) == CUDA_ERROR_INVALID_DEVICE);

    CUdeviceptr nothing = 77, memory;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAllocAsync(&nothing, 0, stream));
    OK(cuMemAllocAsync(&memory, 1024, stream));
    OK(cuMemsetD8Async(memory, 1, 1024, stream));
    CUgraph graph;
    OK(cuStreamEndCapture(stream, &graph));
    CUgraphNode nodes[8];
    CHECK(nothing == 0 && types_in(graph, nodes, 8) == std::vector<CUgraphNodeType>({CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEMSET}));
    CUDA_MEM_ALLOC_NODE_PARAMS described;
    OK(cuGraphMemAllocNodeGetParams(nodes[0], &described));
    CHECK(described.bytesize == 1024 && described.dptr == memory && described.poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    CHECK(cuGraphMemAllocNodeGetParams(nodes[1], &described) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuGraphDestroyNode(nodes[1]) == CUDA_ERROR_NOT_SUPPORTED);
    CUgraphExec executable;
    OK(cuGraphInstantiate(&executable, graph, 0));
    CHECK(graph_memory_of_device() == Four({0, 0, 0, 0}));
    for (int launch = 0; launch < 2; ++launch) {
        OK(cuGraphLaunch(executable, stream));
        OK(cuStreamSynchronize(stream));
        CHECK(graph_memory_of_device() == Four({piece, piece, piece, piece}));
        unsigned char out = 0;
        OK(cuMemcpyDtoH(&out, memory, 1));
        CHECK(out == 1);
        OK(cuMemFreeAsync(memory, stream));
        OK(cuStreamSynchronize(stream));
        CHECK(graph_memory_of_device() == Four({piece, piece, piece, piece}));
    }
    OK(cuDeviceGraphMemTrim(0));
    CHECK(graph_memory_of_device() == Four({0, piece, 0, piece}));
    OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
    CHECK(graph_memory_of_device() == Four({0, 0, 0, piece}));

    CUgraph built;
    CUgraphNode allocates, frees, more;
    OK(cuGraphCreate(&built, 0));
    described = {};
    described.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    described.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    described.bytesize = 4;
    OK(cuGraphAddMemAllocNode(&allocates, built, nullptr, 0, &described));
    CHECK(cuGraphAddMemFreeNode(&more, built, nullptr, 0, 0x1234) == CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphAddMemFreeNode(&frees, built, &allocates, 1, described.dptr));
    CUdeviceptr freed = 0;
    OK(cuGraphMemFreeNodeGetParams(frees, &freed));
    CHECK(freed == described.dptr);
    OK(cuGraphCreate(&built, 0));
    described.dptr = 0;
    OK(cuGraphAddMemAllocNode(&allocates, built, nullptr, 0, &described));
    OK(cuGraphInstantiate(&executable, built, 0));
    OK(cuGraphLaunch(executable, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemsetD8(described.dptr, 3, 4));
    unsigned char out = 0;
    OK(cuMemcpyDtoH(&out, described.dptr, 1));
    CHECK(out == 3);
}

// As an H200 answers.
static void pool_statistics() {
    OK(cudaFree(nullptr));
    CUmemoryPool pool;
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    CUdeviceptr memory;
    auto holds = [&](uint64_t reserved, uint64_t reserved_high, uint64_t used, uint64_t used_high) {
        uint64_t found[4];
        int attribute = CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
        for (uint64_t& value : found) OK(cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(attribute++), &value));
        return found[0] == reserved && found[1] == reserved_high && found[2] == used && found[3] == used_high;
    };
    constexpr uint64_t bytes = 64u << 20;
    OK(cuMemAllocAsync(&memory, bytes, nullptr));
    CHECK(holds(bytes, bytes, bytes, bytes));
    OK(cuMemFreeAsync(memory, nullptr));
    OK(cuStreamSynchronize(nullptr));
    CHECK(holds(0, bytes, 0, bytes));
    uint64_t zero = 0, one = 1;
    CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &zero) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &one) == CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
    CHECK(holds(0, 0, 0, bytes));
}

// As an H200 answers.
static void graph_edges() {
    OK(cudaFree(nullptr));
    CUgraph graph, other;
    CUgraphNode a, b, elsewhere, more;
    CUgraphExec executable;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphCreate(&other, 0));
    OK(cuGraphAddEmptyNode(&a, graph, nullptr, 0));
    OK(cuGraphAddEmptyNode(&b, graph, nullptr, 0));
    OK(cuGraphAddEmptyNode(&elsewhere, other, nullptr, 0));
    CHECK(cuGraphAddDependencies(graph, &a, &a, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuGraphAddDependencies(graph, &a, &elsewhere, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuGraphAddDependencies(graph, &elsewhere, &a, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuGraphAddDependencies(other, &a, &b, nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuGraphAddEmptyNode(&more, graph, &elsewhere, 1) == CUDA_ERROR_INVALID_VALUE);
    CUgraphNode twice[] = {a, a};
    CHECK(cuGraphAddEmptyNode(&more, graph, twice, 2) == CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphAddDependencies(graph, &a, &b, nullptr, 1));
    OK(cuGraphInstantiate(&executable, graph, 0));
    OK(cuGraphAddDependencies(graph, &b, &a, nullptr, 1));
    CHECK(cuGraphInstantiate(&executable, graph, 0) == CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphRemoveDependencies(graph, &b, &a, nullptr, 1));
    OK(cuGraphInstantiate(&executable, graph, 0));

    CUgraphNode from, to;
    CUgraphEdgeData data;
    memset(&data, 0xff, sizeof data);
    size_t one = 1;
    OK(cuGraphGetEdges(graph, &from, &to, &data, &one));
    CHECK(one == 1 && from == a && to == b && data.type == 0 && data.from_port == 0);

    const char* path = "edges.dot";
    OK(cuGraphDebugDotPrint(graph, path, 0));
    FILE* file = fopen(path, "r");
    CHECK(file);
    char text[1000] = {};
    CHECK(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    remove(path);
    CHECK(strstr(text, "digraph dot {") == text && strstr(text, "EMPTY") && strstr(text, "_node_0\" -> \"graph_"));
    CHECK(cuGraphDebugDotPrint(graph, "/dev/null/edges.dot", 0) == CUDA_ERROR_OPERATING_SYSTEM);
    CHECK(cuGraphDebugDotPrint(graph, nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
}

static void event_nodes() {
    cudaEvent_t first, second, found;
    cudaStream_t stream;
    OK(cudaEventCreate(&first));
    OK(cudaEventCreate(&second));
    OK(cudaStreamCreate(&stream));
    cudaGraph_t graph;
    cudaGraphNode_t records, waits, empty, either;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEventRecordNode(&records, graph, nullptr, 0, first));
    OK(cudaGraphAddEventWaitNode(&waits, graph, &records, 1, first));
    OK(cudaGraphAddEmptyNode(&empty, graph, nullptr, 0));
    OK(cudaGraphEventRecordNodeGetEvent(records, &found));
    CHECK(found == first);
    OK(cudaGraphEventWaitNodeSetEvent(waits, second));
    OK(cudaGraphEventWaitNodeGetEvent(waits, &found));
    CHECK(found == second);
    CHECK(cudaGraphEventWaitNodeGetEvent(records, &found) == cudaErrorInvalidValue);
    CHECK(cudaGraphEventRecordNodeSetEvent(empty, first) == cudaErrorInvalidValue);
    CUgraphNodeParams described = {};
    described.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    described.eventRecord.event = second;
    OK(cuGraphAddNode(&either, graph, nullptr, nullptr, 0, &described));
    OK(cudaGraphEventRecordNodeGetEvent(either, &found));
    CHECK(found == second);
    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphExecEventRecordNodeSetEvent(executable, records, second));
    OK(cudaGraphExecEventWaitNodeSetEvent(executable, waits, first));
    OK(cudaGraphEventRecordNodeGetEvent(records, &found));
    CHECK(found == first);  // the executable graph has nodes of its own
    OK(cudaGraphLaunch(executable, stream));
    OK(cudaStreamSynchronize(stream));
}

static CUcontext current_context() {
    CUcontext context;
    OK(cudaFree(nullptr));
    OK(cuCtxGetCurrent(&context));
    return context;
}

// What the calls return: as an H200 answers. A condition keeps the value that it was made with.
static void conditional_nodes() {
    CUcontext context = current_context();
    CUgraph graph;
    CUgraphConditionalHandle condition;
    OK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphConditionalHandleCreate(&condition, graph, nullptr, 1, 0) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuGraphConditionalHandleCreate(&condition, graph, context, 0, 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuGraphConditionalHandleCreate(nullptr, graph, context, 0, 0) == CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr memory;
    OK(cuMemAlloc(&memory, 16));
    OK(cuMemsetD8(memory, 0, 16));
    struct { CUgraphConditionalNodeType type; unsigned size, value; int status; unsigned ran; } kinds[] = {
        {CU_GRAPH_COND_TYPE_IF, 1, 0, 0, 0},     {CU_GRAPH_COND_TYPE_IF, 1, 5, 0, 1},     {CU_GRAPH_COND_TYPE_IF, 2, 0, 0, 2},
        {CU_GRAPH_COND_TYPE_IF, 2, 1, 0, 1},     {CU_GRAPH_COND_TYPE_IF, 3, 1, 1, 0},     {CU_GRAPH_COND_TYPE_IF, 0, 1, 1, 0},
        {CU_GRAPH_COND_TYPE_WHILE, 1, 0, 0, 0},  {CU_GRAPH_COND_TYPE_WHILE, 1, 1, 0, 1},  {CU_GRAPH_COND_TYPE_WHILE, 2, 1, 1, 0},
        {CU_GRAPH_COND_TYPE_SWITCH, 3, 1, 0, 2}, {CU_GRAPH_COND_TYPE_SWITCH, 3, 9, 0, 0}, {CU_GRAPH_COND_TYPE_SWITCH, 0, 0, 1, 0},
        {static_cast<CUgraphConditionalNodeType>(3), 1, 1, 1, 0},
    };
    CUdeviceptr target = memory;
    for (auto& kind : kinds) {
        OK(cuGraphCreate(&graph, 0));
        OK(cuGraphConditionalHandleCreate(&condition, graph, context, kind.value, CU_GRAPH_COND_ASSIGN_DEFAULT));
        CHECK(condition == 1);
        CUgraphNodeParams parameters = {};
        parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
        parameters.conditional.handle = condition;
        parameters.conditional.type = kind.type;
        parameters.conditional.size = kind.size;
        CUgraphNode node;
        CHECK(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &parameters) == CUDA_ERROR_INVALID_CONTEXT);
        parameters.conditional.ctx = context;
        CHECK(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &parameters) == kind.status);
        if (kind.status) continue;
        CHECK(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &parameters) == CUDA_ERROR_INVALID_VALUE);
        for (unsigned body = 0; body < kind.size; ++body) {
            CUDA_MEMSET_NODE_PARAMS set = {};
            set.dst = target, set.elementSize = 1, set.value = body + 1, set.width = set.height = 1;
            CUgraphNode added;
            OK(cuGraphAddMemsetNode(&added, parameters.conditional.phGraph_out[body], nullptr, 0, &set, context));
        }
        static int destroyed = 0;
        CUuserObject object;
        OK(cuUserObjectCreate(&object, &destroyed, [](void* data) { ++*static_cast<int*>(data); }, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
        CUgraph last = parameters.conditional.phGraph_out[kind.size - 1];
        OK(cuGraphRetainUserObject(last, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
        CUgraph copy;
        CHECK(cuGraphClone(&copy, graph) == CUDA_ERROR_NOT_SUPPORTED);
        CUgraphExec executable;
        OK(cuGraphInstantiate(&executable, graph, 0));
        OK(cuGraphLaunch(executable, nullptr));
        unsigned char out = 77;
        OK(cuMemcpyDtoH(&out, target, 1));
        CHECK(out == kind.ran);
        ++target;
        OK(cuGraphExecDestroy(executable));
        OK(cuCtxSynchronize());
        int before = destroyed;
        OK(cuGraphDestroyNode(node));
        OK(cuCtxSynchronize());
        CHECK(destroyed == before + 1);
    }
}

// The function that destroys a user object is called when nobody refers to it any more, and not before.
static void user_objects() {
    CUcontext context = current_context();
    (void)context;
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    static std::atomic<int> ended{0}, called{0};
    auto destroy = [](void* data) { ended += *static_cast<int*>(data); };
    auto wait_for = [](std::atomic<int>& counter, int value) {
        while (counter < value) std::this_thread::yield();
        return counter == value;
    };
    static int one = 1, ten = 10, hundred = 100;
    CUuserObject object;
    OK(cuUserObjectCreate(&object, &one, destroy, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuUserObjectRetain(object, 1));
    OK(cuUserObjectRelease(object, 2));
    CHECK(ended == 0);
    OK(cuUserObjectRelease(object, 1));
    CHECK(wait_for(ended, 1));

    CUgraph graph, parent;
    CUgraphNode node;
    CUgraphExec executable;
    OK(cuGraphCreate(&graph, 0));
    CUDA_HOST_NODE_PARAMS host = {[](void* data) { called += *static_cast<int*>(data); }, &one};
    OK(cuGraphAddHostNode(&node, graph, nullptr, 0, &host));
    OK(cuUserObjectCreate(&object, &ten, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cuGraphCreate(&parent, 0));
    OK(cuGraphAddChildGraphNode(&node, parent, nullptr, 0, graph));
    OK(cuGraphDestroy(graph));
    OK(cuGraphInstantiate(&executable, parent, 0));
    OK(cuGraphDestroy(parent));
    OK(cuGraphLaunch(executable, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(called == 1 && ended == 1);
    OK(cuGraphExecDestroy(executable));
    CHECK(wait_for(ended, 11));

    OK(cuGraphCreate(&graph, 0));
    OK(cuUserObjectCreate(&object, &hundred, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuGraphRetainUserObject(graph, object, 1, 0));
    OK(cuUserObjectRelease(object, 1));
    OK(cuGraphReleaseUserObject(graph, object, 1));
    CHECK(wait_for(ended, 111));
}

// Handles that the program was not told are not those of what it destroyed.
static void handles_that_come_of_captures() {
    current_context();
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr memory;
    OK(cuMemAlloc(&memory, 16));
    for (int again = 0; again < 2; ++again) {
        CUgraph graph;
        CUgraphNode nodes[4];
        size_t count = 4;
        OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        OK(cuMemsetD8Async(memory, 1, 16, stream));
        OK(cuMemsetD8Async(memory, 2, 16, stream));
        OK(cuStreamEndCapture(stream, &graph));
        OK(cuGraphGetNodes(graph, nodes, &count));
        CHECK(count == 2);
        CUgraphNodeType type;
        OK(cuGraphNodeGetType(nodes[1], &type));
        OK(cuGraphDestroyNode(nodes[0]));
        OK(cuGraphDestroy(graph));
    }
}

static int range_attribute(CUdeviceptr memory, size_t bytes, CUmem_range_attribute attribute) {
    int value = 77;
    OK(cuMemRangeGetAttribute(&value, sizeof value, attribute, memory, bytes));
    return value;
}

// As cuMemRangeGetAttribute's documentation says.
static void managed_ranges() {
    current_context();
    constexpr size_t bytes = 1 << 20;
    CUdeviceptr memory, other;
    OK(cuMemAllocManaged(&memory, bytes, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocManaged(&other, bytes, CU_MEM_ATTACH_GLOBAL));
    CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    auto whole = [&](CUmem_range_attribute attribute) { return range_attribute(memory, bytes, attribute); };
    CHECK(whole(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) == 0 && whole(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION) == CU_DEVICE_INVALID);
    CHECK(whole(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION) == CU_DEVICE_INVALID);
    OK(cuMemAdvise(memory, bytes / 2, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
    CHECK(whole(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) == 0);
    CHECK(range_attribute(memory, bytes / 2, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) == 1);
    OK(cuMemAdvise(memory + bytes / 2, bytes / 2, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
    CHECK(whole(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) == 1);
    OK(cuMemAdvise(memory + 4096, 4096, CU_MEM_ADVISE_UNSET_READ_MOSTLY, device));
    CHECK(whole(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) == 0);
    OK(cuMemAdvise(memory, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
    CHECK(whole(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION) == CU_DEVICE_CPU);
    CHECK(whole(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE) == CU_MEM_LOCATION_TYPE_HOST);
    OK(cuMemAdvise(memory, bytes, CU_MEM_ADVISE_SET_ACCESSED_BY, device));
    int accessed[3];
    OK(cuMemRangeGetAttribute(accessed, sizeof accessed, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, bytes));
    CHECK(accessed[0] == 0 && accessed[1] == CU_DEVICE_INVALID && accessed[2] == CU_DEVICE_INVALID);
    OK(cuMemPrefetchAsync(memory, bytes, device, 0, nullptr));
    CHECK(whole(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION) == 0);
    CUdeviceptr both[] = {memory, other};
    size_t sizes[] = {bytes, bytes}, first[] = {0, 1};
    CUmemLocation places[] = {host, device};
    OK(cuMemPrefetchBatchAsync(both, sizes, 2, places, first, 2, 0, nullptr));
    CHECK(whole(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION) == CU_DEVICE_CPU);
    CHECK(range_attribute(other, bytes, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION) == 0);
    OK(cuMemDiscardBatchAsync(both, sizes, 2, 0, nullptr));
    CHECK(range_attribute(other, bytes, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) == 0);
    OK(cuMemFree(memory));
    OK(cuMemAllocManaged(&memory, bytes, CU_MEM_ATTACH_GLOBAL));
    CHECK(whole(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION) == CU_DEVICE_INVALID);
}

// Conditions of the graph around a loop, in the loop's body.
static void nested_conditions() {
    CUcontext context = current_context();
    CUgraph graph;
    CUgraphConditionalHandle conditions[2];
    OK(cuGraphCreate(&graph, 0));
    for (auto& condition : conditions) OK(cuGraphConditionalHandleCreate(&condition, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUdeviceptr memory;
    OK(cuMemAlloc(&memory, 16));
    OK(cuMemsetD8(memory, 0, 16));
    CUgraph into = graph;
    for (unsigned depth = 0; depth < 2; ++depth) {
        CUgraphNodeParams parameters = {};
        parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
        parameters.conditional = {conditions[depth], depth ? CU_GRAPH_COND_TYPE_IF : CU_GRAPH_COND_TYPE_WHILE, 1, nullptr, context};
        CUgraphNode node;
        OK(cuGraphAddNode(&node, into, nullptr, nullptr, 0, &parameters));
        CHECK(cuGraphAddNode(&node, into, nullptr, nullptr, 0, &parameters) == CUDA_ERROR_INVALID_VALUE);
        into = parameters.conditional.phGraph_out[0];
    }
    CUDA_MEMSET_NODE_PARAMS set = {};
    set.dst = memory, set.elementSize = 1, set.value = 9, set.width = set.height = 1;
    CUgraphNode added;
    OK(cuGraphAddMemsetNode(&added, into, nullptr, 0, &set, context));
    CUgraphExec executable;
    OK(cuGraphInstantiate(&executable, graph, 0));
    OK(cuGraphLaunch(executable, nullptr));
    unsigned char out = 0;
    OK(cuMemcpyDtoH(&out, memory, 1));
    CHECK(out == 9);
}

// What describes a node is as large as its struct, however the node was added.
static void node_parameters() {
    CUcontext context = current_context();
    CUgraph graph;
    OK(cuGraphCreate(&graph, 0));
    CUdeviceptr memory;
    OK(cuMemAlloc(&memory, 16));
    unsigned char out[16] = {};
    CUgraphNodeParams parameters = {};
    parameters.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    auto& copy = parameters.memcpy.copyParams;
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE, copy.srcDevice = memory;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = out;
    copy.WidthInBytes = 16, copy.Height = copy.Depth = 1;
    parameters.memcpy.copyCtx = context;
    CUgraphNode sets, copies;
    CUDA_MEMSET_NODE_PARAMS set = {};
    set.dst = memory, set.elementSize = 1, set.value = 3, set.width = 16, set.height = 1;
    OK(cuGraphAddMemsetNode(&sets, graph, nullptr, 0, &set, context));
    OK(cuGraphAddNode(&copies, graph, &sets, nullptr, 1, &parameters));
    struct { CUDA_MEMCPY3D described; unsigned char behind[256]; } copied;
    memset(&copied, 0x5a, sizeof copied);
    OK(cuGraphMemcpyNodeGetParams(copies, &copied.described));
    CHECK(copied.described.srcDevice == memory && copied.described.dstHost == out && copied.described.WidthInBytes == 16);
    for (unsigned char byte : copied.behind) CHECK(byte == 0x5a);

    CUgraphExec executable;
    OK(cuGraphInstantiate(&executable, graph, 0));
    auto launched = [&] {
        OK(cuGraphLaunch(executable, nullptr));
        OK(cuCtxSynchronize());
        return out[0];
    };
    CHECK(launched() == 3);
    CUgraphNodeParams other = {};
    other.type = CU_GRAPH_NODE_TYPE_MEMSET;
    other.memset.dst = memory, other.memset.elementSize = 1, other.memset.value = 7, other.memset.width = 16, other.memset.height = 1;
    other.memset.ctx = context;
    OK(cuGraphNodeSetParams(sets, &other));
    CHECK(launched() == 3);
    OK(cuGraphMemsetNodeGetParams(sets, &set));
    CHECK(set.value == 7);
    OK(cuGraphExecNodeSetParams(executable, sets, &other));
    CHECK(launched() == 7);
    CHECK(cuGraphNodeSetParams(copies, &other) == CUDA_ERROR_INVALID_VALUE);
    unsigned enabled = 77;
    OK(cuMemsetD8(memory, 1, 16));
    OK(cuGraphNodeSetEnabled(executable, sets, 0));
    OK(cuGraphNodeGetEnabled(executable, sets, &enabled));
    CHECK(enabled == 0 && launched() == 1);
    OK(cuGraphNodeSetEnabled(executable, sets, 1));
    CHECK(launched() == 7);
}

// An executable graph takes the nodes of another graph if that has as many, of the same types.
static void updates() {
    current_context();
    CUdeviceptr memory;
    OK(cuMemAlloc(&memory, 16));
    CUgraph graphs[3];
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 3; ++i) {
        OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        for (unsigned more = 0; more <= i / 2; ++more) OK(cuMemsetD8Async(memory, i + 1, 16, stream));
        OK(cuStreamEndCapture(stream, &graphs[i]));
    }
    CUgraphExec executable;
    OK(cuGraphInstantiate(&executable, graphs[0], 0));
    CUgraphExecUpdateResultInfo info;
    CHECK(cuGraphExecUpdate(executable, graphs[2], &info) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    OK(cuGraphExecUpdate(executable, graphs[1], &info));
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    OK(cuGraphLaunch(executable, stream));
    OK(cuStreamSynchronize(stream));
    unsigned char out = 0;
    OK(cuMemcpyDtoH(&out, memory, 1));
    CHECK(out == 2);
}

static void mipmap_levels() {
    current_context();
    CUDA_ARRAY3D_DESCRIPTOR described = {};
    described.Width = 64, described.Height = 6, described.Format = CU_AD_FORMAT_FLOAT, described.NumChannels = 2;
    CUmipmappedArray mipmap;
    OK(cuMipmappedArrayCreate(&mipmap, &described, 4));
    size_t before, left, total;
    OK(cuMemGetInfo(&before, &total));
    for (unsigned level = 0; level < 4; ++level) {
        CUarray array, again;
        OK(cuMipmappedArrayGetLevel(&array, mipmap, level));
        OK(cuMipmappedArrayGetLevel(&again, mipmap, level));
        CHECK(array == again);
        CUDA_ARRAY3D_DESCRIPTOR found;
        OK(cuArray3DGetDescriptor(&found, array));
        CHECK(found.Width == 64u >> level && found.Height == (level < 3 ? 6u >> level : 1) && found.Depth == 0);
        CHECK(found.Format == CU_AD_FORMAT_FLOAT && found.NumChannels == 2);
        float in[2] = {1, 2}, out[2] = {};
        OK(cuMemcpyHtoA(array, 0, in, sizeof in));
        OK(cuMemcpyAtoH(out, array, 0, sizeof out));
        CHECK(out[1] == 2);
    }
    OK(cuMipmappedArrayDestroy(mipmap));
    OK(cuMemGetInfo(&left, &total));
    CHECK(left == before);
}

// A client that reads the edges of what it captures.
static void captured_edges() {
    current_context();
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr memory;
    OK(cuMemAlloc(&memory, 16));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemsetD8Async(memory, 1, 16, stream));
    CUstreamCaptureStatus state;
    CUgraph graph;
    const CUgraphNode* nodes;
    const CUgraphEdgeData* edges;
    size_t count;
    OK(cuStreamGetCaptureInfo(stream, &state, nullptr, &graph, &nodes, &edges, &count));
    CHECK(state == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1 && edges && edges[0].type == 0);
    OK(cuStreamEndCapture(stream, &graph));
}

// What is set and never written takes next to no memory, and reads as it was set.
static void large_fills() {
    constexpr size_t bytes = 4ull << 30, odd = 5;
    unsigned char *device, *managed;
    OK(cudaMalloc(&device, bytes));
    OK(cudaMallocManaged(&managed, bytes));
    size_t before = resident_bytes();
    for (unsigned char* memory : {device, managed}) {
        OK(cudaMemset(memory, 0xab, bytes));
        CHECK(at(memory, 0) == 0xabababab && at(memory, bytes / 2 - 1) == 0xabababab && at(memory, bytes - 4) == 0xabababab);
        OK(cudaMemcpy(memory + (1 << 20) - 2, &bytes, 4, cudaMemcpyHostToDevice));
        CHECK(at(memory, (1 << 20) - 2) == 0 && at(memory, (1 << 20) + 2) == 0xabababab && at(memory, (9 << 20) - 2) == 0xabababab);
        OK(cudaMemset(memory + odd, 0, bytes - 2 * odd));
        CHECK(at(memory, 1) == 0xabababab && at(memory, odd) == 0 && at(memory, bytes / 2) == 0 && at(memory, bytes - odd - 4) == 0);
        CHECK(at(memory, bytes - 4) == 0xabababab);
    }
    OK(cuMemsetD32(reinterpret_cast<CUdeviceptr>(device) + 4, 0x04030201, bytes / 4 - 1));
    CHECK(at(device, 4) == 0x04030201 && at(device, bytes - 4) == 0x04030201 && at(device, 4096 * 4097) == 0x04030201);
    CHECK(managed[bytes / 2] == 0 && managed[bytes - 1] == 0xab);
    managed[bytes / 2] = 1;
    CHECK(at(managed, bytes / 2) == 1);
    CHECK(resident_bytes() < before + (256u << 20));
    OK(cudaFree(device));
    OK(cudaFree(managed));
}

// The device has 64 MiB.
static void little_memory() {
    constexpr size_t mib = 1u << 20;
    OK(cudaFree(nullptr));
    size_t left, total, whole;
    OK(cuMemGetInfo(&left, &total));
    OK(cuDeviceTotalMem(&whole, 0));
    cudaDeviceProp described;
    OK(cudaGetDeviceProperties(&described, 0));
    CHECK(left == 64 * mib && total == left && whole == left && described.totalGlobalMem == left);
    void *first, *second, *pinned;
    CHECK(cudaMalloc(&first, 65 * mib) == cudaErrorMemoryAllocation);
    OK(cudaMalloc(&first, 40 * mib));
    CHECK(cudaMalloc(&second, 25 * mib) == cudaErrorMemoryAllocation);
    CHECK(cudaMallocAsync(&second, 25 * mib, nullptr) == cudaErrorMemoryAllocation);
    OK(cudaMallocHost(&pinned, 60 * mib));
    OK(cudaMemGetInfo(&left, &total));
    CHECK(left == 24 * mib && total == 64 * mib);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    OK(cudaMallocArray(&array, &format, 1024, 1024));
    CUmemAllocationProp where = {};
    where.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    where.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr range;
    OK(cuMemCreate(&handle, 16 * mib, &where, 0));
    OK(cuMemAddressReserve(&range, 256 * mib, 0, 0, 0));
    OK(cuMemMap(range, 16 * mib, 0, handle, 0));
    OK(cuMemRelease(handle));
    OK(cudaMemGetInfo(&left, &total));
    CHECK(left == 4 * mib);
    OK(cuMemUnmap(range, 16 * mib));
    OK(cudaFreeArray(array));
    OK(cudaFree(first));
    OK(cudaFreeHost(pinned));
    OK(cudaMemGetInfo(&left, &total));
    CHECK(left == total);
    OK(cudaMallocArray(&array, &format, 1024, 1024));
    OK(cudaMalloc(&first, mib));
    OK(cudaDeviceReset());
    OK(cudaMemGetInfo(&left, &total));
    CHECK(left == total);
}

// What one device holds, the other still has.
static void memory_of_two_devices() {
    size_t left[2], total;
    void* memory;
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&memory, 1 << 20));
    OK(cudaMemGetInfo(&left[1], &total));
    OK(cudaSetDevice(0));
    OK(cudaMemGetInfo(&left[0], &total));
    CHECK(left[0] == total && left[1] == total - (1 << 20));
}

static void not_emulated() {
    OK(cudaFree(nullptr));
    CUgraphicsResource resource;
    CHECK(cuGraphicsUnregisterResource(resource = nullptr) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(cuGraphicsUnregisterResource(resource) == CUDA_ERROR_NOT_SUPPORTED);
}

static void properties() {
    cudaDeviceProp described;
    OK(cudaGetDeviceProperties(&described, 0));
    printf("%s %d.%d %d %zu\n", described.name, described.major, described.minor, described.multiProcessorCount,
           described.sharedMemPerBlockOptin);
    int runtime = 0, driver = 0;
    OK(cudaRuntimeGetVersion(&runtime));
    OK(cudaDriverGetVersion(&driver));
    CHECK(runtime / 1000 == 13 && driver == 13000);
    CHECK(!strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue"));
    CHECK(!strcmp(cudaGetErrorString(cudaErrorInvalidResourceHandle), "invalid resource handle"));
}

#define PROGRAM(name) {#name, name}
static const struct { const char* name; void (*run)(); } programs[] = {
    PROGRAM(linear_copy), PROGRAM(pitched_copy), PROGRAM(box_copy), PROGRAM(array_copy), PROGRAM(managed_memory),
    PROGRAM(pinned_memory), PROGRAM(variables), PROGRAM(bad_host_pointers), PROGRAM(launches), PROGRAM(callbacks_in_order),
    PROGRAM(graphs), PROGRAM(built_graph), PROGRAM(two_devices), PROGRAM(many_threads), PROGRAM(fork_after_use),
    PROGRAM(fork_before_use), PROGRAM(waiting_does_not_block_others), PROGRAM(driver_pitfalls), PROGRAM(not_emulated),
    PROGRAM(properties), PROGRAM(captured_fork_and_join), PROGRAM(objects_outlive_their_thread), PROGRAM(exec_begins_anew),
    PROGRAM(function_attributes), PROGRAM(small_questions), PROGRAM(graph_edges), PROGRAM(event_nodes), PROGRAM(conditional_nodes), PROGRAM(nested_conditions), PROGRAM(node_parameters), PROGRAM(updates), PROGRAM(mipmap_levels), PROGRAM(captured_edges), PROGRAM(managed_ranges), PROGRAM(user_objects), PROGRAM(handles_that_come_of_captures), PROGRAM(graph_memory), PROGRAM(pool_statistics), PROGRAM(large_fills), PROGRAM(little_memory), PROGRAM(memory_of_two_devices),
};

int main(int argc, char** argv) {
    for (const auto& program : programs) {
        if (argc == 2 && !strcmp(argv[1], program.name)) {
            program.run();
            return 0;
        }
    }
    return 2;
}
