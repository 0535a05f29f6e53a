// Kernels that fail, one per name, and programs that try to make the report accuse the wrong launch. `faults NAME` prints the launch's status and
// that of the wait behind it; `faults` lists the names. What is true of each stands in faults.py.
#include <cuda.h>
#include <cuda_runtime.h>
#ifdef WITH_CUBLAS
#include <cublas_v2.h>
#endif

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>

struct View {
    long long count;
    float* data;
};
struct Three {
    float *first, *second, *third;
};

__device__ __forceinline__ int place() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void good(float* memory, int count) {
    if (place() < count) memory[place()] = 1.0f;
}
__global__ void scale(float* memory, int count) {
    if (place() < count) memory[place()] *= 2.0f;
}
__global__ void fill(float* memory) { memory[place()] = 1.0f; }
__global__ void copy(const float* from, float* to) { to[place()] = from[place()]; }
__global__ void at(float* memory, long long index) { memory[index + place()] = 1.0f; }
__global__ void by_view(View view) {
    if (place() < view.count) view.data[place()] = 1.0f;
}
__global__ void by_three(Three three) { three.third[place()] = three.first[place()] + three.second[place()]; }
__global__ void by_table(float** table) { table[0][place()] = 1.0f; }
__global__ void unused(float* memory, float* never) { memory[place()] = 1.0f; }
__global__ void maybe(float* memory, float* other, int flag) {
    if (flag) other[place()] = 1.0f;
    memory[place()] = 1.0f;
}
__global__ void number(float* memory, long long value) { memory[place()] = value; }
__global__ void between(float* begin, float* end) {
    for (float* each = begin + place(); each < end; each += 32) *each = 1.0f;
}
__global__ void traps(int thread) {
    if (threadIdx.x == thread) __trap();
}
__global__ void asserts(int wanted) { assert(blockDim.x == wanted); }
__global__ void misaligned(char* memory) { *(float*)(memory + 1) = 1.0f; }
__global__ void wild(long long where) { ((float*)where)[place()] = 1.0f; }

static float in_program[64];

static float* allocated(size_t size = 4 << 20) {
    float* memory = nullptr;
    cudaMalloc((void**)&memory, size);
    return memory;
}
static float* freed(size_t size = 4 << 20) {
    float* memory = allocated(size);
    cudaFree(memory);
    return memory;
}
static cudaStream_t streamed() {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    return stream;
}
static CUdeviceptr reserved(bool mapped) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    const size_t size = 2 << 20;
    CUdeviceptr address = 0;
    CUmemGenericAllocationHandle handle;
    cuMemAddressReserve(&address, size, 0, 0, 0);
    if (!mapped) return address;
    CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    cuMemCreate(&handle, size, &properties, 0);
    cuMemMap(address, size, 0, handle, 0);
    cuMemSetAccess(address, size, &access, 1);
    cuMemUnmap(address, size);
    return address;
}
static void launch_packed(float* memory) {
    cudaFunction_t function;
    cudaGetFuncBySymbol(&function, (const void*)fill);
    size_t size = sizeof memory;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &memory, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    cuLaunchKernel((CUfunction)function, 1, 1, 1, 32, 1, 1, 0, 0, nullptr, extra);
}
static void launch_by_config(float* memory) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(2, 3, 1);
    config.blockDim = dim3(8, 4, 1);
    cudaLaunchKernelEx(&config, fill, memory);
}
static cudaGraph_t capture(float* memory) {
    cudaStream_t stream = streamed();
    cudaGraph_t graph;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    fill<<<1, 32, 0, stream>>>(memory);
    cudaStreamEndCapture(stream, &graph);
    return graph;
}
static void replay(float* memory, bool free_before) {
    cudaStream_t stream = streamed();
    cudaGraphExec_t executable;
    cudaGraphInstantiate(&executable, capture(memory), 0);
    if (free_before) cudaFree(memory);
    cudaGraphLaunch(executable, stream);
}
static void five(bool beyond) {
    cudaStream_t streams[] = {streamed(), streamed(), streamed()};
    float* memory[] = {allocated(), allocated(), allocated(), allocated(), allocated()};
    float* bad = beyond ? memory[3] + (1 << 28) : freed();
    for (int i = 0; i < 5; i++)
        if (i == 3) scale<<<1, 32, 0, streams[i % 3]>>>(bad, 32);
        else good<<<1, 32, 0, streams[i % 3]>>>(memory[i], 32);
}

#ifdef WITH_CUBLAS
static void multiply(float* bad) {
    cublasHandle_t handle;
    cublasCreate(&handle);
    const float one = 1.0f;
    float *left = allocated(), *result = allocated();
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 512, 512, 512, &one, left, 512, bad, 512, &one, result, 512);
}
#endif

typedef void (*Case)();
static const std::map<std::string, Case> cases = {
    {"null", [] { fill<<<1, 32>>>(nullptr); }},
    {"null_of_two", [] { copy<<<1, 32>>>(allocated(), nullptr); }},
    {"null_in_struct", [] { by_view<<<1, 32>>>(View{32, nullptr}); }},
    {"freed", [] { scale<<<1, 32>>>(freed(), 32); }},
    {"freed_small", [] { scale<<<1, 32>>>(freed(4096), 32); }},
    {"freed_large", [] { scale<<<4, 256>>>(freed(256 << 20), 1024); }},
    {"freed_read", [] { float* from = allocated(); float* to = allocated(); cudaFree(from); copy<<<1, 32>>>(from, to); }},
    {"freed_in_struct", [] { by_view<<<1, 32>>>(View{32, freed()}); }},
    {"freed_third_of_struct", [] { float *a = allocated(), *b = allocated(); by_three<<<1, 32>>>(Three{a, b, freed()}); }},
    {"freed_inside", [] { scale<<<1, 32>>>(freed() + (1 << 19), 32); }},
    {"freed_packed", [] { launch_packed(freed()); }},
    {"freed_by_config", [] { launch_by_config(freed()); }},
    {"freed_by_thread", [] { float* memory = allocated(); std::thread([=] { cudaFree(memory); }).join(); fill<<<1, 32>>>(memory); }},
    {"freed_launched_by_thread", [] { float* memory = freed(); std::thread([=] { fill<<<1, 32>>>(memory); cudaDeviceSynchronize(); }).join(); }},
    {"freed_after_others", [] { for (int i = 0; i < 10; i++) good<<<1, 32>>>(allocated(), 32); cudaDeviceSynchronize(); fill<<<1, 32>>>(freed()); }},
    {"one_of_five", [] { five(false); }},
    {"one_of_five_beyond", [] { five(true); }},
    {"beyond_by_index", [] { at<<<1, 32>>>(allocated(), 1 << 26); }},
    {"beyond_by_last_thread", [] { scale<<<1 << 20, 1024>>>(allocated(), 1 << 30); }},
    {"host_static", [] { scale<<<1, 32>>>(in_program, 32); }},
    {"host_stack", [] { float here[32]; scale<<<1, 32>>>(here, 32); }},
    {"host_heap", [] { scale<<<1, 32>>>((float*)malloc(1 << 20), 32); }},
    {"range_never_mapped", [] { fill<<<1, 32>>>((float*)reserved(false)); }},
    {"range_unmapped", [] { fill<<<1, 32>>>((float*)reserved(true)); }},
    {"other_device", [] { cudaSetDevice(0); float* memory = allocated(); cudaSetDevice(1); fill<<<1, 32>>>(memory); }},
    {"trap", [] { traps<<<2, 64>>>(0); }},
    {"assert", [] { asserts<<<1, 32>>>(64); }},
    {"misaligned", [] { misaligned<<<1, 32>>>((char*)allocated()); }},
    {"pointer_in_memory", [] { float* bad = freed(); float** table = (float**)allocated(); cudaMemcpy(table, &bad, 8, cudaMemcpyHostToDevice); by_table<<<1, 32>>>(table); }},
    {"graph_replay", [] { replay(allocated(), true); }},
#ifdef WITH_CUBLAS
    {"cublas_freed", [] { multiply(freed(64 << 20)); }},
#endif
    // Whose fault it is cannot be known, or looks like another's.
    {"two_bad", [] { fill<<<1, 32>>>(freed()); copy<<<1, 32>>>(freed(8 << 20), allocated(64 << 20)); }},
    {"unused_freed", [] { float* never = freed(); unused<<<1, 32>>>(allocated(), never); wild<<<1, 32>>>(16); }},
    {"flagged_freed", [] { float* other = freed(); maybe<<<1, 32>>>(allocated(), other, 0); wild<<<1, 32>>>(16); }},
    {"guarded_null", [] { maybe<<<1, 32>>>(allocated(), nullptr, 0); wild<<<1, 32>>>(16); }},
    {"number_like_address", [] { float* like = freed(); number<<<1, 32>>>(allocated(), (long long)like); wild<<<1, 32>>>(16); }},
    {"issued_again", [] { float* old = freed(); float* now = allocated(); good<<<1, 32>>>(now, 32); (void)old; wild<<<1, 32>>>(16); }},
    {"end_of_memory", [] { float* memory = allocated(); between<<<1, 32>>>(memory, memory + (1 << 20)); wild<<<1, 32>>>(16); }},
    {"no_thread_passes", [] { scale<<<1, 32>>>(freed(), 0); wild<<<1, 32>>>(16); }},
    {"stream_ordered_freed", [] { cudaStream_t stream = streamed(); float* memory; cudaMallocAsync((void**)&memory, 1 << 20, stream); cudaFreeAsync(memory, stream); good<<<1, 32>>>(memory, 32); wild<<<1, 32>>>(16); }},
    {"shares_a_page", [] { float* near = allocated(4096); float* memory = allocated(4096); cudaFree(memory); scale<<<1, 32>>>(memory, 32); good<<<1, 32>>>(near, 32); wild<<<1, 32>>>(16); }},
    {"waited_for", [] { float* memory = allocated(); fill<<<1, 32>>>(memory); float value; cudaMemcpy(&value, memory, 4, cudaMemcpyDeviceToHost); wild<<<1, 32>>>(16); cudaFree(memory); }},
    {"captured_null", [] { capture(nullptr); wild<<<1, 32>>>(16); }},
    {"wild_beside_graph", [] { replay(allocated(), false); wild<<<1, 32>>>(16); }},
};

int main(int count, char** arguments) {
    if (count < 2) {
        for (const auto& each : cases) puts(each.first.c_str());
        return 0;
    }
    const auto found = cases.find(arguments[1]);
    if (found == cases.end()) return 2;
    cudaFree(nullptr);
    found->second();
    printf("launch %d\n", cudaGetLastError());
    printf("wait %d\n", cudaDeviceSynchronize());
    return 0;
}
