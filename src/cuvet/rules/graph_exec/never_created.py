from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NeverCreated
from cuvet.rules.rule import CRASH


class GraphExecNeverCreated(NeverCreated):
    """
    ## What it checks
    A call that needs an executable graph is given a number that no call handed out as one, and the call fails
    or crashes.

    ## Why it is wrong
    The number names no executable graph. A graph has to be instantiated before it is launched.

    ## Use instead
    Initialise the variable to NULL, look at the status of the call that should have made the executable graph,
    and pass handles with their own types rather than as integers.

    ## Limits
    Silent when the call succeeds: the handle may have been made in a way that cannot be seen (another process,
    graphics interoperability, NVIDIA's own libraries).
    """

    code = "CV724"
    name = "graph-exec-never-created"
    severity = "error"
    summary = "an executable graph is named that was never created"
    help = "initialise the variable, and look at the status of the call that should have made the executable graph"
    kind = Kind.GRAPH_EXEC
    outcomes = (CRASH, 1)
    evidence = """
    measured: a number from nowhere, given to cuGraphLaunch: SIGSEGV in the driver (graph_exec_from_nowhere)
    measured: NULL, which is no executable graph either: CUDA_ERROR_INVALID_VALUE, "graph is not a valid executable
      graph" (event_destroy_null)
    """
    VALID = """
## created first
executable = cu.cuGraphInstantiateWithFlags(cu.cuGraphCreate(0), 0)
cu.cuGraphLaunch(executable, 0)
cu.cuGraphExecDestroy(executable)

## created by another thread
executable = cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), cu.cuGraphInstantiateWithFlags(cu.cuGraphCreate(0), 0))[1])
cu.cuGraphLaunch(executable, 0)
cu.cuGraphExecDestroy(executable)

## C++: instantiated first [c++]
void run(cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphExec_t launchable;
    cudaGraphCreate(&graph, 0);
    build(graph);
    cudaGraphInstantiate(&launchable, graph, 0);
    cudaGraphLaunch(launchable, stream);
    cudaGraphExecDestroy(launchable);
    cudaGraphDestroy(graph);
}
"""
    INVALID = """
## a number from nowhere
cu.cuGraphLaunch(0x1234567000, 0)  # error: [graph-exec-never-created]

## an object of another kind
other = cu.cuGraphCreate(0)
cu.cuGraphLaunch(other, 0)  # error: [graph-exec-never-created]

## C++: a graph as an executable graph [c++]
void run(cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphCreate(&graph, 0);
    build(graph);
    cudaGraphLaunch((cudaGraphExec_t)graph, stream);  // error: [graph-exec-never-created]
    cudaGraphDestroy(graph);
}

## C#: handles as IntPtr [c#]
class Recorder {
    [DllImport("nvcuda")] static extern int cuGraphCreate(out IntPtr graph, uint flags);
    [DllImport("nvcuda")] static extern int cuGraphDestroy(IntPtr graph);
    [DllImport("nvcuda")] static extern int cuGraphLaunch(IntPtr launchable, IntPtr stream);

    void Run(IntPtr stream) {
        Check(cuGraphCreate(out IntPtr graph, 0));
        Build(graph);
        Check(cuGraphLaunch(graph, stream));  // error: [graph-exec-never-created]
        Check(cuGraphDestroy(graph));
    }
}
"""
