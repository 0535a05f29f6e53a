from cuvet.catalog.roles import Kind
from cuvet.model import Call, ModelView
from cuvet.model.objects import Event, Graph, GraphExec
from cuvet.rules.lifecycle import chain
from cuvet.rules.rule import CRASH, CallRule, Violations


class GraphEventDestroyed(CallRule):
    """
    checks: A graph is instantiated, or an executable graph launched, with a node that records or waits for a destroyed event.
    why: The graph does not keep the event alive, but the driver uses it for the instantiation and the launch. Half of the recorded
      instantiations died of SIGSEGV inside the driver; the others returned no error.
    instead: Destroy the event after the graph, its clones and their executable graphs. Or set another event first
      (`cuGraphEventRecordNodeSetEvent`, `cuGraphExecEventRecordNodeSetEvent`).
    limits: Launches are stored, and reported, only with `--record full`. After a node of an executable graph got another event, no other
      event of that graph is known. Nodes added to a child graph in its place are not followed.
    """

    code = "CV705"
    summary = "a graph is used that has a node with a destroyed event"
    help = "destroy the event after the graphs that name it"
    entry_points = frozenset(
        {"cuGraphInstantiate", "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithParams", "cuGraphLaunch"}
    )
    evidence = """
    recorded: instantiated: SIGSEGV in the driver in four of eight calls, no error in the others; instantiated before
      the event was destroyed and launched after it: SIGSEGV
    recorded, succeeds: of 29 instantiations and launches of such graphs 16 died of SIGSEGV, 9 returned no error
    """
    VALID = """
## event destroyed last
graph, event = cu.cuGraphCreate(0), cu.cuEventCreate(0)
cu.cuGraphAddEventRecordNode(graph, None, 0, event)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphLaunch(executable, 0)
cu.cuStreamSynchronize(0)
cu.cuGraphExecDestroy(executable)
cu.cuGraphDestroy(graph)
cu.cuEventDestroy(event)

## node destroyed before its event
graph, event = cu.cuGraphCreate(0), cu.cuEventCreate(0)
node = cu.cuGraphAddEventRecordNode(graph, None, 0, event)
cu.cuGraphDestroyNode(node)
cu.cuEventDestroy(event)
executable = cu.cuGraphInstantiateWithFlags(graph, 0)
cu.cuGraphLaunch(executable, 0)
"""
    INVALID = """
## instantiated
graph, event = cu.cuGraphCreate(0), cu.cuEventCreate(0)
cu.cuGraphAddEventRecordNode(graph, None, 0, event)
cu.cuEventDestroy(event)
cu.cuGraphInstantiateWithFlags(graph, 0)  # error: [graph-event-destroyed]

## clone instantiated
graph, event = cu.cuGraphCreate(0), cu.cuEventCreate(0)
cu.cuGraphAddEventWaitNode(graph, None, 0, event)
clone = cu.cuGraphClone(graph)
cu.cuGraphDestroy(graph)
cu.cuEventDestroy(event)
cu.cuGraphInstantiateWithFlags(clone, 0)  # error: [graph-event-destroyed]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        argument = call.index("hGraph")
        kind = Kind.GRAPH_EXEC if call.name == "cuGraphLaunch" else Kind.GRAPH
        graph = model.object_of(call, argument, kind)
        if not isinstance(graph, (Graph, GraphExec)) or not graph.alive:
            return
        dead: Event | None = next((event for event in graph.events if event.destroyed_by is not None), None)
        if dead is not None:
            yield cls.broken(
                f"a node of {graph.name} names {dead.name}, which was destroyed",
                dead,
                graph,
                argument=argument,
                because=chain(dead),
                outcomes=(CRASH,),
                undefined=True,
            )
