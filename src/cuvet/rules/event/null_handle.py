from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind
from cuvet.rules.lifecycle import NullHandle
from cuvet.rules.rule import Violation

if TYPE_CHECKING:
    from cuvet.catalog import EntryPoint
    from cuvet.model import Call, ModelView

_OF_GRAPHS = frozenset({Kind.GRAPH, Kind.GRAPH_NODE})


class EventNullHandle(NullHandle):
    """
    ## What it checks
    A call that needs an event is given NULL.

    ## Why it is wrong
    There is no default event. The calls were measured to return CUDA_ERROR_INVALID_HANDLE; those that put an event into a graph's
    node, and `cuIpcGetEventHandle`, CUDA_ERROR_INVALID_VALUE.

    ## Use instead
    Look at the status of the call that should have made the event; initialise handles to NULL and test them
    before the call.

    ## Limits
    Reported whether or not the program looks at the status.
    """

    code = "CV303"
    name = "event-null-handle"
    severity = "error"
    summary = "NULL is given where an event is wanted"
    help = "look at the status of the call that should have made the event, and skip the call when there is none"
    kind = Kind.EVENT
    outcomes = (400,)
    evidence = """
    recorded: cuGraphAddEventRecordNode, cuGraphAddEventWaitNode and cuIpcGetEventHandle: CUDA_ERROR_INVALID_VALUE
    measured: record, synchronise and query: CUDA_ERROR_INVALID_HANDLE (event_null_record)
    measured: destroy: CUDA_ERROR_INVALID_HANDLE (event_destroy_null)
    measured: elapsed time and wait: CUDA_ERROR_INVALID_HANDLE (event_elapsed_null)
    """
    VALID = """
## with a handle
event = cu.cuEventCreate(0)
cu.cuEventRecord(event, 0)
cu.cuEventDestroy(event)

## skipped when there is none
event = 0
if event:
    cu.cuEventDestroy(event)
"""
    INVALID = """
## used
cu.cuEventRecord(0, 0)  # error: [event-null-handle]

## destroyed
cu.cuEventDestroy(0)  # error: [event-null-handle]

## put into a graph
graph = cu.cuGraphCreate(0)
cu.cuGraphAddEventRecordNode(graph, None, 0, 0)  # error: [event-null-handle]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Iterator[Violation]:
        for violation in super().check(call, model):
            yield replace(violation, outcomes=(1,)) if checks_pointer(call.entry_point) else violation


def checks_pointer(entry_point: EntryPoint) -> bool:
    """Whether NULL is refused as a value and not as a handle: where the event becomes part of a graph, or is to be shared."""
    return entry_point.name == "cuIpcGetEventHandle" or any(role.kind in _OF_GRAPHS for role in entry_point.roles)
