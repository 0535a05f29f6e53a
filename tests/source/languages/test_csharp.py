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


def pipeline(
    program: str, *, close: str = "cuStreamDestroy_v2(stream);", more: str = "", head: str = "class Pipeline"
) -> str:
    """A class with a stream, and a program that uses an object of it."""
    return f"""
{head} {{
    CUstream stream;
    public void Open() {{ Check(cuStreamCreate(out stream, 0)); }}
    public void Close() {{ {close} }}
    public CUResult Flush() {{ return cuStreamSynchronize(stream); }}
    {more}
}}
class Program {{
    {program}
}}
"""


WRONG_BETWEEN_METHODS = {
    "a method destroys what another uses": pipeline("""
    static void Main() {
        var pipeline = new Pipeline();
        pipeline.Open();
        pipeline.Close();
        pipeline.Flush();  // error: [stream-use-after-destroy]
    }"""),
    "closed twice": pipeline("""
    static void Main() {
        Pipeline pipeline = new Pipeline();
        pipeline.Close();
        pipeline.Close();  // error: [stream-destroy-twice]
    }"""),
    "disposed": pipeline(
        """
    static void Main() {
        Pipeline pipeline = new Pipeline();
        pipeline.Dispose();
        Console.WriteLine(pipeline.Flush());  // error: [stream-use-after-destroy]
    }""",
        head="class Pipeline : IDisposable",
        more="public void Dispose() { Close(); }",
    ),
    "of its own object": pipeline(
        "",
        more="""
    void Finish() {
        Close();
        cuStreamSynchronize(stream);  // error: [stream-use-after-destroy]
    }
    void Again() {
        cuStreamDestroy_v2(stream);
        this.Flush();  // error: [stream-use-after-destroy]
    }""",
    ),
    "destroyed after a check that throws": pipeline(
        """
    static void Main() {
        var pipeline = new Pipeline();
        pipeline.Open();
        pipeline.Close();
        pipeline.Flush();  // error: [stream-use-after-destroy]
    }""",
        more="CUevent done;",
        close="""
        CUResult result = cuEventDestroy_v2(done);
        if (result != CUResult.Success) throw new CudaException(result);
        result = cuStreamDestroy_v2(stream);
        if (result != CUResult.Success) throw new CudaException(result);""",
    ),
    "destroyed where it is there": pipeline(
        """
    static void Main() {
        var pipeline = new Pipeline();
        pipeline.Open();
        pipeline.Close();
        pipeline.Flush();  // error: [stream-use-after-destroy]
    }""",
        close="if (stream != IntPtr.Zero) cuStreamDestroy_v2(stream);",
    ),
    "ref, out and a use elsewhere": in_class("""
    static void Make(out IntPtr p) { Check(Native.Allocate(out p, 64)); }
    static void Drop(ref IntPtr p) { Native.Free(p); }
    static void Clear(IntPtr p) { Native.cudaMemset(p, 0, 64); }
    static void Main() {
        Make(out IntPtr values);
        Drop(ref values);
        Clear(values);  // error: [memory-use-after-free]
    }"""),
    "in an arm of a condition": pipeline("""
    static void Main(string[] args) {
        var pipeline = new Pipeline();
        pipeline.Close();
        if (args.Length > 0) pipeline.Flush();  // error: [stream-use-after-destroy]
    }"""),
}
RIGHT_BETWEEN_METHODS = {
    "opened again": pipeline("""
    static void Main() {
        var pipeline = new Pipeline();
        pipeline.Open(); pipeline.Close();
        pipeline.Open(); pipeline.Flush(); pipeline.Close();
    }"""),
    "zeroed at its end": pipeline(
        "static void Main() { var p = new Pipeline(); p.Open(); p.Close(); p.Flush(); p.Close(); }",
        close="cuStreamDestroy_v2(stream); stream = default;",
    ),
    "only if it is there": pipeline(
        "static void Main() { var p = new Pipeline(); p.Open(); p.Close(); p.Close(); }",
        close="if (stream != IntPtr.Zero) { cuStreamDestroy_v2(stream); stream = IntPtr.Zero; }",
    ),
    "left early when closed": pipeline(
        "static void Main() { var p = new Pipeline(); p.Open(); p.Close(); p.Close(); }",
        more="bool closed;",
        close="if (closed) return; cuStreamDestroy_v2(stream); closed = true;",
    ),
    "made anew by the method that ends it": pipeline(
        "static void Main() { var p = new Pipeline(); p.Open(); p.Close(); p.Flush(); }",
        close="cuStreamDestroy_v2(stream); Open();",
    ),
    "two objects": pipeline(
        "static void Main() { var a = new Pipeline(); var b = new Pipeline(); a.Close(); b.Flush(); }"
    ),
    "another object behind the variable": pipeline("""
    static void Main() {
        var pipeline = new Pipeline();
        pipeline.Close();
        pipeline = new Pipeline();
        pipeline.Flush();
    }"""),
    "somebody else knows the object": pipeline("""
    static void Main() {
        var pipeline = new Pipeline();
        var worker = new Worker(pipeline);
        pipeline.Close();
        worker.Restart();
        pipeline.Flush();
    }"""),
    "somebody else knows the object in the object": pipeline("""
    Pipeline inner;
    Program(Pipeline it) { inner = it; }
    void Stop() { inner.Close(); }
    void Go() { inner.Flush(); }
    static void Main() {
        var pipeline = new Pipeline();
        var program = new Program(pipeline);
        program.Stop();
        pipeline.Open();
        program.Go();
    }"""),
    "a lambda opens it": pipeline("""
    static void Main() {
        var pipeline = new Pipeline();
        Action again = () => pipeline.Open();
        pipeline.Close();
        again();
        pipeline.Flush();
    }"""),
    "given to a function": pipeline("""
    static void Again(Pipeline it) { it.Open(); }
    static void Main() {
        var pipeline = new Pipeline();
        pipeline.Close();
        Again(pipeline);
        pipeline.Flush();
    }"""),
    "a derived class may do otherwise": pipeline(
        "static void Main() { Pipeline p = new Pipeline(); p.Stop(); p.Flush(); }",
        more="public virtual void Stop() { cuStreamDestroy_v2(stream); }",
    ),
    "a base class that is not in sight": pipeline(
        "static void Main() { Pipeline p = new Pipeline(); p.Close(); p.Restart(); p.Flush(); }",
        head="class Pipeline : Node",
    ),
    "a property sets it": pipeline(
        """
    static void Main() {
        var pipeline = new Pipeline();
        pipeline.Close();
        pipeline.Stream = Shared();
        pipeline.Flush();
    }""",
        more="public CUstream Stream { get { return stream; } set { stream = value; } }",
    ),
    "another method of the name": pipeline(
        "static void Main() { var p = new Pipeline(); p.Stop(false); p.Flush(); }",
        more="""
    public void Stop(bool all) { if (all) cuStreamDestroy_v2(stream); }
    public void Stop(int n) { cuStreamDestroy_v2(stream); }""",
    ),
    "later": pipeline(
        "static async Task Main() { var p = new Pipeline(); var stop = p.Stop(); p.Flush(); await stop; }",
        more="public async Task Stop() { await work; cuStreamDestroy_v2(stream); }",
    ),
    "one or the other": pipeline("""
    static void Main(string[] args) {
        var pipeline = new Pipeline();
        if (args.Length > 0) { pipeline.Close(); return; }
        pipeline.Flush();
    }"""),
    "each turn its own": pipeline("""
    static void Run(List<Pipeline> all) {
        foreach (var each in all) each.Close();
        for (int i = 0; i < 3; i++) { var p = new Pipeline(); p.Open(); p.Flush(); p.Close(); }
    }"""),
    "in turns": pipeline("""
    static void Main() {
        var pipeline = new Pipeline();
        for (int i = 0; i < 3; i++) { pipeline.Open(); pipeline.Flush(); pipeline.Close(); }
    }"""),
    "ref, zeroed and made anew": in_class("""
    static void Drop(ref IntPtr p) { Native.Free(p); p = IntPtr.Zero; }
    static void Renew(ref IntPtr p) { Native.Free(p); Check(Native.Allocate(out p, 64)); }
    static void Main() {
        Check(Native.Allocate(out IntPtr values, 64));
        Renew(ref values);
        Native.cudaMemset(values, 0, 64);
        Drop(ref values);
        Drop(ref values);
    }"""),
    "uses something else, or perhaps": in_class("""
    static void Clear(IntPtr p) { p = Other(); Native.cudaMemset(p, 0, 64); }
    static void Perhaps(IntPtr p, bool there) { if (there) Native.cudaMemset(p, 0, 64); }
    static void Main() {
        Check(Native.Allocate(out IntPtr values, 64));
        Native.Free(values);
        Clear(values);
        Perhaps(values, false);
    }"""),
}


@pytest.mark.parametrize("name", WRONG_BETWEEN_METHODS)
def test_what_is_wrong_between_methods_is_found(
    name: str, found_and_marked: Callable[[str, str], tuple[object, object]]
) -> None:
    found, marked = found_and_marked("Wrong.cs", WRONG_BETWEEN_METHODS[name])
    assert found == marked and marked


@pytest.mark.parametrize(
    "between",
    [
        "p?.Open();",
        "p!.Open();",
        "((IPipe)p).Open();",
        "if (p is Pipeline q) q.Open();",
        "var q = p; q.Open();",
        "Action again = p.Open; again();",
        "new Thread(p.Open).Start();",
        "list.Add(p); list[0].Open();",
        "foreach (var q in new[] { p }) q.Open();",
        "holder.It = p; holder.It.Open();",
        "p.stream = Make();",
        "p.Restart();",
        "Again(); void Again() { p.Open(); }",
    ],
)
def test_an_object_that_others_may_reach_is_not_followed(
    between: str, found_and_marked: Callable[[str, str], tuple[object, object]]
) -> None:
    program = "static void Main() {{ var p = new Pipeline(); p.Open(); p.Close(); {} p.Flush(); }}"
    found, _ = found_and_marked("Right.cs", pipeline(program.format(between)))
    assert found == []
    found, _ = found_and_marked("Wrong.cs", pipeline(program.format("Log();")))
    assert found == [(10, "stream-use-after-destroy")]


@pytest.mark.parametrize(
    "go",
    ["Run(Open);", "Run(() => Open());", "new Thread(Open).Start();", "yield return 1; cuStreamDestroy_v2(stream);"],
)
def test_a_method_that_does_something_later_is_not_followed(
    go: str, found_and_marked: Callable[[str, str], tuple[object, object]]
) -> None:
    program = "static void Main() { var p = new Pipeline(); p.Open(); p.Close(); p.Go(); p.Flush(); }"
    found, _ = found_and_marked("Right.cs", pipeline(program, more=f"public void Go() {{ {go} }}"))
    assert found == []


@pytest.mark.parametrize("name", RIGHT_BETWEEN_METHODS)
def test_what_is_right_between_methods_is_silent(
    name: str, found_and_marked: Callable[[str, str], tuple[object, object]]
) -> None:
    found, marked = found_and_marked("Right.cs", RIGHT_BETWEEN_METHODS[name])
    assert found == marked == []


def test_broken_text_is_no_crash() -> None:
    check_source(Path("Broken.cs"), b"class A { void M() { cuMemFree_v2(" + b"(" * 3000)
    check_source(Path("Broken.cs"), b"class A { void M() { cuMemFree_v2(\xff\xfe); ")


_FAILS = "if (Native.cudaMemset(values, 0, n) != 0) "
_END = in_class(
    f"    void End(IntPtr values, ulong n) {{ {_FAILS} {{ Native.cudaFree(values); throw new Failure(); }} }}"
)
_FILL = _END.replace(_FAILS, "Native.cudaMemset(values, 0, n);")


@pytest.mark.parametrize(("program", "counted"), [(_END, 0), (_FILL, 1)], ids=["only of what ends", "of others too"])
def test_ignored_statuses_count_where_not_all_are_of_what_ends(program: str, counted: int) -> None:
    names = [finding.name for finding in check_source(Path("program.cs"), program.encode()).findings]
    assert names.count("source-status-dropped") == counted
