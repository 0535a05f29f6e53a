from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import UseAfterDestroy


class GraphExecUseAfterDestroy(UseAfterDestroy):
    """
    ## What it checks
    A call names an executable graph that `cuGraphExecDestroy` destroyed before.

    ## Why it is wrong
    The executable graph and its nodes are gone. Launching it was measured to return CUDA_ERROR_INVALID_VALUE;
    it is documented as undefined.

    ## Use instead
    Destroy the executable graph after its last use, and clear every other variable that holds the handle.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a call through the old
    handle looks like a use of the new object.
    """

    code = "CV721"
    name = "graph-exec-use-after-destroy"
    severity = "error"
    summary = "an executable graph is used after it was destroyed"
    help = "destroy the executable graph after its last use, or clear the variable that still holds it"
    kind = Kind.GRAPH_EXEC
    outcomes = (1,)
    evidence = """
    measured: launching it: CUDA_ERROR_INVALID_VALUE (graph_exec_launch_after_destroy)
    documented: Use of the handle after this call is undefined behavior. (CUDA Runtime API, Graph Management,
      cudaGraphExecDestroy)
    """
    VALID = """
## destroyed after its last use
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphLaunch(executable, 0)
cu.cuGraphExecDestroy(executable)

## destroyed in flight
note: an executable graph in flight is freed when it is done
graph = cu.cuGraphCreate(0)
cu.cuGraphAddEmptyNode(graph, 0, 0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphLaunch(executable, 0)
cu.cuGraphExecDestroy(executable)
cu.cuCtxSynchronize()
cu.cuGraphDestroy(graph)

## handle issued again
note: the new one often has the old handle value
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecDestroy(executable)
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphLaunch(executable, 0)
cu.cuGraphExecDestroy(executable)

## C++: instantiated again after a failed update [cuda]
void update(cudaGraphExec_t *launchable, cudaGraph_t graph, cudaStream_t stream) {
    cudaGraphExecUpdateResultInfo info;
    if (cudaGraphExecUpdate(*launchable, graph, &info) != cudaSuccess) {
        cudaGetLastError();
        cudaGraphExecDestroy(*launchable);
        cudaGraphInstantiate(launchable, graph, 0);
    }
    cudaGraphLaunch(*launchable, stream);
}

## C++: destroyed while it runs [cuda]
void run(cudaGraph_t graph, cudaStream_t stream) {
    cudaGraphExec_t launchable;
    cudaGraphInstantiate(&launchable, graph, 0);
    cudaGraphLaunch(launchable, stream);
    cudaGraphExecDestroy(launchable);
}

## C#: destroyed after the launch [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Recorder {
    void Run(CUgraph graph, CUstream stream) {
        CUgraphExec launchable = new CUgraphExec();
        Check(GraphManagment.cuGraphInstantiate(ref launchable, graph, CUgraphInstantiate_flags.None));
        Check(GraphManagment.cuGraphLaunch(launchable, stream));
        Check(GraphManagment.cuGraphExecDestroy(launchable));
    }
}
"""
    INVALID = """
## used after its destruction
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecDestroy(executable)
cu.cuGraphLaunch(executable, 0)  # error: [graph-exec-use-after-destroy]

## used in another way
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphExecDestroy(executable)
cu.cuGraphUpload(executable, 0)  # error: [graph-exec-use-after-destroy]

## destroyed by another thread
graph = cu.cuGraphCreate(0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.in_thread(lambda: cu.cuGraphExecDestroy(executable))
cu.cuGraphLaunch(executable, 0)  # error: [graph-exec-use-after-destroy]

## C++: launched after the destruction [cuda]
void run(cudaGraph_t graph, cudaStream_t stream) {
    cudaGraphExec_t launchable;
    cudaGraphInstantiate(&launchable, graph, 0);
    cudaGraphExecDestroy(launchable);
    cudaGraphLaunch(launchable, stream);  // error: [graph-exec-use-after-destroy]
}

## Python: launched after the destruction [python]
from cuda.bindings import runtime as cudart

def run(graph, stream):
    error, launchable = cudart.cudaGraphInstantiate(graph, 0)
    error, = cudart.cudaGraphExecDestroy(launchable)
    error, = cudart.cudaGraphLaunch(launchable, stream)  # error: [graph-exec-use-after-destroy]

## C#: launched after the destruction [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Recorder {
    void Run(CUgraph graph, CUstream stream) {
        CUgraphExec launchable = new CUgraphExec();
        Check(GraphManagment.cuGraphInstantiate(ref launchable, graph, CUgraphInstantiate_flags.None));
        Check(GraphManagment.cuGraphExecDestroy(launchable));
        Check(GraphManagment.cuGraphLaunch(launchable, stream));  // error: [graph-exec-use-after-destroy]
    }
}
"""
