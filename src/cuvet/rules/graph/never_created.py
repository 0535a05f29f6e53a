from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NeverCreated


class GraphNeverCreated(NeverCreated):
    """
    ## What it checks
    A call that needs a graph is given the handle of something else, and the call fails or crashes.

    ## Why it is wrong
    The number names no graph. An executable graph is not a graph.

    ## Use instead
    Initialise the variable to NULL, look at the status of the call that should have made the graph, and pass
    handles with their own types rather than as integers.

    ## Limits
    A number that is no handle at all is not reported: graphs may be made in ways that cannot be seen.
    """

    code = "CV704"
    name = "graph-never-created"
    severity = "error"
    summary = "the handle of something else is given where a graph is wanted"
    help = "initialise the variable, and look at the status of the call that should have made the graph"
    kind = Kind.GRAPH
    outcomes = (1,)
    evidence = """
    measured: NULL, which is no graph either: CUDA_ERROR_INVALID_VALUE, "graph is not a valid source graph"
      (event_destroy_null)
    """
    VALID = """
## created first
graph = cu.cuGraphCreate(0)
cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphDestroy(graph)

## created by another thread
graph = cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.cuGraphCreate(0))[1])
cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphDestroy(graph)

## C++: each by its counterpart [c++]
void finish() {
    cudaGraph_t graph;
    cudaGraphExec_t launchable;
    cudaGraphCreate(&graph, 0);
    build(graph);
    cudaGraphInstantiate(&launchable, graph, 0);
    run(launchable);
    cudaGraphExecDestroy(launchable);
    cudaGraphDestroy(graph);
}
"""
    INVALID = """
## an object of another kind
other = cu.cuGraphInstantiateWithFlags(cu.cuGraphCreate(0), 0)
cu.cuGraphInstantiateWithFlags(other, 0)  # error: [graph-never-created]

## C++: an executable graph as a graph [c++]
void finish(cudaGraph_t graph) {
    cudaGraphExec_t launchable;
    cudaGraphInstantiate(&launchable, graph, 0);
    run(launchable);
    cudaGraphDestroy((cudaGraph_t)launchable);  // error: [graph-never-created]
}

## C#: handles as IntPtr [c#]
class Recorder {
    [DllImport("nvcuda", EntryPoint = "cuGraphInstantiateWithFlags")]
    static extern int Instantiate(out IntPtr launchable, IntPtr graph, ulong flags);
    [DllImport("nvcuda", EntryPoint = "cuGraphDestroy")] static extern int Destroy(IntPtr graph);

    void Run(IntPtr graph) {
        Check(Instantiate(out IntPtr launchable, graph, 0));
        Launch(launchable);
        Check(Destroy(launchable));  // error: [graph-never-created]
    }
}
"""
