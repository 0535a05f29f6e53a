"""What successful calls do to the model's state, and what calls answer that break no rule: one module per noun of CUDA."""

from importlib import import_module

from cuvet.model.transitions.registry import OUTPUTS, STATUSES, plan

__all__ = ["OUTPUTS", "STATUSES", "plan"]

for _noun in (
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
    "pool",
    "stream",
):
    import_module(f"{__name__}.{_noun}")
