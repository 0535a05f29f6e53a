"""User objects: what a graph's work uses, which a function of the program destroys when nobody refers to it any more."""

from collections.abc import Iterator
from functools import partial

from cuvet.catalog import Kind
from cuvet.catalog import results as status
from cuvet.device.driver.graph_body import GraphBody
from cuvet.device.invocation import Invocation, require
from cuvet.device.process import UserObject
from cuvet.device.protocol import Callback, Command, Op, Steps

_MOVE = 1
"""CU_GRAPH_USER_OBJECT_MOVE: the caller's references become the graph's."""
_DESTRUCTORS = 3
"""Queue of the calls of destructors, which no stream waits for."""


def cuUserObjectCreate(call: Invocation) -> None:
    require(call["destroy"] and call.signed("initialRefcount") > 0)
    handle = call.issue("object_out", Kind.USER_OBJECT)
    call.process.user_objects[handle] = UserObject(call["destroy"], call["ptr"], call["initialRefcount"] & 0xFFFFFFFF)


def _count(call: Invocation, sign: int) -> Steps[None]:
    return _refer(call, call["object"], sign * (call["count"] & 0xFFFFFFFF))


cuUserObjectRetain = partial(_count, sign=1)
cuUserObjectRelease = partial(_count, sign=-1)


def _count_of_graph(call: Invocation, sign: int) -> Steps[None]:
    held = call.known(call.process.graphs, "graph", status.INVALID_VALUE).user_objects
    count = sign * (call["count"] & 0xFFFFFFFF)
    held[call["object"]] = max(held.get(call["object"], 0) + count, 0)
    moved = sign > 0 and call["flags"] & _MOVE
    return _refer(call, call["object"], 0 if moved else count)


cuGraphRetainUserObject = partial(_count_of_graph, sign=1)
cuGraphReleaseUserObject = partial(_count_of_graph, sign=-1)


def _refer(call: Invocation, handle: int, change: int) -> Steps[None]:
    """The model says whether there may be no such object."""
    found = call.process.user_objects.get(handle)
    if found is None:
        return
    found.references += change
    if found.references <= 0:
        del call.process.user_objects[handle]
        call.process.handles.retire(Kind.USER_OBJECT, handle)
        yield Command(Op.CALL_HOST, (_DESTRUCTORS, Callback.HOST_FUNCTION, found.destroy, found.data))


def shared(call: Invocation, body: GraphBody) -> GraphBody:
    """The body, which is a copy of a graph: it refers to the same objects, also in the graphs of its nodes."""
    for handle, count in body.user_objects.items():
        if handle in call.process.user_objects:
            call.process.user_objects[handle].references += count
    return body


def dropped(call: Invocation, body: GraphBody | None) -> Steps[None]:
    """The graph is gone, and with it what its nodes own. Values of its nodes can be issued again; nodes of an executable graph only have
    the values of those that it was made from."""
    for each in _owned(call, body):
        for node in each.nodes:
            if call.process.nodes.get(node.handle) is node:
                del call.process.nodes[node.handle]
                call.process.handles.retire(Kind.GRAPH_NODE, node.handle)
        for handle, count in each.user_objects.items():
            yield from _refer(call, handle, -count)


def _owned(call: Invocation, body: GraphBody | None) -> Iterator[GraphBody]:
    waiting = [body] if body is not None else []
    while waiting:
        current = waiting.pop()
        yield current
        for handle in (handle for node in current.nodes for handle in (node.child, *node.bodies)):
            if (inner := call.process.graphs.pop(handle, None)) is not None:
                call.process.handles.retire(Kind.GRAPH, handle)
                waiting.append(inner)
