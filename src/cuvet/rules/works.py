"""Work on streams in words: what it is, and which bytes it touches."""

from __future__ import annotations

from typing import NamedTuple

from cuvet.model import Call, Function, ModelView, Stream
from cuvet.model.accesses import NODES, Box, accesses, node_kernel
from cuvet.model.touches import Access, Memory, Touch
from cuvet.model.touching import launched, parameters_into, types_given
from cuvet.printable import in_short
from cuvet.rules.rule import CallRule, Violation


class MissingEdge(NamedTuple):
    """What should order the second access after the first: why it does not, what would, and the calls that seem to make it."""

    because: tuple[str, ...]
    fix: str
    calls: tuple[tuple[str, Call], ...] = ()


def race(
    rule: type[CallRule],
    call: Call,
    model: ModelView,
    stream: Stream,
    touch: Touch,
    access: Access,
    missing: MissingEdge,
) -> Violation:
    """The work of ``call``, on ``stream``, races with that of ``access``. Of a launched graph, its node is named."""
    memory, other, first = touch.memory, access.stream, access.touch
    this, that = _of_graph(call, touch, model), _of_graph(access.call, first, model)
    nodes = ((f"{work(node, model)} {was_made(node)}", node) for node in (first.node, touch.node) if node is not None)
    return Violation(
        rule=rule,
        message=f"{this} {does(touch)} {memory.name} on {stream.name} while {that} {does(first)} it on {other.name}, "
        "and nothing orders the two",
        objects=(memory, other, stream),
        argument=touch.argument,
        because=(
            f"{this} on {stream.name} {does(touch)} {extent(touch)}{through(touch.node or call, touch, model)}",
            f"{that} on {other.name} {does(first)} {extent(first)}{through(first.node or access.call, first, model)}",
            *missing.because,
        ),
        help=missing.fix,
        earlier=((f"{work(access.call, model)} on {other.name}", access.call), *nodes, *missing.calls),
    )


def _of_graph(call: Call, touch: Touch, model: ModelView) -> str:
    """The work of the call; of a launch of a graph, its node that touches the memory."""
    if touch.node is None:
        return work(call, model)
    executable = launched(call, model)
    return work(touch.node, model) + (f" in {executable.name}" if executable is not None else "")


def work(call: Call, model: ModelView) -> str:
    """``kernel saxpy``, or the name of the function that was called."""
    function = launched(call, model)
    name = (
        ""
        if not isinstance(function, Function)
        else (model.kernels and model.kernels.name(function)) or function.symbol
    )
    return f"kernel {in_short(name)}" if name else _node(call) or call.asked


def _node(call: Call) -> str:
    """``memset node``, if the call adds or changes a node of a graph; else nothing."""
    if call.name not in NODES:
        return ""
    if node_kernel(call) is not None:
        return "kernel node"
    return "memset node" if any(each.work == "set" for each in accesses(call)) else "memcpy node"


def was_made(node: Call) -> str:
    """How the node of a graph came to be that this call made: "was captured"."""
    if node.entry_point.api != "driver":
        return "was called"
    if node.name not in NODES:
        return "was captured"
    return "was changed" if node.name.endswith("SetParams") else "was added"


def does(touch: Touch) -> str:
    """What the work does with the memory: a verb."""
    return touch.life or {True: "writes", False: "reads", None: "uses"}[touch.writes]


def extent(touch: Touch) -> str:
    """Which bytes of its memory: ``bytes 0 to 15 of device-memory#1``."""
    if touch.box is not None:
        return f"{_box(touch.box)} of {touch.memory.name}"
    memory, start = touch.memory, touch.start - touch.memory.handle
    if touch.end is None:
        return f"{memory.name} from byte {start} on (how far is not known)"
    last = touch.end - 1 - memory.handle
    rows = f" (of each {touch.pitch} bytes, {touch.row})" if touch.pitch else ""
    least = "at least " if touch.partly else ""
    return f"{least}{f'bytes {start} to {last}' if last > start else f'byte {start}'} of {memory.name}{rows}"


def _box(box: Box) -> str:
    parts = zip(("byte", "row", "layer"), box, strict=True)
    each = [f"{noun}s {first} to {end - 1}" if end - first > 1 else f"{noun} {first}" for noun, (first, end) in parts]
    return f"{each[0]} of {each[1]} in {each[2]}" if box.layers != (0, 1) else f"{each[0]} of {each[1]}"


def through(call: Call, touch: Touch, model: ModelView) -> str:
    """`` through argument 1 (float*)``: the parameters of the kernel that point into the memory; else nothing."""
    arguments = arguments_into(call, touch.memory, model)
    return f" through {arguments}" if arguments else ""


def arguments_into(call: Call, memory: Memory, model: ModelView) -> str:
    """``argument 1 (float*)``: the parameters of the launched kernel that point into ``memory``; else nothing."""
    types, numbers = types_given(call, model), parameters_into(call, memory)
    if not numbers:
        return ""
    each = (f"{number} ({in_short(types[number])})" if types else str(number) for number in numbers)
    return f"argument{'s' if len(numbers) > 1 else ''} {' or '.join(each)}"
