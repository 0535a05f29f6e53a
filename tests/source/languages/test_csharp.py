"""C# that calls CUDA: exactly the marked lines are found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cuvet.source import check_source

IMPORTS = """
static class Native {
    [DllImport("nvcuda", EntryPoint = "cuMemAlloc_v2")]
    public static extern int Allocate(out IntPtr pointer, ulong bytes);
    [LibraryImport("nvcuda.dll", EntryPoint = "cuMemFree_v2")]
    [SuppressGCTransition]
    public static partial int Free(IntPtr pointer);
    [DllImport("cudart64_12")] public static extern int cudaMalloc(ref IntPtr pointer, ulong bytes);
    [DllImport("cudart64_12")] public static extern int cudaFree(IntPtr pointer);
    [DllImport("cudart64_12")] public static extern int cudaMemset(IntPtr pointer, int value, ulong bytes);
    [DllImport("cudart64_12")] public static extern int cudaFreeHost(IntPtr pointer);
}
"""


def in_class(methods: str) -> str:
    return IMPORTS + f"class Program {{\n{methods}\n}}\n"


WRONG = {
    "out variable declared in the call": in_class("""
    void Twice(ulong n) {
        Check(Native.Allocate(out var values, n));
        Check(Native.Free(values));
        Check(Native.Free(values));  // error: [memory-free-twice]
    }"""),
    "ref, status in a variable": in_class("""
    void Clear(ulong n) {
        IntPtr values = IntPtr.Zero;
        int result = Native.cudaMalloc(ref values, n);
        if (result != 0) throw new CudaException(result);
        result = Native.cudaFree(values);
        result = Native.cudaMemset(values, 0, n);  // error: [memory-use-after-free]
    }"""),
    "device memory freed as pinned memory": in_class("""
    void Wrong(ulong n) {
        IntPtr values = IntPtr.Zero;
        Native.cudaMalloc(ref values, n).ThrowOnError();
        Native.cudaFreeHost(values).ThrowOnError();  // error: [memory-free-wrong-function]
    }"""),
    "ManagedCuda": """
class Program {
    void Twice() {
        CUstream stream = new CUstream();
        CUResult res = DriverAPINativeMethods.Streams.cuStreamCreate(ref stream, CUStreamFlags.None);
        if (res != CUResult.Success) throw new CudaException(res);
        res = DriverAPINativeMethods.Streams.cuStreamDestroy_v2(stream);
        if (res != CUResult.Success) throw new CudaException(res);
        DriverAPINativeMethods.Streams.cuStreamSynchronize(stream);  // error: [stream-use-after-destroy]
    }
}
""",
    "CUDA.NET": """
class Program {
    void Twice() {
        CUdeviceptr values = new CUdeviceptr();
        CUDADriver.cuMemAlloc(ref values, 1024);
        CUDADriver.cuMemFree(values);
        CUDADriver.cuMemFree(new CUdeviceptr(values.Pointer));  // error: [memory-free-twice]
    }
}
""",
    "early return": in_class("""
    bool Fill(ulong n, bool quick) {
        Check(Native.Allocate(out IntPtr values, n));  // warning: [source-leak-on-return]
        if (quick) return false;
        Use(n);
        Check(Native.Free(values));
        return true;
    }"""),
    "exception": in_class("""
    void Fill(ulong n) {
        Check(Native.Allocate(out IntPtr values, n));  // warning: [source-leak-on-return]
        if (n == 0) throw new ArgumentException("n");
        Check(Native.Free(values));
    }"""),
    "freed again in finally": in_class("""
    void Fill(ulong n) {
        Check(Native.Allocate(out IntPtr values, n));
        try { Check(Native.Free(values)); }
        finally { Check(Native.Free(values)); }  // error: [memory-free-twice]
    }"""),
    "a static method frees": in_class("""
    static void Release(IntPtr values) { Native.Free(values); }
    static void Twice(ulong n) {
        Native.Allocate(out IntPtr values, n);
        Release(values);
        Native.Free(values);  // error: [memory-free-twice]
    }"""),
    "statements of the file": """
IntPtr values = IntPtr.Zero;
Native.cudaMalloc(ref values, 1024);
Native.cudaFree(values);
Native.cudaFree(values);  // error: [memory-free-twice]
""",
    "body that is an expression, address taken": in_class("""
    unsafe void Twice(ulong n) {
        CUdeviceptr values;
        cuMemAlloc_v2(&values, n);
        cuMemFree_v2(values);
        cuMemFree_v2((CUdeviceptr)values);  // error: [memory-free-twice]
    }"""),
    "Dispose forgets one": IMPORTS
    + """
sealed class Timer : IDisposable {
    private CUevent start, end;
    public Timer() {
        Check(cuEventCreate(out start, 0));
        Check(cuEventCreate(out end, 0));  // warning: [source-member-leak]
    }
    public void Dispose() => Check(cuEventDestroy_v2(start));
}
""",
    "the finalizer forgets one": """
class Buffer {
    IntPtr values, scratch;
    public Buffer(ulong n) {
        cudaMalloc(ref this.values, n);
        cudaMalloc(ref scratch, n);  // warning: [source-member-leak]
    }
    ~Buffer() { cudaFree(values); }
}
""",
    "casts behind a star": in_class("""
    unsafe void Twice(ulong n, byte* at) {
        Check(Native.Allocate(out IntPtr values, n));
        *(IntPtr*)at = IntPtr.Zero; int first = *(int*)(at + 8), second = *(int*)&n;
        Check(Native.Free(values));
        Check(Native.Free(values));  // error: [memory-free-twice]
    }"""),
    "a status thrown away": in_class("""
    void Fill(ulong n) {
        Native.Allocate(out fields[3], n);  // note: [source-status-dropped]
        _ = Native.Free(fields[3]);
    }"""),
    "a name that CUDA does not have": """
static class Native {
    [DllImport("nvcuda")] static extern int cuStreamDestory(IntPtr stream);  // warning: [source-unknown-entry-point]
    [DllImport("nvcuda", EntryPoint = "cuStreamDestroy_v2")] static extern int cuStreamDestoy(IntPtr stream);
    [DllImport("mylib")] static extern int cuMemFre(IntPtr p);
    void End(IntPtr stream) { Check(cuStreamDestory(stream)); }
}
""",
    "switch": in_class("""
    void Run(int mode, ulong n) {
        Check(Native.Allocate(out IntPtr values, n));
        Check(Native.Free(values));
        switch (mode) {
            case 1: Check(Native.Free(values)); break;  // error: [memory-free-twice]
            default: break;
        }
    }"""),
}

RIGHT = {
    "freed in finally": in_class("""
    void Fill(ulong n, bool quick) {
        IntPtr values = IntPtr.Zero;
        try {
            Native.Allocate(out values, n).ThrowOnError();
            if (quick) return;
            Use(n);
        } finally {
            if (values != IntPtr.Zero) Native.Free(values);
        }
    }"""),
    "a handler frees and throws on": in_class("""
    IntPtr Make(ulong n) {
        Check(Native.Allocate(out IntPtr values, n));
        try { Use(values); Check(Native.Free(values)); }
        catch { Native.Free(values); throw; }
        return IntPtr.Zero;
    }"""),
    "returned, and given on through out": in_class("""
    IntPtr One(ulong n) { Native.Allocate(out IntPtr values, n); return values; }
    void Two(ulong n, out IntPtr values) { Native.Allocate(out values, n); }
    int Three(ulong n, out IntPtr values) => Native.Allocate(out values, n);
    Owner Four(ulong n) { Native.Allocate(out var values, n); return new Owner(values, n); }"""),
    "given to another object": in_class("""
    void One(Graph graph) {
        var handle = graph.Handle;
        int result = cuGraphCreate(ref handle, 0);
        graph.Handle = handle;
    }
    void Two(List<IntPtr> pool, ulong n) { Native.Allocate(out var values, n); pool.Add(values); }
    void Three(Dictionary<int, IntPtr> pool, ulong n) { Native.Allocate(out var values, n); pool[3] = values; }"""),
    "a method makes the field again": """
class Buffer {
    CUdeviceptr values;
    void Allocate(ulong n) { cuMemAlloc_v2(ref values, n); }
    void Grow(ulong n) {
        cuMemFree_v2(values);
        Allocate(n);
        cuMemsetD8_v2(values, 0, n);
    }
}
""",
    "a field and a parameter of one name": """
class Buffer {
    CUdeviceptr values;
    public Buffer(CUdeviceptr values) { cuMemFree_v2(this.values); this.values = values; cuMemsetD8_v2(values, 0, 1); }
}
""",
    "zeroed after its end": """
class Buffer : IDisposable {
    CUdeviceptr values;
    public void Dispose() {
        if (values.Pointer != 0) { cuMemFree_v2(values); values.Pointer = 0; }
        if (values.Pointer != 0) cuMemFree_v2(values);
    }
}
""",
    "a flag says how it was made": in_class("""
    void Fill(ulong n) {
        var pinned = false;
        IntPtr values = IntPtr.Zero;
        if (cudaHostAlloc(ref values, n, 0) == 0) { pinned = true; }
        if (!pinned) { if (cudaMalloc(ref values, n) != 0) return; }
        if (pinned) cudaFreeHost(values); else cudaFree(values);
    }"""),
    "freed on each arm": in_class("""
    void Fill(ulong n, int mode) {
        Check(Native.Allocate(out var values, n));
        switch (mode) {
            case 1: Native.Free(values); break;
            case 2: Use(mode); Native.Free(values); break;
            default: Native.Free(values); break;
        }
    }"""),
    "the file's own method of that name": """
class Library {
    int cuMemFree(IntPtr p) { return 0; }
    void Run(IntPtr p) { cuMemFree(p); cuMemFree(p); }
}
""",
    "expected to fail": in_class("""
    void Test(ulong n) {
        Native.Allocate(out var values, n);
        Native.Free(values);
        Assert.Throws<CudaException>(() => Check(Native.Free(values)));
    }"""),
    "a class is not copied": """
class Timer {
    CUevent happened;
    public Timer() { cuEventCreate(out happened, 0); }
    ~Timer() { cuEventDestroy_v2(happened); }
}
""",
    "loops": in_class("""
    void Run(int n) {
        var streams = new CUstream[n];
        for (int i = 0; i < n; i++) Check(cuStreamCreate(ref streams[i], 0));
        foreach (var stream in streams) Check(cuStreamSynchronize(stream));
        for (int i = 0; i < n; i++) Check(cuStreamDestroy_v2(streams[i]));
    }"""),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(name: str, found_and_marked: Callable[[str, str], tuple[object, object]]) -> None:
    found, marked = found_and_marked("Wrong.cs", WRONG[name])
    assert found == marked and marked


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_silent(name: str, found_and_marked: Callable[[str, str], tuple[object, object]]) -> None:
    found, marked = found_and_marked("Right.cs", RIGHT[name])
    assert found == marked == []


def test_broken_text_is_no_crash() -> None:
    check_source(Path("Broken.cs"), b"class A { void M() { cuMemFree_v2(" + b"(" * 3000)
    check_source(Path("Broken.cs"), b"class A { void M() { cuMemFree_v2(\xff\xfe); ")
