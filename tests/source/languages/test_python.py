"""Python that calls CUDA: exactly the marked lines are found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cuvet.source import check_source

BINDINGS = "from cuda.bindings import driver, runtime as cudart\n"
CHECK = """
def check(result):
    if result[0].value:
        raise RuntimeError(result[0])
    return result[1] if len(result) == 2 else result[1:]
"""
CUPY = "import cupy as cp\nfrom cupy.cuda import runtime\n"
PYCUDA = "import pycuda.driver as cuda\n"

WRONG = {
    "status and pointer unpacked": BINDINGS
    + """
def clear(n):
    err, values = cudart.cudaMalloc(n)
    err, = cudart.cudaFree(values)
    err, = cudart.cudaMemset(values, 0, n)  # error: [memory-use-after-free]
""",
    "values taken out of the tuple": BINDINGS
    + """
def record():
    result = cudart.cudaEventCreate()
    if result[0] != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError
    event = result[1]
    cudart.cudaEventDestroy(event)
    cudart.cudaEventRecord(event, 0)  # error: [event-use-after-destroy]
""",
    "value taken out of the call": BINDINGS
    + """
def twice():
    stream = driver.cuStreamCreate(0)[1]
    driver.cuStreamDestroy(stream)
    driver.cuStreamDestroy(stream)  # error: [stream-destroy-twice]
""",
    "through a function that checks": BINDINGS
    + CHECK
    + """
def twice(n):
    values = check(cudart.cudaMalloc(n))
    check(cudart.cudaFree(values))
    check(cudart.cudaFree(values))  # error: [memory-free-twice]
""",
    "a function that checks and returns all": BINDINGS
    + """
from helper import check
def twice(n):
    err, values = check(cudart.cudaMalloc(n))
    check(cudart.cudaFree(values))
    check(cudart.cudaFree(values))  # error: [memory-free-twice]
""",
    "names imported one by one": """
from cuda.bindings.runtime import cudaFree as free, cudaMalloc
def twice(n):
    err, values = cudaMalloc(n)
    free(values)
    free(values)  # error: [memory-free-twice]
""",
    "all names imported": """
from cuda.cudart import *
def twice(n):
    err, values = cudaMalloc(n)
    cudaFree(values)
    cudaFree(values)  # error: [memory-free-twice]
""",
    "module by its whole name": """
import cuda.bindings.driver
def twice(n):
    err, values = cuda.bindings.driver.cuMemAlloc(n)
    cuda.bindings.driver.cuMemFree(values)
    cuda.bindings.driver.cuMemFree(values)  # error: [memory-free-twice]
""",
    "statements of the module": BINDINGS
    + """
err, values = cudart.cudaMalloc(1024)
cudart.cudaFree(values)
cudart.cudaFree(values)  # error: [memory-free-twice]
""",
    "keywords": BINDINGS
    + """
def twice(n):
    err, values = cudart.cudaMalloc(size=n)
    cudart.cudaFree(devPtr=values)
    cudart.cudaMemset(count=n, value=0, devPtr=values)  # error: [memory-use-after-free]
""",
    "handles wrapped in their types": BINDINGS
    + """
def twice(n):
    err, values = driver.cuMemAlloc(n)
    address = int(values)
    driver.cuMemFree(driver.CUdeviceptr(address))
    driver.cuMemFree(values)  # error: [memory-free-twice]
""",
    "a function of the file frees": BINDINGS
    + """
def release(values):
    cudart.cudaFree(values)
def twice(n):
    err, values = cudart.cudaMalloc(n)
    release(values)
    cudart.cudaFree(values)  # error: [memory-free-twice]
""",
    "finally after free": BINDINGS
    + CHECK
    + """
def twice(n):
    values = check(cudart.cudaMalloc(n))
    try:
        use(n)
        check(cudart.cudaFree(values))
    finally:
        check(cudart.cudaFree(values))  # error: [memory-free-twice]
""",
    "early return": BINDINGS
    + CHECK
    + """
def fill(n, quick):
    values = check(cudart.cudaMalloc(n))  # warning: [source-leak-on-return]
    if quick:
        return None
    check(cudart.cudaMemset(values, 0, n))
    check(cudart.cudaFree(values))
""",
    "a way out inside of try": BINDINGS
    + CHECK
    + """
def fill(n, quick):
    values = check(cudart.cudaMalloc(n))  # warning: [source-leak-on-return]
    try:
        if quick:
            return None
        check(cudart.cudaFree(values))
    finally:
        print("done")
""",
    "after with": BINDINGS
    + CHECK
    + """
def fill(n, lock):
    values = check(cudart.cudaMalloc(n))
    with lock:
        check(cudart.cudaFree(values))
    check(cudart.cudaMemset(values, 0, n))  # error: [memory-use-after-free]
""",
    "CuPy raises": CUPY
    + """
def twice():
    stream = cp.cuda.runtime.streamCreate()
    runtime.streamDestroy(stream)
    runtime.streamDestroy(stream)  # error: [stream-destroy-twice]
""",
    "CuPy's module by its own name": """
import cupy_backends.cuda.api.runtime
def wrong(n):
    values = cupy_backends.cuda.api.runtime.hostAlloc(n, 0)
    cupy_backends.cuda.api.runtime.free(values)  # error: [memory-free-wrong-function]
""",
    "CuPy without optional arguments": CUPY
    + """
def capture(stream):
    graph = runtime.streamEndCapture(stream)
    executable = runtime.graphInstantiate(graph)
    runtime.graphExecDestroy(executable)
    runtime.graphDestroy(graph)
    runtime.graphLaunch(executable, stream)  # error: [graph-exec-use-after-destroy]
""",
    "PyCUDA": PYCUDA
    + """
def wrong(host):
    values = cuda.mem_alloc(host.nbytes)
    cuda.memcpy_htod(values, host)
    values.free()
    cuda.memcpy_dtoh(host, values)  # error: [memory-use-after-free]
""",
    "a class that forgets one": BINDINGS
    + CHECK
    + """
class Timer:
    def __init__(self):
        self.start = check(cudart.cudaEventCreate())
        self.end = check(cudart.cudaEventCreate())  # warning: [source-member-leak]
    def close(self):
        check(cudart.cudaEventDestroy(self.start))
""",
    "a class with __del__": BINDINGS
    + CHECK
    + """
class Buffer:
    def __init__(self, n):
        self.values = check(cudart.cudaMalloc(n))
        self.stream = check(cudart.cudaStreamCreate())  # warning: [source-member-leak]
    def __del__(self):
        cudart.cudaFree(self.values)
""",
    "a handle's number": BINDINGS
    + CHECK
    + """
def twice(n):
    values = check(driver.cuMemAlloc(n))
    check(driver.cuMemFree(values.value))
    check(driver.cuMemFree(values))  # error: [memory-free-twice]
""",
    "a status thrown away": BINDINGS
    + CHECK
    + """
def fill(values, n):
    cudart.cudaMemset(values, 0, n)
    scratch = cudart.cudaMalloc(n)[1]  # note: [source-status-dropped]
    cudart.cudaFree(scratch)
""",
    "a name that CUDA does not have": BINDINGS
    + CHECK
    + """
def end(stream):
    check(cudart.cudaStreamDestory(stream))  # warning: [source-unknown-entry-point]
""",
    "forked after initialisation": BINDINGS
    + """
import os
def run(n):
    err, values = cudart.cudaMalloc(n)
    pid = os.fork()
    if pid == 0:
        err, scratch = cudart.cudaMalloc(n)  # error: [source-fork-after-use]
        work(values, scratch)
        os._exit(0)
    cudart.cudaFree(values)
""",
    "started by multiprocessing after initialisation": CUPY
    + """
from multiprocessing import Pool, Process
def worker(n):
    stream = runtime.streamCreate()  # warning: [source-fork-after-use]
    runtime.streamDestroy(stream)
def other(n):
    event = runtime.eventCreate()  # warning: [source-fork-after-use]
    runtime.eventDestroy(event)
def main(n):
    values = runtime.malloc(n)
    process = Process(target=worker, args=(n,))
    process.start()
    with Pool(4) as pool:
        pool.map(other, range(n))
    runtime.free(values)
""",
    "a member and a variable of one name": BINDINGS
    + CHECK
    + """
class Timer:
    def begin(self):
        event = check(cudart.cudaEventCreate())  # warning: [source-leak]
        self.event.record(7)
        check(cudart.cudaEventSynchronize(event))
""",
}

RIGHT = {
    "freed in finally": BINDINGS
    + CHECK
    + """
def fill(n, quick):
    values = check(cudart.cudaMalloc(n))
    try:
        if quick:
            return None
        check(cudart.cudaMemset(values, 0, n))
    finally:
        check(cudart.cudaFree(values))
""",
    "freed in finally out of a loop": BINDINGS
    + CHECK
    + """
def fill(n):
    for i in range(n):
        values = check(cudart.cudaMalloc(n))
        try:
            if i == 3:
                break
            if i == 4:
                continue
        finally:
            check(cudart.cudaFree(values))
""",
    "freed by a handler that raises": BINDINGS
    + CHECK
    + """
def fill(n):
    values = check(cudart.cudaMalloc(n))
    try:
        use(values)
        check(cudart.cudaFree(values))
    except RuntimeError:
        check(cudart.cudaFree(values))
        raise
""",
    "forked before initialisation, or with another start method": BINDINGS
    + CHECK
    + """
import multiprocessing, os
def worker(n):
    values = check(cudart.cudaMalloc(n))
    check(cudart.cudaFree(values))
def early(n):
    if os.fork() == 0:
        worker(n)
    values = check(cudart.cudaMalloc(n))
    check(cudart.cudaFree(values))
def perhaps(n):
    if n == 0:
        return check(cudart.cudaMalloc(n))
    pid = os.fork()
    if pid == 0:
        return check(cudart.cudaMalloc(n))
def spawned(n):
    values = check(cudart.cudaMalloc(n))
    context = multiprocessing.get_context("spawn")
    process = multiprocessing.Process(target=worker)
    process.start()
    check(cudart.cudaFree(values))
""",
    "a name of a file of the user's": """
import wrapper as cudart
def end(stream):
    cudart.cudaStreamDestory(stream)
""",
    "a handler after the body was done": BINDINGS
    + CHECK
    + """
def fill(n):
    values = check(cudart.cudaMalloc(n))
    try:
        check(cudart.cudaFree(values))
        report(n)
    except OSError:
        return None
    return n
""",
    "made again": BINDINGS
    + CHECK
    + """
def fill(n):
    values = check(cudart.cudaMalloc(n))
    check(cudart.cudaFree(values))
    values = check(cudart.cudaMalloc(n))
    check(cudart.cudaMemset(values, 0, n))
    check(cudart.cudaFree(values))
""",
    "returned, alone and with others": BINDINGS
    + CHECK
    + """
def one(n):
    values = check(cudart.cudaMalloc(n))
    return values
def two(n):
    err, values = cudart.cudaMalloc(n)
    return err, values
def all(n):
    return cudart.cudaMalloc(n)
def dressed(n):
    values = check(cudart.cudaMalloc(n))
    return Owner(values, n)
""",
    "given to others": BINDINGS
    + CHECK
    + """
def one(pool, n):
    pool.append(check(cudart.cudaMalloc(n)))
def two(pool, n):
    values = check(cudart.cudaMalloc(n))
    pool["values"] = values
def three(pool, n):
    values = check(cudart.cudaMalloc(n))
    pool.streams.append(external(values))
def four(owner, n):
    values = check(cudart.cudaMalloc(n))
    owner.values = values
def five(n):
    values = check(cudart.cudaMalloc(n))
    yield values
    check(cudart.cudaFree(values))
""",
    "kept in an attribute of the same name": BINDINGS
    + CHECK
    + """
class Buffer:
    def __init__(self, n):
        values = check(cudart.cudaMalloc(n))
        self.values = values
    def free(self):
        check(cudart.cudaFree(self.values))
        self.values = None
    def close(self):
        if self.values is not None:
            check(cudart.cudaFree(self.values))
            self.values = None
""",
    "a method makes the member again": BINDINGS
    + CHECK
    + """
class Buffer:
    def allocate(self, n):
        self.values = check(cudart.cudaMalloc(n))
    def grow(self, n):
        check(cudart.cudaFree(self.values))
        self.allocate(n)
        check(cudart.cudaMemset(self.values, 0, n))
    def __del__(self):
        check(cudart.cudaFree(self.values))
""",
    "a function makes the module's variable again": BINDINGS
    + CHECK
    + """
values = check(cudart.cudaMalloc(1024))
def again():
    global values
    values = check(cudart.cudaMalloc(2048))
check(cudart.cudaFree(values))
again()
check(cudart.cudaMemset(values, 0, 2048))
""",
    "freed under the condition of its making": BINDINGS
    + CHECK
    + """
def fill(n):
    values = None
    if n > 1024:
        values = check(cudart.cudaMalloc(n))
    work(n)
    if values is not None:
        check(cudart.cudaFree(values))
""",
    "a flag says what is there": BINDINGS
    + CHECK
    + """
def fill(n):
    made = False
    if n > 1024:
        values = check(cudart.cudaMalloc(n))
        made = True
    work(n)
    if made:
        check(cudart.cudaFree(values))
""",
    "a call that is expected to fail": CUPY
    + """
def test_twice(pytest):
    stream = runtime.streamCreate()
    runtime.streamDestroy(stream)
    with pytest.raises(runtime.CUDARuntimeError):
        runtime.streamDestroy(stream)
""",
    "swapped": BINDINGS
    + CHECK
    + """
def swap(n):
    front, back = check(cudart.cudaMalloc(n)), check(cudart.cudaMalloc(n))
    front, back = back, front
    check(cudart.cudaFree(front))
    check(cudart.cudaFree(back))
""",
    "the process ends": BINDINGS
    + CHECK
    + """
import sys
def fill(n):
    values = check(cudart.cudaMalloc(n))
    if n == 0:
        sys.exit(1)
    check(cudart.cudaFree(values))
""",
    "PyCUDA frees itself": PYCUDA
    + """
def fine(host):
    values = cuda.mem_alloc(host.nbytes)
    cuda.memcpy_htod(values, host)
def again(host):
    values = cuda.mem_alloc(host.nbytes)
    values.free()
    values = cuda.mem_alloc(host.nbytes)
    cuda.memcpy_dtoh(host, values)
""",
    "another library's names": """
import lib as cudart
runtime = lib.Runtime()
def twice(n):
    err, values = cudart.cudaMalloc(n)
    cudart.cudaFree(values)
    cudart.cudaFree(values)
    stream = runtime.streamCreate()
    runtime.streamDestroy(stream)
    runtime.streamDestroy(stream)
""",
    "a variable hides the module": CUPY
    + """
runtime = make_runtime()
def twice():
    stream = runtime.streamCreate()
    runtime.streamDestroy(stream)
    runtime.streamDestroy(stream)
""",
    "loops over what a list holds": BINDINGS
    + CHECK
    + """
def run(n):
    streams = [check(cudart.cudaStreamCreate()) for _ in range(n)]
    for stream in streams:
        check(cudart.cudaStreamSynchronize(stream))
    for stream in streams:
        check(cudart.cudaStreamDestroy(stream))
""",
    "a closure frees": BINDINGS
    + CHECK
    + """
import atexit
def run(n):
    values = check(cudart.cudaMalloc(n))
    def release():
        check(cudart.cudaFree(values))
    atexit.register(release)
""",
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(name: str, found_and_marked: Callable[[str, str], tuple[object, object]]) -> None:
    found, marked = found_and_marked("wrong.py", WRONG[name])
    assert found == marked and marked


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_silent(name: str, found_and_marked: Callable[[str, str], tuple[object, object]]) -> None:
    found, marked = found_and_marked("right.py", RIGHT[name])
    assert found == marked == []


def test_functions_are_named_as_in_python() -> None:
    program = (
        BINDINGS
        + """
class Timer:
    def close(self):
        cudart.cudaEventDestroy(self.end)
        cudart.cudaEventDestroy(self.end)
"""
    )
    findings = check_source(Path("timer.py"), program.encode()).findings
    (frame,) = [each.site.frames[0] for each in findings if each.severity == "error"]
    assert (frame.function, frame.language, frame.line, frame.column) == ("Timer.close", "python", 6, 33)


@pytest.mark.parametrize("text", [b"def f(): r.cudaFree(" + b"(" * 3000, b"r.cudaFree(\xff\xfe)\n"])
def test_broken_text_is_no_crash(text: bytes) -> None:
    check_source(Path("broken.py"), b"import cuda.bindings.runtime as r\n" + text)


def test_a_byte_order_mark_hides_no_import() -> None:
    text = """\ufefffrom cuda.bindings import runtime
def f():
    error, stream = runtime.cudaStreamCreate()
    work(stream)
"""
    assert [finding.name for finding in check_source(Path("f.py"), text.encode()).findings] == ["source-leak"]
