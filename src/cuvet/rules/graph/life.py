from cuvet.catalog.roles import Kind
from cuvet.rules.families import DESTROYED_TWICE, MISTAKEN, NULL_HANDLE, USED_AFTER_DESTROY
from cuvet.rules.lives import Life, Mistake, Spelled

LIFE = Life(
    kind=Kind.GRAPH,
    name="graph",
    make="cu.cuGraphCreate(0)",
    use="cu.cuGraphInstantiateWithFlags({}, 0)",
    another_use="cu.cuGraphClone({})",
    end="cu.cuGraphDestroy({})",
    other="cu.cuGraphInstantiateWithFlags(cu.cuGraphCreate(0), 0)",
    undefined="CUDA Runtime API, Graph Management, cudaGraphDestroy",
    python=Spelled(
        make="error, graph = runtime.cudaGraphCreate(0)",
        use="error, nodes, count = runtime.cudaGraphGetNodes(graph)",
        end="error, = runtime.cudaGraphDestroy(graph)",
    ),
    csharp=Spelled(
        type="CUgraph",
        given="SizeT count",
        make="GraphManagment.cuGraphCreate(ref graph, 0)",
        use="GraphManagment.cuGraphGetNodes(graph, null, ref count)",
        end="GraphManagment.cuGraphDestroy(graph)",
    ),
    mistakes=(
        Mistake(USED_AFTER_DESTROY, "CV701", (1,)),
        Mistake(DESTROYED_TWICE, "CV702", (1,)),
        Mistake(NULL_HANDLE, "CV703", (1,)),
        Mistake(MISTAKEN, "CV704", (1,)),
    ),
)

TEXTS = """
# graph-use-after-destroy
why: The graph and its nodes are destroyed. The documentation calls later calls undefined; they were measured to return
  CUDA_ERROR_INVALID_VALUE.
measured: adding a node and instantiating: CUDA_ERROR_INVALID_VALUE (graph_use_after_destroy,
  graph_instantiate_after_destroy)
documented: {undefined}
documented: destroys the graph and all of its nodes (CUDA Driver API, Graph Management, cuGraphDestroy)

# graph-use-after-destroy: right

## destroyed after instantiation
note: an executable graph does not need the graph it was made from
graph = cu.cuGraphCreate(0)
cu.cuGraphAddEmptyNode(graph, 0, 0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphDestroy(graph)
cu.cuGraphLaunch(executable, 0)
cu.cuCtxSynchronize()
cu.cuGraphExecDestroy(executable)

## C++: destroyed once it is instantiated [cuda]
cudaGraphExec_t record(cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphExec_t launchable;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    step<<<1, 256, 0, stream>>>();
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&launchable, graph, 0);
    cudaGraphDestroy(graph);
    return launchable;
}

## Python: destroyed once it is instantiated [python cudart]
def record(build):
    error, graph = cudart.cudaGraphCreate(0)
    build(graph)
    error, launchable = cudart.cudaGraphInstantiate(graph, 0)
    error, = cudart.cudaGraphDestroy(graph)
    return launchable

# graph-use-after-destroy: wrong

## C++: instantiated after the destruction [cuda]
cudaGraphExec_t record(cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphExec_t launchable;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    step<<<1, 256, 0, stream>>>();
    cudaStreamEndCapture(stream, &graph);
    cudaGraphDestroy(graph);
    cudaGraphInstantiate(&launchable, graph, 0);  // error: [graph-use-after-destroy]
    return launchable;
}

# graph-destroy-twice
why: The first call released the graph and its nodes. The documentation calls the second undefined; it was measured to
  return CUDA_ERROR_INVALID_VALUE.
measured: CUDA_ERROR_INVALID_VALUE (graph_destroy_twice)
documented: {undefined}

# graph-destroy-twice: right

## C++: captured anew in each round [cuda]
void rounds(cudaStream_t stream, int count) {
    for (int i = 0; i < count; ++i) {
        cudaGraph_t graph;
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
        step<<<1, 256, 0, stream>>>();
        cudaStreamEndCapture(stream, &graph);
        launch(graph, stream);
        cudaGraphDestroy(graph);
    }
}

# graph-destroy-twice: wrong

## C++: in the loop and after it [cuda]
void rounds(cudaStream_t stream, int count) {
    cudaGraph_t graph;
    cudaGraphCreate(&graph, 0);
    build(graph);
    for (int i = 0; i < count; ++i) {
        launch(graph, stream);
        cudaGraphDestroy(graph);
        cudaGraphCreate(&graph, 0);
        build(graph);
    }
    cudaGraphDestroy(graph);
    cudaGraphDestroy(graph);  // error: [graph-destroy-twice]
}

# graph-null-handle
why: Unlike `free`, destroying a NULL graph is an error: it was measured to return CUDA_ERROR_INVALID_VALUE.
measured: destroy: CUDA_ERROR_INVALID_VALUE, "the source graph pointer is NULL" (event_destroy_null)
measured: instantiate and add a node: CUDA_ERROR_INVALID_VALUE (graph_null)

# graph-never-created
why: The number is no graph. Neither is an executable graph.
measured: NULL: CUDA_ERROR_INVALID_VALUE, "graph is not a valid source graph" (event_destroy_null)

# graph-never-created: right

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

# graph-never-created: wrong

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
