from __future__ import annotations

from cuvet.catalog.roles import Kind
from cuvet.rules.evidence import documented, measured
from cuvet.rules.lifecycle import DestroyTwice
from cuvet.rules.rule import CRASH, Example


class EventDestroyTwice(DestroyTwice):
    """
    ## What it checks
    `cuEventDestroy` is called with an event that was destroyed before.

    ## Why it is wrong
    After the first destruction the handle points at memory that the driver has given back. The second was
    measured to die of SIGSEGV inside the driver, with no error code.

    ## Use instead
    Give the event one owner, which destroys it once and forgets the handle in the same place.

    ## Limits
    The driver issues handle values again. When a new object has the old one's value, a second destruction looks
    like the first of the new object.
    """

    code = "CV302"
    name = "event-destroy-twice"
    severity = "error"
    summary = "an event is destroyed twice"
    help = "let one owner destroy the event, and clear its handle at that moment"
    kind = Kind.EVENT
    outcomes = (CRASH,)
    evidence = (
        measured(
            "SIGSEGV in the driver, no error code",
            "event_destroy_twice",
        ),
        documented(
            "Use of the handle after this call is undefined behavior.",
            "CUDA Runtime API, Event Management, cudaEventDestroy",
        ),
    )
    VALID = (
        Example(
            "destroyed once",
            """
event = cu.cuEventCreate(0)
cu.cuEventDestroy(event)
""",
        ),
        Example(
            "handle issued again",
            """
event = cu.cuEventCreate(0)
cu.cuEventDestroy(event)
event = cu.cuEventCreate(0)
cu.cuEventDestroy(event)
""",
            note="the new one often has the old handle value",
        ),
    )
    INVALID = (
        Example(
            "destroyed twice",
            """
event = cu.cuEventCreate(0)
cu.cuEventDestroy(event)
cu.cuEventDestroy(event)  # error: [event-destroy-twice]
""",
        ),
        Example(
            "destroyed by two threads",
            """
event = cu.cuEventCreate(0)
cu.in_thread(lambda: cu.cuEventDestroy(event))
cu.cuEventDestroy(event)  # error: [event-destroy-twice]
""",
        ),
    )
