from cuvet.catalog.kinds import Threads
from cuvet.catalog.roles import ENDS, Kind, Verb
from cuvet.model import Call, ModelView
from cuvet.model.library import stream_named
from cuvet.model.objects import LibraryObject
from cuvet.rules.lifecycle import named_among
from cuvet.rules.rule import CallRule, Violations

_KINDS = frozenset(kind for kind in Kind if kind.row.threads is Threads.UNLESS_CHANGED)


class LibraryHandleChangedInUse(CallRule):
    """
    checks: A thread destroys a cuBLAS or cuSPARSE handle, or sets its stream or workspace, while another thread is inside a call with it.
    why: These handles may be shared, but a change affects all threads: the other call may use the new stream, or a destroyed handle.
    instead: Use one handle per thread. For a shared one, hold a lock from setting the stream to the last call that uses it.
    limits: Only calls that overlapped in this run are seen. Silent about a change between two calls of another thread, and about modes.
      `cuvet check` knows threads that a loop of C++ starts, each of which sets its stream on the same handle.
    """

    code = "CV972"
    severity = "warning"
    summary = "a handle is changed or destroyed while another thread is inside a call with it"
    help = "use one handle per thread, or hold a lock from setting the stream to the last call that uses it"
    kinds = _KINDS
    libraries = True
    evidence = """
    documented: cuBLAS may be called from many threads with the same handle; extreme care is needed when its
      configuration is changed, and even more when it is destroyed (cuBLAS, Using the cuBLAS API, Thread Safety,
      https://docs.nvidia.com/cuda/cublas/#thread-safety)
    documented: a cuSPARSE handle may be shared, but setting its stream or destroying it affects all threads (cuSPARSE,
      Using the cuSPARSE API, Thread Safety, https://docs.nvidia.com/cuda/cusparse/#thread-safety)
    measured, succeeds: two threads, each with its stream: after cublasSetStream() and cublasSscal(), all of them
      CUBLAS_STATUS_SUCCESS, the handle had the other thread's stream 35,591 times of 40,000; after
      cusparseSetStream() 15,595 times of 400,000 (cublas_changed_in_use, cusparse_changed_in_use)
    measured: cublasDestroy() while another thread computes with the handle: all calls returned CUBLAS_STATUS_SUCCESS
      (cublas_destroyed_in_use)
    reported: a stream set by one thread is overwritten by the next before the library is called
      (https://github.com/cupy/cupy/issues/1109)
    """
    VALID = """
## shared, and not changed
note: cuBLAS allows it
handle = cu.cublas.cublasCreate()
memory = cu.cuMemAlloc(4096)

def work():
    cu.cuCtxSetCurrent(context)
    cu.cublas.cublasSscal(handle, 16, cu.host(4), memory, 1)

cu.in_threads(work, work, times=100)

## changed between the calls
handle = cu.cusparse.cusparseCreate()
cu.in_thread(lambda: cu.cusparse.cusparseSetStream(handle, 0))
cu.cusparse.cusparseSetStream(handle, 0)
cu.cusparse.cusparseDestroy(handle)
"""
    INVALID = """
## two threads, each with its stream
handle = cu.cublas.cublasCreate()
first, second = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
memory, factor = cu.cuMemAlloc(1 << 24), cu.host(4)

def work(stream, own):
    cu.cuCtxSetCurrent(context)
    for part in range(8):
        cu.cublas.cublasSetStream(handle, stream)  # warning: [library-handle-changed-in-use]
        cu.cublas.cublasSscal(handle, 1 << 18, factor, own + (part << 20), 1)
    cu.cuCtxSynchronize()

cu.in_threads(lambda: work(first, memory), lambda: work(second, memory + (1 << 23)), times=250)
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        if not call.shared_with:
            return
        for use in named_among(call, model, _KINDS):
            handle = use.object
            if not isinstance(handle, LibraryObject) or not handle.alive:
                continue
            change = _change(call, model, handle)
            if change:
                message = f"{handle.name} {change} while thread {call.shared_with} is inside a call with it"
                yield cls.broken(message, handle, argument=use.argument, undefined=True)
                return


def _change(call: Call, model: ModelView, handle: LibraryObject) -> str:
    """What the call does to the handle; empty if it only uses it, or sets the stream that it has."""
    for role in call.entry_point.roles:
        if role.verb in ENDS and role.kind in _KINDS:
            return "is destroyed"
        if role.verb is Verb.SETS_WORKSPACE:
            return "is given another workspace"
        if role.verb is Verb.SETS_STREAM and stream_named(model, call, role) is not handle.stream:
            return "is given another stream"
    return ""
