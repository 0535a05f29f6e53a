from collections.abc import Iterator

from cuvet.catalog.roles import Kind
from cuvet.model import Allocation, Call, ModelView
from cuvet.model.objects import GraphExec
from cuvet.model.touches import Touch
from cuvet.rules.lifecycle import ending
from cuvet.rules.rule import CallRule, Violation
from cuvet.rules.works import was_made, work

_MAY_COME_BACK = frozenset({"mapped", "ipc", "global", "imported"})
"""Variants of memory that a program may give the same address again."""


class GraphExecMemoryFreed(CallRule):
    """
    checks: An executable graph is launched after memory was freed whose address its captured nodes hold. ``cuvet run --races`` looks for
      this. In Python source, an input of a graph of PyTorch is set to another tensor, instead of filled, and the graph is replayed.
    why: A graph keeps the addresses that it was captured with. Its nodes then use memory that belongs to others by now, or to nobody: other
      data is overwritten, or a kernel dies with an illegal address.
    instead: Keep the memory as long as the executable graph, or capture anew (or update it, ``cuGraphExecUpdate``) after memory was freed.
    limits: Whether a kernel without PTX uses its arguments is not known: of such only arguments that are exactly the start of the memory
      count. Graphs with nodes that were added or changed by hand are not judged, nor memory that is mapped (``cuMemMap``) or shared
      between processes, which may come back to its address.
    """

    code = "CV444"
    severity = "warning"
    summary = "an executable graph is launched whose nodes hold the address of freed memory"
    help = "keep the memory as long as the executable graph, or capture the graph anew"
    entry_points = frozenset({"cuGraphLaunch"})
    evidence = """
    measured, succeeds: a kernel that is launched with an address after cuMemFree: the launch succeeds and the next
      synchronisation returns CUDA_ERROR_ILLEGAL_ADDRESS (launch_freed_malloc)
    measured: after cuMemFreeAsync: no error at all (use_after_freeasync)
    documented: a captured graph acts on the same virtual addresses at each replay; if their memory was freed, a replay
      can hit an illegal memory access (PyTorch, CUDA semantics, Graph memory management)
    """
    VALID = """
## freed after the last launch
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAlloc(4096)
cu.cuStreamBeginCapture(stream, 2)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
executable = cu.cuGraphInstantiateWithFlags(cu.cuStreamEndCapture(stream), 0)
cu.cuGraphLaunch(executable, stream)
cu.cuStreamSynchronize(stream)
cu.cuMemFree(memory)
cu.cuGraphExecDestroy(executable)

## captured anew
stream = cu.cuStreamCreate(1)
for _ in range(2):
    memory = cu.cuMemAlloc(4096)
    cu.cuStreamBeginCapture(stream, 2)
    cu.cuMemsetD8Async(memory, 0, 4096, stream)
    executable = cu.cuGraphInstantiateWithFlags(cu.cuStreamEndCapture(stream), 0)
    cu.cuGraphLaunch(executable, stream)
    cu.cuStreamSynchronize(stream)
    cu.cuMemFree(memory)
"""
    INVALID = """
## launched again after the free
stream = cu.cuStreamCreate(1)
memory = cu.cuMemAllocAsync(4096, stream)
cu.cuStreamSynchronize(stream)
cu.cuStreamBeginCapture(stream, 2)
cu.cuMemsetD8Async(memory, 0, 4096, stream)
executable = cu.cuGraphInstantiateWithFlags(cu.cuStreamEndCapture(stream), 0)
cu.cuGraphLaunch(executable, stream)
cu.cuMemFreeAsync(memory, stream)
cu.cuGraphLaunch(executable, stream)  # warning: [graph-exec-memory-freed]
cu.cuStreamSynchronize(stream)
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Iterator[Violation]:
        launched = model.object_of(call, call.entry_point.index["hGraph"], Kind.GRAPH_EXEC)
        if not isinstance(launched, GraphExec) or not launched.alive:
            return
        for touch in {each.memory: each for each in launched.touches if _is_stale(each)}.values():
            memory, node = touch.memory, touch.node
            if memory.destroyed_by is None or node is None:
                continue
            what, how, made = work(node, model), ending(memory.destroyed_by), was_made(node)
            yield Violation(
                rule=cls,
                message=f"{what} in {launched.name} has the address of {memory.name}, which was {how} after it {made}",
                objects=(memory, launched),
                argument=call.entry_point.index["hGraph"],
                earlier=((f"{what} {made}", node),),
            )


def _is_stale(touch: Touch) -> bool:
    """Whether its memory was freed, and the node is known to use it or was given its start."""
    memory = touch.memory
    known = touch.writes is not None or touch.start == memory.handle
    own = isinstance(memory, Allocation) and memory.variant not in _MAY_COME_BACK
    return known and own and memory.destroyed_by is not None and memory.killed_by is None
