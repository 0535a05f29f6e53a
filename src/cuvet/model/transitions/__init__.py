"""What successful calls do to the model's state, one module per noun of CUDA."""

from cuvet.model.transitions import (
    array,
    capture,
    context,
    device,
    event,
    graph,
    host_memory,
    memory,
    module,
    object,
    pool,
    stream,
)
from cuvet.model.transitions.registry import plan

__all__ = [
    "array",
    "capture",
    "context",
    "device",
    "event",
    "graph",
    "host_memory",
    "memory",
    "module",
    "object",
    "plan",
    "pool",
    "stream",
]
