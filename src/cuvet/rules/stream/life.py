from cuvet.catalog.roles import Kind
from cuvet.rules.families import DESTROYED_TWICE, NEVER_CREATED, USED_AFTER_CONTEXT, USED_AFTER_DESTROY
from cuvet.rules.lives import Life, Mistake, Spelled
from cuvet.rules.rule import CRASH

LIFE = Life(
    kind=Kind.STREAM,
    name="stream",
    make="cu.cuStreamCreate(0)",
    use="cu.cuStreamSynchronize({})",
    another_use="cu.cuEventRecord(cu.cuEventCreate(0), {})",
    end="cu.cuStreamDestroy({})",
    other="cu.cuEventCreate(0)",
    undefined="CUDA Runtime API, Stream Management, cudaStreamDestroy",
    cpp=Spelled(
        type="cudaStream_t",
        make="cudaStreamCreate(&stream)",
        use="cudaStreamSynchronize(stream)",
        end="cudaStreamDestroy(stream)",
    ),
    python=Spelled(
        make="error, stream = driver.cuStreamCreate(0)",
        use="error, = driver.cuStreamSynchronize(stream)",
        end="error, = driver.cuStreamDestroy(stream)",
    ),
    csharp=Spelled(
        type="CUstream",
        make="Streams.cuStreamCreate(ref stream, CUStreamFlags.NonBlocking)",
        use="Streams.cuStreamSynchronize(stream)",
        end="Streams.cuStreamDestroy_v2(stream)",
    ),
    mistakes=(
        Mistake(USED_AFTER_DESTROY, "CV201", (CRASH,), libraries=True, without=("destroyed by another thread",)),
        Mistake(DESTROYED_TWICE, "CV202", (CRASH,), without=("destroyed by two threads",)),
        Mistake(NEVER_CREATED, "CV204", (CRASH, 400, 709), mistaken={Kind.EVENT: (709, 400)}),
        Mistake(
            USED_AFTER_CONTEXT,
            "CV205",
            (709,),
            libraries=True,
            roots=frozenset({Kind.CONTEXT, Kind.GREEN_CONTEXT}),
            kills=frozenset({Kind.CONTEXT}),
        ),
    ),
)

TEXTS = """
# stream-use-after-destroy
why: The handle points at memory that the driver has released. The call was measured to die of SIGSEGV inside the
  driver, with no error code.
instead: Destroy the stream after its last use in any thread. Earlier work still completes without being waited for.
measured: a launch, a copy, a query and a synchronisation on a destroyed stream: SIGSEGV in the driver, no error code
  (launch_on_destroyed_stream, memcpyasync_on_destroyed_stream, stream_query_after_destroy, stream_sync_after_destroy)
documented: {undefined}
documented: close destroys the stream that a stream of cuda.core owns (cuda.core, Stream.close)

# stream-use-after-destroy: right

## destroyed with work pending
note: work enqueued before the destruction completes
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuStreamDestroy(stream)
cu.cuCtxSynchronize()
cu.cuMemFree(memory)

## C++: destroyed and made again [cuda]
void rounds(float *values, int n, int count) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int i = 0; i < count; ++i) {
        multiply<<<1, n, 0, stream>>>(values, n);
        cudaStreamSynchronize(stream);
        cudaStreamDestroy(stream);
        cudaStreamCreate(&stream);
    }
    cudaStreamDestroy(stream);
}

## Python: destroyed after the last use [python cudart]
def upload(device, host, size):
    error, stream = cudart.cudaStreamCreate()
    error, = cudart.cudaMemcpyAsync(device, host, size, cudart.cudaMemcpyKind.cudaMemcpyHostToDevice, stream)
    error, = cudart.cudaStreamSynchronize(stream)
    error, = cudart.cudaStreamDestroy(stream)

## C#: destroyed in finally [c# method]
void Run() {
    CUstream stream = new CUstream();
    Check(Streams.cuStreamCreate(ref stream, CUStreamFlags.NonBlocking));
    try {
        Launch(stream);
        Check(Streams.cuStreamSynchronize(stream));
    } finally {
        Check(Streams.cuStreamDestroy_v2(stream));
    }
}

# stream-use-after-destroy: wrong

## destroyed by another thread
stream = cu.cuStreamCreate(0)
cu.in_thread(lambda: cu.cuStreamDestroy(stream))
cu.cuStreamQuery(stream)  # error: [stream-use-after-destroy]

## C++: destroyed in the loop that uses it [cuda]
void upload(float *const *device, float *const *host, size_t bytes, int buffers) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int i = 0; i < buffers; ++i) {
        cudaMemcpyAsync(device[i], host[i], bytes, cudaMemcpyDefault, stream);  // error: [stream-use-after-destroy]
        cudaStreamDestroy(stream);  // error: [stream-destroy-twice]
    }
}

# stream-destroy-twice
why: The handle points at memory that the driver has released. The second destruction was measured to die of SIGSEGV
  inside the driver, with no error code.
instead: Give the stream one owner, which destroys it once and clears the handle. Do not let an object that destroys its
  stream be copied, or let the copies share the stream.
measured: SIGSEGV in the driver, no error code (stream_destroy_twice)
documented: {undefined}

# stream-destroy-twice: right

## Python: in finally alone [python cupy]
def run(work):
    stream = runtime.streamCreate()
    try:
        if not work(stream):
            return False
    finally:
        runtime.streamDestroy(stream)
    return True

# stream-destroy-twice: wrong

## destroyed by two owners
streams = [cu.cuStreamCreate(0)]
copy = list(streams)
for stream in streams:
    cu.cuStreamDestroy(stream)
for stream in copy:
    cu.cuStreamDestroy(stream)  # error: [stream-destroy-twice]

## C++: at the end of the loop and after it [cuda]
void process(int batches) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int i = 0; i < batches; ++i) {
        if (!next(i, stream)) {
            cudaStreamDestroy(stream);
            break;
        }
    }
    cudaStreamDestroy(stream);  // error: [stream-destroy-twice]
}

## C++: through two variables [cuda]
void run(int n) {
    cudaStream_t stream, compute;
    cudaStreamCreate(&stream);
    compute = stream;
    add<<<1, n, 0, compute>>>();
    cudaStreamDestroy(compute);
    cudaStreamDestroy(stream);  // error: [stream-destroy-twice]
}

# stream-never-created
why: The driver uses the handle as a pointer. An invalid address was measured to die of SIGSEGV inside the driver; other
  readable memory to return CUDA_ERROR_INVALID_HANDLE.
measured: cudaStreamSynchronize((cudaStream_t)0xdeadbeef): SIGSEGV in the driver (stream_garbage_handle)
measured: cudaStreamQuery of an event: CUDA_ERROR_CONTEXT_IS_DESTROYED (event_as_stream)
measured: a handle that points at zeroed memory: CUDA_ERROR_INVALID_HANDLE (stream_uninit_heap_handle)

# stream-never-created: right

## C++: a stream behind a pointer to void [c++]
void wait() {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    void *handle = stream;
    cudaStreamSynchronize((cudaStream_t)handle);
    cudaStreamDestroy(stream);
}

## Python: arguments in order [python cupy]
def waits(first, second):
    event = runtime.eventCreate()
    runtime.eventRecord(event, first)
    runtime.streamWaitEvent(second, event)
    runtime.eventDestroy(event)

# stream-never-created: wrong

## C++: an event behind a pointer to void [c++]
void wait(void **opaque) {
    cudaEvent_t done;
    cudaEventCreate(&done);
    void *handle = done;
    cudaStreamSynchronize((cudaStream_t)handle);  // error: [stream-never-created]
    cudaEventDestroy(done);
}

## Python: arguments in the wrong order [python cupy]
def waits(first, second):
    event = runtime.eventCreate()
    runtime.eventRecord(event, first)
    runtime.streamWaitEvent(event, second)  # error: [stream-never-created]
    runtime.eventDestroy(event)

## C#: handles as IntPtr [c# class]
[DllImport("cudart64_12")] static extern int cudaEventCreate(out IntPtr done);
[DllImport("cudart64_12")] static extern int cudaEventDestroy(IntPtr done);
[DllImport("cudart64_12")] static extern int cudaStreamSynchronize(IntPtr stream);

void Wait() {
    Check(cudaEventCreate(out IntPtr done));
    Check(cudaStreamSynchronize(done));  // error: [stream-never-created]
    Check(cudaEventDestroy(done));
}

# stream-use-after-context-destroy
why: Destroying a context destroys its streams. Synchronising such a stream was measured to return
  CUDA_ERROR_CONTEXT_IS_DESTROYED. The documentation promises nothing: destroying one once killed the process, on an
  H200 that had returned CUDA_ERROR_CONTEXT_IS_DESTROYED in all runs before.
measured: synchronising and destroying it: CUDA_ERROR_CONTEXT_IS_DESTROYED (ctx_destroy_then_use,
  context_destroy_then_event_destroy)
measured: after the last cuDevicePrimaryCtxRelease: CUDA_ERROR_CONTEXT_IS_DESTROYED
  (context_primary_released_stream_use)
measured: of a green context, after cuGreenCtxDestroy: synchronising, querying and destroying it, recording an event and
  setting memory on it, capturing it: CUDA_ERROR_CONTEXT_IS_DESTROYED (green_gone_stream_sync, green_gone_stream_query,
  green_gone_stream_destroy, green_gone_stream_record, green_gone_stream_memset, green_gone_stream_capture)

# stream-use-after-context-destroy: wrong

## synchronised after its green context was destroyed
green = cu.green_context()
stream = cu.cuGreenCtxStreamCreate(green, 1, 0)
cu.cuGreenCtxDestroy(green)
cu.cuStreamSynchronize(stream)  # error: [stream-use-after-context-destroy]
"""
