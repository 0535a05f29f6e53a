"""The executable specification: what a call may do (``predict``) and what it did (``observe``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from cuvet.catalog.results import NOT_READY
from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model import library, precedence, statuses
from cuvet.model.call import Call, Outcome, SeenHandle
from cuvet.model.current import NUMBERED_IN_CONTEXT
from cuvet.model.ledger import BACKED, Ledger
from cuvet.model.memory import MemoryTable
from cuvet.model.naming import is_named, role_on, words_named
from cuvet.model.objects import (
    Allocation,
    Capture,
    Context,
    Graph,
    GraphNode,
    HostMemory,
    MemoryPool,
    Object,
    Stream,
)
from cuvet.model.order import Clock, Order
from cuvet.model.table import ObjectTable
from cuvet.model.threads import Thread
from cuvet.model.transitions import plan
from cuvet.model.transitions.capture import finish, observe_failure

if TYPE_CHECKING:
    from cuvet.catalog import EntryPoint
    from cuvet.rules.rule import Rule, Violation

T = TypeVar("T", bound=Object)

MORE_THAN_ANY_GPU = 1 << 40
"""Bytes."""
LEGACY, PER_THREAD = 1, 2
"""CU_STREAM_LEGACY and CU_STREAM_PER_THREAD."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """``statuses`` that the driver may return, the likeliest first (``CRASH`` for a signal): they follow from those of the
    ``violations`` that it comes upon first (``cuvet.model.precedence``). ``undefined`` if anything may happen. ``outputs`` (parameter
    index to word) are the values the model knows; new handles are made up by the emulated device."""

    statuses: tuple[int, ...]
    undefined: bool
    violations: tuple[Violation, ...]
    outputs: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Judged:
    """What is asked about calls of one entry point: all its rules; those that can fire when all objects are alive; the roles that
    name objects."""

    rules: tuple[type[Rule], ...]
    others: tuple[type[Rule], ...]
    named: tuple[Role, ...]


class Model:
    """State of one process. ``devices`` GPUs, the largest of ``memory`` bytes. ``complete`` says that every call is observed; otherwise
    (lifecycle recordings leave out hot launches, but nothing that makes the host wait) nothing is claimed that an unseen launch
    could make wrong. With ``symbols`` no handle names one object in one context and another in the next: they are those of source code.

    Public queries, for rules (which must not change anything). "Unknown" objects, created before the first call that was
    seen or behind the shim's back, are None: a rule stays silent about them, unless ``call.seen`` says more.

    Objects

    * ``find(kind, handle)``: the newest object of that handle, alive or dead; None if never seen. A CUkernel is found as FUNCTION
      too, and the other way round (launches take both); a cuBLAS handle is one of cuBLASLt too.
    * ``kinds_of(handle)``: newest objects of any kind that have this handle (a stream passed as an event).
    * ``object_of(call, parameter_index, kind)``: the object that a call's argument names (by the shim's generation if it has one).
    * ``object_named(call, role)``: the object that the role's parameter names; for READS and WRITES the allocation that holds the
      address. None for built-in values, nulls and unknown handles.
    * ``objects_named(call, role)``: likewise for arrays of handles (``role.count``) and for handles in structs (``role.field``).
    * ``objects(kind, alive=True)``: all objects of that kind that are alive (or all that are remembered), oldest first.

    Contexts, devices, threads

    * ``current_context(call)``: context current on the call's thread, alive or dead; None if there is none, or it is unknown.
    * ``green_context(call)``: the context of a green context, if that is current on the call's thread; ``current_context`` is then the
      primary context of the device, which has all its objects.
    * ``current_handle(call)``: its handle; 0 if the thread has none.
    * ``context_of(call, stream)``: context in which work on that stream runs.
    * ``threads_of(context)``: threads on which it is current.
    * ``primary_context(device)``: the newest primary context of a device, alive or dead; None.
    * ``device_of(call)``: device of the current context; None if unknown.
    * ``sticky_error(call)``: (call that first showed it, status) of the error in the current context, else in another one of the
      process; None.
    * ``sees_all(kind)``: whether every object of this kind has been seen created, so that an unknown handle was never handed out.
    * ``last_failure(thread)``: newest (call, status) that failed on this thread, not counting CUDA_ERROR_NOT_READY; None.
    * ``initialised_by``: the cuInit that succeeded; None. ``not_initialised_by``: the last one that failed, and its status; None.
      ``shutdown_by``: True once the process is exiting (``shutdown``).
    * ``driver_version``: as cuDriverGetVersion tells (13000); 0 if unknown.
    * ``capability(call)``: compute capability of the current context's device (90 for 9.0); 0 if unknown.
    * ``compiled``: PTX that the driver has compiled before, with the compute capability.
    * ``initialised_before_fork``: the parent's cuInit if this process was forked after it; None.

    Streams, order, capture

    * ``stream_of(call, parameter_index)``: Stream, also for 0, 1 and 2; None if unknown.
    * ``streams_of(context)``: living streams of a context, its default streams among them.
    * ``stream_on(call)``: the Stream that the call enqueues work on (role ON); None.
    * ``default_stream(call)``: what stream 0 means for this call; None if the current context is unknown.
    * ``streams()``: all living streams, the built-in ones too.
    * ``ordered_after(call, stream, earlier)``: whether work enqueued now on ``stream`` is known to run after ``earlier``, or may
      be for all we know: False means that there is certainly no order.
    * ``finished(earlier)``: whether the host is known to have waited for that work.
    * ``pending(stream)``: the newest work not known to be finished, or None.
    * ``capture_of(stream)``: the capture that the stream takes part in; None.
    * ``captures()``: captures in progress, oldest first.
    * ``capture_mode(thread)``: that thread's interaction mode (cuThreadExchangeStreamCaptureMode): 0 global, 1 local, 2 relaxed.
    * ``capture_forbidding(call)``: the capture on account of which potentially unsafe calls (cuMemAlloc) are refused now; None.
      Unless ``complete``, the thread's mode may have been changed unseen: believe it only of a call that failed.
    * ``captures_forbidding(call)``: all of these.

    Memory

    * ``allocation_at(address)``: allocation that holds the address: a live one, else the one freed last; None.
    * ``host_memory_at(address)``: likewise for pinned or registered host memory.
    * ``pointed_at(call)``: allocations, alive or dead, that the launch's arguments (``call.pointers``) point into. The start of one is left
      out where another argument points into its neighbour below: it may be that one's end.
    * ``reaches(context, allocation)``: whether work in that context can use device memory, as far as is known.
    * ``overlapping_allocations(address, size)``, ``overlapping_host_memory(address, size)``: live ones, by address.
    * ``ledger``: how many bytes are held, by the places that made them.
    """

    def __init__(
        self, devices: int = 1, *, memory: int = MORE_THAN_ANY_GPU, complete: bool = False, symbols: bool = False
    ) -> None:
        self._numbered: frozenset[Kind] = frozenset() if symbols else NUMBERED_IN_CONTEXT
        self.devices = devices
        self.memory = memory
        self.complete = complete
        self.table = ObjectTable()
        self.order = Order(complete)
        self.allocations: MemoryTable[Allocation] = MemoryTable()
        self.host_memory: MemoryTable[HostMemory] = MemoryTable()
        self.ledger = Ledger()
        self.threads: dict[int, Thread] = {}
        self.live_captures: list[Capture] = []
        self.lost_contexts: list[Context] = []
        self.primaries: dict[int, Context] = {}
        self.default_pools: dict[int, MemoryPool] = {}
        self.resets: dict[int, Call] = {}
        self.initialised_by: Call | None = None
        self.not_initialised_by: tuple[Call, int] | None = None
        self.initialised_before_fork: Call | None = None
        self.shutdown_by = False
        self.driver_version = 0
        self.capabilities: tuple[int, ...] = ()
        self.compiled: set[tuple[bytes, int]] = set()
        self.endangered: Clock = {}
        """The newest work of each stream of which memory was freed before the host had waited for it: it may fail, and any later call tell
        so."""
        self.freed_twice_in: set[Context] = set()
        """Living contexts of memory that cuMemFree took after cuMemFreeAsync had been given it, and told no error."""
        self.graphs_wait = False
        self.graphs_allocate = False
        self.current_pools: dict[int, MemoryPool | None] = {}
        self._default_stream_numbers = count(-1, -1)

    # What a call may do, and what it did.

    def violations(self, call: Call) -> list[Violation]:
        """What the rules say about ``call`` in this state. Changes nothing."""
        judged = _judged(call.entry_point)
        rules = judged.others if judged.others is not judged.rules and self._all_alive(call, judged) else judged.rules
        found = [violation for rule in rules for violation in rule.check(call, self)]
        return found if call.entry_point.api == "driver" else [library.of_library(each) for each in found]

    def predict(self, call: Call) -> Prediction:
        """What the driver may do with ``call`` in this state. Changes nothing."""
        violations = self.violations(call)
        if call.entry_point.api != "driver":
            return self._predict_library(call, violations)
        given = statuses.of_process(self, call) or statuses.of_context(self, call)
        decisive = precedence.decisive(call.name, violations, given and given[0])
        outcomes = dict.fromkeys(status for violation in decisive for status in violation.outcomes)
        if not outcomes:
            outcomes = dict.fromkeys((given[1],) if given else statuses.of_legal_call(self, call))
        elif not self.complete and all(violation.only_if_failed for violation in decisive):
            outcomes.update(dict.fromkeys(statuses.of_legal_call(self, call)))
        outcomes.update(dict.fromkeys(statuses.of_late_fault(self, call)))
        return Prediction(
            statuses=tuple(outcomes),
            undefined=any(violation.undefined for violation in decisive),
            violations=tuple(violations),
            outputs=statuses.outputs(self, call),
        )

    def _predict_library(self, call: Call, violations: list[Violation]) -> Prediction:
        outcomes = dict.fromkeys(status for violation in violations for status in violation.outcomes)
        return Prediction(
            statuses=tuple(outcomes) or library.statuses(self, call),
            undefined=any(violation.undefined for violation in violations),
            violations=tuple(violations),
            outputs=library.outputs(self, call),
        )

    def observe(self, call: Call, outcome: Outcome) -> None:
        """``call`` was made and ended so. A failed call changes nothing but errors; one that did not return counts as made."""
        if call.entry_point.api != "driver":
            library.observe(self, call, outcome)
            return
        thread = self.thread(call.thread)
        if call.context is not None:
            self._follow_driver(thread, call.context)
        if outcome.status:
            self._observe_error(thread, call, outcome.status)
            return
        for step in plan(call.entry_point):
            step(self, call, outcome)

    def accept(self, call: Call, violation: Violation) -> None:
        """The driver took a call that ``violation`` speaks against. If that is about an object which had ended, its handle
        names another one by now, which no call showed: captured work makes nodes, and libraries make objects past the shim."""
        dead = violation.objects[0] if violation.objects else None
        if dead is None or dead.alive or isinstance(dead, (Allocation, HostMemory)):
            return
        scope = self._scope(dead.kind, self.current_context(call))
        if self.table.find(dead.kind, dead.handle, 0, scope) is not dead:
            return
        if isinstance(dead, Context):
            back = self._bring_back(dead, call)
            for thread in self.threads.values():
                thread.stack = [back if context is dead else context for context in thread.stack]
            return
        found = self.table.add(type(dead), dead.kind, dead.handle, 0, scope)
        found.context = dead.context if dead.context is not None and dead.context.alive else self.current_context(call)
        found.device = dead.device

    def doubt_nodes(self) -> None:
        """Graph nodes are made that no call shows: the handle of one that has ended may name one of them."""
        for node in self.table.dead(Kind.GRAPH_NODE):
            if isinstance(node, GraphNode):
                node.may_be_reissued = True

    def shutdown(self) -> None:
        """The process is exiting and the driver has shut down: later calls are answered CUDA_ERROR_DEINITIALIZED."""
        self.shutdown_by = True

    def forked(self) -> Model:
        """The model of a child process forked now. The child can use nothing that the parent had: it is not in its model."""
        child = Model(self.devices, memory=self.memory, complete=self.complete)
        child.driver_version = self.driver_version
        child.capabilities = self.capabilities
        child.ledger = Ledger(self.ledger.gpus)
        child.initialised_before_fork = self.initialised_by or self.initialised_before_fork
        return child

    # Objects.

    def find(self, kind: Kind, handle: int) -> Object | None:
        return self._find(kind, handle, 0)

    def kinds_of(self, handle: int) -> tuple[Object, ...]:
        return tuple(found for kind in Kind if (found := self.table.find(kind, handle)) is not None)

    def object_of(self, call: Call, parameter_index: int, kind: Kind) -> Object | None:
        word = call.args[parameter_index]
        if kind is Kind.STREAM and word <= PER_THREAD:
            return self.stream_of(call, parameter_index)
        seen = call.seen.get(parameter_index)
        scope = self._scope(kind, self.current_context(call)) if kind in self._numbered else 0
        return self._find(kind, word, 0, scope) if seen is None or seen.kind is not kind else self._seen(seen, scope)

    def object_named(self, call: Call, role: Role) -> Object | None:
        if role.field or role.count or role.when:
            return next(iter(self.objects_named(call, role)), None)
        index = call.entry_point.index.get(role.parameter)
        if index is None:
            return None
        if role.verb in (Verb.READS, Verb.WRITES):
            return self._memory_at(role.kind, call.args[index])
        found = self.object_of(call, index, role.kind)
        return None if isinstance(found, Stream) and found.builtin else found

    def objects_named(self, call: Call, role: Role) -> tuple[Object, ...]:
        if not (role.field or role.count or role.when):
            found = self.object_named(call, role)
            return () if found is None else (found,)
        by_address = role.verb in (Verb.READS, Verb.WRITES)
        words = words_named(call, role)
        objects = (self._memory_at(role.kind, word) if by_address else self._find(role.kind, word, 0) for word in words)
        return tuple(found for found in objects if found is not None)

    def objects(self, kind: Kind, alive: bool = True) -> Iterator[Object]:
        return self.table.all(kind, alive)

    def sees_all(self, kind: Kind) -> bool:
        return self.initialised_by is not None and not kind.row.elsewhere

    # Contexts, devices, threads.

    def thread(self, number: int) -> Thread:
        found = self.threads.get(number)
        if found is None:
            found = self.threads[number] = Thread()
        return found

    def current_context(self, call: Call) -> Context | None:
        thread = self.threads.get(call.thread)
        top = thread.stack[-1] if thread is not None and thread.stack else None
        if call.context is not None and not _agrees(top, call.context):
            top = self.context_at(call.context)
        return self._newest(top)

    def green_context(self, call: Call) -> Context | None:
        found = self.context_at(self.current_handle(call))
        return found if found is not None and found.of_green else None

    def current_handle(self, call: Call) -> int:
        if call.context is not None:
            return call.context
        thread = self.threads.get(call.thread)
        top = thread.stack[-1] if thread is not None and thread.stack else None
        return 0 if top is None else top.handle

    def context_at(self, handle: int) -> Context | None:
        found = self.table.find(Kind.CONTEXT, handle) if handle else None
        return found if isinstance(found, Context) else None

    def context_of(self, call: Call, stream: Stream) -> Context | None:
        return self.current_context(call) if stream.builtin else stream.context

    def threads_of(self, context: Context) -> tuple[int, ...]:
        return tuple(
            number
            for number, thread in self.threads.items()
            if thread.stack and self._newest(thread.stack[-1]) is context
        )

    def primary_context(self, device: int) -> Context | None:
        return self.primaries.get(device)

    def device_of(self, call: Call) -> int | None:
        context = self.current_context(call)
        return None if context is None else context.device

    def capability(self, call: Call) -> int:
        device = self.device_of(call)
        return 0 if device is None or device >= len(self.capabilities) else self.capabilities[device]

    def sticky_error(self, call: Call) -> tuple[Call, int] | None:
        context = self.current_context(call)
        if context is None or not self.lost_contexts:
            return None
        lost = context if context.error is not None else next((each for each in self.lost_contexts if each.alive), None)
        return None if lost is None or lost.error is None else (lost.error, lost.error_status)

    def last_failure(self, thread: int) -> tuple[Call, int] | None:
        return self.threads[thread].failure if thread in self.threads else None

    # Streams, order, capture.

    def stream_of(self, call: Call, parameter_index: int) -> Stream | None:
        return self._stream(call, parameter_index, call.args[parameter_index])

    def streams_of(self, context: Context) -> tuple[Stream, ...]:
        made = (
            stream for stream in self.objects(Kind.STREAM) if isinstance(stream, Stream) and stream.context is context
        )
        return (*made, *context.default_streams.values())

    def stream_on(self, call: Call) -> Stream | None:
        role = role_on(call.entry_point)
        words = words_named(call, role) if role is not None else ()
        return self._stream(call, call.entry_point.index[role.parameter], words[0]) if role and words else None

    def default_stream(self, call: Call) -> Stream | None:
        return self._stream(call, -1, 0)

    def ordered_after(self, call: Call, stream: Stream, earlier: Call) -> bool:
        return earlier.position is None or stream.capture is not None or self.order.is_before(earlier.position, stream)

    def finished(self, earlier: Call) -> bool:
        return earlier.position is None or self.order.is_done(earlier.position)

    def pending(self, stream: Stream) -> Call | None:
        work = stream.last_work
        return None if work is None or self.finished(work) else work

    def capture_of(self, stream: Stream) -> Capture | None:
        return stream.capture

    def captures(self) -> tuple[Capture, ...]:
        return tuple(self.live_captures)

    def capture_mode(self, thread: int) -> int:
        return self.threads[thread].capture_mode if thread in self.threads else 0

    def capture_forbidding(self, call: Call) -> Capture | None:
        return next(self.captures_forbidding(call), None)

    def captures_forbidding(self, call: Call) -> Iterator[Capture]:
        mode = self.capture_mode(call.thread)
        for capture in self.live_captures:
            own = capture.thread == call.thread
            if mode < 2 and ((own and capture.mode < 2) or (mode == 0 and not own and capture.mode == 0)):
                yield capture

    # Memory.

    def allocation_at(self, address: int) -> Allocation | None:
        return self.allocations.at(address)

    def pointed_at(self, call: Call) -> tuple[Allocation, ...]:
        if not call.pointers:
            return ()
        found = [(pointer, self.allocations.at(pointer)) for pointer in call.pointers]
        ends = {allocation.end for _, allocation in found if allocation is not None}
        inside = (
            held for pointer, held in found if held is not None and (pointer != held.handle or pointer not in ends)
        )
        return tuple(dict.fromkeys(inside))

    def reaches(self, context: Context, allocation: Allocation) -> bool:
        if allocation.variant == "mapped":
            return allocation.reached_from is None or context.device in (None, *allocation.reached_from)
        if context.device is None or allocation.device in (None, context.device):
            return True
        if allocation.variant != "stream-ordered":
            return any(peer.device == allocation.device for peer in context.peers)
        pool = allocation.pool or self.default_pools.get(allocation.device or 0)
        return pool is not None and (pool.reached_from is None or context.device in pool.reached_from)

    def host_memory_at(self, address: int) -> HostMemory | None:
        return self.host_memory.at(address)

    def overlapping_allocations(self, address: int, size: int) -> list[Allocation]:
        return self.allocations.live_overlapping(address, size)

    def overlapping_host_memory(self, address: int, size: int) -> list[HostMemory]:
        return self.host_memory.live_overlapping(address, size)

    # For transitions.

    def create(
        self, cls: type[T], kind: Kind, handle: int, call: Call, outcome: Outcome, parameter: str, parent: Object | None
    ) -> T:
        """A new object, made by ``call`` through ``parameter``, in the context that is current."""
        context = self.current_context(call)
        index = call.entry_point.index.get(parameter, -1)
        scope = self._scope(kind, context)
        previous = self.table.find(kind, handle, 0, scope)
        if previous is not None:
            self.lose(previous)
        created = self.table.add(cls, kind, handle, outcome.generations.get(index, 0), scope)
        created.created_by = call
        created.context = context
        created.device = None if context is None else context.device
        created.parent = parent
        if parent is not None and parent.alive:
            parent.children[created] = None
        if call.name in BACKED:
            self.ledger.begin(created, call)
        return created

    def end(self, object: Object, call: Call, killed_by: Object | None = None) -> None:
        """``call`` ended ``object``, and with it all that belongs to it."""
        if not object.alive:
            return
        object.destroyed_by = call
        object.killed_by = killed_by
        if isinstance(object, Stream) and object.capture is not None and object.capture.origin is object:
            finish(self, call, object.capture)
        self._gone(object)
        for child in tuple(object.children):
            self.end(child, call, object)

    def living_context(self, call: Call) -> Context | None:
        """The current context, in which something was just made. If it was dead, it is back: a primary context can be used again after
        a reset."""
        context = self.current_context(call)
        if context is None or context.destroyed_by is None:
            return context
        back = self._bring_back(context, call)
        if not back.primary or back.device is None:
            self.thread(call.thread).set_current(back)
        return back

    def _bring_back(self, context: Context, call: Call) -> Context:
        """The next context of a dead one's handle, as ``call`` shows it."""
        back = self.table.add(Context, Kind.CONTEXT, context.handle, 0)
        back.created_by, back.device, back.flags = call, context.device, context.flags
        back.primary, back.retained = context.primary, context.retained
        if back.primary and back.device is not None:
            self.primaries[back.device] = back
        return back

    def lose(self, object: Object) -> None:
        """``object`` cannot be there any more, nor what belongs to it, though nobody saw it end."""
        if not object.alive:
            return
        object.lost = True
        self._gone(object)
        for child in tuple(object.children):
            self.lose(child)

    def streams(self) -> Iterator[Stream]:
        """All living streams, the built-in ones too."""
        for context in self.objects(Kind.CONTEXT):
            yield from context.default_streams.values() if isinstance(context, Context) else ()
        yield from (stream for stream in self.objects(Kind.STREAM) if isinstance(stream, Stream))

    def adopt_context(self, handle: int) -> Context:
        """The context of that handle, which may have been created before the first call that was seen."""
        found = self.context_at(handle)
        return self.table.add(Context, Kind.CONTEXT, handle, 0) if found is None else found

    def _scope(self, kind: Kind, context: Context | None) -> int:
        """The context in which a handle of that kind means what it does; 0 if it does in all, or that is not known."""
        return context.handle if context is not None and kind in self._numbered else 0

    def _find(self, kind: Kind, handle: int, generation: int, scope: int = 0) -> Object | None:
        found = self.table.find(kind, handle, generation, scope)
        if found is None and scope:
            return self.table.find(kind, handle, generation) or self._ended_with_context(kind, handle)
        other = kind.stands_for if found is None else None
        return found if other is None else self.table.find(other, handle, generation)

    def _ended_with_context(self, kind: Kind, handle: int) -> Object | None:
        """The newest object of that number, if its context was destroyed: what names it now names nothing else."""
        remembered = [found for found in self.table.all(kind, False) if found.handle == handle]
        newest = remembered[-1] if remembered else None
        return newest if newest is not None and newest.killed_by is not None else None

    def _seen(self, seen: SeenHandle, scope: int = 0) -> Object | None:
        """The object of the generation that the shim saw. Objects that are handed out again can get a generation here that the shim
        does not count; what was alive for the shim is the newest then, and so is what the driver was seen to take (``accept``)."""
        found = self._find(seen.kind, seen.handle, seen.generation, scope)
        if found is not None and not found.alive:
            newest = self._find(seen.kind, seen.handle, 0, scope)
            if newest is not None and (newest.created_by is None or (seen.alive and newest.alive)):
                return newest
        return found

    def _memory_at(self, kind: Kind, address: int) -> Object | None:
        return self.host_memory.at(address) if kind is Kind.HOST_MEMORY else self.allocations.at(address)

    def _newest(self, context: Context | None) -> Context | None:
        """A primary context's handle stays the same when the context is reset and retained again. That of a green context is "a normal
        primary context but with the resources of the specified green context" (cuCtxFromGreenCtx)."""
        if context is None:
            return None
        if context.of_green and context.alive and context.device in self.primaries:
            return self.primaries[context.device]
        if context.primary and context.destroyed_by is not None:
            return self.context_at(context.handle)
        return context

    def _follow_driver(self, thread: Thread, handle: int) -> None:
        """The driver says which context is current; ours differs if something went past what is seen."""
        top = thread.stack[-1] if thread.stack else None
        if not _agrees(top, handle):
            thread.set_current(self.adopt_context(handle) if handle else None)

    def _stream(self, call: Call, parameter_index: int, word: int) -> Stream | None:
        if word > PER_THREAD:
            seen = call.seen.get(parameter_index)
            known = seen is not None and seen.kind is Kind.STREAM
            found = self._seen(seen) if seen is not None and known else self.table.find(Kind.STREAM, word)
            return found if isinstance(found, Stream) else None
        context = self.current_context(call)
        if context is None:
            return None
        if word == PER_THREAD or (word == 0 and call.per_thread):
            return self._default_stream(context, PER_THREAD, call.thread)
        return self._default_stream(context, LEGACY, None)

    def _default_stream(self, context: Context, handle: int, thread: int | None) -> Stream:
        """``thread`` of a per-thread default stream, None of the legacy one. That of a dead context is as dead."""
        found = context.default_streams.get(thread)
        if found is not None:
            return found
        made = Stream(
            kind=Kind.STREAM,
            handle=handle,
            generation=1,
            number=next(self._default_stream_numbers),
            context=context,
            device=context.device,
            parent=context,
            builtin=True,
        )
        if context.alive:
            context.default_streams[thread] = made
        else:
            _end_with_context(made, context)
        return made

    def _observe_error(self, thread: Thread, call: Call, status: int) -> None:
        if status == NOT_READY:
            return
        thread.failure = (call, status)
        if call.name == "cuInit":
            self.not_initialised_by = thread.failure
        observe_failure(self, call, status)
        if status in statuses.STICKY:
            context = self.current_context(call)
            if context is not None and context.error is None:
                context.error, context.error_status = call, status
                self.lost_contexts.append(context)

    def _gone(self, object: Object) -> None:
        """Take a dead object out of what lists the living."""
        self.table.end(object)
        self.ledger.end(object)
        if object.parent is not None:
            object.parent.children.pop(object, None)
        if isinstance(object, Allocation):
            self.allocations.end(object)
        elif isinstance(object, HostMemory):
            self.host_memory.end(object)
        elif isinstance(object, Stream):
            self.order.destroy(object)
        elif isinstance(object, Context):
            for stream in object.default_streams.values():
                self.order.destroy(stream)
                _end_with_context(stream, object)
            object.default_streams.clear()
            self.freed_twice_in.discard(object)
        elif isinstance(object, Graph):
            object.original = None
        elif isinstance(object, GraphNode):
            object.may_be_reissued = bool(self.live_captures)

    def _all_alive(self, call: Call, judged: Judged) -> bool:
        """Whether every object that the call names is known and alive."""
        for role in judged.named:
            if role.field or role.count:
                if not all(found.alive for found in self.objects_named(call, role)):
                    return False
                continue
            index = call.entry_point.index[role.parameter]
            if call.args[index] == 0 and role.null and role.kind is not Kind.CUFFT_PLAN:
                continue
            found = self.object_of(call, index, role.kind)
            if (
                found is None
                or not found.alive
                or (role.verb is Verb.DESTROYS and isinstance(found, Stream) and found.builtin)
            ):
                return False
        return True


def _agrees(context: Context | None, handle: int) -> bool:
    """Whether a thread's context is what the driver says. One that ended may have left its handle to another."""
    return not handle if context is None else context.handle == handle and context.alive


def _end_with_context(stream: Stream, context: Context) -> None:
    stream.destroyed_by, stream.lost = context.destroyed_by, context.lost
    stream.killed_by = None if context.destroyed_by is None else context


@cache
def _judged(entry_point: EntryPoint) -> Judged:
    from cuvet.rules import model_rules

    of_library = entry_point.api != "driver"
    rules = tuple(rule for rule in model_rules() if (rule.libraries or not of_library) and rule.applies_to(entry_point))
    return Judged(
        rules=rules,
        others=tuple(rule for rule in rules if not rule.only_for_dead),
        named=tuple(role for role in entry_point.roles if role.parameter and is_named(role)),
    )
