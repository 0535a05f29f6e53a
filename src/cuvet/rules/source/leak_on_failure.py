from cuvet.rules.rule import SourceRule


class SourceLeakOnFailure(SourceRule):
    """
    checks: When a CUDA call fails, the function returns without ending the objects that it created before.
    why: A caller that continues, or tries again with less, has lost that memory.
    instead: Use an owner whose destructor ends the object, or one place at the end of the function that all paths reach.
    limits: A note, because after many errors the process can only exit, which frees everything. Of contexts only where the same function
      destroys them on another way out.
    """

    code = "CV853"
    severity = "note"
    summary = "an object is lost when a later call fails"
    help = "end the object before returning, or give it to an owner whose destructor does"
    evidence = """
    documented: cudaFree, cudaStreamDestroy, cudaEventDestroy and their like end what the program made (CUDA Runtime
      API, Memory Management, Stream Management, Event Management)
    """
    VALID = """
## freed before returning [cuda]
int make(float **out, int n) {
    float *first, *second;
    if (cudaMalloc(&first, n) != cudaSuccess) return 1;
    if (cudaMalloc(&second, n) != cudaSuccess) {
        cudaFree(first);
        return 1;
    }
    join<<<1, 1>>>(first, second);
    cudaFree(second);
    cudaFree(first);
    return 0;
}

## the process ends [cuda]
int make(int n) {
    float *first, *second;
    cudaMalloc(&first, n);
    if (cudaMalloc(&second, n) != cudaSuccess) {
        fprintf(stderr, "no memory");
        exit(1);
    }
    join<<<1, 1>>>(first, second);
    cudaFree(second);
    cudaFree(first);
    return 0;
}
"""
    INVALID = """
## the second allocation fails [cuda]
int make(int n) {
    float *first, *second;
    if (cudaMalloc(&first, n) != cudaSuccess) return 1;  // note: [source-leak-on-failure]
    if (cudaMalloc(&second, n) != cudaSuccess) return 1;
    join<<<1, 1>>>(first, second);
    cudaFree(second);
    cudaFree(first);
    return 0;
}

## Python: the second allocation fails [python cudart]
def make(n):
    error, first = cudart.cudaMalloc(n)  # note: [source-leak-on-failure]
    if error != cudart.cudaError_t.cudaSuccess:
        return None
    error, second = cudart.cudaMalloc(n)
    if error != cudart.cudaError_t.cudaSuccess:
        return None
    join(int(first), int(second))
    error, = cudart.cudaFree(second)
    error, = cudart.cudaFree(first)

## C#: the second of two fails [c# method]
bool Run(int size) {
    CUdeviceptr front = new CUdeviceptr(), back = new CUdeviceptr();
    if (MemoryManagement.cuMemAlloc_v2(ref front, size) != CUResult.Success) return false;  // note: [source-leak-on-failure]
    if (MemoryManagement.cuMemAlloc_v2(ref back, size) != CUResult.Success) return false;
    Launch(front, back);
    Check(MemoryManagement.cuMemFree_v2(front));
    Check(MemoryManagement.cuMemFree_v2(back));
    return true;
}
"""
