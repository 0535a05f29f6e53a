from cuvet.rules.rule import SourceRule


class SourceLeak(SourceRule):
    """
    checks: A function creates a stream, an event, memory or another CUDA object in a local variable, in elements of a local array or
      vector, or in members of a local struct, and neither ends it nor passes it on. A function of the program that it calls may create
      it. The same for members of a struct on the heap, where the function frees the struct.
    why: Nothing can end the object any more. Each call of the function uses more memory of the GPU or the driver.
    instead: End the object before the function returns, or use an owner that ends it, such as ``std::unique_ptr`` with a deleter.
    limits: Silent if the object is passed to a function whose code is not seen, unless the function is named like one of CUDA's
      (``my_cudaMalloc``) or creates a handle. Objects that ``main`` creates are notes (``exit-leak``). Silent about members of a struct
      that a function returns, where the caller's variable is ``auto`` or a reference.
    """

    code = "CV851"
    severity = "warning"
    summary = "a function makes an object and loses it"
    help = "end the object before the function returns, or give it to an owner"
    evidence = """
    measured: compute-sanitizer reports such memory as leaked (ctx_destroy_then_use, free_interior)
    documented: cudaFree, cudaStreamDestroy, cudaEventDestroy and their like end what the program made (CUDA Runtime
      API, Memory Management, Stream Management, Event Management)
    reported: two events of a function that is called in a loop were never destroyed
      (https://github.com/lattice/quda/commit/187e2ba1b901b0031410fb3b9eceb7d6cd8d994c)
    """
    VALID = """
## addresses in it are kept [cuda]
void divide(float **parts, int n, size_t each) {
    float *whole;
    CHECK(cudaMalloc(&whole, n * each));
    for (int i = 0; i < n; i++) {
        float *part = &(whole[i * each]);
        parts[i] = part;
    }
}

region allocate(size_t bytes) {
    float *whole;
    CHECK(cudaMalloc(&whole, bytes));
    return region{as_pointer(whole), bytes};
}

## an element of a container [cuda]
void fill(std::vector<void *> &buffers, size_t bytes) {
    CHECK(cudaMalloc(&buffers.at(0), bytes));
}

## elements that a loop ends [cuda]
void work(int n) {
    std::vector<cudaStream_t> streams(n);
    cudaEvent_t done[2];
    for (int i = 0; i < n; i++) cudaStreamCreate(&streams[i]);
    cudaEventCreate(&done[0]);
    cudaEventCreate(&done[1]);
    for (auto &each : streams) cudaStreamDestroy(each);
    for (int i = 0; i < 2; i++) {
        cudaEvent_t event = done[i];
        cudaEventDestroy(event);
    }
}

## elements of which one or the other is freed, and that a macro ends [cuda]
void work(bool first) {
    float *buffers[2];
    cudaStream_t streams[2];
    cudaMalloc(&buffers[0], 64);
    cudaMalloc(&buffers[1], 64);
    for (int i = 0; i < 2; i++) cudaStreamCreate(&streams[i]);
    for (int i = 0; i < 2; i++) CALL(cudaStreamDestroy, streams[i]);
    float *kept = first ? buffers[1] : buffers[0];
    cudaFree(first ? buffers[0] : buffers[1]);
    cudaFree(kept);
}

## elements that are kept by a reference, and an array of somebody else [cuda]
void fill(float *&out, Owner *owner, int n) {
    static float *kept;
    float *buffers[2];
    for (int i = 0; i < 2; i++) cudaMalloc(&buffers[i], 64);
    out = buffers[0];
    kept = buffers[1];
    cudaStream_t *streams = owner ? owner->streams : new cudaStream_t[n];
    for (int i = 0; i < n; i++) cudaStreamCreate(&streams[i]);
}

## elements that others get to know [cuda]
std::vector<float *> allocate(int n, Pool &pool) {
    std::vector<float *> buffers(n);
    cudaStream_t streams[2];
    float **rows = (float **)malloc(n * sizeof(float *));
    float *kept[2];
    for (int i = 0; i < n; i++) {
        cudaMalloc((void **)&buffers[i], 64);
        cudaMalloc((void **)&rows[i], 64);
    }
    cudaStreamCreate(&streams[0]);
    cudaMalloc(&kept[0], 64);
    finish(streams);
    pool.rows = rows;
    pool.keep(kept[0]);
    return buffers;
}

## elements of an array of the caller, and of one that stays [cuda]
void open(cudaStream_t *streams, std::vector<cudaEvent_t> &events) {
    static cudaStream_t shared[2];
    cudaStreamCreate(&streams[0]);
    cudaEventCreate(&events[0]);
    cudaStreamCreate(&shared[0]);
}

## made in a loop over the elements [cuda]
void work() {
    Plan plans[4];
    cudaEvent_t events[2];
    for (Plan &each : plans) cudaStreamCreate(&each.stream);
    for (int i = 0; i < 2; i++) cudaEventCreate(events + i);
    for (int i = 0; i < 4; i++) cudaStreamDestroy(plans[i].stream);
    for (cudaEvent_t each : events) cudaEventDestroy(each);
}

## one member of each element, ended by an iterator [cuda]
void work(int n) {
    std::vector<Plan> plans(n);
    for (int i = 0; i < n; i++) cudaStreamCreate(&plans[i].stream);
    for (auto each = plans.begin(); each != plans.end(); ++each) cudaStreamDestroy(each->stream);
}

## freed [cuda]
void sum(const float *host, int n) {
    float *values;
    cudaMalloc(&values, n * sizeof(float));
    cudaMemcpy(values, host, n * sizeof(float), cudaMemcpyHostToDevice);
    add<<<1, n>>>(values);
    cudaFree(values);
}

## given to an owner [cuda]
void record(std::vector<cudaEvent_t> &events, cudaStream_t stream) {
    cudaEvent_t event;
    cudaEventCreate(&event);
    cudaEventRecord(event, stream);
    events.push_back(event);
}

## a view that is given to the caller [cuda]
span upload(const float *host, int n) {
    float *values;
    cudaMalloc(&values, n * sizeof(float));
    cudaMemcpy(values, host, n * sizeof(float), cudaMemcpyHostToDevice);
    auto all = make_span(values, n);
    return all;
}

## a cache that takes it [cuda]
void fill(const float *host, int n) {
    float *values;
    cudaMalloc(&values, n * sizeof(float));
    cudaMemcpy(values, host, n * sizeof(float), cudaMemcpyHostToDevice);
    copy_to_cache(values, n);
}

## freed behind a macro without arguments [cuda]
void clear(int n) {
    float *values;
    cudaMalloc(&values, n * sizeof(float)); CUERR
    cudaMemset(values, 0, n * sizeof(float)); CUERR
    cudaFree(values); CUERR
}

## made and ended where a macro is not defined [cuda]
void work(int n) {
    cudaStream_t stream = nullptr;
#ifndef CPU_ONLY
    cudaStreamCreate(&stream);
#endif
    run(stream, n);
#if !defined(CPU_ONLY)
    cudaStreamDestroy(stream);
#endif
}

## Python: returned to the caller [python cudart]
def upload(host):
    error, values = cudart.cudaMalloc(host.nbytes)
    error, = cudart.cudaMemcpy(values, host.ctypes.data, host.nbytes, cudart.cudaMemcpyKind.cudaMemcpyHostToDevice)
    return values

## a struct on the heap, whose members another variable holds [c++]
struct port { cudaStream_t line; };
int port_line(cudaStream_t *to) {
    struct port *it = (struct port *)malloc(sizeof *it);
    CHECK(cudaStreamCreate(&it->line));
    *to = it->line;
    free(it);
    return 0;
}

## a struct on the heap whose contents are copied to the device [cuda]
typedef struct { int rows; float *values; } table;
table *to_device(int rows) {
    table *filled = (table *)malloc(sizeof(table)), *copy;
    filled->rows = rows;
    CHECK(cudaMalloc((void **)&filled->values, rows * sizeof(float)));
    CHECK(cudaMalloc((void **)&copy, sizeof(table)));
    CHECK(cudaMemcpy(copy, filled, sizeof(table), cudaMemcpyHostToDevice));
    free(filled);
    return copy;
}

## a struct on the heap that points to one of the caller's [cuda]
struct result { float *values; };
struct task { struct result *out; };
int run(struct result *out, int count) {
    struct task *it = (struct task *)malloc(sizeof *it);
    it->out = out;
    CHECK(cudaMalloc((void **)&it->out->values, count * sizeof(float)));
    fill<<<count, 1>>>(it->out->values);
    free(it);
    return 0;
}

## in a test whose fixture resets the device [cuda]
class Sum : public testing::TestWithParam<int> {
protected:
    void TearDown() override { cudaDeviceReset(); }
};
TEST_P(Sum, OfAll) {
    float *values;
    cudaMalloc(&values, 1024);
    sum<<<1, 32>>>(values);
}

## a local object owns the context in which it is made [cuda]
void run(const float *host, int n) {
    cu::Context context(CU_CTX_SCHED_BLOCKING_SYNC, device);
    float *values;
    cudaMalloc(&values, n);
    cudaMemcpy(values, host, n, cudaMemcpyHostToDevice);
}

## its parts are kept, the first of which begins where it does [cuda]
void fill(size_t count) {
    float *all;
    size_t pitch;
    cudaMallocPitch(&all, &pitch, 1024, count);
    for (size_t i = 0; i < count; ++i) {
        float *part = (float *)(((char *)all) + i * pitch);
        cache.emplace(i, part);
    }
}

## two buffers change places, and both are freed [cuda]
void iterate(int n, int turns) {
    float *from, *to;
    CHECK(cudaMalloc(&from, n * sizeof(float)));
    CHECK(cudaMalloc(&to, n * sizeof(float)));
    for (int i = 0; i < turns; ++i) {
        CHECK(cudaMemsetAsync(to, 0, n * sizeof(float)));
        std::swap(from, to);
    }
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
}

## a buffer changes places with one of the caller's, perhaps as often as it must [cuda]
void iterate(float *values, int n, int turns) {
    float *from = values, *to;
    CHECK(cudaMalloc(&to, n * sizeof(float)));
    for (int i = 0; i < 2 * turns; ++i) {
        CHECK(cudaMemsetAsync(to, 0, n * sizeof(float)));
        std::swap(from, to);
    }
    CHECK(cudaFree(to));
}

## a reference to what is known elsewhere [cuda]
void fill(Context &context, int n) {
    float *&values = context.buffer;
    CHECK(cudaMalloc(&values, n * sizeof(float)));
}

## names of which no sign parts the words [cuda]
#define CUDAFREE(p) do { if (p) { cudaFree(p); p = NULL; } } while (0)
void run(int n) {
    float *one, *other;
    CHECK(cudaMalloc(&one, n));
    CHECK(cudaMalloc(&other, n));
    CUDAFREE(one);
    dfree(other);
}

## a swap of the program's own [cuda]
static void swap(float *one, float *other) { exchange<<<1, 1>>>(one, other); }
void run(int n) {
    float *device, *host;
    CHECK(cudaMalloc(&device, n));
    CHECK(cudaMallocHost(&host, n));
    swap(device, host);
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
}

## buffers that change places, and are freed by other names [cuda]
void iterate(int n, int turns) {
    float *one, *other;
    CHECK(cudaMalloc(&one, n));
    CHECK(cudaMalloc(&other, n));
    float *first(one), *second(other);
    for (int i = 0; i < turns; ++i) {
        CHECK(cudaMemsetAsync(other, 0, n));
        std::swap(one, other);
    }
    CHECK(cudaFree(first));
    CHECK(cudaFree(second));
}

## a flag says whether it is known elsewhere [cuda]
void share(float *host, int n, bool shared) {
    float *values;
    CHECK(cudaMalloc(&values, n * sizeof(float)));
    bool mine = true;
    if (shared) {
        store_in_list(values);
        mine = false;
    }
    CHECK(cudaMemset(values, 0, n * sizeof(float)));
    if (mine) CHECK(cudaFree(values));
}
"""
    INVALID = """
## an address in it is used [cuda]
void add(int n) {
    float *values;
    CHECK(cudaMalloc(&values, 2 * n * sizeof(float)));  // warning: [source-leak]
    float *second = values + n;
    add<<<1, n>>>(values, second);
    CHECK(cudaGetLastError());
}

## two buffers that change places [cuda]
float sum(const float *values, int n) {
    float *from, *to;
    CHECK(cudaMalloc(&from, n * sizeof(float)));  // warning: [source-leak]
    CHECK(cudaMalloc(&to, n * sizeof(float)));  // warning: [source-leak]
    CHECK(cudaMemcpy(from, values, n * sizeof(float), cudaMemcpyDeviceToDevice));
    int rest = n;
    while (true) {
        CHECK(cudaMemsetAsync(to, 0, n * sizeof(float)));
        rest = (rest + 127) / 128;
        if (rest <= 1) break;
        std::swap(from, to);
    }
    float result;
    CHECK(cudaMemcpy(&result, to, sizeof(float), cudaMemcpyDeviceToHost));
    return result;
}

## memory [cuda]
void sum(const float *host, int n) {
    float *values;
    cudaMalloc(&values, n * sizeof(float));  // warning: [source-leak]
    cudaMemcpy(values, host, n * sizeof(float), cudaMemcpyHostToDevice);
    add<<<1, n>>>(values);
}

## elements of an array [cuda]
void work(int n) {
    cudaStream_t streams[4];
    for (int i = 0; i < 4; i++) CHECK(cudaStreamCreate(&streams[i]));  // warning: [source-leak]
    for (int i = 0; i < 4; i++) add<<<1, 32, 0, streams[i]>>>(n);
    for (int i = 0; i < 4; i++) cudaStreamSynchronize(streams[i]);
}

## elements of a vector, behind a variable [cuda]
void sum(int n, int devices) {
    std::vector<float *> parts(devices);
    for (int i = 0; i < devices; i++) {
        cudaError_t error = cudaMalloc((void **)&parts.at(i), n);  // warning: [source-leak]
        if (error != cudaSuccess) return;
        float *part = parts.at(i);
        add<<<1, 32>>>(part, part + 4);
    }
}

## made in a loop over the elements, and waited for [cuda]
void work(int n) {
    std::vector<cudaStream_t> streams(n);
    for (auto &each : streams) cudaStreamCreate(&each);  // warning: [source-leak]
    for (auto each : streams) cudaStreamSynchronize(each);
}

## one member of two [cuda]
void work(int n) {
    Plan *plans = new Plan[n];
    for (int i = 0; i < n; i++) {
        cudaStreamCreate(&plans[i].stream);
        cudaMalloc((void **)&plans[i].memory, 64);  // warning: [source-leak]
    }
    for (int i = 0; i < n; i++) cudaStreamDestroy(plans[i].stream);
    delete[] plans;
}

## events [cuda]
float timed(int n) {
    cudaEvent_t start, end;
    float milliseconds;
    cudaEventCreate(&start);  // warning: [source-leak]
    cudaEventCreate(&end);  // warning: [source-leak]
    cudaEventRecord(start);
    work<<<1, n>>>();
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&milliseconds, start, end);
    return milliseconds;
}

## seen through a view [cuda]
void sum(const float *host, int n) {
    float *values;
    cudaMalloc(&values, n * sizeof(float));  // warning: [source-leak]
    auto rows = make_matrix_view<float>(values, n, 1);
    Kokkos::View<float *, Kokkos::MemoryTraits<Kokkos::Unmanaged>> all(values, n);
    sum_up(rows, all);
}

## in the block of a macro [cuda]
void check(const Tensor &data) {
    SWITCH_TYPE(data.type(), T, {
        int *valid;
        cudaMalloc(&valid, sizeof(int));  // warning: [source-leak]
        Kernel<check_all>::Launch(data.get<T>(), valid);
    })
}

## given to a function that another one finds [cuda]
void multiply(cusparseHandle_t handle, Matrix &a) {
    cusparseMatDescr_t description;
    cusparseCreateMatDescr(&description);  // warning: [source-leak]
    function_for<float>()(handle, a.rows(), description, a.values());
}

## a stream that work is put on, in a loop that ends when it is told to [cuda]
void prefetch(Queue &queue) {
#ifndef CPU_ONLY
    cudaStream_t stream;
    cudaStreamCreate(&stream);  // warning: [source-leak]
#endif
    while (!queue.stopped()) {
        Batch *batch = queue.pop();
#ifndef CPU_ONLY
        batch->async_gpu_push(stream);
        cudaStreamSynchronize(stream);
#endif
    }
}

## used with a cache [cuda]
void attend(Cache &cache, int n) {
    float *keys;
    cudaMalloc(&keys, n * sizeof(float));  // warning: [source-leak]
    attend_with_cache(cache, keys, n);
}

## between macros without arguments [cuda]
void clear(int n) {
    float *values;
    cudaMalloc(&values, n * sizeof(float)); CUERR  // warning: [source-leak]
    set_to_zero<<<n, 256>>>(values); CUERR
    cudaDeviceSynchronize(); CUERR
}

## Python: CuPy's runtime [python cupy]
def wait(stream):
    event = runtime.eventCreate()  # warning: [source-leak]
    runtime.eventRecord(event, stream)
    runtime.eventSynchronize(event)

## C#: ManagedCuda's functions [c#]
class Timer {
    float Measure(CUstream stream) {
        CUevent done = new CUevent();
        CUResult result = DriverAPINativeMethods.Events.cuEventCreate(ref done, CUEventFlags.Default);  // warning: [source-leak]
        result = DriverAPINativeMethods.Events.cuEventRecord(done, stream);
        return Elapsed(stream);
    }
}

## a struct on the heap is freed with the only variable that knows the stream [c++]
struct port { cudaStream_t line; };
void measure() {
    struct port *it = (struct port *)malloc(sizeof *it);
    CHECK(cudaStreamCreate(&it->line));  // warning: [source-leak]
    work<<<1, 1, 0, it->line>>>();
    free(it);
}
"""
