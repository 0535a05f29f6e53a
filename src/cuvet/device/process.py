"""What the device process knows: machine, client processes, their threads."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cuvet.device.arena import Arena
from cuvet.device.facts import TOTAL_MEMORY
from cuvet.device.foreknown import Scratch, Told, TouchedPages
from cuvet.device.handles import Handles
from cuvet.device.protocol import Hello
from cuvet.device.runtime.registration import Registry
from cuvet.device.work import Timeline
from cuvet.model import Allocation, Capture, Model

if TYPE_CHECKING:
    from cuvet.catalog import Kind
    from cuvet.device.driver.fault import Fault
    from cuvet.device.driver.function import Code, Kernel
    from cuvet.device.driver.graph_body import GraphBody, Node
    from cuvet.device.link import Link


HOST = -1
"""What pinned memory of the host is taken from, beside the devices from 0 on."""
MOST_LEFT = 1024
"""Threads without a connection that are remembered, of each process."""


@dataclass(slots=True, eq=False)
class Array:
    """What a CUDA array holds: rows of ``row_bytes`` bytes, in memory at ``address``."""

    address: int
    descriptor: bytes
    width_bytes: int
    height: int
    depth: int


@dataclass(slots=True)
class Mipmap:
    """``descriptor``: CUDA_ARRAY3D_DESCRIPTOR of its largest level; ``element``: bytes of an element. ``levels``: handles of arrays."""

    descriptor: bytes
    element: int
    levels: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class Advice:
    """What was said of ranges of managed memory: by subject, ranges (start, end, value) that do not overlap."""

    ranges: dict[str, list[tuple[int, int, object]]] = field(default_factory=dict)

    def put(self, subject: str, start: int, end: int, value: object) -> None:
        """``value`` None: nothing is said of the range any more."""
        kept = []
        for first, last, before in self.ranges.get(subject, []):
            kept += [(first, min(last, start), before)] if first < start else []
            kept += [(max(first, end), last, before)] if last > end else []
        self.ranges[subject] = kept if value is None else [*kept, (start, end, value)]

    def of(self, subject: str, start: int, end: int) -> object:
        """What was said of the whole range, if it was the same everywhere; else None."""
        touching = sorted(
            (each for each in self.ranges.get(subject, []) if each[0] < end and start < each[1]),
            key=lambda each: each[0],
        )
        values = {value for _, _, value in touching}
        covered = start
        for first, last, _ in touching:
            covered = last if first <= covered else covered
        return values.pop() if len(values) == 1 and covered >= end else None


@dataclass(slots=True)
class UserObject:
    """``destroy``: the program's function for it, with its argument ``data``."""

    destroy: int
    data: int
    references: int


@dataclass(slots=True)
class Pool:
    """What a memory pool gave out. ``high``: the most since the program reset the watermark of used (0) or of reserved memory (1)."""

    blocks: dict[int, int] = field(default_factory=dict)
    used: int = 0
    high: list[int] = field(default_factory=lambda: [0, 0])

    def take(self, address: int, size: int) -> None:
        self.blocks[address] = size
        self.used += size
        self.high = [max(self.used, before) for before in self.high]

    def give_back(self, address: int) -> None:
        self.used -= self.blocks.pop(address, 0)

    def reset(self, reserved: bool) -> None:
        self.high[reserved] = self.used


@dataclass(slots=True, eq=False)
class ClientProcess:
    """A program's process. The model says what lives; the tables here say what it looks like."""

    pid: int
    model: Model
    handles: Handles
    machine: Machine
    device_memory: Arena = field(default_factory=lambda: Arena(host=False))
    host_memory: Arena = field(default_factory=lambda: Arena(host=True))
    sizes: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Bytes asked for, and what they are taken from (a device, or HOST), by address of the allocation or handle of physical memory."""
    held: dict[int, int] = field(default_factory=dict)
    """Sum of them, by what they are taken from."""
    threads: dict[int, Thread] = field(default_factory=dict)
    left: dict[int, Thread] = field(default_factory=dict)
    """Threads whose connection was closed: they ended, or the program closed their descriptor and they come again."""
    careful: bool = False
    """Its wrappers may answer calls without asking."""
    timeline: Timeline = field(default_factory=Timeline)
    advice: Advice = field(default_factory=Advice)
    pools: dict[int, Pool] = field(default_factory=dict)
    graph_memory: dict[int, tuple[int, int]] = field(default_factory=dict)
    """What graphs have allocated and not freed: bytes and device, by address."""
    graph_addresses: set[int] = field(default_factory=set)
    """Those at which graphs allocate."""
    arrays: dict[int, Array] = field(default_factory=dict)
    mipmaps: dict[int, Mipmap] = field(default_factory=dict)
    code: dict[int, Code] = field(default_factory=dict)
    """Modules and libraries, by handle."""
    kernels: dict[int, Kernel] = field(default_factory=dict)
    """Functions and kernels, by handle."""
    user_objects: dict[int, UserObject] = field(default_factory=dict)
    graphs: dict[int, GraphBody] = field(default_factory=dict)
    """Graphs and executable graphs, by handle."""
    nodes: dict[int, Node] = field(default_factory=dict)
    captures: dict[Capture, int] = field(default_factory=dict)
    """Handles of the graphs that captures in progress are making."""
    capture_into: dict[int, int] = field(default_factory=dict)
    """The graph that a stream's next capture adds to, by the stream's queue."""
    texts: dict[bytes, int] = field(default_factory=dict)
    """Addresses of constant strings that were handed to the program."""
    attributes: dict[tuple[str, int, int], int] = field(default_factory=dict)
    """What the program set: (noun, handle, attribute) to value."""
    resources: dict[tuple[Kind, int], bytes] = field(default_factory=dict)
    """CUDA_RESOURCE_DESC of texture and surface objects."""
    said: set[str] = field(default_factory=set)
    """Messages that the user has read already."""
    unsupported: bool = False
    """NVIDIA's own runtime library found out that this driver is not genuine, and nothing else made a context yet."""
    registry: Registry = field(default_factory=Registry)
    counted_before_fork: bool = False
    """The runtime had counted the devices already when this process was forked."""
    faults: list[Fault] = field(default_factory=list)
    """Launches that fail, and that nobody has waited for yet."""
    uses: dict[Allocation, Fault] = field(default_factory=dict)
    """How a launch fails that waits for other work if this stream-ordered memory is freed before."""
    touched: TouchedPages = field(default_factory=TouchedPages)
    told: Told = field(default_factory=Told)
    calls_host: bool = False
    """Host functions were queued."""
    calls: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def hold(self, key: int, size: int, heap: int) -> None:
        """Memory of that many bytes is taken, at an address or by the handle of physical memory."""
        self.sizes[key] = size, heap
        self.held[heap] = self.held.get(heap, 0) + size

    def let_go(self, key: int) -> int:
        """Bytes of what was held there; 0 if nothing was."""
        size, heap = self.sizes.pop(key, (0, HOST))
        self.held[heap] = self.held.get(heap, 0) - size
        return size

    def occupied(self, start: int, size: int, except_for: set[int]) -> bool:
        """Whether there is memory in the range that was given out, other than at those addresses."""
        return any(arena.occupied(start, size, except_for) for arena in (self.device_memory, self.host_memory))


@dataclass(slots=True, eq=False)
class Thread:
    """A thread of a client process. ``error`` and ``device`` are the emulated runtime's: its last error, and the device that the
    thread chose. ``host_functions``: it is the device's own, and all that it calls is called by host functions. ``link``: to its shim;
    None: every command is for whoever takes the steps of a call."""

    process: ClientProcess
    number: int
    error: int = 0
    device: int = 0
    host_functions: bool = False
    scratch: Scratch = field(default_factory=Scratch)
    link: Link | None = None


class Machine:
    """``devices`` emulated GPUs of ``memory`` bytes each, and the processes that use them."""

    def __init__(self, devices: int, memory: int = TOTAL_MEMORY) -> None:
        self.devices = devices
        self.memory = memory
        self._processes: dict[tuple[int, int], ClientProcess] = {}
        self._numbers = itertools.count()

    def thread(self, hello: Hello) -> Thread:
        """The thread that introduces itself; its process is new if it is the first."""
        key = (hello.process, hello.image)
        process = self._processes.get(key)
        if process is None:
            parent = self._processes.get((hello.parent, hello.image))
            self._forget_ended()
            process = self._processes[key] = self._new_process(hello.process, parent)
        before = process.threads.get(hello.thread) or process.left.pop(hello.thread, None)
        thread = Thread(process, hello.thread, host_functions=hello.host_functions)
        if hello.again and before is not None:
            thread.error, thread.device = before.error, before.device
        process.threads[hello.thread] = thread
        return thread

    def _new_process(self, pid: int, parent: ClientProcess | None) -> ClientProcess:
        model = parent.model.forked() if parent else Model(self.devices, memory=self.memory, complete=True)
        counted = parent is not None and parent.registry.initialised
        return ClientProcess(pid, model, Handles(next(self._numbers)), self, counted_before_fork=counted)

    def left(self, heap: int, asking: ClientProcess) -> int:
        """Bytes of a device's memory that no process holds, for one that exists. Pinned memory of the host, HOST, has as many again."""
        left = self.memory
        for process in self._processes.values():
            held = process.held.get(heap)
            if held and (process is asking or _exists(process)):
                left -= held
        return left

    def _forget_ended(self) -> None:
        """A process whose threads all closed their connections may call again from another thread, as long as it exists."""
        for key, process in list(self._processes.items()):
            if not process.threads and not _exists(process):
                del self._processes[key]

    def ended(self, thread: Thread) -> None:
        """A thread's connection is closed."""
        threads = thread.process.threads
        if threads.get(thread.number) is thread:
            left = thread.process.left
            left[thread.number] = threads.pop(thread.number)
            if len(left) > MOST_LEFT:
                del left[next(iter(left))]


def _exists(process: ClientProcess) -> bool:
    return os.path.exists(f"/proc/{process.pid}")
