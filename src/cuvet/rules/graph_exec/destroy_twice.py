from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import DestroyTwice


class GraphExecDestroyTwice(DestroyTwice):
    """
    ## What it checks
    `cuGraphExecDestroy` is called with an executable graph that was destroyed before.

    ## Why it is wrong
    The first call released the executable graph. The second was measured to return CUDA_ERROR_INVALID_VALUE; it
    is documented as undefined.

    ## Use instead
    Give the executable graph one owner, which destroys it once and forgets the handle in the same place.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a second destruction looks
    like the first of the new object.
    """

    code = "CV722"
    name = "graph-exec-destroy-twice"
    severity = "error"
    summary = "an executable graph is destroyed twice"
    help = "let one owner destroy the executable graph, and clear its handle at that moment"
    kind = Kind.GRAPH_EXEC
    outcomes = (1,)
    evidence = """
    measured: CUDA_ERROR_INVALID_VALUE (graph_exec_destroy_twice)
    documented: Use of the handle after this call is undefined behavior. (CUDA Runtime API, Graph Management,
      cudaGraphExecDestroy)
    """
    VALID = """
## destroyed once
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecDestroy(executable)

## handle issued again
note: the new one often has the old handle value
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecDestroy(executable)
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecDestroy(executable)

## C++: destroyed if it was made [cuda]
void run(cudaGraph_t graph, cudaStream_t stream) {
    cudaGraphExec_t launchable = nullptr;
    if (cudaGraphInstantiate(&launchable, graph, 0) == cudaSuccess)
        cudaGraphLaunch(launchable, stream);
    if (launchable)
        cudaGraphExecDestroy(launchable);
}
"""
    INVALID = """
## destroyed twice
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecDestroy(executable)
cu.cuGraphExecDestroy(executable)  # error: [graph-exec-destroy-twice]

## destroyed by two threads
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.in_thread(lambda: cu.cuGraphExecDestroy(executable))
cu.cuGraphExecDestroy(executable)  # error: [graph-exec-destroy-twice]

## C++: in a branch and at the end [cuda]
bool run(cudaGraph_t graph, cudaStream_t stream) {
    cudaGraphExec_t launchable;
    cudaGraphInstantiate(&launchable, graph, 0);
    bool done = launch(launchable, stream);
    if (!done)
        cudaGraphExecDestroy(launchable);
    cudaGraphExecDestroy(launchable);  // error: [graph-exec-destroy-twice]
    return done;
}

## Python: in the block and in finally [python]
from cuda.bindings import runtime as cudart

def run(graph, stream):
    error, launchable = cudart.cudaGraphInstantiate(graph, 0)
    try:
        error, = cudart.cudaGraphLaunch(launchable, stream)
        error, = cudart.cudaGraphExecDestroy(launchable)
    finally:
        error, = cudart.cudaGraphExecDestroy(launchable)  # error: [graph-exec-destroy-twice]

## C#: ManagedCuda's functions [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Recorder {
    void Run(CUgraph graph, CUstream stream) {
        CUgraphExec launchable = new CUgraphExec();
        Check(GraphManagment.cuGraphInstantiate(ref launchable, graph, CUgraphInstantiate_flags.None));
        Check(GraphManagment.cuGraphLaunch(launchable, stream));
        Check(GraphManagment.cuGraphExecDestroy(launchable));
        Check(GraphManagment.cuGraphExecDestroy(launchable));  // error: [graph-exec-destroy-twice]
    }
}
"""
