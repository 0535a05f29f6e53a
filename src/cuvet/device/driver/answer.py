"""Answers driver calls: asks the model what may happen, lets the noun's module do it, tells the model what did."""

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module

from cuvet.catalog import EntryPoint, Kind, Role, Verb
from cuvet.catalog import driver as catalog
from cuvet.catalog import results as status
from cuvet.device import facts
from cuvet.device.driver import fault, launch, memory
from cuvet.device.foreknown import leaves_contexts, only_asks, written
from cuvet.device.invocation import (
    MOST_ARRAY,
    BadAddress,
    Dies,
    Handler,
    Invocation,
    Refused,
    read,
    read_string,
    require,
    tell,
)
from cuvet.device.link import post
from cuvet.device.process import ClientProcess, Thread
from cuvet.device.protocol import Command, Op, ProtocolError, Request, Steps
from cuvet.model import Call, Outcome
from cuvet.model.ledger import BACKED
from cuvet.model.model import Prediction
from cuvet.rules.rule import CRASH
from cuvet.sizes import binary_size

_NOUNS = """
    array context device event function graph graph_condition graph_memory graph_node green_context host_memory ipc launch library
    managed memory memory_copy memory_pool pointer stream user_object virtual_memory
""".split()
HANDLERS: dict[str, Handler] = {
    name: handler
    for noun in _NOUNS
    for name, handler in vars(import_module(f"{__package__}.{noun}")).items()
    if name.startswith("cu") and callable(handler)
}
IN_PART = frozenset({"cuDeviceGetDevResource", "cuGraphAddNode", "cuGreenCtxGetDevResource"})
"""Those that return CUDA_ERROR_NOT_SUPPORTED for arguments that are not emulated."""
_ENDS_MANY = {
    "cuCtxDestroy", "cuCtxDetach", "cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxRelease", "cuModuleUnload", "cuLibraryUnload",
    "cuGreenCtxDestroy",
}  # fmt: skip
"""Those that end what other calls made, of whatever kind: all handles are looked at. The handles of a graph's graphs and nodes are with
its end (`dropped`)."""
_WORKS_IN_FORKED_CHILD = {"cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString", "cuGetProcAddress"}
_FAULT_ADDRESS = 8
_SUCCESS_ALONE = (status.SUCCESS,)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is the same in all calls of an entry point. ``handler`` None: it is not emulated. ``reads``: the program's memory, before it
    is carried out. ``inputs`` are the parameters that are read (`_inputs`), ``made`` those through which it gives new objects, ``ended``
    the roles of those that it destroys. ``bears_on_told``: questions about contexts can have another answer after it, or it is one."""

    entry_point: EntryPoint
    handler: Handler | None
    inputs: tuple[tuple[int, str, int], ...]
    reads: bool
    has_arguments: bool
    has_attributes: bool
    made: tuple[tuple[int, Kind], ...]
    ended: tuple[Role, ...]
    ends_many: bool
    bears_on_told: bool
    works_in_forked_child: bool


@cache
def _plan(number: int, words: int) -> Plan:
    """ProtocolError if there is no such call."""
    if number >= len(catalog().entry_points):
        raise ProtocolError(f"there is no driver entry point {number}")
    entry_point = catalog().entry_points[number]
    name, expected = entry_point.name, len(entry_point.parameters)
    if words != expected:
        raise ProtocolError(f"a call of {name} has {words} words instead of {expected}")
    inputs, has_arguments, has_attributes = (
        _inputs(entry_point),
        "kernelParams" in entry_point.index,
        name == "cuLaunchKernelEx",
    )
    return Plan(
        entry_point,
        HANDLERS.get(name),
        inputs,
        bool(inputs) or has_arguments or has_attributes,
        has_arguments,
        has_attributes,
        _new_objects(entry_point),
        _destroying(entry_point),
        name in _ENDS_MANY,
        only_asks(number) or not leaves_contexts(entry_point),
        name in _WORKS_IN_FORKED_CHILD,
    )


def answer(thread: Thread, request: Request) -> Steps[int]:
    """Answer one driver call: the CUresult. The model need not have been told of it then (``Link.unfinished``)."""
    plan, process = _plan(request.entry_point, len(request.words)), thread.process
    if plan.handler is None:
        return _refuse(process, plan.entry_point.name)
    call = Call(
        plan.entry_point,
        request.words,
        process.pid,
        thread.number,
        next(process.calls),
        time.monotonic_ns(),
        per_thread=request.per_thread,
        in_host_function=thread.host_functions,
        inputs=dict(request.structs) if request.structs else {},
    )
    if request.fault and not request.later:
        return _fail(process, call, request.fault)
    return _carry_out(Invocation(call, thread, fault=request.fault), plan, plan.handler, request)


def _fail(process: ClientProcess, call: Call, fault: int) -> Steps[int]:
    """As it was asked for; what must follow of it, the model knows."""
    process.model.observe(call, Outcome(fault))
    process.told.forget()
    return fault
    yield


def _refuse(process: ClientProcess, name: str) -> Steps[int]:
    yield from tell(process, f"{name} is not emulated: it returns CUDA_ERROR_NOT_SUPPORTED")
    return status.NOT_SUPPORTED


def _read(invocation: Invocation, plan: Plan) -> Steps[None]:
    """What the call's parameters point to, and of a launch its attributes and arguments."""
    call = invocation.call
    yield from _read_inputs(call, plan.inputs)
    if plan.has_attributes:
        yield from launch.read_attributes(call)
    if plan.has_arguments:
        invocation.arguments = yield from launch.arguments(invocation)
        call.pointers = tuple(int.from_bytes(data, "little") for data in invocation.arguments if len(data) == 8)


def _carry_out(invocation: Invocation, plan: Plan, handler: Handler, request: Request) -> Steps[int]:
    call, thread = invocation.call, invocation.thread
    process, result = thread.process, status.SUCCESS
    model = process.model
    try:
        if plan.reads:
            yield from _read(invocation, plan)
        if model.initialised_before_fork and not plan.works_in_forked_child:
            return status.NOT_INITIALIZED
        prediction = model.predict(call)
        if prediction.statuses != _SUCCESS_ALONE:
            result = yield from _chosen(invocation, prediction)
        if result == status.SUCCESS:
            done = _begin(invocation, plan, handler, prediction.outputs)
            if done is not None:
                yield from done
            if plan.made or invocation.outputs:
                yield from _give(invocation, plan)
    except BadAddress:
        return status.INVALID_VALUE
    except Refused as refused:
        result = refused.status
    except Dies as dies:
        yield from _die(invocation)
        result = dies.status
    if result != status.SUCCESS:
        if result == status.OUT_OF_MEMORY:
            yield from _say_full(invocation)
        if not request.own_question:  # no failure of the program
            model.observe(call, Outcome(result))
        process.told.learn(invocation, result)
        return result
    fails, link = invocation.fault or process.faults or process.uses, thread.link
    if link is not None and not (fails or plan.ends_many):
        link.unfinished = partial(_succeeded, invocation, plan)
        return result
    _succeeded(invocation, plan)
    if plan.ends_many:
        yield from _clean_up(invocation)
    if not (invocation.fault or process.faults or process.uses):
        return result
    fault.keep(invocation)
    return fault.shown(invocation, awaited=request.awaited)


def _chosen(invocation: Invocation, prediction: Prediction) -> Steps[int]:
    """The status of those that the model allows."""
    allowed = prediction.statuses
    # Some calls that are legal may crash, too.
    if CRASH in allowed and any(CRASH in violation.outcomes for violation in prediction.violations):
        yield from _die(invocation)
    if invocation.process.graph_memory and status.SUCCESS in allowed and _touches_graph_memory(invocation):
        return status.SUCCESS
    return next((each for each in allowed if each != CRASH), status.INVALID_HANDLE)


def _succeeded(invocation: Invocation, plan: Plan) -> None:
    """Tell the model, and let the handles of what the call destroyed be given out again."""
    process, call = invocation.thread.process, invocation.call
    process.model.observe(call, Outcome(status.SUCCESS, invocation.outputs, handed_out=invocation.handed_out))
    if plan.bears_on_told:
        process.told.learn(invocation, status.SUCCESS)
    for role in plan.ended:
        _retire(invocation, role.kind, invocation[role.parameter])


def _die(invocation: Invocation) -> Steps[None]:
    """As the driver does in such a call, if that is to be emulated."""
    if os.environ.get("CUVET_EMULATE_CRASHES") == "1":
        process = invocation.thread.process
        process.model.observe(invocation.call, Outcome(None, signal=signal.SIGSEGV))
        process.told.forget()
        yield Command(Op.RAISE, (signal.SIGSEGV, _FAULT_ADDRESS))


def _touches_graph_memory(invocation: Invocation) -> bool:
    """Whether the call is about memory that a launched graph allocated. The addresses of allocation nodes come back inside a struct,
    where the model does not see them."""
    held = invocation.process.graph_memory
    roles = [role for role in invocation.entry_point.roles if role.kind is Kind.MEMORY]
    words = [invocation[role.parameter] for role in roles if role.parameter and not role.field]
    return any(address <= word < address + size for address, (size, _) in held.items() for word in words)


def _say_full(invocation: Invocation) -> Steps[None]:
    """The GPU that is emulated would have had more memory than this host gives: tell the user how to have it."""
    memory = invocation.process.machine.memory
    allocates = any(role.verb is Verb.ALLOCATES for role in invocation.entry_point.roles)
    if memory < facts.TOTAL_MEMORY and (allocates or invocation.entry_point.name in BACKED):
        has = f"the emulated device has {binary_size(memory)} of memory"
        more = "cuvet run --device emulated --device-memory SIZE gives it more"
        yield from tell(invocation.process, f"{has}, too little for this program; {more}")


def _begin(invocation: Invocation, plan: Plan, handler: Handler, known: Mapping[int, int]) -> Steps[None] | None:
    """What carries the call out; Refused or Dies if it fails. ``known``: what the model knows that it writes."""
    if known:
        invocation.outputs.update(known)
    args = invocation.call.args
    for position, _ in plan.made:
        require(args[position])
    return handler(invocation)


def _give(invocation: Invocation, plan: Plan) -> Steps[None]:
    """Write what the call hands out, new objects too. BadAddress if it has nowhere to go."""
    args, outputs, thread = invocation.call.args, invocation.outputs, invocation.thread
    for position, kind in plan.made:
        if position not in outputs:
            outputs[position] = thread.process.handles.issue(kind)
    for position, value in outputs.items():
        if args[position]:
            command = Command(Op.WRITE, (args[position],), written(plan.entry_point, position, value))
            if (post(thread, command) or (yield command)).error:
                raise BadAddress(hex(args[position]))


def _new_objects(entry_point: EntryPoint) -> tuple[tuple[int, Kind], ...]:
    """The parameters through which it gives new objects."""
    return tuple(
        (entry_point.index[role.parameter], role.kind)
        for role in entry_point.roles
        if role.verb is Verb.CREATES and role.parameter and not role.count and not role.field
    )


def _clean_up(invocation: Invocation) -> Steps[None]:
    """Let handle values and memory be given out again of all objects that the call ended. Those of graph nodes, of which the model need
    not know, are with the graph's end."""
    for kind, handle in invocation.process.handles.live():
        if kind is not Kind.GRAPH_NODE:
            _retire(invocation, kind, handle)
    yield from memory.free_ended(invocation)


def _destroying(entry_point: EntryPoint) -> tuple[Role, ...]:
    return tuple(
        role
        for role in entry_point.roles
        if role.verb is Verb.DESTROYS and role.parameter and not role.field and role.kind is not Kind.GRAPH_NODE
    )


def _retire(invocation: Invocation, kind: Kind, handle: int) -> None:
    found = invocation.model.find(kind, handle)
    if found is not None and not found.alive:
        invocation.process.handles.retire(kind, handle)


def _read_inputs(call: Call, inputs: tuple[tuple[int, str, int], ...]) -> Steps[None]:
    """Strings, arrays of handles and structs that parameters point to: what rules and handlers look at."""
    for position, count, size in inputs:
        address, total = call.args[position], call.arg(count) * size if count else size
        if address and not size:
            call.inputs[position] = yield from read_string(address)
        elif address and 0 < total <= MOST_ARRAY:
            call.inputs[position] = yield from read(address, total)


def _inputs(entry_point: EntryPoint) -> tuple[tuple[int, str, int], ...]:
    """Of each pointer parameter that is read: its position, the parameter with the number of elements if it points to an array, and the
    bytes of an element; 0 for a string."""
    counts = {role.parameter: role.count for role in entry_point.roles if role.count and role.verb is not Verb.RETURNS}
    fields = {role.parameter for role in entry_point.roles if role.field}
    structs, found = catalog().structs, []
    for position, parameter in enumerate(entry_point.parameters):
        if parameter.abi != "word" or not parameter.pointee or parameter.out:
            continue
        if parameter.pointee == "char" and parameter.const and parameter.type.count("*") == 1:
            found.append((position, "", 0))
        elif parameter.name in counts:
            found.append((position, counts[parameter.name], parameter.pointee_bytes or 8))
        elif parameter.pointee in structs and parameter.pointee_bytes and (parameter.const or parameter.name in fields):
            found.append((position, "", parameter.pointee_bytes))
    return tuple(found)
