from cuvet.catalog.roles import Verb
from cuvet.model import Allocation, Call, ModelView
from cuvet.model.accesses import pinned_at
from cuvet.model.touching import may_be_ends
from cuvet.rules.lifecycle import chain
from cuvet.rules.rule import CallRule, Violations
from cuvet.rules.works import arguments_into, work


class MemoryFreedInKernel(CallRule):
    """
    checks: A kernel is launched with an argument that is the address of device memory that was freed before.
    why: If the kernel uses the address, it uses memory of others, or dies with an illegal address, which a later call reports.
    instead: Free memory after the last launch that names it. A free in stream order takes effect for all work that is enqueued after it.
    limits: Only arguments of eight bytes that are exactly the start of the freed allocation are seen, not addresses inside it, in structs
      or in other memory. Launches that name no stream-ordered memory are recorded only with `--record full`. Whether the kernel uses its
      argument is not known. If the address was handed out again, nothing is reported; nor if living memory ends there and the argument is a
      `reverse_iterator`.
    """

    code = "CV408"
    in_source = True
    summary = "a kernel is launched with the address of freed memory"
    help = "free the memory after the last launch that names it"
    verbs = frozenset({Verb.LAUNCHES})
    evidence = """
    measured, succeeds: after cuMemFree: the launch succeeds and the next synchronisation returns
      CUDA_ERROR_ILLEGAL_ADDRESS (launch_freed_malloc)
    measured: after cuMemFreeAsync: no error at all (use_after_freeasync)
    documented: access by work launched after cuMemFreeAsync is undefined behavior (CUDA Driver API, Stream Ordered
      Memory Allocator, cuMemFreeAsync)
    """
    VALID = """
## freed in stream order after the launch
note: the kernel need not have run when the free is enqueued
kernel = cu.kernel()
memory = cu.cuMemAllocAsync(4096, 0)
cu.launch(kernel, 0, memory)
cu.cuMemFreeAsync(memory, 0)
cu.cuCtxSynchronize()

## memory of a graph that is launched again
note: each launch of the graph allocates the memory anew
kernel = cu.kernel()
stream = cu.cuStreamCreate(1)
cu.cuStreamBeginCapture(stream, 0)
memory = cu.cuMemAllocAsync(4096, stream)
graph = cu.cuStreamEndCapture(stream)
launchable = cu.cuGraphInstantiate(graph, 0)
cu.cuGraphLaunch(launchable, stream)
cu.cuMemFreeAsync(memory, stream)
cu.cuGraphLaunch(launchable, stream)
cu.launch(kernel, stream, memory)
cu.cuMemFreeAsync(memory, stream)
cu.cuStreamSynchronize(stream)

## address handed out again
kernel = cu.kernel()
first = cu.cuMemAllocAsync(4096, 0)
cu.cuMemFreeAsync(first, 0)
second = cu.cuMemAllocAsync(4096, 0)
cu.launch(kernel, 0, second)
cu.cuMemFreeAsync(second, 0)
cu.cuCtxSynchronize()

## C++: freed in stream order after the launch [cuda]
void clear(size_t bytes, cudaStream_t stream) {
    float *values;
    cudaMallocAsync(&values, bytes, stream);
    fill<<<1, 256, 0, stream>>>(values, bytes);
    cudaFreeAsync(values, stream);
}
"""
    INVALID = """
## freed in stream order before the launch
kernel = cu.kernel()
memory = cu.cuMemAllocAsync(4096, 0)
cu.cuMemFreeAsync(memory, 0)
cu.launch(kernel, 0, memory)  # error: [memory-freed-in-kernel]
cu.cuCtxSynchronize()

## C++: launched after the free [cuda]
void iterate(int n, int rounds) {
    float *values, *next;
    cudaMalloc(&values, n * sizeof(float));
    cudaMalloc(&next, n * sizeof(float));
    step<<<1, n>>>(values, next);
    cudaFree(values);
    step<<<1, n>>>(next, values);  // error: [memory-freed-in-kernel]
    cudaFree(next);
}

## C++: freed in stream order before the launch [cuda]
void clear(size_t bytes, cudaStream_t stream) {
    float *values;
    cudaMallocAsync(&values, bytes, stream);
    cudaFreeAsync(values, stream);
    fill<<<1, 256, 0, stream>>>(values, bytes);  // error: [memory-freed-in-kernel]
}
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        for pointer in dict.fromkeys(call.pointers):
            dead = model.allocation_at(pointer)
            if dead is None or dead.destroyed_by is None or dead.handle != pointer or pinned_at(model, pointer):
                continue
            if may_be_ends(call, dead, model):
                continue
            message = f"{_argument(call, dead, model)} is {dead.name}, which was freed before this launch"
            yield cls.broken(message, dead, argument=call.entry_point.index.get("kernelParams"), because=chain(dead))


def _argument(call: Call, memory: Allocation, model: ModelView) -> str:
    kernel = work(call, model)
    if not kernel.startswith("kernel "):
        return "a kernel argument"
    return f"{arguments_into(call, memory, model) or 'an argument'} of {kernel}"
