"""What a graph is made of: nodes that do when it is launched what a call would have done at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cuvet.device.protocol import Steps

ALLOC, FREE = "CU_GRAPH_NODE_TYPE_MEM_ALLOC", "CU_GRAPH_NODE_TYPE_MEM_FREE"
MEMORY_NODES = {ALLOC, FREE}
Action = Callable[[], Steps[None] | None]


@dataclass(slots=True, eq=False)
class Node:
    """``action`` does the node's work; None if there is none. ``parameters``: the struct that describes it, as it was given.
    ``original``: of a node of a clone, what it was copied from. ``bodies``: of a conditional node, its
    graphs, of which it runs those from ``runs[0]`` to before ``runs[1]``."""

    type: str
    action: Action | None = None
    parameters: bytes = b""
    handle: int = 0
    after: list[Node] = field(default_factory=list)
    child: int = 0
    original: Node | None = None
    enabled: bool = True
    host: tuple[int, int] | None = None
    """Function of the program that it calls, and its argument."""
    bodies: tuple[int, ...] = ()
    runs: tuple[int, int] = (0, 0)


@dataclass(slots=True, eq=False)
class GraphBody:
    """What a graph does. During a capture, ``tips`` are the nodes that the next one on a queue follows, ``events`` those that an
    event stands for. ``conditions``: the values of those that were made for it."""

    nodes: list[Node] = field(default_factory=list)
    conditions: list[int] = field(default_factory=list)
    used_conditions: set[int] = field(default_factory=set)
    """Numbers, from 1, of those that nodes have."""
    user_objects: dict[int, int] = field(default_factory=dict)
    """How many references it has to each."""
    tips: dict[int, list[Node]] = field(default_factory=dict)
    events: dict[int, list[Node]] = field(default_factory=dict)

    def in_order(self) -> Iterator[Node]:
        """The nodes, each behind those that it waits for."""
        seen: set[Node] = set()
        for node in self.nodes:
            stack = [(node, iter(node.after))]
            while stack:
                current, waiting = stack[-1]
                following = next((other for other in waiting if other not in seen), None)
                if following is not None and all(following is not other for other, _ in stack):
                    stack.append((following, iter(following.after)))
                elif following is None:
                    stack.pop()
                    if current not in seen:
                        seen.add(current)
                        yield current
