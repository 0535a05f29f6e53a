from cuvet.catalog.kinds import FUNCTIONS
from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, ModelView
from cuvet.rules.ownership import belongs, module_context, role_of, stream_and_context
from cuvet.rules.rule import CallRule, Violations


class StreamOtherContext(CallRule):
    """
    checks: A kernel launch fails on a stream of another device or context than the current one.
    why: A stream belongs to the context (with the runtime: the device) that was current at its creation. A module's function cannot be
      launched on a stream of another context; copies and sets can run there. So can kernels of libraries (`CUkernel`, including those of
      the runtime) where it was measured, although the documentation says otherwise.
    instead: Make the stream's context current before the launch (`cudaSetDevice`, `cuCtxSetCurrent`). Keep streams per device.
    limits: Only functions of modules, and only when the launch fails. Silent about streams whose origin was not seen.
      In C++, `cuvet check` also looks at loops that launch on the streams which another loop made on one device each.
      In Python, `cuvet check` looks at streams of CuPy that are made and entered in blocks of `cupy.cuda.Device` with a number.
    """

    code = "CV206"
    about_devices = True
    in_source = True
    same_for_alike = True
    summary = "a kernel is launched on a stream of another device or context"
    help = "make the stream's context (or device) current before the launch"
    kinds = FUNCTIONS
    verbs = frozenset({Verb.LAUNCHES})
    evidence = """
    recorded: a function of a module that was loaded in the stream's context, while another is current: no error; of one
      that was loaded in the current context: CUDA_ERROR_INVALID_HANDLE
    measured: launch on a stream of another context of the device: CUDA_ERROR_INVALID_HANDLE (context_function_of_other)
    measured: kernel of the runtime on a stream of another context of the device: the launch succeeds
      (launch_on_stream_of_other_context)
    measured: a kernel that the runtime launches on a stream of another context of the device: no error
      (launch_on_stream_of_other_context)
    documented: A kernel launch will fail if it is issued to a stream that is not associated to the current device.
      (CUDA C++ Programming Guide, Multi-Device System, Stream and Event Behavior)
    """
    VALID = """
## context of the stream made current
own = cu.cuCtxCreate(0, 0, device)
stream = cu.cuStreamCreate(0)
kernel = cu.kernel()
cu.launch(kernel, stream, 0)
cu.cuStreamSynchronize(stream)
cu.cuCtxDestroy(own)

## memset on a stream of another context
note: copies and sets take a stream of any context
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
own = cu.cuCtxCreate(0, 0, device)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
cu.cuStreamSynchronize(stream)
cu.cuCtxDestroy(own)

## kernel of a library on a stream of another context
note: the runtime launches its kernels so
stream = cu.cuStreamCreate(0)
kernel = cu.cuLibraryGetKernel(cu.library(), "trivial")
own = cu.cuCtxCreate(0, 0, device)
cu.launch(kernel, stream, 0)
cu.cuStreamSynchronize(stream)
cu.cuCtxDestroy(own)

## C++: the stream's device is current [c++]
void launch(const char *path, void **parameters) {
    cudaStream_t stream;
    CUmodule module;
    CUfunction kernel;
    cudaSetDevice(1);
    cudaStreamCreate(&stream);
    cuModuleLoad(&module, path);
    cuModuleGetFunction(&kernel, module, "kernel");
    cudaSetDevice(0);
    prepare();
    cudaSetDevice(1);
    cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr);
    cuModuleUnload(module);
    cudaStreamDestroy(stream);
}

## C++: devices that are not known [c++]
void launch(int first, int second, const char *path, void **parameters) {
    cudaStream_t stream;
    CUmodule module;
    CUfunction kernel;
    cudaSetDevice(first);
    cudaStreamCreate(&stream);
    cudaSetDevice(second);
    cuModuleLoad(&module, path);
    cuModuleGetFunction(&kernel, module, "kernel");
    cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr);
    cuModuleUnload(module);
    cudaStreamDestroy(stream);
}

## CuPy: made on the device that it is used on [python]
import cupy as cp

class Lane:
    def __init__(self, number, count):
        with cp.cuda.Device(number):
            self.stream = cp.cuda.Stream(non_blocking=True)
            with self.stream:
                self.values = cp.zeros(count)

## CuPy: used on whatever device it was made on [python]
import cupy as cp

class Lane:
    def __init__(self, number, count):
        self.stream = cp.cuda.Stream(non_blocking=True)
        with self.stream:
            self.values = cp.zeros(count)
        with cp.cuda.Device(number):
            self.others = cp.zeros(count)

## CuPy: the device of a variable is current [python]
import cupy as cp

def copied(values):
    with cp.cuda.Device(0):
        stream = cp.cuda.Stream()
    first = cp.cuda.Device(0)
    with cp.cuda.Device(1):
        there = cp.asarray(values)
        with first:
            with stream:
                here = cp.asarray(there)
    stream.synchronize()
    return here
"""
    INVALID = """
## stream of another device [devices=2]
stream = cu.cuStreamCreate(0)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(cu.cuDeviceGet(1)))
kernel = cu.kernel()
cu.launch(kernel, stream, 0)  # error: [stream-other-context]

## stream of another context
first = cu.cuCtxCreate(0, 0, device)
stream = cu.cuStreamCreate(0)
second = cu.cuCtxCreate(0, 0, device)
kernel = cu.kernel()
cu.launch(kernel, stream, 0)  # error: [stream-other-context]

## C++: stream of device 0, module of device 1 [c++]
void launch(const char *path, void **parameters) {
    cudaStream_t stream;
    CUmodule module;
    CUfunction kernel;
    cudaSetDevice(0);
    cudaStreamCreate(&stream);
    cudaSetDevice(1);
    cuModuleLoad(&module, path);
    cuModuleGetFunction(&kernel, module, "kernel");
    cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr);  // error: [stream-other-context]
    cuModuleUnload(module);
    cudaStreamDestroy(stream);
}

## Python: stream of device 0, module of device 1 [python]
from cuda.bindings import driver, runtime

def launch(path, parameters):
    error, = runtime.cudaSetDevice(0)
    error, stream = runtime.cudaStreamCreate()
    error, = runtime.cudaSetDevice(1)
    error, module = driver.cuModuleLoad(path)
    error, kernel = driver.cuModuleGetFunction(module, b"kernel")
    error, = driver.cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, stream, parameters, 0)  # error: [stream-other-context]
    error, = driver.cuModuleUnload(module)
    error, = runtime.cudaStreamDestroy(stream)

## CuPy: made before the device is current [python]
import cupy as cp

class Lane:
    def __init__(self, number, count):
        self.stream = cp.cuda.Stream(non_blocking=True)
        with cp.cuda.Device(number), self.stream:  # note: [stream-other-context]
            self.values = cp.zeros(count)
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        where = stream_and_context(call, model)
        current = model.current_context(call)
        role = role_of(call, Verb.LAUNCHES, FUNCTIONS)
        if where is None or current is None or not current.alive or role is None:
            return
        stream, context = where
        function = model.object_named(call, role)
        if context is current or function is None or function.kind is Kind.KERNEL:
            return
        if module_context(function) not in (None, current):
            return  # the rule function-other-context tells
        message = f"{stream.name} does not belong to the current context"
        because = (belongs(stream, context), f"{current.name} is current")
        yield cls.refused(message, stream, context, current, because=because, outcomes=(400,))
