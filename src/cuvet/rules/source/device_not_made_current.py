from cuvet.rules.rule import SourceRule


class SourceDeviceNotMadeCurrent(SourceRule):
    """
    checks: A function names a device, and then allocates, creates, launches or asks for the free memory on whichever device is current: it
      asks for the properties of the device, or runs through the devices of the machine, and makes none of them current. Or most functions
      of a file that call CUDA first make the same device or context current, and one does not.
    why: The runtime allocates, creates and launches on the current device. That is device 0 until the thread makes another one current.
    instead: Call ``cudaSetDevice(device)`` before, in each turn of a loop.
    limits: Callers in other files, which may have made the device current, are not seen. Silent if a function that may make one current,
      also by its name, is called; if a caller in the file, or another function of the class, makes one current; about devices that a
      function emulates, by its name; and about a device that is a constant, that cudaGetDevice told, or that an unknown function chose.
    """

    code = "CV850"
    severity = "note"
    summary = "a function names a device, and works on whichever device is current"
    help = "make the device current before"
    evidence = """
    documented: cudaSetDevice sets device as the current device for the calling host thread; memory, streams, events and launches that
      follow are on that device (CUDA Runtime API, Device Management, cudaSetDevice)
    documented: if no call to cudaSetDevice is made, the current device is device 0 (CUDA C++ Programming Guide, Multi-Device System,
      Device Selection)
    measured: allocating, and copying and setting memory without a stream, while no context is current: CUDA_ERROR_INVALID_CONTEXT;
      work on a stream of a context succeeds (context_none_current, context_none_current_copies, context_none_current_stream)
    reported: the properties of the chosen device were shown, and all work was on device 0
      (https://github.com/hasindu2008/f5c/commit/668b773e)
    reported: the memory of the current device was asked for in place of the chosen one's
      (https://github.com/fireice-uk/xmr-stak/commit/06594585)
    reported: the buffers of all devices were made on the current one (https://github.com/icl-utk-edu/slate/commit/54b22033)
    reported: an image was copied without the context that other functions push
      (https://github.com/elFarto/nvidia-vaapi-driver/commit/053eb8a7)
    reported: a picture was decoded without that context (https://github.com/elFarto/nvidia-vaapi-driver/commit/95da0d2f)
    """
    VALID = """
## made current [cuda]
void open(int device, float **values) {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, device));
    CHECK(cudaSetDevice(device));
    CHECK(cudaMalloc(values, properties.totalGlobalMem / 2));
}

## the current device is asked about [cuda]
void open(float **values) {
    int device;
    cudaDeviceProp properties;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaGetDeviceProperties(&properties, device));
    CHECK(cudaMalloc(values, properties.totalGlobalMem / 2));
}

## a program for the first device [cuda]
void open(float **values) {
    const int device = 0;
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, device));
    CHECK(cudaMalloc(values, properties.totalGlobalMem / 2));
}

## a function that may make it current is given the device [cuda]
void open(int device, float **values) {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, device));
    prepare(device);
    CHECK(cudaMalloc(values, properties.totalGlobalMem / 2));
}

## the caller makes it current [cuda]
static void allocate(int device, float **values) {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, device));
    CHECK(cudaMalloc(values, properties.totalGlobalMem / 2));
}
void open(int device, float **values) {
    CHECK(cudaSetDevice(device));
    allocate(device, values);
}

## another function of the class makes it current [cuda]
struct Worker {
    explicit Worker(int device) : device_(device) { CHECK(cudaSetDevice(device_)); }
    ~Worker() { cudaFree(values_); }
    void open() {
        cudaDeviceProp properties;
        CHECK(cudaGetDeviceProperties(&properties, device_));
        CHECK(cudaMalloc(&values_, properties.totalGlobalMem / 2));
    }
    int device_;
    float *values_ = nullptr;
};

## each device is shown [cuda]
void show(float **values) {
    int count;
    CHECK(cudaGetDeviceCount(&count));
    for (int device = 0; device < count; device++) {
        cudaDeviceProp properties;
        CHECK(cudaGetDeviceProperties(&properties, device));
        printf("%s", properties.name);
    }
    CHECK(cudaMalloc(values, 4096));
}

## a loop over the devices makes each current [cuda]
void open(float **values) {
    int count;
    CHECK(cudaGetDeviceCount(&count));
    for (int device = 0; device < count; device++) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaMalloc(&values[device], 4096));
    }
}

## devices that are emulated on one [cuda]
void run_emulated(float **values) {
    int count;
    CHECK(cudaGetDeviceCount(&count));
    for (int device = 0; device < count; device++)
        CHECK(cudaMalloc(&values[device], 4096));
}

## several buffers of one device [cuda]
void open(float **values, int count) {
    for (int at = 0; at < count; at++)
        CHECK(cudaMalloc(&values[at], 4096));
}

## a helper of functions that push the context [cuda]
struct State { CUcontext context; CUdeviceptr values; CUstream stream; };
static void clear(State *state, size_t size) { CHECK(cuMemsetD8(state->values, 0, size)); }
void open(State *state, size_t size) {
    CHECK(cuCtxPushCurrent(state->context));
    CHECK(cuMemAlloc(&state->values, size));
    clear(state, size);
    CHECK(cuCtxPopCurrent(NULL));
}
void wait(State *state) {
    CHECK(cuCtxPushCurrent(state->context));
    CHECK(cuStreamSynchronize(state->stream));
    CHECK(cuCtxPopCurrent(NULL));
}
void close(State *state) {
    CHECK(cuCtxPushCurrent(state->context));
    CHECK(cuMemFree(state->values));
    CHECK(cuCtxPopCurrent(NULL));
}
"""
    INVALID = """
## asked about [cuda]
void open(int device, float **values) {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, device));
    CHECK(cudaMalloc(values, properties.totalGlobalMem / 2));  // note: [source-device-not-made-current]
}

## the free memory of each device [cuda]
void show() {
    int count;
    CHECK(cudaGetDeviceCount(&count));
    for (int device = 0; device < count; device++) {
        size_t available, total;
        CHECK(cudaMemGetInfo(&available, &total));  // note: [source-device-not-made-current]
        printf("%d: %zu of %zu", device, available, total);
    }
}

## memory on each device [cuda]
void open(float **values) {
    int count;
    CHECK(cudaGetDeviceCount(&count));
    for (int device = 0; device < count; device++)
        CHECK(cudaMalloc(&values[device], 4096));  // note: [source-device-not-made-current]
}

## all other functions push the context [cuda]
struct State { CUcontext context; CUdeviceptr values; CUstream stream; };
void open(State *state, size_t size) {
    CHECK(cuCtxPushCurrent(state->context));
    CHECK(cuMemAlloc(&state->values, size));
    CHECK(cuCtxPopCurrent(NULL));
}
void clear(State *state, size_t size) {
    CHECK(cuMemsetD8(state->values, 0, size));  // note: [source-device-not-made-current]
}
void wait(State *state) {
    CHECK(cuCtxPushCurrent(state->context));
    CHECK(cuStreamSynchronize(state->stream));
    CHECK(cuCtxPopCurrent(NULL));
}
void close(State *state) {
    CHECK(cuCtxPushCurrent(state->context));
    CHECK(cuMemFree(state->values));
    CHECK(cuCtxPopCurrent(NULL));
}

## all other functions have a guard [cuda]
class Buffer {
  public:
    explicit Buffer(int device) : device_(device) {
        DeviceGuard guard(device_);
        CHECK(cudaMalloc(&values_, 4096));
        CHECK(cudaStreamCreate(&stream_));
    }
    Buffer(const Buffer &) = delete;
    ~Buffer() {
        DeviceGuard guard(device_);
        CHECK(cudaFree(values_));
        CHECK(cudaStreamDestroy(stream_));
    }
    void clear() {
        DeviceGuard guard(device_);
        CHECK(cudaMemsetAsync(values_, 0, 4096, stream_));
    }
    void start(cudaEvent_t *event) {
        CHECK(cudaEventCreate(event));  // note: [source-device-not-made-current]
    }
  private:
    int device_;
    void *values_;
    cudaStream_t stream_;
};
"""
