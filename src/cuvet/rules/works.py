"""Work on streams in words: what it is, and which bytes it touches."""

from __future__ import annotations

from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, Function, ModelView
from cuvet.model.touches import Touch
from cuvet.model.touching import parameters_into


def work(call: Call, model: ModelView) -> str:
    """``kernel saxpy``, or the name of the function that was called."""
    function = _launched(call, model)
    name = "" if function is None else (model.kernels and model.kernels.name(function)) or function.symbol
    return f"kernel {name}" if name else call.asked


def _launched(call: Call, model: ModelView) -> Function | None:
    for role in call.entry_point.roles:
        if role.verb is Verb.LAUNCHES and role.kind in (Kind.FUNCTION, Kind.KERNEL):
            found = model.object_named(call, role)
            return found if isinstance(found, Function) else None
    return None


def does(touch: Touch) -> str:
    """What the work does with the memory: a verb."""
    return {True: "writes", False: "reads", None: "uses"}[touch.writes]


def extent(touch: Touch) -> str:
    """Which bytes of its memory: ``bytes 0 to 15 of device-memory#1``."""
    memory, start = touch.memory, touch.start - touch.memory.handle
    if touch.end is None:
        return f"{memory.name} from byte {start} on (how far is not known)"
    last = touch.end - 1 - memory.handle
    rows = f" (of each {touch.pitch} bytes, {touch.row})" if touch.pitch else ""
    return f"{f'bytes {start} to {last}' if last > start else f'byte {start}'} of {memory.name}{rows}"


def through(call: Call, touch: Touch, model: ModelView) -> str:
    """`` through argument 1 (float*)``: the parameters of the kernel that point into the memory; else nothing."""
    function, numbers = _launched(call, model), parameters_into(call, touch.memory)
    if not numbers:
        return ""
    types = model.kernels.parameters(function) if function is not None and model.kernels is not None else ()
    each = (f"{number} ({types[number]})" if number < len(types) else str(number) for number in numbers)
    return f" through argument{'s' if len(numbers) > 1 else ''} {' or '.join(each)}"
