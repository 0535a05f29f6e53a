// Kernels that certainly fail, and kernels that look alike and do not. `kernels NAME` prints what the calls returned.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cassert>
#include <cstdio>
#include <cstring>

struct Argument {
    int count;
    float* memory;
};

__device__ float table[64];
__managed__ float managed[64];
__constant__ float factors[64];

__device__ __noinline__ void put(float* memory, int index, float value) { memory[index] = value; }

__global__ void store(float* memory, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) memory[i] = 1.0f;
}
__global__ void store_first(float* memory) { memory[0] = 1.0f; }
__global__ void store_at(float* memory, long long index) { memory[index] = 1.0f; }
__global__ void by_call(float* memory, int count) {
    for (int i = 0; i < count; ++i) put(memory, i, factors[i & 63]);
}
__global__ void by_struct(Argument argument) {
    for (int i = threadIdx.x; i < argument.count; i += blockDim.x) argument.memory[i] += table[i & 63];
}
__global__ void vectors(const float4* from, float4* to) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void add(int* sum) { atomicAdd(sum, 1); }
__global__ void traps_at(int thread) {
    if (threadIdx.x == thread) __trap();
}
__global__ void asserts(int wanted) { assert(blockDim.x == wanted); }
__global__ void traps_if(const int* flag) {
    if (*flag) __trap();
}
__global__ void gather(float* memory, const long long* index) { memory[index[threadIdx.x]] = 1.0f; }
__global__ void follow(float** pointers) { pointers[0][0] = 1.0f; }
__global__ void shared_and_local(float* memory, int seed) {
    __shared__ float block[64];
    extern __shared__ float dynamic[];
    float local[8];
    for (int i = 0; i < 8; ++i) local[(i + seed) & 7] = i;
    block[threadIdx.x] = local[seed & 7];
    dynamic[threadIdx.x] = 1;
    __syncthreads();
    float* either = seed ? block : dynamic;
    memory[threadIdx.x] = either[63 - threadIdx.x] + table[threadIdx.x];
    table[threadIdx.x] = memory[threadIdx.x];
    managed[threadIdx.x] = 1;
    if (seed == 7) printf("%f\n", memory[0]);
}

static void* allocated(size_t size = 4096) {
    void* memory = nullptr;
    cudaMalloc(&memory, size);
    return memory;
}
static void* freed(size_t size = 4096) {
    void* memory = allocated(size);
    cudaFree(memory);
    return memory;
}
static float in_program[64];

static void say(const char* what, int status) { printf("%s %d\n", what, status); }
static void end() {
    say("launch", cudaGetLastError());
    say("end", cudaDeviceSynchronize());
}

static void launch_packed(float* memory) {
    cudaFunction_t function;
    cudaGetFuncBySymbol(&function, (const void*)store_first);
    size_t size = sizeof memory;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &memory, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    cuLaunchKernel((CUfunction)function, 1, 1, 1, 1, 1, 1, 0, 0, nullptr, extra);
}

static bool fails(const char* name) {
    auto is = [name](const char* other) { return !strcmp(name, other); };
    if (is("null")) store<<<4, 32>>>(nullptr, 1);
    else if (is("null_member")) store_first<<<1, 1>>>((float*)64);
    else if (is("freed")) store<<<1, 32>>>((float*)freed(), 32);
    else if (is("freed_large")) store<<<1, 32>>>((float*)freed(64 << 20), 32);
    else if (is("freed_by_call")) by_call<<<1, 1>>>((float*)freed(), 3);
    else if (is("freed_by_struct")) by_struct<<<1, 32>>>(Argument{40, (float*)freed()});
    else if (is("freed_read")) { float4* from = (float4*)allocated(); float4* to = (float4*)allocated(4 << 20); cudaFree(from); vectors<<<1, 32>>>(from, to); }
    else if (is("freed_atomic")) add<<<1, 1>>>((int*)freed());
    else if (is("freed_packed")) launch_packed((float*)freed());
    else if (is("host")) store<<<1, 32>>>(in_program, 32);
    else if (is("host_stack")) { float here[32]; store<<<1, 32>>>(here, 32); }
    else if (is("last_block")) store<<<1 << 20, 1024>>>((float*)allocated(), 1 << 30);
    else if (is("freed_while_waiting")) {
        cudaStream_t stream;
        float* memory;
        cudaStreamCreate(&stream);
        cudaMallocAsync((void**)&memory, 4096, stream);
        store_first<<<1, 1, 0, stream>>>(memory);
        store_first<<<1, 1, 0, stream>>>(memory);
        cudaFree(memory);
    }
    else if (is("trap_first")) traps_at<<<2, 64>>>(0);
    else if (is("trap_last")) traps_at<<<2, 64>>>(63);
    else if (is("assert")) asserts<<<1, 32>>>(64);
    else return false;
    end();
    return true;
}

static bool shows(const char* name) {
    auto is = [name](const char* other) { return !strcmp(name, other); };
    cudaStream_t a, b;
    cudaEvent_t event;
    char byte;
    void* other = allocated(4 << 20);
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    store_first<<<1, 1, 0, a>>>(nullptr);
    say("launch", cudaGetLastError());
    say("record", cudaEventRecord(event, a));
    say("other stream", cudaStreamSynchronize(b));
    if (is("shows_stream")) say("end", cudaStreamSynchronize(a));
    else if (is("shows_event")) say("end", cudaEventSynchronize(event));
    else if (is("shows_query")) { int status; while ((status = cudaStreamQuery(a)) == cudaErrorNotReady) {} say("end", status); }
    else if (is("shows_waiting")) { cudaStreamWaitEvent(b, event, 0); say("end", cudaStreamSynchronize(b)); }
    else if (is("shows_free")) say("end", cudaFree(other));
    else if (is("shows_copy")) { cudaStreamWaitEvent(0, event, 0); say("end", cudaMemcpy(&byte, other, 1, cudaMemcpyDeviceToHost)); }
    else return false;
    say("after", cudaMalloc(&other, 16));
    return true;
}

static void is_right() {
    float* memory = (float*)allocated();
    store<<<8, 128>>>(memory, 1024);
    store<<<1 << 16, 1024>>>(memory, 1024);
    store<<<1, 32>>>(nullptr, 0);
    by_call<<<1, 1>>>(memory, 100000);
    by_call<<<1, 1>>>(nullptr, 0);
    by_struct<<<2, 64>>>(Argument{1024, memory});
    vectors<<<1, 32>>>((float4*)memory, (float4*)memory + 32);
    add<<<4, 64>>>((int*)memory);
    traps_at<<<2, 64>>>(64);
    asserts<<<1, 32>>>(32);
    traps_if<<<1, 1>>>((int*)memory);
    gather<<<1, 32>>>(memory, (long long*)memory);
    follow<<<1, 1>>>((float**)memory);
    shared_and_local<<<2, 64, 256>>>(memory, 3);
    shared_and_local<<<2, 64, 256>>>(memory, 7);
    launch_packed(memory);
    store_at<<<1, 1>>>(memory, 1024);  // past the end, in the same page
    store_at<<<1, 1>>>(memory, 1 << 20);
    end();

    float *mapped, *everywhere, *symbol;
    cudaMallocHost(&mapped, 4096);
    cudaMallocManaged(&everywhere, 4096);
    cudaGetSymbolAddress((void**)&symbol, table);
    store<<<1, 64>>>(mapped, 64);
    store<<<1, 64>>>(everywhere, 64);
    store<<<1, 64>>>(symbol, 64);
    store<<<1, 64>>>(managed, 64);
    cudaHostRegister(in_program, sizeof in_program, 0);
    store<<<1, 64>>>(in_program, 64);
    end();

    float* neighbour = (float*)allocated();
    cudaFree(neighbour);
    store<<<1, 32>>>(neighbour, 32);  // its page holds other memory
    float* ordered;
    cudaMallocAsync((void**)&ordered, 64 << 20, 0);
    cudaFreeAsync(ordered, 0);
    store<<<1, 32>>>(ordered, 32);  // measured: use_after_freeasync
    float* otherwise = (float*)allocated(8 << 20);
    cudaFreeAsync(otherwise, 0);
    store<<<1, 32>>>(otherwise, 32);
    float* large = (float*)freed(8 << 20);
    allocated();
    store<<<1, 32>>>(large, 32);  // the driver may have given the address out again
    end();

    cudaGraph_t graph;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    store_first<<<1, 1, 0, stream>>>(nullptr);  // never runs
    cudaStreamEndCapture(stream, &graph);
    end();
}

static void variables() {
    float* symbol;
    store<<<1, 64>>>(managed, 64);
    cudaGetSymbolAddress((void**)&symbol, table);
    store<<<1, 64>>>(symbol, 64);
    end();
}

static void free_in_time() {
    float* memory;
    for (int ordered = 0; ordered < 2; ++ordered) {
        cudaMallocAsync((void**)&memory, 4096, 0);
        store_first<<<1, 1>>>(memory);
        store_first<<<1, 1>>>(memory);
        if (ordered) cudaFreeAsync(memory, 0);
        else cudaStreamSynchronize(0), cudaFree(memory);
        end();
    }
    cudaMallocHost(&memory, 4096);
    cudaFreeHost(memory);
    store_first<<<1, 1>>>(memory);  // not measured
    end();
}

static void peers(bool enabled) {
    int ignored = cudaSetDevice(0);
    void* memory = allocated();
    ignored |= cudaSetDevice(1);
    if (enabled) ignored |= cudaDeviceEnablePeerAccess(0, 0);
    say("set up", ignored);
    store<<<1, 32>>>((float*)memory, 32);
    end();
}

int main(int argc, char** argv) {
    const char* name = argc > 1 ? argv[1] : "";
    if (!strcmp(name, "right")) is_right();
    else if (!strcmp(name, "variables")) variables();
    else if (!strcmp(name, "free_in_time")) free_in_time();
    else if (!strcmp(name, "peer")) peers(true);
    else if (!strcmp(name, "stranger")) peers(false);
    else if (!fails(name) && !shows(name)) return 2;
}
