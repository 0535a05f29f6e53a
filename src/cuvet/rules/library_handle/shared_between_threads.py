import re
from functools import cache

from cuvet.catalog import EntryPoint
from cuvet.catalog.kinds import Threads
from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, ModelView
from cuvet.rules.lifecycle import named_among
from cuvet.rules.rule import CallRule, Violations

_KINDS = frozenset(kind for kind in Kind if kind.row.threads is Threads.NEVER)
_ASKING = re.compile(r"Get|Query")


class LibraryHandleSharedBetweenThreads(CallRule):
    """
    checks: A thread calls cuDNN, cuFFT or cuRAND with a handle, plan or generator while another thread is inside a call with it. Or two
      threads issue operations to one NCCL communicator at the same time.
    why: Many threads may call these libraries, but not with the same handle at the same time. In public threads, one thread overwrote the
      stream that another had set before its work was launched, and calls failed or crashed at random.
    instead: Use one handle per thread, or lend one to a thread at a time. A handle may be created in one thread and used in another.
    limits: Only calls that overlapped in this run are seen. Silent about calls that only query: `ncclCommGetAsyncError` is meant to be
      polled by another thread. For cuBLAS and cuSPARSE see library-handle-changed-in-use. `cuvet check`
      knows threads that a loop of C++ starts, which compute with the same handle.
    """

    code = "CV971"
    summary = "two threads are inside a library with the same handle"
    help = "use one handle per thread, or lend one to a thread at a time"
    kinds = _KINDS
    libraries = True
    evidence = """
    documented: cuDNN may be called from many threads so long as they do not share the same handle
      simultaneously (NVIDIA cuDNN, Thread Safety,
      https://docs.nvidia.com/deeplearning/cudnn/frontend/latest/developer/misc.html)
    documented: cuFFT is thread safe as long as different threads execute different plans and their output is disjoint
      (cuFFT API Reference, Thread Safety, https://docs.nvidia.com/cuda/cufft/#thread-safety)
    documented: the host API of cuRAND is thread safe as long as different threads use different generators and their
      output is disjoint (cuRAND Library Programming Guide, Host API Overview, Thread Safety)
    documented: it is not allowed to issue NCCL operations to a single communicator in parallel with multiple threads
      (NCCL User Guide, Thread Safety,
      https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/threadsafety.html)
    measured: a cuDNN handle of one thread, used in another afterwards: no error (cudnn_other_thread_use)
    measured, succeeds: 40,000 cudnnSetStream and 10,000 cudnnSoftmaxForward of two threads with one handle:
      CUDNN_STATUS_SUCCESS each time (cudnn_shared, cudnn_shared_computing)
    reported: the same cuFFT plan in two threads throws (https://github.com/NVIDIA/MatX/issues/1039)
    reported: convolutions of several threads with one cuDNN state crash at random
      (https://github.com/microsoft/onnxruntime/issues/3828)
    reported: a race on one cuDNN handle, fixed by a pool (https://github.com/pytorch/pytorch/pull/14861)
    """
    VALID = """
## one thread after the other
handle = cu.cudnn.cudnnCreate()
cu.in_thread(lambda: cu.cudnn.cudnnSetStream(handle, 0))
cu.cudnn.cudnnDestroy(handle)

## a handle for each thread
def work():
    handle = cu.cudnn.cudnnCreate()
    for _ in range(100):
        cu.cudnn.cudnnSetStream(handle, 0)

cu.in_threads(work, work)

## under a lock
import threading

handle, lock = cu.cudnn.cudnnCreate(), threading.Lock()

def work():
    with lock:
        cu.cudnn.cudnnSetStream(handle, 0)

cu.in_threads(work, work, times=100)
"""
    INVALID = """
## without a lock
handle = cu.cudnn.cudnnCreate()

def work():
    cu.cudnn.cudnnSetStream(handle, 0)  # error: [library-handle-shared-between-threads]

cu.in_threads(work, work, times=500)
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        if not call.shared_with or not _matters(call.entry_point):
            return
        other = call.shared_call
        if other is not None and not _matters(other):
            return
        where = f"in {other.name}" if other is not None else "in a call"
        for use in named_among(call, model, _KINDS):
            if use.object is not None and use.object.alive:
                message = f"{use.object.name} is in use by thread {call.shared_with}, {where}, when this thread enters"
                yield cls.broken(message, use.object, argument=use.argument, undefined=True)
                return


@cache
def _matters(entry_point: EntryPoint) -> bool:
    """Whether calls of the entry point do more than ask; of NCCL, whether they are operations, which name a stream."""
    if entry_point.api == "nccl":
        return any(role.verb is Verb.ON for role in entry_point.roles)
    return not _ASKING.search(entry_point.name)
