"""The objects of CUDA as the model sees them. An object is (kind, handle, generation): handle values are re-issued."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from cuvet.catalog.roles import Kind

if TYPE_CHECKING:
    from cuvet.model.call import Call
    from cuvet.model.order import Clock, ContextOrder, Timeline
    from cuvet.model.touches import Touch, Touches


DISABLE_TIMING, INTERPROCESS = 2, 4
"""CU_EVENT_…"""


@dataclass(slots=True, eq=False, kw_only=True)
class Object:
    """``number`` counts objects of this kind from 1 and names it in reports. ``parent`` is the object whose end ends this one
    (context of a stream, module of a function); ``killed_by`` is set to it when that happened. ``destroyed_by`` is the call that
    ended the object, whether directly or through its parent. ``created_by`` is None for objects that were there before the
    first call that was seen. ``lost`` says that the handle was issued again although no end of this object was seen."""

    kind: Kind
    handle: int
    generation: int
    number: int
    context: Context | None = None
    device: int | None = None
    created_by: Call | None = None
    destroyed_by: Call | None = None
    parent: Object | None = None
    killed_by: Object | None = None
    children: dict[Object, None] = field(default_factory=dict)
    """Living objects whose ``parent`` this is, oldest first."""
    lost: bool = False
    references: int = 1
    """How often it must be released to end: memory handles and user objects are counted by CUDA."""

    @property
    def alive(self) -> bool:
        return self.destroyed_by is None and not self.lost

    @property
    def name(self) -> str:
        return f"{self.kind.noun.replace(' ', '-')}#{self.number}"


@dataclass(slots=True, eq=False, kw_only=True)
class Context(Object):
    """``retained`` counts the retains of a primary context. A primary context that was reset is dead; the next retain
    makes the next generation, of the same handle."""

    primary: bool = False
    retained: int = 0
    flags: int = 0
    launched: bool = False
    """A kernel was launched since the host last waited for the context: it may have failed."""
    error: Call | None = None
    """The call at which a sticky error first showed; every later call in this context fails."""
    error_status: int = 0
    of_green: bool = False
    """Made of a green context: it shares all objects with the primary context of the device."""
    peers: dict[Context, Call] = field(default_factory=dict)
    """Contexts to whose memory access is enabled from this one, and the call that did."""
    default_streams: dict[int | None, Stream] = field(default_factory=dict)
    """Those that were named: the legacy one under None, the per-thread ones by thread."""
    order: ContextOrder | None = None
    """Of the work of its streams (``cuvet.model.order``)."""


@dataclass(slots=True, eq=False, kw_only=True)
class Stream(Object):
    """Handles 0 (NULL), 1 (CU_STREAM_LEGACY) and 2 (CU_STREAM_PER_THREAD) are built in: ``builtin`` True, one legacy stream per
    context, one per-thread stream per context and thread. They have negative numbers."""

    flags: int = 0
    builtin: bool = False
    last_work: Call | None = None
    """Newest work enqueued and seen; ``Model.pending`` says whether it is known to be finished."""
    capture: Capture | None = None
    begun: Capture | None = None
    """The capture that was begun on it last, whether or not it goes on."""
    timeline: Timeline | None = None
    """Of its work (``cuvet.model.order``)."""
    recorded: tuple[Call, Event] | None = None
    """The newest record of an event on it, outside of captures."""
    waited: dict[Stream, tuple[Call, Call, Event]] = field(default_factory=dict)
    """By stream on which an event was recorded: the newest wait for such an event, the event's record, and the event."""

    @property
    def legacy(self) -> bool:
        """The legacy default stream of its context."""
        return self.builtin and self.handle == 1

    @property
    def blocking(self) -> bool:
        """Whether it synchronises with the legacy default stream: not created with CU_STREAM_NON_BLOCKING (1)."""
        return not self.flags & 1 and not (self.builtin and self.handle == 1)

    @property
    def name(self) -> str:
        if self.builtin:
            return "default-stream" if self.legacy else "per-thread-default-stream"
        return f"stream#{self.number}"


@dataclass(slots=True, eq=False, kw_only=True)
class Capture:
    """One stream capture, from begin to end. ``streams`` are all that joined; ``invalidated_by`` the call that broke it.
    ``mode``: 0 global, 1 thread-local, 2 relaxed. ``graph``: what it adds nodes to, if that is known before it ends."""

    origin: Stream
    mode: int
    thread: int
    begun_by: Call
    streams: list[Stream] = field(default_factory=list)
    invalidated_by: Call | None = None
    ended_by: Call | None = None
    graph: Graph | None = None
    nodes: list[Object] = field(default_factory=list)
    """Nodes that were handed out while ``graph`` was not known."""
    works: dict[Stream, int] = field(default_factory=dict)
    """How much work was captured on each stream."""
    reached: dict[Stream, dict[Stream, int]] = field(default_factory=dict)
    """By stream: how much of each stream's work comes before the stream's next work."""
    events: list[Event] = field(default_factory=list)
    """Events that became nodes of the graph (CU_EVENT_RECORD_EXTERNAL, CU_EVENT_WAIT_EXTERNAL)."""
    allocates: bool = False
    """Memory was allocated or freed in it: see ``Graph.allocates``."""
    unfreed: set[Allocation] = field(default_factory=set)
    """Memory that was allocated in it and not freed in it."""
    touches: Touches | None = None
    """What its nodes touch, if races are looked for."""
    waits: bool = False
    """Its nodes may wait for what no call shows."""
    rearranged: bool = False
    """The program set what its nodes depend on."""

    def is_before(self, position: tuple[int, int], stream: Stream) -> bool:
        """Whether the captured work at ``position`` comes, or may come, before what ``stream`` captures now."""
        number, work = position
        reached = self.reached.get(stream, {})
        known = any(other.number == number and count >= work for other, count in reached.items())
        return known or number == stream.number or self.waits or self.rearranged

    @property
    def unjoined(self) -> tuple[Stream, ...]:
        """Streams with captured work that the origin has not been made to wait for."""
        reached = self.reached.get(self.origin, {})
        return tuple(
            stream for stream, work in self.works.items() if stream is not self.origin and work > reached.get(stream, 0)
        )


@dataclass(slots=True, eq=False, kw_only=True)
class Event(Object):
    """``recorded_by`` and ``recorded_on`` are of the newest record outside of captures; ``captured`` is the capture in which the
    event was recorded last, None once it is recorded outside again."""

    flags: int = 0
    recorded_by: Call | None = None
    recorded_on: Stream | None = None
    captured: Capture | None = None
    clock: Clock | None = None
    """Work that is done when the event is; None: never recorded, or not known."""
    reached: dict[Stream, int] = field(default_factory=dict)
    """Of an event that was recorded in a capture: how much of each stream's captured work it stands for."""
    external: bool = False
    """It may also be recorded where no call shows it: in a graph, in another process."""

    @property
    def timing(self) -> bool:
        """False if created with CU_EVENT_DISABLE_TIMING."""
        return not self.flags & DISABLE_TIMING

    @property
    def interprocess(self) -> bool:
        """Whether it was created with CU_EVENT_INTERPROCESS."""
        return bool(self.flags & INTERPROCESS)


@dataclass(slots=True, eq=False, kw_only=True)
class Allocation(Object):
    """Device-accessible memory [handle, handle + size). ``variant``: linear, pitched, managed, stream-ordered, mapped
    (cuMemMap), ipc, global (a variable of a module), graph (allocated in a capture: it counts as alive even when it was freed, because
    each launch of the graph allocates it anew)."""

    size: int = 0
    variant: str = "linear"
    stream: Stream | None = None
    """Stream-ordered only: the stream it was allocated on."""
    pool: MemoryPool | None = None
    """Stream-ordered only: the pool it is of, on the pool's device; None if that is not known."""
    capture: Capture | None = None
    """Graph only: the capture it was allocated in."""
    reached_from: frozenset[int] | None = frozenset()
    """Mapped only: the devices that were given access (cuMemSetAccess); None if that is not known."""
    freed_on: Stream | None = None
    """Stream of the cuMemFreeAsync that freed it; None if it was freed otherwise."""
    uses: dict[Stream, Call] = field(default_factory=dict)
    """Stream-ordered only: newest use on each stream, as long as the host has not waited for it."""

    @property
    def end(self) -> int:
        return self.handle + self.size


@dataclass(slots=True, eq=False, kw_only=True)
class HostMemory(Object):
    """Pinned host memory [handle, handle + size): allocated by the driver, or the user's own and ``registered``."""

    size: int = 0
    registered: bool = False
    flags: int = 0

    @property
    def end(self) -> int:
        return self.handle + self.size


@dataclass(slots=True, eq=False, kw_only=True)
class Array(Object):
    """A CUarray: memory that has no address."""

    @property
    def end(self) -> int:
        return self.handle


@dataclass(slots=True, eq=False, kw_only=True)
class MipmappedArray(Object):
    """``levels``: how many it has; 0 if that is not known."""

    levels: int = 0


@dataclass(slots=True, eq=False, kw_only=True)
class MemoryPool(Object):
    """``default``: the device's own, which nobody destroys. ``reached_from``: the devices that were given access to its memory, besides its
    own; None if that is not known."""

    default: bool = False
    reached_from: frozenset[int] | None = frozenset()


@dataclass(slots=True, eq=False, kw_only=True)
class Function(Object):
    """A CUfunction or CUkernel. ``parent`` is its module or library; ``symbol`` its mangled name."""

    symbol: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class Graph(Object):
    """``child`` True: owned by a node, must not be destroyed by the user. ``allocates`` True: it has nodes that allocate or free
    memory; ``conditional``: it has conditional nodes."""

    child: bool = False
    allocates: bool = False
    conditional: bool = False
    original: Graph | None = None
    """What it is a clone of, as long as it lives."""
    unnamed_events: list[Event] = field(default_factory=list)
    """Events of nodes that no call added: captured, or cloned."""
    captured: bool = False
    """A capture added nodes to it, of which no call need have handed out the handles."""
    captured_unfreed: bool = False
    """These allocate memory that they do not free."""
    frees: dict[int, Call] = field(default_factory=dict)
    """Addresses that its nodes free, each with the call that added the node."""
    owned: dict[Object, int] = field(default_factory=dict)
    """References to user objects that it was given (cuGraphRetainUserObject)."""
    released_too_often: bool = False
    """It released references to a user object that it was never given."""
    conditions: dict[int, Call] = field(default_factory=dict)
    """Conditional handles that were made for it, each with the call that did."""
    captured_touches: tuple[Touch, ...] = ()
    """What its nodes touch that no call added, as far as that is known."""
    waits: bool = False
    """Its nodes may wait for what no call shows, so that their order is not known."""
    edges_unknown: bool = False
    """Some of its edges lead from or to nodes that are not known."""

    @property
    def touches(self) -> dict[Object | None, tuple[Touch, ...]]:
        """What its nodes touch, by node as far as calls added them."""
        nodes = (node for node in self.children if isinstance(node, GraphNode))
        return {None: self.captured_touches, **{node: node.touches for node in nodes if node.touches is not None}}

    @property
    def all_touches(self) -> tuple[Touch, ...]:
        """Those of all its nodes."""
        return tuple(chain.from_iterable(self.touches.values()))

    @property
    def unique(self) -> bool:
        """Whether there can be one executable graph of it at a time, and no copy."""
        return self.allocates or self.conditional

    @property
    def events(self) -> tuple[Event, ...]:
        """Events of its nodes, as far as they are known."""
        of_nodes = (event for node in self.children if isinstance(node, GraphNode) for event in node.events)
        return (*self.unnamed_events, *of_nodes)


@dataclass(slots=True, eq=False, kw_only=True)
class GraphNode(Object):
    """``original``: what it is a clone of, if that is known. ``waits_for``: the nodes that it depends on, of those that calls added.
    ``events``: of an event node, or of the nodes of a child graph."""

    original: Object | None = None
    waits_for: set[Object] = field(default_factory=set)
    events: tuple[Event, ...] = ()
    touches: tuple[Touch, ...] | None = None
    """What it touches, as far as that is known; None if no call added it."""


@dataclass(slots=True, eq=False, kw_only=True)
class Linker(Object):
    """``added_by``: the call that added to it last; ``completed_by``: the one that linked what was added."""

    added_by: Call | None = None
    completed_by: Call | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class GraphExec(Object):
    """``stream`` is where ``last_launch`` launched it; ``events`` those of its event nodes, as far as they are known."""

    graph: Graph | None = None
    events: tuple[Event, ...] = ()
    nodes: frozenset[Object] = frozenset()
    """Nodes of the graph when it was instantiated, as far as they are known: they name those of the executable graph."""
    types: tuple[int, ...] | None = None
    """CUgraphNodeType of all its nodes, in ascending order; None if they are not known."""
    last_launch: Call | None = None
    stream: Stream | None = None
    unique: bool = False
    """The graph had memory or conditional nodes when it was instantiated."""
    leaves_memory: bool = False
    """A launch certainly leaves memory allocated."""
    holds: Call | None = None
    """The launch of which memory is still allocated, as far as that is certain."""
    touches_of: dict[Object | None, tuple[Touch, ...]] = field(default_factory=dict)
    """As ``Graph.touches``."""
    waits: bool = False
    """As ``Graph.waits``."""
    clock: Clock | None = None
    """Work that is done when ``last_launch`` is; None: not known."""

    @property
    def touches(self) -> tuple[Touch, ...]:
        """What its nodes touch, as far as that is known."""
        return tuple(chain.from_iterable(self.touches_of.values()))


@dataclass(slots=True, eq=False, kw_only=True)
class LibraryObject(Object):
    """A handle, plan, descriptor or program of a CUDA library. ``context`` is the one that was current when it was made; it does not
    end the object. ``stream`` is what it enqueues on since ``stream_set_by``, ``works_on`` likewise, with the default streams;
    ``workspace`` the memory that it uses since ``workspace_set_by``: None if that is not known, or the library's own."""

    stream: Stream | None = None
    works_on: Stream | None = None
    stream_set_by: Call | None = None
    workspace: Allocation | None = None
    workspace_set_by: Call | None = None
    holds: dict[str, Call] = field(default_factory=dict)
    """Of a descriptor: which call gave it memory, and through which parameter."""


CLASSES: dict[Kind, type[Object]] = {
    Kind.ARRAY: Array,
    Kind.STREAM: Stream,
    Kind.EVENT: Event,
    Kind.MEMORY_POOL: MemoryPool,
    Kind.FUNCTION: Function,
    Kind.KERNEL: Function,
    Kind.GRAPH: Graph,
    Kind.GRAPH_EXEC: GraphExec,
    Kind.GRAPH_NODE: GraphNode,
    Kind.LINKER: Linker,
}
"""Of the kinds whose objects are made by their role alone, those that are more than an ``Object``."""
