from cuvet.catalog.roles import ENDS, Kind, Role, Verb
from cuvet.model import Call, ModelView
from cuvet.model.precedence import Stage
from cuvet.rules.lifecycle import NAMES, by_reset, chain, ending
from cuvet.rules.occasions import after_reset
from cuvet.rules.rule import CRASH, CallRule, Violations

_OUTCOMES = {
    (Kind.STREAM, True): (400, 201, CRASH),
    (Kind.STREAM, False): (709, CRASH),
    (Kind.EVENT, True): (201, CRASH),
    (Kind.EVENT, False): (201, 709, CRASH),
    (Kind.MEMORY, True): (1,),
    (Kind.MEMORY, False): (1,),
    (Kind.MODULE, True): (400,),
    (Kind.FUNCTION, False): (400,),
    (Kind.ARRAY, True): (201, CRASH),
    (Kind.ARRAY, False): (201, 709),
    (Kind.MIPMAPPED_ARRAY, True): (CRASH,),
    (Kind.MIPMAPPED_ARRAY, False): (CRASH,),
    (Kind.TEXTURE_OBJECT, False): (1,),
    (Kind.SURFACE_OBJECT, False): (1,),
}
"""What the driver was measured to do, by kind and whether the object is destroyed or freed."""

_OF_HOST_MEMORY = {Verb.FREES: (1,), Verb.UNREGISTERS: (713,)}

_DONE = {Verb.DESTROYS: "destroyed", Verb.FREES: "freed", Verb.UNREGISTERS: "unregistered"}


class DeviceUseAfterReset(CallRule):
    """
    checks: A call uses, frees or destroys an object from before a reset of the device (`cudaDeviceReset`, `cuDevicePrimaryCtxReset`).
    why: The reset destroyed it. What the stale handle does differs from run to run. Streams were measured to return
      CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_INVALID_CONTEXT or CUDA_ERROR_INVALID_HANDLE, or to die of SIGSEGV inside the driver
      (destroying one after the reset, 6 times of 6 in one program).
    instead: Destroy and free everything before the reset, or do not reset at all: the end of the process does it. A library must not
      reset a device that others use. Destructors of global objects run after a reset in `main`.
    limits: Stream-ordered allocations outlive a reset, as documented, and are not reported. Graphs and executable graphs are not reported
      either: they were measured to be destroyed without an error.
    """

    code = "CV120"
    in_source = True
    only_after_end = True
    stage = Stage.HANDLE
    only_when = after_reset
    summary = "something from before a device reset is used"
    help = "free and destroy everything before the reset, or leave the reset out"
    verbs = NAMES
    libraries = True
    evidence = """
    measured: after cudaDeviceReset: cudaFree returns cudaErrorInvalidValue, cudaEventQuery 201 (on an H100 SIGSEGV, 3 runs of 3),
      cudaStreamSynchronize 400 (CUDA_ERROR_CONTEXT_IS_DESTROYED in the driver; SIGSEGV in 1 of 6 runs) (stream_use_after_reset)
    measured: cudaEventQuery, cudaEventSynchronize and cudaEventElapsedTime, 20 runs each: CUDA_ERROR_CONTEXT_IS_DESTROYED
      (reset_then_event_query, reset_then_event_recorded_query, reset_then_event_query_after_stream,
      reset_then_event_synchronize, reset_then_event_elapsed), or CUDA_ERROR_INVALID_CONTEXT
      (reset_then_event_query_after_memory)
    measured: cudaStreamWaitEvent, 20 runs: CUDA_ERROR_INVALID_CONTEXT (reset_then_event_wait)
    measured: cudaEventRecord: 201; cudaEventDestroy: 201 or SIGSEGV (event_record_after_reset, event_use_after_reset)
    measured: cudaStreamDestroy: 400, 201 or SIGSEGV (stream_destroy_after_reset, freeasync_stream_reset_destroy,
      seed_example2_destroy_after_reset)
    measured: cudaFreeHost: CUDA_ERROR_INVALID_VALUE; cudaHostUnregister: CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
      (free_host_after_reset, register_after_reset)
    measured: launch of a function and unloading of a module: CUDA_ERROR_INVALID_HANDLE (module_after_reset)
    measured: cudaFreeArray: CUDA_ERROR_INVALID_CONTEXT, SIGSEGV in 1 of 5 runs (reset_then_array)
    measured: cudaArrayGetInfo: 201 or 709 (reset_then_array_asked)
    measured: cudaGetMipmappedArrayLevel, cudaFreeMipmappedArray: SIGSEGV (reset_then_mipmapped_level,
      reset_then_mipmapped_free)
    measured, cuTexObjectDestroy and cuSurfObjectDestroy succeed: cudaDestroyTextureObject, cudaDestroySurfaceObject:
      accepted without an error (reset_then_texture, reset_then_surface_destroy)
    measured: what a texture or surface object is made of: CUDA_ERROR_INVALID_VALUE (reset_then_texture_asked,
      reset_then_surface_asked)
    documented: using the resources is undefined behavior (CUDA Runtime API, Device Management, cudaDeviceReset)
    """
    VALID = """
## everything destroyed before the reset
stream = cu.cuStreamCreate(0)
memory = cu.cuMemAlloc(4096)
cu.cuMemFree(memory)
cu.cuStreamDestroy(stream)
cu.cuDevicePrimaryCtxReset(device)

## left to the reset
note: the reset frees what is left, and the device can be used again
cu.cuStreamCreate(0)
cu.cuMemAlloc(4096)
cu.cuDevicePrimaryCtxReset(device)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(device))
cu.cuMemFree(cu.cuMemAlloc(4096))

## memory that was registered before
note: after the reset it is ordinary host memory
memory = cu.host(4096)
cu.cuMemHostRegister(memory, 4096, 0)
cu.cuDevicePrimaryCtxReset(device)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(device))
cu.cuMemcpyHtoD(cu.cuMemAlloc(4096), memory, 4096)

## graphs outlive a reset
graph = cu.cuGraphCreate(0)
cu.cuDevicePrimaryCtxReset(device)
cu.cuGraphDestroy(graph)

## C++: made anew after the reset [cuda]
void retry(float *values, const float *host, size_t bytes) {
    cudaFree(values);
    cudaDeviceReset();
    cudaMalloc(&values, bytes);
    cudaMemcpy(values, host, bytes, cudaMemcpyHostToDevice);
    cudaFree(values);
}
"""
    INVALID = """
## stream destroyed after the reset
stream = cu.cuStreamCreate(0)
cu.cuDevicePrimaryCtxReset(device)
cu.cuStreamDestroy(stream)  # error: [device-use-after-reset]

## event queried after the reset
event = cu.cuEventCreate(0)
cu.cuDevicePrimaryCtxReset(device)
cu.cuEventQuery(event)  # error: [device-use-after-reset]

## memory freed after the reset
memory = cu.cuMemAlloc(4096)
cu.cuDevicePrimaryCtxReset(device)
cu.cuMemFree(memory)  # error: [device-use-after-reset]

## memory set after the reset
memory = cu.cuMemAlloc(4096)
cu.cuDevicePrimaryCtxReset(device)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(device))
cu.cuMemsetD8(memory, 0, 4096)  # error: [device-use-after-reset]

## reset by another thread
stream = cu.cuStreamCreate(0)
cu.in_thread(lambda: cu.cuDevicePrimaryCtxReset(device))
cu.cuStreamSynchronize(stream)  # error: [device-use-after-reset]

## registration ended by the reset
memory = cu.host(4096)
cu.cuMemHostRegister(memory, 4096, 0)
cu.cuDevicePrimaryCtxReset(device)
cu.cuMemHostUnregister(memory)  # error: [device-use-after-reset]

## C++: freed after the reset [cuda]
void finish(int n) {
    float *values;
    cudaMalloc(&values, n * sizeof(float));
    add<<<1, n>>>(values);
    cudaDeviceReset();
    cudaFree(values);  // error: [device-use-after-reset]
}

## C++: stream destroyed after the reset [cuda]
void run(int n) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    add<<<1, n, 0, stream>>>();
    cudaStreamSynchronize(stream);
    cudaDeviceReset();
    cudaStreamDestroy(stream);  // error: [device-use-after-reset]
}

## Python: event after the reset [python cudart]
def run(work):
    error, done = cudart.cudaEventCreate()
    work(done)
    error, = cudart.cudaDeviceReset()
    error, = cudart.cudaEventDestroy(done)  # error: [device-use-after-reset]

## C#: memory freed after the reset of the primary context [c# method]
static void Run(CUdevice device, byte[] values) {
    CUdeviceptr memory = new CUdeviceptr();
    Check(MemoryManagement.cuMemAlloc_v2(ref memory, values.Length));
    Check(SynchronousMemcpy_v2.cuMemcpyHtoD_v2(memory, values, values.Length));
    Check(ContextManagement.cuDevicePrimaryCtxReset(device));
    Check(MemoryManagement.cuMemFree_v2(memory));  // error: [device-use-after-reset]
}
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        current = model.current_context(call)
        lives = current is None or current.alive
        for role in call.entry_point.roles:
            if role.verb not in NAMES or role.kind in (Kind.NONE, Kind.CONTEXT, Kind.DEVICE):
                continue
            by_address = role.verb in (Verb.READS, Verb.WRITES)
            if by_address and role.kind is Kind.HOST_MEMORY:
                continue
            for dead in model.objects_named(call, role):
                if dead.destroyed_by is None or not by_reset(dead.destroyed_by):
                    continue
                done = _DONE.get(role.verb, "used")
                yield cls.broken(
                    f"{dead.name} is {done}, but its device was {ending(dead.destroyed_by)} before this call",
                    dead,
                    argument=call.index(role.parameter),
                    because=chain(dead),
                    outcomes=(709,) if by_address and not lives else outcomes_after_reset(dead.kind, role),
                    undefined=not by_address,
                    only_if_failed=by_address,
                )


def outcomes_after_reset(kind: Kind, role: Role) -> tuple[int, ...]:
    """What the driver was measured to do with an object of that kind from before a reset, in that role."""
    if kind is Kind.HOST_MEMORY:
        return _OF_HOST_MEMORY.get(role.verb, ())
    outcomes = _OUTCOMES.get((kind, role.verb in ENDS), ())
    return (*outcomes, CRASH) if role.variant == "unified" else outcomes
