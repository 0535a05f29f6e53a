"""The executable specification of CUDA's objects: what a call may do and what it did."""

from cuvet.model.call import Call, Outcome, SeenHandle
from cuvet.model.model import MORE_THAN_ANY_GPU, Model, Prediction
from cuvet.model.objects import (
    Allocation,
    Capture,
    Context,
    Event,
    Function,
    Graph,
    GraphExec,
    HostMemory,
    MemoryPool,
    Object,
    Stream,
)

__all__ = [
    "MORE_THAN_ANY_GPU",
    "Allocation",
    "Call",
    "Capture",
    "Context",
    "Event",
    "Function",
    "Graph",
    "GraphExec",
    "HostMemory",
    "MemoryPool",
    "Model",
    "Object",
    "Outcome",
    "Prediction",
    "SeenHandle",
    "Stream",
]
