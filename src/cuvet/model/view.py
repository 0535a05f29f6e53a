"""What is known of a process, to be asked and not to be changed: what rules are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import count
from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind, Role, Verb
from cuvet.model.call import Call, SeenHandle
from cuvet.model.memory import MemoryTable
from cuvet.model.naming import role_on, words_named
from cuvet.model.objects import Allocation, Capture, Context, GraphExec, HostMemory, MemoryPool, Object, Stream
from cuvet.model.order import AfterLaunch, Before
from cuvet.model.touches import is_shared

if TYPE_CHECKING:
    from cuvet.model.alike import Alike
    from cuvet.model.ledger import Ledger
    from cuvet.model.order import Clock, Order
    from cuvet.model.table import ObjectTable
    from cuvet.model.threads import Thread
    from cuvet.model.touches import Access, Touch, Touches
    from cuvet.model.touching import Kernels

LEGACY, PER_THREAD = 1, 2
"""CU_STREAM_LEGACY and CU_STREAM_PER_THREAD."""


class ModelView:
    """The queries of a ``Model``. A rule is given the model as this: what would change it is not there for mypy, and a test looks that
    no rule changes an object that it was told of.

    An object that was created before the first call that was seen, or behind the shim's back, is unknown: queries answer None, and a rule
    stays silent about it, unless ``call.seen`` says more.
    """

    _alike: Alike
    _default_stream_numbers: count[int]
    _numbered: frozenset[Kind]

    if TYPE_CHECKING:  # attributes of the model, which alone may set them

        @property
        def devices(self) -> int:
            """How many GPUs the process sees."""

        @property
        def memory(self) -> int:
            """Bytes of the largest of them."""

        @property
        def complete(self) -> bool:
            """Whether every call is observed."""

        @property
        def all_work(self) -> bool:
            """Whether every call is observed that gives a stream work or orders work; otherwise nothing is claimed that an unseen launch
            could make wrong."""

        @property
        def touches(self) -> Touches | None:
            """What work in flight touches, if races are looked for."""

        @property
        def kernels(self) -> Kernels | None:
            """What is known of the code of functions, if anything is."""

        @property
        def driver_version(self) -> int:
            """As cuDriverGetVersion tells (13000); 0 if it is unknown."""

        @property
        def capabilities(self) -> Sequence[int]:
            """The compute capability of each GPU, as far as they are known."""

        @property
        def not_pageable(self) -> Set[int]:
            """The GPUs that are known not to access memory of the host that CUDA does not know."""

        @property
        def initialised_by(self) -> Call | None:
            """The cuInit that succeeded."""

        @property
        def not_initialised_by(self) -> tuple[Call, int] | None:
            """The last cuInit that failed, and its status."""

        @property
        def initialised_before_fork(self) -> Call | None:
            """The parent's cuInit, if this process was forked after it."""

        @property
        def shutdown_by(self) -> bool:
            """Whether the process is exiting (``Model.shutdown``)."""

        @property
        def compiled(self) -> Set[tuple[bytes, int]]:
            """PTX that the driver has compiled before, with the compute capability."""

        @property
        def resets(self) -> Mapping[int, Call]:
            """The last reset of each device."""

        @property
        def lost_contexts(self) -> Sequence[Context]:
            """Contexts that an error has made unusable, in the order of the errors."""

        @property
        def graphs_allocate(self) -> bool:
            """Whether memory may have been made by launches of graphs, which no call shows."""

        @property
        def endangered(self) -> Clock:
            """The newest work of each stream of which memory was freed before the host had waited for it: it may fail later."""

        @property
        def freed_twice_in(self) -> Set[Context]:
            """Living contexts of memory that cuMemFree took after cuMemFreeAsync had been given it, and told no error."""

        @property
        def ledger(self) -> Ledger:
            """How many bytes are held, by the places that made them."""

        @property
        def table(self) -> ObjectTable: ...
        @property
        def order(self) -> Order: ...
        @property
        def allocations(self) -> MemoryTable[Allocation]: ...
        @property
        def host_memory(self) -> MemoryTable[HostMemory]: ...
        @property
        def threads(self) -> Mapping[int, Thread]: ...
        @property
        def live_captures(self) -> Sequence[Capture]: ...
        @property
        def primaries(self) -> Mapping[int, Context]: ...
        @property
        def default_pools(self) -> Mapping[int, MemoryPool]: ...

    # Objects.

    def find(self, kind: Kind, handle: int) -> Object | None:
        """The newest object of that handle, alive or dead; None if never seen. A CUkernel is found as FUNCTION too, and the other way round
        (launches take both); a cuBLAS handle is one of cuBLASLt too."""
        return self._find(kind, handle, 0)

    def kinds_of(self, handle: int) -> tuple[Object, ...]:
        """The newest objects of any kind that have this handle (a stream passed as an event)."""
        return self.table.named(handle)

    def object_of(self, call: Call, parameter_index: int, kind: Kind) -> Object | None:
        """The object that a call's argument names: of the generation that the shim saw, if it saw one."""
        word = call.args[parameter_index]
        if kind is Kind.STREAM and word <= PER_THREAD:
            return self.stream_of(call, parameter_index)
        seen = call.seen.get(parameter_index)
        scope = self._scope(kind, self.current_context(call)) if kind in self._numbered else 0
        return self._find(kind, word, 0, scope) if seen is None or seen.kind is not kind else self._seen(seen, scope)

    def launched(self, call: Call) -> Object | None:
        """The kernel or executable graph that the call launches; None of another call."""
        known = self._alike.launched
        if call.like in known:
            return known[call.like]
        role = next((role for role in call.entry_point.roles if role.verb is Verb.LAUNCHES), None)
        found = None if role is None else self.object_named(call, role)
        return self._alike.keep(known, call, found)

    def object_named(self, call: Call, role: Role) -> Object | None:
        """The object that the role's parameter names; for READS and WRITES the allocation that holds the address. None for built-in
        values, nulls and unknown handles."""
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
        """Likewise for arrays of handles (``role.count``) and for handles in structs (``role.field``): all that are known."""
        if not (role.field or role.count or role.when):
            found = self.object_named(call, role)
            return () if found is None else (found,)
        by_address = role.verb in (Verb.READS, Verb.WRITES)
        words = words_named(call, role)
        objects = (self._memory_at(role.kind, word) if by_address else self._find(role.kind, word, 0) for word in words)
        return tuple(found for found in objects if found is not None)

    def objects(self, kind: Kind, alive: bool = True) -> Iterator[Object]:
        """All objects of that kind that are alive (or, with ``alive`` False, all that are remembered), oldest first."""
        return self.table.all(kind, alive)

    def living(self, kind: Kind) -> Iterator[tuple[Object, int]]:
        """Those that are alive, oldest first, each with how many there are in its place that are like it but for handle and number."""
        return self.table.living(kind)

    def sees_all(self, kind: Kind) -> bool:
        """Whether every object of this kind has been seen created, so that an unknown handle was never handed out."""
        return self.initialised_by is not None and not kind.row.elsewhere

    # Contexts, devices, threads.

    def current_context(self, call: Call) -> Context | None:
        """The context that is current on the call's thread, alive or dead; None if there is none, or it is unknown. Of a green context it
        is the primary context of the device, which has all its objects."""
        if call.context is None and call.thread in self._alike.calm:
            return self._alike.calm[call.thread]
        thread = self.threads.get(call.thread)
        top = thread.stack[-1] if thread is not None and thread.stack else None
        if call.context is not None and not agrees(top, call.context):
            top = self.context_at(call.context)
        if top is None or (top.destroyed_by is None and not top.of_green):
            return top
        return self._newest(top)

    def green_context(self, call: Call) -> Context | None:
        """The context of a green context, if that is current on the call's thread; else None."""
        found = self.context_at(self.current_handle(call))
        return found if found is not None and found.of_green else None

    def current_handle(self, call: Call) -> int:
        """The handle of the context that is current on the call's thread; 0 if the thread has none."""
        if call.context is not None:
            return call.context
        top = self._top(call.thread)
        return 0 if top is None else top.handle

    def context_at(self, handle: int) -> Context | None:
        """The newest context of that handle, alive or dead; None if it is 0 or was never seen."""
        found = self.table.find(Kind.CONTEXT, handle) if handle else None
        return found if isinstance(found, Context) else None

    def context_of(self, call: Call, stream: Stream) -> Context | None:
        """The context in which work on that stream runs; None if it is unknown."""
        return self.current_context(call) if stream.builtin else stream.context

    def threads_of(self, context: Context) -> tuple[int, ...]:
        """The threads on which the context is current."""
        return tuple(number for number in self.threads if self._newest(self._top(number)) is context)

    def primary_context(self, device: int) -> Context | None:
        """The newest primary context of a device, alive or dead; None if none was seen."""
        return self.primaries.get(device)

    def device_of(self, call: Call) -> int | None:
        """The device of the current context; None if it is unknown."""
        context = self.current_context(call)
        return None if context is None else context.device

    def capability(self, call: Call) -> int:
        """Compute capability of the current context's device (90 for 9.0); 0 if it is unknown."""
        device = self.device_of(call)
        return 0 if device is None or device >= len(self.capabilities) else self.capabilities[device]

    def sticky_error(self, call: Call) -> tuple[Call, int] | None:
        """The error that lost the current context, else another context of the process: (call that first showed it, status), or None."""
        context = self.current_context(call) if self.lost_contexts else None
        if context is None:
            return None
        lost = context if context.error is not None else next((each for each in self.lost_contexts if each.alive), None)
        return None if lost is None or lost.error is None else (lost.error, lost.error_status)

    def last_failure(self, thread: int) -> tuple[Call, int] | None:
        """The newest call that failed on this thread and its status, not counting CUDA_ERROR_NOT_READY; None if none did."""
        return self.threads[thread].failure if thread in self.threads else None

    # Streams, order, capture.

    def stream_of(self, call: Call, parameter_index: int) -> Stream | None:
        """The stream that an argument names, also for 0, 1 and 2 (the default streams); None if it is unknown."""
        return self._stream(call, parameter_index, call.args[parameter_index])

    def streams_of(self, context: Context) -> tuple[Stream, ...]:
        """The living streams of a context, its default streams among them."""
        made = (
            stream for stream in self.objects(Kind.STREAM) if isinstance(stream, Stream) and stream.context is context
        )
        return (*made, *context.default_streams.values())

    def stream_on(self, call: Call) -> Stream | None:
        """The stream that the call enqueues work on (role ON); None if it enqueues none, or the stream is unknown."""
        role = role_on(call.entry_point)
        if role is None:
            return None
        streams = self._alike.streams
        if call.like in streams:
            return streams[call.like]
        words = words_named(call, role)
        found = self._stream(call, call.entry_point.index[role.parameter], words[0]) if words else None
        return self._alike.keep(streams, call, found)

    def stream_worked_on(self, call: Call) -> Stream | None:
        """As ``stream_on``; of calls that name none, what they enqueue on."""
        return self.stream_on(call) if role_on(call.entry_point) is not None else self.default_stream(call)

    def default_stream(self, call: Call) -> Stream | None:
        """What stream 0 means for this call; None if the current context is unknown."""
        return self._stream(call, -1, 0)

    def streams(self) -> Iterator[Stream]:
        """All living streams, the built-in ones too."""
        for context in self.objects(Kind.CONTEXT):
            yield from context.default_streams.values() if isinstance(context, Context) else ()
        yield from (stream for stream in self.objects(Kind.STREAM) if isinstance(stream, Stream))

    def ordered_after(self, call: Call, stream: Stream, earlier: Call) -> bool:
        """Whether work enqueued now on ``stream`` is known to run after ``earlier``, or may be for all we know: False means that there is
        certainly no order."""
        if earlier.position is None or stream.capture is not None:
            return True
        return self._before(call).is_before(earlier.position, stream)

    def in_use(self, touch: Touch) -> tuple[Access, ...]:
        """What work in flight collides with ``touch`` by code of the host, as far as it is certain that the host has not been told that it
        is done: nothing while a stream may wait for the host, or the host for a kernel."""
        if self.touches is None or any(self.order.is_uncertain(stream) for stream in self.streams()):
            return ()
        found = tuple(self.touches.used(touch, self.order))
        return () if found and any(map(self._may_tell, self.touches.in_flight(self.order))) else found

    def _may_tell(self, access: Access) -> bool:
        """Whether it is a kernel's that may agree with the host while it runs: of code that is not known, if it reaches host memory."""
        launch = access.touch.launch
        if launch is None:
            return False
        use = None if self.kernels is None else self.kernels.use(launch[0])
        return use.tells if use is not None else is_shared(access.touch.memory)

    def races(self, call: Call, stream: Stream, touches: Sequence[Touch]) -> Iterator[tuple[Touch, Access]]:
        """What races with the work of ``call``, which ``stream`` is about to be given and which touches this memory; nothing unless races
        are looked for."""
        return iter(()) if self.touches is None else self.touches.races(touches, stream, self._before(call))

    def _before(self, call: Call) -> Before:
        """What comes before the work of ``call``."""
        launched = self.launched(call)
        return AfterLaunch(self.order, launched) if isinstance(launched, GraphExec) else self.order

    def finished(self, earlier: Call) -> bool:
        """Whether the host is known to have waited for that work."""
        return earlier.position is None or self.order.is_done(earlier.position)

    def pending(self, stream: Stream) -> Call | None:
        """The newest work of the stream that is not known to be finished; None if there is none."""
        work = stream.last_work
        return None if work is None or self.finished(work) else work

    def accesses(self, stream: Stream) -> Iterator[Access]:
        """What work of the stream accesses that the host is certain not to have waited for; nothing unless that is remembered."""
        in_flight = () if self.touches is None else self.touches.in_flight(self.order)
        return (access for access in in_flight if access.stream is stream)

    def captures(self) -> tuple[Capture, ...]:
        """The captures in progress, oldest first."""
        return tuple(self.live_captures)

    def capture_mode(self, thread: int) -> int:
        """The thread's interaction mode (cuThreadExchangeStreamCaptureMode): 0 global, 1 local, 2 relaxed."""
        return self.threads[thread].capture_mode if thread in self.threads else 0

    def captures_forbidding(self, call: Call) -> Iterator[Capture]:
        """The captures on account of which potentially unsafe calls (cuMemAlloc) are refused now. Unless ``complete``, the thread's mode
        may have been changed unseen: believe it only of a call that failed."""
        mode = self.capture_mode(call.thread)
        for capture in self.live_captures:
            own = capture.thread == call.thread
            if mode < 2 and ((own and capture.mode < 2) or (mode == 0 and not own and capture.mode == 0)):
                yield capture

    # Memory.

    def allocation_at(self, address: int) -> Allocation | None:
        """The allocation that holds the address: a live one, else the one freed last; None if there was none."""
        return self.allocations.at(address)

    def pointed_at(self, call: Call) -> tuple[Allocation, ...]:
        """The allocations, alive or dead, that the launch's arguments (``call.pointers``) point into. The start of one is left out where
        another argument points into its neighbour below: it may be that one's end."""
        if not call.pointers:
            return ()
        found = [(pointer, self.allocations.at(pointer)) for pointer in call.pointers]
        ends = {allocation.end for _, allocation in found if allocation is not None}
        inside = (
            held for pointer, held in found if held is not None and (pointer != held.handle or pointer not in ends)
        )
        return tuple(dict.fromkeys(inside))

    def reaches(self, context: Context, allocation: Allocation) -> bool:
        """Whether work in that context can use the device memory, as far as is known."""
        if allocation.variant == "mapped":
            return allocation.reached_from is None or context.device in (None, *allocation.reached_from)
        if context.device is None or allocation.device in (None, context.device):
            return True
        if allocation.variant != "stream-ordered":
            return any(peer.device == allocation.device for peer in context.peers)
        pool = allocation.pool or self.default_pools.get(allocation.device or 0)
        return pool is not None and (pool.reached_from is None or context.device in pool.reached_from)

    def host_memory_at(self, address: int) -> HostMemory | None:
        """The pinned or registered host memory that holds the address: alive, else what was freed last; None if there was none."""
        return self.host_memory.at(address)

    def living_allocation_at(self, address: int) -> Allocation | None:
        """The allocation that holds the address and was not seen to end."""
        return self.allocations.living_at(address)

    def living_host_memory_at(self, address: int) -> HostMemory | None:
        """Likewise the pinned or registered host memory."""
        return self.host_memory.living_at(address)

    def living_memory_at(self, address: int) -> Allocation | HostMemory | None:
        """The memory that holds the address and was not seen to end."""
        return self.allocations.living_at(address) or self.host_memory.living_at(address)

    def bounds_of_memory(self) -> tuple[int, int]:
        """All such memory lies between these addresses; (0, 0) if there is none."""
        device, host = self.allocations.bounds(), self.host_memory.bounds()
        if device is None or host is None:
            return device or host or (0, 0)
        return min(device[0], host[0]), max(device[1], host[1])

    def ranges_of_memory(self) -> list[tuple[int, int]]:
        """Where it lies, in order."""
        return sorted([*self.allocations.ranges(), *self.host_memory.ranges()])

    def overlapping_allocations(self, address: int, size: int) -> list[Allocation]:
        """The live allocations that share bytes with the range, by address."""
        return self.allocations.live_overlapping(address, size)

    def overlapping_host_memory(self, address: int, size: int) -> list[HostMemory]:
        """The live pinned or registered host memory that shares bytes with the range, by address."""
        return self.host_memory.live_overlapping(address, size)

    # How handles are looked up.

    def _top(self, thread: int) -> Context | None:
        """The context that was made current last on the thread."""
        return self.threads[thread].current if thread in self.threads else None

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
        if context.of_green and context.alive and context.device is not None and context.device in self.primaries:
            return self.primaries[context.device]
        if context.primary and context.destroyed_by is not None:
            return self.context_at(context.handle)
        return context

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
            end_with_context(made, context)
        return made


def agrees(context: Context | None, handle: int) -> bool:
    """Whether a thread's context is what the driver says. One that ended may have left its handle to another."""
    return not handle if context is None else context.handle == handle and context.alive


def end_with_context(stream: Stream, context: Context) -> None:
    stream.destroyed_by, stream.lost = context.destroyed_by, context.lost
    stream.killed_by = None if context.destroyed_by is None else context
