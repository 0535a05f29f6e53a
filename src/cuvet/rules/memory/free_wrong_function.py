from cuvet.catalog.roles import Kind
from cuvet.model import Allocation, Call, HostMemory, ModelView, Object
from cuvet.rules.frees import ENTRY_POINTS, UNMANAGEABLE, Case, freed
from cuvet.rules.occasions import beyond_ordinary_memory
from cuvet.rules.rule import CallRule, Violations

_COUNTERPARTS = {
    "mapped": ("memory mapped by cuMemMap", "cuMemUnmap"),
    "ipc": ("memory of another process", "cuIpcCloseMemHandle"),
    "global": ("a variable of a module", "cuModuleUnload"),
    "managed": ("managed memory", "cuMemFree"),
}


class MemoryFreeWrongFunction(CallRule):
    """
    checks: Memory is freed by a function for another kind of memory: pinned host memory, registered host memory or an array by
      ``cuMemFree`` or ``cuMemFreeAsync``, device memory by ``cuMemFreeHost``, managed memory by ``cuMemFreeAsync``.
    why: Each allocation function has its counterpart. Another function fails, and the memory stays allocated.
    instead: ``cuMemFreeHost`` (``cudaFreeHost``) for pinned memory, ``cuMemHostUnregister`` for registered memory,
      ``cuArrayDestroy`` (``cudaFreeArray``) for arrays, ``cuMemFree`` (``cudaFree``) for device and managed memory.
    limits: ``cuMemFree`` of stream-ordered memory and ``cuMemFreeAsync`` of ``cuMemAlloc`` memory are allowed.
    """

    code = "CV404"
    in_source = True
    summary = "memory is freed by a function for another kind of memory"
    help = "free it with the counterpart of the function that allocated it"
    entry_points = ENTRY_POINTS
    only_when = beyond_ordinary_memory
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE, and the right function still frees the memory afterwards
      (free_pinned_with_cudafree, free_device_with_freehost, free_array_with_free, freehost_registered,
      freehost_managed, freehost_async, freeasync_pinned, freeasync_registered)
    measured: cuMemFreeAsync of managed memory: CUDA_ERROR_NOT_SUPPORTED (free_managed_with_freeasync)
    documented: its memory is freed by cuMemFreeHost (CUDA Driver API, Memory Management, cuMemHostAlloc)
    documented: memory returned from cuIpcOpenMemHandle must be freed with cuIpcCloseMemHandle (CUDA Driver API, Memory Management,
      cuIpcOpenMemHandle)
    """
    VALID = """
## each with its counterpart
memory = cu.cuMemAlloc(4096)
pinned = cu.cuMemHostAlloc(4096, 0)
managed = cu.cuMemAllocManaged(4096, 1)
cu.cuMemFree(memory)
cu.cuMemFreeHost(pinned)
cu.cuMemFree(managed)

## stream-ordered memory by cuMemFree
note: allowed: cuMemFree takes memory of cuMemAllocAsync
memory = cu.cuMemAllocAsync(1 << 20, 0)
cu.cuStreamSynchronize(0)
cu.cuMemFree(memory)

## device memory by cuMemFreeAsync
note: succeeded where it was measured
memory = cu.cuMemAlloc(4096)
cu.cuMemFreeAsync(memory, 0)
cu.cuStreamSynchronize(0)

## C++: each by its counterpart [cuda]
void upload(const float *host, size_t bytes, cudaStream_t stream) {
    float *values, *staging, *shared;
    cudaMallocAsync(&values, bytes, stream);
    cudaMallocHost(&staging, bytes);
    cudaMallocManaged(&shared, bytes);
    memcpy(staging, host, bytes);
    cudaMemcpyAsync(values, staging, bytes, cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
    cudaFree(shared);
    cudaFreeHost(staging);
    cudaFreeAsync(values, stream);
}

## C++: two conditions that may be one [cuda]
void clear(size_t bytes, bool pinned, int flags) {
    float *values;
    if (pinned)
        cudaMallocHost(&values, bytes);
    else
        cudaMalloc(&values, bytes);
    fill(values, bytes);
    if (flags & 1)
        cudaFreeHost(values);
    else
        cudaFree(values);
}

## C++: memory of another process [cuda]
void show(const cudaIpcMemHandle_t *handles, int count) {
    float *frame = nullptr;
    for (int at = 0; at < count; at++) {
        CHECK(cudaIpcOpenMemHandle((void **)&frame, handles[at], cudaIpcMemLazyEnablePeerAccess));
        paint(frame);
        CHECK(cudaIpcCloseMemHandle(frame));
    }
}

## C++: of another process or of this one [cuda]
void show(const cudaIpcMemHandle_t &handle, bool mine, int flags) {
    float *frame = nullptr;
    if (mine)
        CHECK(cudaMalloc(&frame, 4096));
    else
        CHECK(cudaIpcOpenMemHandle((void **)&frame, handle, cudaIpcMemLazyEnablePeerAccess));
    paint(frame);
    if (flags & 1)
        CHECK(cudaFree(frame));
    else
        CHECK(cudaIpcCloseMemHandle(frame));
}

## Python: by its counterpart [python driver]
def upload(values, size, fill):
    error, staging = driver.cuMemHostAlloc(size, 0)
    fill(staging, size)
    error, = driver.cuMemcpyHtoD(values, staging, size)
    error, = driver.cuMemFreeHost(staging)

## C#: a safe handle [c#]
using System;
using System.Runtime.InteropServices;

class Staging : SafeHandle
{
    [DllImport("nvcuda")] static extern int cuMemHostAlloc(out IntPtr memory, nuint bytes, uint flags);
    [DllImport("nvcuda")] static extern int cuMemFreeHost(IntPtr memory);
    [DllImport("nvcuda")] static extern int cuMemFree_v2(IntPtr memory);

    public Staging(nuint bytes) : base(IntPtr.Zero, true)
    {
        Check(cuMemHostAlloc(out IntPtr memory, bytes, 0));
        SetHandle(memory);
    }
    public override bool IsInvalid => handle == IntPtr.Zero;
    protected override bool ReleaseHandle() => cuMemFreeHost(handle) == 0;
}

## C++: a smart pointer to an array, and one to device memory, which holds handles [cuda]
struct FreeLinear { void operator()(void *it) const { cudaFree(it); } };
struct FreeArray { void operator()(cudaArray *it) const { cudaFreeArray(it); } };
using Table = std::unique_ptr<std::remove_pointer_t<cudaArray_t>, FreeArray>;
using Line = std::unique_ptr<cudaArray, decltype(&cudaFreeArray)>;
using Handles = std::unique_ptr<cudaStream_t[], FreeLinear>;
template <class T> using Linear = std::unique_ptr<std::remove_pointer_t<T>, FreeLinear>;

## C++: a deleter that does more than one thing [cuda]
struct Drop {
    void operator()(void *it) const {
        if (is_array(it)) cudaFreeArray((cudaArray_t)it); else cudaFree(it);
    }
};
using Table = std::unique_ptr<std::remove_pointer_t<cudaArray_t>, Drop>;

## C++: a deleter for both kinds [cuda]
struct Release {
    void operator()(void *it) const { cudaFree(it); }
    void operator()(cudaArray *it) const { cudaFreeArray(it); }
};
using Table = std::unique_ptr<std::remove_pointer_t<cudaArray_t>, Release>;

## C++: a member that is of either kind, which a flag tells [cuda]
struct Stage {
    float *p = nullptr;
    bool host = true;
    void pin(size_t n) { CHECK(cudaMallocHost(&p, n)); }
    void end() {
        if (host) {
            CHECK(cudaFreeHost(p));
        } else {
            CHECK(cudaFree(p));
        }
    }
};
Stage wrap(float *device) { return Stage{device, false}; }

## C++: an array of structs whose type is not seen, with one of each kind [cuda]
class Stages {
    Buffer buffers_[2];
public:
    void host(size_t n) { CHECK(cudaMallocHost(&buffers_[0].p, n)); }
    void device(float *d) { buffers_[1].p = d; }
    void end() {
        CHECK(cudaFreeHost(buffers_[0].p));
        CHECK(cudaFree(buffers_[1].p));
    }
};

## C++: a struct of two addresses, one of each kind [cuda]
struct Pair {
    float *host, *device;
};
class Stage {
    Pair pair_;
public:
    void pin(size_t n) { CHECK(cudaMallocHost(&pair_.host, n)); }
    void set(float *device) { pair_.device = device; }
    void end() {
        CHECK(cudaFreeHost(pair_.host));
        CHECK(cudaFree(pair_.device));
    }
};

## C++: two types of one name [cuda]
struct FreePinned { void operator()(void *it) const { cudaFreeHost(it); } };
namespace host { using Values = std::unique_ptr<float, FreePinned>; }
namespace device {
using Values = std::unique_ptr<float, FreeElsewhere>;
Values make(int count) {
    float *values;
    CHECK(cudaMalloc(&values, count * sizeof(float)));
    return Values(values);
}
}
"""
    INVALID = """
## pinned memory by cuMemFree
pinned = cu.cuMemHostAlloc(4096, 0)
cu.cuMemFree(pinned)  # error: [memory-free-wrong-function]
cu.cuMemFreeHost(pinned)

## device memory by cuMemFreeHost
memory = cu.cuMemAlloc(4096)
cu.cuMemFreeHost(memory)  # error: [memory-free-wrong-function]
cu.cuMemFree(memory)

## registered memory by cuMemFreeHost
buffer = cu.host(8192)
cu.cuMemHostRegister(buffer, 8192, 0)
cu.cuMemFreeHost(buffer)  # error: [memory-free-wrong-function]
cu.cuMemHostUnregister(buffer)

## managed memory by cuMemFreeAsync
managed = cu.cuMemAllocManaged(4096, 1)
cu.cuMemFreeAsync(managed, 0)  # error: [memory-free-wrong-function]
cu.cuMemFree(managed)

## pinned memory by cuMemFreeAsync
pinned = cu.cuMemHostAlloc(4096, 0)
cu.cuMemFreeAsync(pinned, 0)  # error: [memory-free-wrong-function]
cu.cuMemFreeHost(pinned)

## managed and stream-ordered memory by cuMemFreeHost
managed = cu.cuMemAllocManaged(4096, 1)
memory = cu.cuMemAllocAsync(4096, 0)
cu.cuMemFreeHost(managed)  # error: [memory-free-wrong-function]
cu.cuMemFreeHost(memory)  # error: [memory-free-wrong-function]
cu.cuMemFree(managed)
cu.cuMemFreeAsync(memory, 0)
cu.cuStreamSynchronize(0)

## C++: pinned memory by cudaFree [cuda]
void upload(float *values, const float *host, size_t bytes) {
    float *staging;
    cudaMallocHost(&staging, bytes);
    memcpy(staging, host, bytes);
    cudaMemcpy(values, staging, bytes, cudaMemcpyHostToDevice);
    cudaFree(staging);  // error: [memory-free-wrong-function]
}

## C++: pinned memory by cudaFree, of which elements are set [cuda]
class Atoms {
    float4 *positions_;
public:
    void allocate(int n) { CHECK(cudaMallocHost(&positions_, n * sizeof(float4))); }
    void set(int i, float x) { positions_[i].x = x; }
    void release() { CHECK(cudaFree(positions_)); }  // error: [memory-free-wrong-function]
};

## C++: device memory by cudaFreeHost [cuda]
void clear(size_t bytes) {
    float *values;
    cudaMalloc(&values, bytes);
    cudaMemset(values, 0, bytes);
    cudaFreeHost(values);  // error: [memory-free-wrong-function]
}

## C++: an array by cudaFree [cuda]
void draw(const cudaChannelFormatDesc *format, size_t width, size_t height) {
    cudaArray_t pixels;
    cudaMallocArray(&pixels, format, width, height);
    paint(pixels);
    cudaFree(pixels);  // error: [memory-free-wrong-function]
}

## C++: memory of another process by cudaFree [cuda]
void show(const cudaIpcMemHandle_t *handles, int count) {
    float *frame = nullptr;
    for (int at = 0; at < count && !frame; at++) {
        void *opened = nullptr;
        if (cudaIpcOpenMemHandle(&opened, handles[at], cudaIpcMemLazyEnablePeerAccess) == cudaSuccess)
            frame = static_cast<float *>(opened);
    }
    paint(frame);
    if (frame)
        CHECK(cudaFree(frame));  // error: [memory-free-wrong-function]
}

## Python: pinned memory by cuMemFree [python driver]
def upload(values, size, fill):
    error, staging = driver.cuMemHostAlloc(size, 0)
    fill(staging, size)
    error, = driver.cuMemcpyHtoD(values, staging, size)
    error, = driver.cuMemFree(staging)  # error: [memory-free-wrong-function]

## C#: device memory as pinned memory [c# class]
[DllImport("cudart64_12")] static extern int cudaMalloc(out IntPtr values, ulong bytes);
[DllImport("cudart64_12")] static extern int cudaFreeHost(IntPtr values);

void Run(ulong bytes) {
    Check(cudaMalloc(out IntPtr values, bytes));
    Launch(values);
    Check(cudaFreeHost(values));  // error: [memory-free-wrong-function]
}

## C#: a safe handle whose release is for device memory [c#]
using System;
using System.Runtime.InteropServices;

class Staging : SafeHandle
{
    [DllImport("nvcuda")] static extern int cuMemHostAlloc(out IntPtr memory, nuint bytes, uint flags);
    [DllImport("nvcuda")] static extern int cuMemFreeHost(IntPtr memory);
    [DllImport("nvcuda")] static extern int cuMemFree_v2(IntPtr memory);

    public Staging(nuint bytes) : base(IntPtr.Zero, true)
    {
        Check(cuMemHostAlloc(out IntPtr memory, bytes, 0));
        SetHandle(memory);
    }
    public override bool IsInvalid => handle == IntPtr.Zero;
    protected override bool ReleaseHandle() => cuMemFree_v2(handle) == 0;  // note: [memory-free-wrong-function]
}

## C++: a smart pointer to an array, whose deleter is for linear memory [cuda]
struct FreeLinear { void operator()(void *it) const { cudaFree(it); } };
using Table = std::unique_ptr<std::remove_pointer_t<cudaArray_t>, FreeLinear>;  // error: [memory-free-wrong-function]

## C++: the deleter is a function [cuda]
class Volume {
    std::unique_ptr<cudaArray, decltype(&cudaFree)> voxels{nullptr, cudaFree};  // error: [memory-free-wrong-function]
    std::unique_ptr<std::remove_pointer<cudaStream_t>::type, decltype(&cudaStreamDestroy)> line{nullptr, cudaStreamDestroy};
};
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        given = freed(call, model)
        found = given.object
        if given.case is not Case.WRONG_FUNCTION or found is None:
            return
        what, counterpart = _kind(found)
        outcomes = _outcomes(call, model, found)
        message = f"{found.name} is {what}, which is for {counterpart}"
        yield cls.refused(message, found, argument=given.argument, outcomes=outcomes, undefined=not outcomes)


def _kind(found: Object) -> tuple[str, str]:
    """What the memory is, and the function that frees or unregisters it: of the driver, and of the runtime."""
    if isinstance(found, HostMemory):
        return (
            ("registered host memory", "cuMemHostUnregister (cudaHostUnregister)")
            if found.registered
            else ("pinned host memory", "cuMemFreeHost (cudaFreeHost)")
        )
    if isinstance(found, Allocation):
        return _COUNTERPARTS.get(found.variant, ("device memory", "cuMemFree (cudaFree)"))
    return (
        ("a mipmapped array", "cuMipmappedArrayDestroy (cudaFreeMipmappedArray)")
        if found.kind is Kind.MIPMAPPED_ARRAY
        else ("an array", "cuArrayDestroy (cudaFreeArray)")
    )


def _outcomes(call: Call, model: ModelView, found: Object) -> tuple[int, ...]:
    """Statuses that were measured; empty where nothing is known."""
    if call.name == "cuMemFreeAsync":
        stream = model.stream_on(call)
        if stream is not None and stream.capture is not None:
            return (1,)
        if isinstance(found, Allocation) and found.variant == "managed":
            return (801,)
        return (1,) if isinstance(found, HostMemory) else ()
    return () if isinstance(found, Allocation) and found.variant in UNMANAGEABLE else (1,)
