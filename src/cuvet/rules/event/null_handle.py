from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.evidence import measured
from cuvet.rules.lifecycle import NullHandle
from cuvet.rules.rule import Example


class EventNullHandle(NullHandle):
    """
    ## What it checks
    A call that needs an event is given NULL.

    ## Why it is wrong
    There is no default event. The calls were measured to return CUDA_ERROR_INVALID_HANDLE.

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
    evidence = (
        measured(
            "record, synchronise and query: CUDA_ERROR_INVALID_HANDLE",
            "event_null_record",
        ),
        measured(
            "destroy: CUDA_ERROR_INVALID_HANDLE",
            "event_destroy_null",
        ),
        measured(
            "elapsed time and wait: CUDA_ERROR_INVALID_HANDLE",
            "event_elapsed_null",
        ),
    )
    VALID = (
        Example(
            "with a handle",
            """
event = cu.cuEventCreate(0)
cu.cuEventRecord(event, 0)
cu.cuEventDestroy(event)
""",
        ),
        Example(
            "skipped when there is none",
            """
event = 0
if event:
    cu.cuEventDestroy(event)
""",
        ),
    )
    INVALID = (
        Example(
            "used",
            """
cu.cuEventRecord(0, 0)  # error: [event-null-handle]
""",
        ),
        Example(
            "destroyed",
            """
cu.cuEventDestroy(0)  # error: [event-null-handle]
""",
        ),
    )
