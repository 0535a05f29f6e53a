from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.objects import GraphExec
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import CallRule, Violations


class GraphExecLaunchedBeforeFreed(CallRule):
    """
    checks: A launch fails because the executable graph allocates memory without freeing it, and was launched before.
    why: The memory of the previous launch is still allocated, and the graph has only that one. The launch returns CUDA_ERROR_INVALID_VALUE.
    instead: Free the memory between the launches (`cuMemFreeAsync`, or a graph with free nodes), add free nodes to the graph, or
      instantiate it with `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
    limits: Reported only when the launch fails, and only for graphs whose nodes were all seen added, or all captured. Successful launches
      are stored only with `--record full`. A free of memory that no seen call allocated counts as a free of the graph's memory.
    """

    code = "CV726"
    summary = "an executable graph is launched again while the memory of its last launch is allocated"
    help = "free the memory between the launches, or instantiate with AUTO_FREE_ON_LAUNCH"
    entry_points = frozenset({"cuGraphLaunch"})
    evidence = """
    recorded: second launches of graphs with allocation nodes, 3 of 3, and of graphs that were captured, 2 of 2:
      CUDA_ERROR_INVALID_VALUE
    documented: a graph with memory that its launch leaves allocated cannot be launched again, except with
      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH (CUDA Programming Guide, CUDA Graphs, Graph Memory Nodes)
    """
    VALID = """
## freed by each launch
graph, auto_free = cu.cuGraphCreate(0), 1
cu.cuGraphAddMemAllocNode(graph, None, 0, cu.struct(
    "CUDA_MEM_ALLOC_NODE_PARAMS", poolProps__allocType=1, poolProps__location__type=1, bytesize=4096,
))
executable = cu.cuGraphInstantiateWithFlags(graph, auto_free)
cu.cuGraphLaunch(executable, 0)
cu.cuGraphLaunch(executable, 0)
cu.cuCtxSynchronize()

## captured, and freed before each further launch
stream = cu.cuStreamCreate(1)
cu.cuStreamBeginCapture(stream, 0)
memory = cu.cuMemAllocAsync(4096, stream)
executable = cu.cuGraphInstantiateWithFlags(cu.cuStreamEndCapture(stream), 0)
for launch in range(2):
    cu.cuGraphLaunch(executable, stream)
    cu.cuMemFreeAsync(memory, stream)
cu.cuStreamSynchronize(stream)

## captured with its free
stream = cu.cuStreamCreate(1)
cu.cuStreamBeginCapture(stream, 0)
cu.cuMemFreeAsync(cu.cuMemAllocAsync(4096, stream), stream)
executable = cu.cuGraphInstantiateWithFlags(cu.cuStreamEndCapture(stream), 0)
cu.cuGraphLaunch(executable, stream)
cu.cuGraphLaunch(executable, stream)
cu.cuStreamSynchronize(stream)

## nothing allocated
graph = cu.cuGraphCreate(0)
cu.cuGraphAddEmptyNode(graph, None, 0)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphLaunch(executable, 0)
cu.cuGraphLaunch(executable, 0)
cu.cuCtxSynchronize()
"""
    INVALID = """
## captured, and launched twice
stream = cu.cuStreamCreate(1)
cu.cuStreamBeginCapture(stream, 0)
memory = cu.cuMemAllocAsync(4096, stream)
executable = cu.cuGraphInstantiateWithFlags(cu.cuStreamEndCapture(stream), 0)
cu.cuGraphLaunch(executable, stream)
cu.cuGraphLaunch(executable, stream)  # error: [graph-exec-launched-before-freed]

## launched twice
graph = cu.cuGraphCreate(0)
cu.cuGraphAddMemAllocNode(graph, None, 0, cu.struct(
    "CUDA_MEM_ALLOC_NODE_PARAMS", poolProps__allocType=1, poolProps__location__type=1, bytesize=4096,
))
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphLaunch(executable, 0)
cu.cuGraphLaunch(executable, 0)  # error: [graph-exec-launched-before-freed]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        executable = model.object_of(call, 0, Kind.GRAPH_EXEC)
        if not isinstance(executable, GraphExec) or not executable.alive or executable.holds is None:
            return
        message = f"the memory that {executable.name} allocated when it was launched last is not freed"
        yield cls.refused(message, executable, argument=0, because=(f"it was launched by {place(executable.holds)}",))
