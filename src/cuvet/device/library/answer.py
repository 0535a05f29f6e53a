"""Answers calls of libraries: the model says what they return."""

import os
import re
import signal
import time
from collections.abc import Iterator

from cuvet.catalog import EntryPoint, Kind, Verb
from cuvet.catalog import recorded as recorded_entry_points
from cuvet.catalog.kinds import LIBRARY_OBJECTS
from cuvet.device.invocation import MOST_ARRAY, BadAddress, Refused, read, write_word
from cuvet.device.process import Thread
from cuvet.device.protocol import Command, Op, ProtocolError, Request, Steps
from cuvet.device.runtime.call import RuntimeCall
from cuvet.device.runtime.device import ensure_context
from cuvet.model import Call, Outcome
from cuvet.model.library import cuda_missing, makes_handle

_FAULT_ADDRESS = 8
_NEWEST_RUNTIME = 13
_MOST_MADE = 1024
_COUNTS = re.compile(r"size|bytes|lwork|version|count|num|rank|device", re.IGNORECASE)
"""Names of what a library writes that programs allocate by or loop over."""
_WHOLE_NUMBERS = frozenset({"int", "unsigned int", "size_t", "int64_t", "long long", "unsigned long long"})


def answer(thread: Thread, request: Request) -> Steps[int]:
    """Answer one call of a library: its status."""
    entry_points = recorded_entry_points()
    if request.entry_point >= len(entry_points) or entry_points[request.entry_point].api == "driver":
        raise ProtocolError(f"there is no library entry point {request.entry_point}")
    entry_point = entry_points[request.entry_point]
    if len(request.words) != len(entry_point.parameters):
        raise ProtocolError(f"a call of {entry_point.name} has {len(request.words)} words")
    process = thread.process
    call = Call(
        entry_point,
        request.words,
        process=process.pid,
        thread=thread.number,
        number=next(process.calls),
        time_ns=time.monotonic_ns(),
        inputs=dict(request.structs),
    )
    try:
        yield from _read_inputs(call)
        return (yield from _carry_out(call, thread))
    except BadAddress:
        return 0  # a library that looked at the pointer would have died


def _carry_out(call: Call, thread: Thread) -> Steps[int]:
    model = thread.process.model
    if makes_handle(call.entry_point):
        try:
            yield from ensure_context(RuntimeCall(call.entry_point, {}, (), {}, thread, _NEWEST_RUNTIME))
        except Refused:
            missing = cuda_missing(call.entry_point)
            if missing:
                model.observe(call, Outcome(missing))
                return missing
    if thread.link is not None:
        thread.link.finish()
    prediction = model.predict(call)
    died = next((-status for status in prediction.statuses if status < 0), 0)
    if died and os.environ.get("CUVET_EMULATE_CRASHES") == "1":
        model.observe(call, Outcome(None, signal=died))
        yield Command(Op.RAISE, (died, _FAULT_ADDRESS if died == signal.SIGSEGV else 0))
    status = next((allowed for allowed in prediction.statuses if allowed >= 0), 0)
    if status == 0 and any(not each.only_if_failed and not each.stands(call, 0) for each in prediction.violations):
        status = cuda_missing(call.entry_point)  # nothing shows that it succeeds, nor how it fails
    outputs, arrays = dict(prediction.outputs), dict[int, tuple[tuple[int, int], ...]]()
    if status == 0:
        made = yield from _make(call, thread)
        arrays = {at: tuple((handle, 0) for handle in handles) for at, handles in made.items()}
        outputs.update({at: handles[0] for at, handles in made.items()})
        yield from _write(call, outputs)
    model.observe(call, Outcome(status, outputs if status == 0 else {}, handed_out=arrays))
    _retire(call, thread)
    return status


def _make(call: Call, thread: Thread) -> Steps[dict[int, list[int]]]:
    """The new objects that the call hands out, by parameter; of an array of them, all but the first are written."""
    made = {}
    for role in call.entry_point.roles:
        if role.verb is not Verb.CREATES or role.kind not in LIBRARY_OBJECTS or not call.arg(role.parameter):
            continue
        count = call.arg(role.count) if role.count else 1
        handles = [thread.process.handles.issue(role.kind) for _ in range(min(count, _MOST_MADE))]
        for number, handle in enumerate(handles[1:], 1):
            yield from write_word(call.arg(role.parameter) + 8 * number, handle)
        if handles:
            made[call.entry_point.index[role.parameter]] = handles
    return made


def _write(call: Call, outputs: dict[int, int]) -> Steps[None]:
    for position, value in outputs.items():
        if call.args[position]:
            yield from write_word(call.args[position], value, call.entry_point.parameters[position].pointee_bytes or 8)
    for position in _counts(call.entry_point):
        if call.args[position] and position not in outputs:
            yield from write_word(call.args[position], 0, call.entry_point.parameters[position].pointee_bytes)


def _counts(entry_point: EntryPoint) -> Iterator[int]:
    """Parameters through which the host is told a number: nothing is needed, and nothing found."""
    for position, parameter in enumerate(entry_point.parameters):
        if not parameter.const and parameter.pointee in _WHOLE_NUMBERS and _COUNTS.search(parameter.name):
            yield position


def _retire(call: Call, thread: Thread) -> None:
    """Let handles that the call ended be given out again."""
    for role in call.entry_point.roles:
        if role.verb is Verb.DESTROYS and role.kind in LIBRARY_OBJECTS:
            for found in thread.process.model.objects_named(call, role):
                if not found.alive:
                    thread.process.handles.retire(role.kind, found.handle)


def _read_inputs(call: Call) -> Steps[None]:
    """Arrays of handles."""
    for role in call.entry_point.roles:
        if role.count and role.verb is not Verb.CREATES and role.kind is not Kind.NONE:
            position = call.entry_point.index[role.parameter]
            size = 8 * call.arg(role.count) if role.count in call.entry_point.index else 8
            if call.args[position] and 0 < size <= MOST_ARRAY:
                call.inputs[position] = yield from read(call.args[position], size)
