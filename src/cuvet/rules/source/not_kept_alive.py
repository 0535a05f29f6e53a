from cuvet.rules.rule import SourceRule


class SourceNotKeptAlive(SourceRule):
    """
    checks: Python or C# gives CUDA something of an object that nothing keeps. The address of memory of PyCUDA, CuPy or PyTorch is kept, and
      its owner is not. Or a host function is passed as a delegate, or as a function of ctypes, that is made for the call.
    why: The object is collected. Its memory is freed, and may be given to others, while a kernel reads the address. CUDA calls a host
      function later, when the code that was made for it may be gone.
    instead: Keep the owner in a variable or a member as long as the GPU works with it. Keep a delegate in a field, or with a ``GCHandle``.
    limits: Silent about lambdas that use nothing from around them, and about static methods: compilers of C# keep such delegates. Silent
      where the same block waits for the stream after the call.
    """

    code = "CV895"
    severity = "note"
    summary = "nothing keeps an object that CUDA uses later"
    help = "keep the object in a variable or member until CUDA is done with it"
    evidence = """
    documented: free releases the held device memory now instead of when the object becomes unreachable (PyCUDA documentation, Device
      Interface, pycuda.driver.DeviceAllocation)
    documented: when an array goes out of scope, its memory is released and kept in the pool for reuse (CuPy documentation, Memory
      Management, Memory Pool Operations)
    documented: the delegate must be kept from being collected from managed code; the garbage collector does not track references to
      unmanaged code (.NET documentation, Marshal.GetFunctionPointerForDelegate)
    documented: keep references to CFUNCTYPE objects as long as they are used from C code: ctypes does not (Python documentation, ctypes,
      Callback functions)
    documented: cudaLaunchHostFunc enqueues the function, which is called after the work that is before it in the stream (CUDA Runtime
      API, Execution Control, cudaLaunchHostFunc)
    """
    VALID = """
## PyCUDA: the owners are kept [python]
import numpy as np
import pycuda.driver as drv

class Rows:
    def __init__(self, rows):
        self.owners = [drv.to_device(row) for row in rows]
        self.table = drv.to_device(np.array([int(each) for each in self.owners], np.uint64))

## PyCUDA: the size of an address is printed [python]
import pycuda.driver as drv

def probe(size):
    memory = drv.mem_alloc(size)
    print(hex(int(memory)))
    print(hex(int(drv.mem_alloc(size))))

## CuPy: the array is kept [python]
import cupy as cp

def address_of(values):
    array = cp.array(values)
    pointer = array.data.ptr
    return array, pointer

## CuPy: perhaps the caller's own array [python]
import cupy as cp

def address_of(values):
    return cp.asarray(values).data.ptr

## ctypes: the function is kept [python]
import ctypes
runtime = ctypes.CDLL("libcudart.so.12")
HostFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

def wake(data):
    ready.set()

_wake = HostFunction(wake)

def notify(stream):
    return runtime.cudaLaunchHostFunc(stream, _wake, None)

## C#: a field keeps the delegate [c#]
using System;
using System.Runtime.InteropServices;

class Notifier
{
    delegate void HostFunction(IntPtr data);
    [DllImport("cudart64_12")] static extern int cudaLaunchHostFunc(IntPtr stream, HostFunction function, IntPtr data);
    readonly HostFunction done;
    int finished;

    public Notifier() { done = Done; }
    void Done(IntPtr data) { finished++; }
    public void Enqueue(IntPtr stream) => Check(cudaLaunchHostFunc(stream, done, IntPtr.Zero));
}

## C#: kept with a handle, awaited, or static [c#]
using System;
using System.Runtime.InteropServices;

class Notifier
{
    delegate void HostFunction(IntPtr data);
    [DllImport("cudart64_12")] static extern int cudaLaunchHostFunc(IntPtr stream, HostFunction function, IntPtr data);
    [DllImport("cudart64_12")] static extern int cudaStreamSynchronize(IntPtr stream);
    int finished;

    void Done(IntPtr data) { finished++; }
    static void Log(IntPtr data) { Console.WriteLine("done"); }

    public void Enqueue(IntPtr stream)
    {
        HostFunction kept = Done;
        GCHandle handle = GCHandle.Alloc(kept);
        Check(cudaLaunchHostFunc(stream, kept, GCHandle.ToIntPtr(handle)));
    }
    public void Await(IntPtr stream)
    {
        Check(cudaLaunchHostFunc(stream, Done, IntPtr.Zero));
        Check(cudaStreamSynchronize(stream));
    }
    public void Tell(IntPtr stream)
    {
        Check(cudaLaunchHostFunc(stream, Log, IntPtr.Zero));
        Check(cudaLaunchHostFunc(stream, data => Console.WriteLine("done"), IntPtr.Zero));
    }
}
"""
    INVALID = """
## PyCUDA: addresses of temporary allocations [python]
import numpy as np
import pycuda.driver as drv

class Rows:
    def __init__(self, rows):
        addresses = [int(drv.to_device(row)) for row in rows]  # note: [source-not-kept-alive]
        self.table = drv.to_device(np.array(addresses, np.uint64))

## PyCUDA: the address of a temporary array [python]
import numpy as np
import pycuda.autoinit
from pycuda import gpuarray

def start(kernel, values):
    pointer = np.intp(gpuarray.to_gpu(values).gpudata)  # note: [source-not-kept-alive]
    kernel(pointer, block=(64, 1, 1))

## CuPy: the address of a temporary array [python]
import cupy as cp

def start(kernel, count):
    scratch = cp.zeros(count, cp.float32).data.ptr  # note: [source-not-kept-alive]
    kernel((1,), (64,), (scratch, count))

## PyTorch: the address of a temporary tensor [python]
import torch

def start(library, count):
    scratch = torch.zeros(count, device="cuda").data_ptr()  # note: [source-not-kept-alive]
    library.run(scratch, count)

## ctypes: the function is made for the call [python]
import ctypes
runtime = ctypes.CDLL("libcudart.so.12")
HostFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

def wake(data):
    ready.set()

def notify(stream):
    return runtime.cudaLaunchHostFunc(stream, HostFunction(wake), None)  # note: [source-not-kept-alive]

## C#: a delegate for the call [c#]
using System;
using System.Runtime.InteropServices;

class Notifier
{
    delegate void HostFunction(IntPtr data);
    [DllImport("cudart64_12")] static extern int cudaLaunchHostFunc(IntPtr stream, HostFunction function, IntPtr data);
    int finished;

    void Done(IntPtr data) { finished++; }
    public void Enqueue(IntPtr stream)
    {
        Check(cudaLaunchHostFunc(stream, Done, IntPtr.Zero));  // note: [source-not-kept-alive]
    }
    public void Count(IntPtr stream, int[] counts, int at)
    {
        Check(cudaLaunchHostFunc(stream, _ => counts[at]++, IntPtr.Zero));  // note: [source-not-kept-alive]
    }
    public void Again(IntPtr stream)
    {
        var done = new HostFunction(Done);
        Check(cudaLaunchHostFunc(stream, done, IntPtr.Zero));  // note: [source-not-kept-alive]
    }
}
"""
