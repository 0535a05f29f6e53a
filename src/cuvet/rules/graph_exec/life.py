from cuvet.catalog.roles import Kind
from cuvet.rules.families import DESTROYED_TWICE, NEVER_CREATED, NULL_HANDLE, USED_AFTER_DESTROY
from cuvet.rules.lives import Life, Mistake, Spelled
from cuvet.rules.rule import CRASH

LIFE = Life(
    kind=Kind.GRAPH_EXEC,
    name="graph-exec",
    make="cu.cuGraphInstantiateWithFlags(cu.cuGraphCreate(0), 0)",
    use="cu.cuGraphLaunch({}, 0)",
    another_use="cu.cuGraphUpload({}, 0)",
    end="cu.cuGraphExecDestroy({})",
    variable="executable",
    other="cu.cuGraphCreate(0)",
    undefined="CUDA Runtime API, Graph Management, cudaGraphExecDestroy",
    cpp=Spelled(
        type="cudaGraphExec_t",
        given="cudaGraph_t graph, cudaStream_t stream",
        make="cudaGraphInstantiate(&executable, graph, 0)",
        use="cudaGraphLaunch(executable, stream)",
        end="cudaGraphExecDestroy(executable)",
    ),
    python=Spelled(
        given="graph, stream",
        make="error, executable = runtime.cudaGraphInstantiate(graph, 0)",
        use="error, = runtime.cudaGraphLaunch(executable, stream)",
        end="error, = runtime.cudaGraphExecDestroy(executable)",
    ),
    csharp=Spelled(
        type="CUgraphExec",
        given="CUgraph graph, CUstream stream",
        make="GraphManagment.cuGraphInstantiate(ref executable, graph, CUgraphInstantiate_flags.None)",
        use="GraphManagment.cuGraphLaunch(executable, stream)",
        end="GraphManagment.cuGraphExecDestroy(executable)",
    ),
    mistakes=(
        Mistake(USED_AFTER_DESTROY, "CV721", (1,)),
        Mistake(DESTROYED_TWICE, "CV722", (1,)),
        Mistake(NULL_HANDLE, "CV723", (1,)),
        Mistake(NEVER_CREATED, "CV724", (CRASH, 1), mistaken={Kind.GRAPH: (1,)}),
    ),
)

TEXTS = """
# graph-exec-use-after-destroy
why: The executable graph and its nodes are destroyed. The documentation calls a launch undefined; it was measured to
  return CUDA_ERROR_INVALID_VALUE.
measured: launching it: CUDA_ERROR_INVALID_VALUE (graph_exec_launch_after_destroy)
documented: {undefined}

# graph-exec-use-after-destroy: right

## destroyed in flight
note: an executable graph in flight is freed when it is done
graph = cu.cuGraphCreate(0)
cu.cuGraphAddEmptyNode(graph, 0, 0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphLaunch(executable, 0)
cu.cuGraphExecDestroy(executable)
cu.cuCtxSynchronize()
cu.cuGraphDestroy(graph)

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

# graph-exec-destroy-twice
why: The first call released the executable graph. The documentation calls the second undefined; it was measured to
  return CUDA_ERROR_INVALID_VALUE.
measured: CUDA_ERROR_INVALID_VALUE (graph_exec_destroy_twice)
documented: {undefined}

# graph-exec-null-handle
why: Unlike `free`, destroying a NULL executable graph is an error: it was measured to return CUDA_ERROR_INVALID_VALUE.
measured: destroy: CUDA_ERROR_INVALID_VALUE, "graph is not a valid executable graph" (event_destroy_null)
measured: launch: CUDA_ERROR_INVALID_VALUE (graph_null)

# graph-exec-never-created
why: The number is no executable graph. A graph must be instantiated before it is launched.
measured: a number from nowhere, given to cuGraphLaunch: SIGSEGV in the driver (graph_exec_from_nowhere)
measured: cuGraphLaunch of a graph: CUDA_ERROR_INVALID_VALUE (graph_as_exec)
measured: NULL: CUDA_ERROR_INVALID_VALUE, "graph is not a valid executable graph" (event_destroy_null)

# graph-exec-never-created: right

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

# graph-exec-never-created: wrong

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
