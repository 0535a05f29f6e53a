from cuvet.catalog import EntryPoint
from cuvet.catalog.results import NOT_PERMITTED
from cuvet.model import Call, ModelView
from cuvet.model.precedence import Stage
from cuvet.rules.occasions import in_host_function
from cuvet.rules.rule import CallRule, Violations

_ANSWERED = frozenset({"cuEventQuery", "cuStreamQuery"})


class StreamCallInHostFunction(CallRule):
    """
    checks: A host function or stream callback calls CUDA, and the driver refuses it.
    why: CUDA forbids its functions in what the driver runs for a stream. The driver may return CUDA_ERROR_NOT_PERMITTED, but need not. Such
      a function must not wait for unordered work either.
    instead: Let the function wake a thread that calls CUDA. `cudaFreeAsync` on the stream frees memory without a host function.
    limits: Silent about calls that the driver accepts, and about some that only query, such as for the current device. In C++,
      `cuvet check` knows host functions that the file defines under one name, lambdas, and the functions of the file that these
      call; in Python, functions that a stream of Numba or CuPy is given. A warning, because a branch may lead past the call.
    """

    code = "CV208"
    stage = Stage.PROCESS
    only_when = in_host_function
    same_for_alike = True
    summary = "a host function of a stream calls CUDA"
    help = "let the host function wake a thread that calls CUDA; free memory with cudaFreeAsync on the stream"
    evidence = """
    measured: in a host function cudaMalloc, cudaFree, a launch, cudaSetDevice, cudaGetDevice, cudaEventCreate,
      cuMemAlloc, cuCtxGetCurrent and cuCtxSynchronize: CUDA_ERROR_NOT_PERMITTED, and so cudaMalloc in a stream's
      callback; the stream and later calls are none the worse (host_function_malloc, host_function_free,
      host_function_launch, host_function_device, host_function_event, host_function_driver, host_function_current,
      stream_callback_malloc)
    measured: cuStreamQuery is answered in a host function (host_function_driver)
    documented: The host function must not make any CUDA API calls. Attempting to use a CUDA API may result in
      CUDA_ERROR_NOT_PERMITTED, but this is not required. (CUDA Driver API, cuLaunchHostFunc)
    """
    VALID = """
## called by a thread that was woken
import ctypes, threading

stream = cu.cuStreamCreate(1)
done = threading.Event()
handler = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: done.set())
cu.cuLaunchHostFunc(stream, ctypes.cast(handler, ctypes.c_void_p).value, None)
done.wait()
cu.cuMemFree(cu.cuMemAlloc(64))
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)

## freed on the stream
note: when the stream has come so far, without a host function
import ctypes

stream = cu.cuStreamCreate(1)
memory = cu.cuMemAllocAsync(64, stream)
cu.cuMemsetD8Async(memory, 0, 64, stream)
handler = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: None)
cu.cuLaunchHostFunc(stream, ctypes.cast(handler, ctypes.c_void_p).value, None)
cu.cuMemFreeAsync(memory, stream)
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)

## Numba: the copy is enqueued before the callback [python]
import queue
from numba import cuda

class Grabber:
    def __init__(self):
        self.stream = cuda.stream()
        self.ready = queue.Queue()

    def start(self, image, pixels):
        image.copy_to_host(pixels, stream=self.stream)
        self.stream.add_callback(self._done, pixels)

    def _done(self, stream, status, pixels):
        self.ready.put((status, pixels))

## another library's callback [python]
from numba import cuda
from tornado.ioloop import IOLoop

def show(image):
    print(image.copy_to_host())

def start(image):
    loop = IOLoop.current()
    loop.add_callback(show, image)

## C++: only words for a status, and a query [cuda]
static void CUDART_CB note_end(void *data) {
    Job *job = static_cast<Job *>(data);
    printf("%s\n", cudaGetErrorString(job->status));
    job->before = cudaEventQuery(job->previous) == cudaSuccess;
}
void enqueue(Job *job, cudaStream_t stream) {
    CHECK(cudaLaunchHostFunc(stream, note_end, job));
}

## C++: another thread is told to free it [cuda]
static void CUDART_CB hand_back(void *data) {
    Job *job = static_cast<Job *>(data);
    job->janitor->post([job] { cudaFree(job->values); });
}
void enqueue(Job *job, cudaStream_t stream) {
    CHECK(cudaLaunchHostFunc(stream, &hand_back, job));
}

## C++: the function that calls CUDA is called by the host [cuda]
static void release(void *data) {
    CHECK(cudaFree(data));
}
static void CUDART_CB count(void *data) {
    ++*static_cast<int *>(data);
}
void enqueue(float *values, int *done, cudaStream_t stream) {
    CHECK(cudaLaunchHostFunc(stream, count, done));
    CHECK(cudaStreamSynchronize(stream));
    release(values);
}

## C++: a method of the same name, of an object of another class [cuda]
struct Buffer {
    float *values;
    void reset() { CHECK(cudaFree(values)); }
};
static void CUDART_CB rewind(void *data) {
    static_cast<Reader *>(data)->reset();
}
void enqueue(Reader *reader, cudaStream_t stream) {
    CHECK(cudaLaunchHostFunc(stream, rewind, reader));
}

## C++: two functions of the name, one with CUDA [cuda]
namespace host { void done(void *data) { ++*static_cast<int *>(data); } }
namespace device { void done(void *data) { CHECK(cudaFree(data)); } }
void enqueue(int *counter, cudaStream_t stream) {
    CHECK(cudaLaunchHostFunc(stream, host::done, counter));
}

## C++: a test that the calls are refused [cuda]
static void CUDART_CB try_it(void *data) {
    *static_cast<cudaError_t *>(data) = cudaMalloc(&somewhere, 4);
}
bool is_refused(cudaStream_t stream) {
    static cudaError_t status;
    CHECK(cudaLaunchHostFunc(stream, try_it, &status));
    CHECK(cudaStreamSynchronize(stream));
    return status == cudaErrorNotPermitted;
}
"""
    INVALID = """
## allocated in a host function
import ctypes

def allocate(data):
    cu.cuMemAlloc(64)  # error: [stream-call-in-host-function]

stream = cu.cuStreamCreate(1)
handler = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(allocate)
cu.cuLaunchHostFunc(stream, ctypes.cast(handler, ctypes.c_void_p).value, None)
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)

## allocated in a stream's callback
import ctypes

def allocate(stream, status, data):
    cu.cuMemAlloc(64)  # error: [stream-call-in-host-function]

stream = cu.cuStreamCreate(1)
handler = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(allocate)
cu.cuStreamAddCallback(stream, ctypes.cast(handler, ctypes.c_void_p).value, None, 0)
cu.cuStreamSynchronize(stream)
cu.cuStreamDestroy(stream)

## Numba: a copy in the callback [python]
import queue
from numba import cuda

class Grabber:
    def __init__(self):
        self.stream = cuda.stream()
        self.ready = queue.Queue()

    def start(self, image):
        self.stream.add_callback(self._done, image)

    def _done(self, stream, status, image):
        self.ready.put(image.copy_to_host())  # warning: [stream-call-in-host-function]

## CuPy: memory in the callback [python]
import cupy as cp

stream = cp.cuda.Stream()

def finish(results):
    results.append(cp.asnumpy(results.pop()))  # warning: [stream-call-in-host-function]

def start(results):
    stream.launch_host_func(finish, results)

## C++: freed when the work is done [cuda]
static void CUDART_CB release(void *data) {
    CHECK(cudaFree(data));  // warning: [stream-call-in-host-function]
}
void enqueue(float *values, int n, cudaStream_t stream) {
    scale<<<n, 1, 0, stream>>>(values);
    CHECK(cudaGetLastError());
    CHECK(cudaLaunchHostFunc(stream, release, values));
}

## C++: the next copy is begun by a method that the callback calls [cuda]
class Pump {
public:
    void start() { CHECK(cudaStreamAddCallback(stream_, &Pump::done, this, 0)); }
private:
    static void CUDART_CB done(cudaStream_t, cudaError_t, void *self) { advance(static_cast<Pump *>(self)); }
    static void advance(Pump *pump) {
        ++pump->turn_;
        CHECK(cudaMemcpyAsync(pump->to_, pump->from_, 64, cudaMemcpyDefault, pump->stream_));  // warning: [stream-call-in-host-function]
    }
    cudaStream_t stream_;
    char *to_, *from_;
    int turn_ = 0;
};

## C++: a lambda [cuda]
void enqueue(cudaEvent_t done, cudaStream_t stream) {
    CHECK(cudaLaunchHostFunc(stream, [](void *data) {
        CHECK(cudaEventDestroy(static_cast<cudaEvent_t>(data)));  // warning: [stream-call-in-host-function]
    }, done));
}

## C++: a node of a graph [cuda]
static void tidy(void *data) {
    CHECK(cudaFreeHost(data));  // warning: [stream-call-in-host-function]
}
void add(cudaGraph_t graph, cudaGraphNode_t *node, void *data) {
    cudaHostNodeParams params = {};
    params.fn = tidy;
    params.userData = data;
    CHECK(cudaGraphAddHostNode(node, graph, nullptr, 0, &params));
}
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return bool(entry_point.roles) and entry_point.api == "driver" and entry_point.name not in _ANSWERED

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        if call.in_host_function:
            yield cls.broken("this call is made in a host function, which the driver called", outcomes=(NOT_PERMITTED,))
