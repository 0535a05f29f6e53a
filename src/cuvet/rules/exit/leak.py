from cuvet.model import Allocation, HostMemory, ModelView, Object
from cuvet.rules.left import left
from cuvet.rules.rule import Ended, ExitRule, Violations


class LeakedAtExit(ExitRule):
    """
    checks: With ``--leaks``: memory, streams, events, arrays, textures, graphs and memory pools that the program made and never ended.
    why: The end of the process frees everything, so that a leak does no harm there. A leak that repeats while the program runs does harm.
    instead: End each object after its last use. Look first at places with many repeats.
    limits: Objects that the program or a library keeps until the end on purpose are reported too. Modules, libraries and contexts are
      not. Without ``--leaks`` there is only a hint: if a process that ends with exit code 0 leaves a hundred objects of a kind that one
      line of the program's own code made, not of a library or package.
    """

    code = "CV941"
    severity = "note"
    summary = "an object was never freed or destroyed"
    help = "free it after its last use"
    in_source = True
    evidence = """
    measured: compute-sanitizer --leak-check full reports the same (ctx_destroy_then_use, free_interior)
    documented: cuMemFree, cuStreamDestroy, cuEventDestroy and their like end what the program made (CUDA Driver API,
      Memory Management, Stream Management, Event Management)
    """
    VALID = """
## freed
memory = cu.cuMemAlloc(64)
cu.cuMemFree(memory)

## ended with its context
note: destroying a context frees its memory
other = cu.cuCtxCreate(0, 0, device)
memory = cu.cuMemAlloc(64)
cu.cuCtxDestroy(other)

## C++: freed at the end [cuda]
int main() {
    float *values;
    cudaMalloc(&values, 1024);
    add<<<1, 256>>>(values);
    cudaDeviceSynchronize();
    cudaFree(values);
    return 0;
}

## Python: freed at the end [python cudart]
def main():
    error, values = cudart.cudaMalloc(1024)
    error, = cudart.cudaMemset(values, 0, 1024)
    error, = cudart.cudaFree(values)

if __name__ == "__main__":
    main()
"""
    INVALID = """
## never freed
memory = cu.cuMemAlloc(64)  # note: [exit-leak]

## never destroyed
stream = cu.cuStreamCreate(0)  # note: [exit-leak]
cu.cuStreamSynchronize(stream)

## C++: left to the end of the process [cuda]
int main() {
    float *values;
    cudaStream_t stream;
    cudaMalloc(&values, 1024);  // note: [exit-leak]
    cudaStreamCreate(&stream);
    add<<<1, 256, 0, stream>>>(values);
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    return 0;
}

## C#: left to the end of the process [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Program {
    static void Main() {
        CUdeviceptr values = new CUdeviceptr();
        Check(MemoryManagement.cuMemAlloc_v2(ref values, 1024));  // note: [exit-leak]
        Check(Memset.cuMemsetD8_v2(values, 0, 1024));
    }
}

## Python: left to the end of the process [python cudart]
def main():
    error, values = cudart.cudaMalloc(1024)  # note: [exit-leak]
    error, = cudart.cudaMemset(values, 0, 1024)

if __name__ == "__main__":
    main()
"""

    @classmethod
    def at_exit(cls, model: ModelView, ended: Ended) -> Violations:
        """What is left, each at the call that made it."""
        for found, times in left(model) if ended.leaks else ():
            message = f"{found.name} was never {_ended(found)}{_size(found)}"
            yield cls.broken(message, found, culprit=found.created_by, times=times)


def _ended(found: Object) -> str:
    if isinstance(found, HostMemory) and found.registered:
        return "unregistered"
    return "freed" if isinstance(found, Allocation | HostMemory) else "destroyed"


def _size(found: Object) -> str:
    return f" ({found.size} bytes)" if isinstance(found, Allocation | HostMemory) else ""
