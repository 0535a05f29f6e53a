from cuvet.rules.rule import SourceRule


class SourceForkAfterUse(SourceRule):
    """
    checks: A function calls CUDA, then forks, and calls CUDA in the child.
    why: The driver's state and threads do not survive ``fork``: in the child, calls return cudaErrorInitializationError.
    instead: Fork before the first call of CUDA, or start the child with ``exec``.
    limits: Only within one function, and the functions of its file that the child calls. In Python the child may also be a function that
      ``multiprocessing`` runs. That is a warning, because Linux forks by default only up to Python 3.13, and the rule is silent if the
      file names another start method; an error if the process is one of ``get_context("fork")``. Of PyTorch, these are uses: tensors
      that are made on ``cuda``, ``.to("cuda")``, ``.cuda()`` and ``torch.cuda.synchronize()``.
    """

    code = "CV871"
    summary = "a child that was forked after its parent used CUDA uses CUDA"
    help = "fork before the first call of CUDA, or start the child with exec"
    evidence = """
    measured: in the child cudaMalloc returns cudaErrorInitializationError (fork_child_uses)
    measured: forked before the parent's first call: the child works (fork_before_init)
    documented: A call to fork must be immediately followed to a call to exec (NVIDIA CUDA C++ Guidelines for Robust and
      Safety-Critical Programming, CUDA 1.6)
    documented: the CUDA runtime does not support the start method fork; CUDA in subprocesses needs spawn or forkserver (PyTorch
      documentation, Multiprocessing best practices, CUDA in multiprocessing)
    documented: the default start method of multiprocessing on Linux changed from fork to forkserver in Python 3.14
      (What's New In Python 3.14, multiprocessing)
    """
    VALID = """
## forked first [cuda]
int main() {
    pid_t child = fork();
    if (child == 0) {
        CHECK(cudaSetDevice(1));
        return 0;
    }
    CHECK(cudaSetDevice(0));
    return 0;
}

## Python: started anew [python]
import multiprocessing
from cupy.cuda import runtime

def worker(n):
    runtime.free(runtime.malloc(n))

def run(n):
    runtime.free(runtime.malloc(n))
    multiprocessing.get_context("spawn").Process(target=worker, args=(n,)).start()
"""
    INVALID = """
## counted before [cuda]
int main() {
    int count;
    CHECK(cudaGetDeviceCount(&count));
    CHECK(cudaFree(0));
    pid_t child = fork();
    if (child == 0) {
        CHECK(cudaSetDevice(1));  // error: [source-fork-after-use]
        return 0;
    }
    return 0;
}

## Python: started by multiprocessing [python]
from multiprocessing import Process
from cupy.cuda import runtime

def worker(n):
    runtime.free(runtime.malloc(n))  # warning: [source-fork-after-use]

def run(n):
    runtime.free(runtime.malloc(n))
    Process(target=worker, args=(n,)).start()
"""
