"""The executable specification of CUDA's objects. The model predicts what a call may do and follows what it did.

The model itself is imported when it is used: the page of a rule needs only its view.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cuvet.model.call import Arguments, Call, Launch, Outcome, SeenHandle, Word
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
from cuvet.model.view import ModelView

if TYPE_CHECKING:
    from cuvet.model.model import MORE_THAN_ANY_GPU, Model, Prediction

__all__ = [
    "MORE_THAN_ANY_GPU",
    "Allocation",
    "Arguments",
    "Call",
    "Capture",
    "Context",
    "Event",
    "Function",
    "Graph",
    "GraphExec",
    "HostMemory",
    "Launch",
    "MemoryPool",
    "Model",
    "ModelView",
    "Object",
    "Outcome",
    "Prediction",
    "SeenHandle",
    "Stream",
    "Word",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.model"), name)
