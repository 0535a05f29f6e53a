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
      call; in Python, functions that a stream of Numba or CuPy is given. A note, because a branch may lead past the call.
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
"""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        return bool(entry_point.roles) and entry_point.api == "driver" and entry_point.name not in _ANSWERED

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        if call.in_host_function:
            yield cls.broken("this call is made in a host function, which the driver called", outcomes=(NOT_PERMITTED,))
