"""What the rules about stream capture share."""

from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, Capture, ModelView, Stream
from cuvet.model.precedence import Stage
from cuvet.rules.lifecycle import place
from cuvet.rules.rule import CallRule

MODES = ("global", "thread-local", "relaxed")
RELAXED = 2

ONE_CAPTURE = """
## one capture
stream = cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(stream, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
"""
ONE_AFTER_ANOTHER = """
## two captures, one after another
stream = cu.cuStreamCreate(0)
for _ in range(2):
    cu.cuStreamBeginCapture(stream, 0)
    cu.cuGraphDestroy(cu.cuStreamEndCapture(stream))
"""
SIDE_BY_SIDE = """
## two captures side by side
first, second = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
cu.cuStreamBeginCapture(first, 0)
cu.cuStreamBeginCapture(second, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(second))
cu.cuGraphDestroy(cu.cuStreamEndCapture(first))
"""
JOINED = """
## a stream joins the capture and is joined back
first, second = cu.cuStreamCreate(0), cu.cuStreamCreate(0)
fork, join = cu.cuEventCreate(0), cu.cuEventCreate(0)
cu.cuStreamBeginCapture(first, 0)
cu.cuEventRecord(fork, first)
cu.cuStreamWaitEvent(second, fork, 0)
cu.cuEventRecord(join, second)
cu.cuStreamWaitEvent(first, join, 0)
cu.cuGraphDestroy(cu.cuStreamEndCapture(first))
"""
"""Programs that several of the rules allow."""


class CaptureRule(CallRule):
    """A rule about calls that the driver refuses because a stream is capturing, or is not."""

    stage = Stage.CAPTURE


def begun(capture: Capture) -> str:
    """Where the capture was begun, for ``because``."""
    return f"the {MODES[capture.mode]} capture of {capture.origin.name} was begun by {place(capture.begun_by)}"


def streams_named(call: Call, model: ModelView, *verbs: Verb) -> list[tuple[int, Stream]]:
    """Streams, default ones included, that the call names with one of these verbs, with their argument's index."""
    found = []
    for role in call.entry_point.roles:
        if role.kind is Kind.STREAM and role.verb in verbs and role.parameter:
            argument = call.entry_point.index[role.parameter]
            stream = model.stream_on(call) if role.field else model.stream_of(call, argument)
            if stream is not None:
                found.append((argument, stream))
    return found
