"""What the driver answers to calls that break no rule, where roles do not say enough: one module per noun of CUDA."""

from cuvet.model.answers import array, context, device, event, graph, memory, module, pool, stream
from cuvet.model.answers.registry import OUTPUTS, STATUSES

__all__ = ["OUTPUTS", "STATUSES", "array", "context", "device", "event", "graph", "memory", "module", "pool", "stream"]
