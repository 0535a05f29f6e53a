"""One call of a CUDA entry point, and how it ended. The model takes calls from recordings, the emulated device and source code."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from cuvet.catalog import EntryPoint, Kind
from cuvet.findings import Site

if TYPE_CHECKING:
    from cuvet.kernels import Dimensions, Program
    from cuvet.model.objects import Context, GraphExec

CRASH, ABORT = -11, -6
"""In place of a status: the process died of SIGSEGV in the driver, of SIGABRT in a library."""


class SeenHandle(NamedTuple):
    """What the shim's liveness table said about a handle when the call entered."""

    kind: Kind
    handle: int
    generation: int
    """0 if the shim never saw the handle created."""
    alive: bool
    kept: bool = False
    """It has ended, and the quarantine keeps it (``cuvet run --quarantine``): the driver has the object still, or nothing else is at the
    address. So what the call returned does not contradict that the object has ended."""
    recorded: bool = False
    """An event that some call has recorded, which need not be known otherwise."""


@dataclass(frozen=True, slots=True)
class Word:
    """``size`` bytes of a kernel's arguments: those of parameter ``parameter`` from ``offset`` on; ``whole`` if that is all there is of it.
    ``value`` is None if they could not be read. ``on_host``: the host can read memory at this address."""

    parameter: int
    offset: int
    whole: bool
    value: int | None
    on_host: bool
    size: int = 8


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel launch that succeeded, as the flight recorder remembers it. ``kernel`` is the name as C++ writes it, "" if it is not known,
    and ``pointers`` are its parameters that are pointers, as far as the name tells; ``stream`` the handle, None if it is not known;
    ``where`` tells the place (`` at file:line``, or nothing). It was made after ``after_ns``. ``code``: the PTX of its kernel, ``symbol``
    its name there, ``grid`` and ``block`` its shape, if they are known; ``context`` that of its function."""

    kernel: str
    stream: int | None
    thread: int
    number: int
    after_ns: int
    where: str
    words: tuple[Word, ...] = ()
    pointers: frozenset[int] = frozenset()
    grid: Dimensions | None = None
    block: Dimensions | None = None
    symbol: str = ""
    code: Program | None = None
    context: Context | None = None
    graph: GraphExec | None = None
    """What launched it: then stream, thread, number and time are those of the graph's launch, and the rest is what was captured, or
    ``added`` by hand."""
    added: bool = False


@dataclass(frozen=True, slots=True)
class Arguments:
    """Of a kernel launch: the bytes of all parameters in one buffer, and offset and size of each in it."""

    data: bytes
    layout: tuple[tuple[int, int], ...]

    def each(self) -> tuple[bytes, ...]:
        """The bytes of each parameter."""
        return tuple(self.data[at : at + size] for at, size in self.layout)


class Call(msgspec.Struct, eq=False):
    """``args`` holds one word per parameter of the driver entry point (pointers as addresses;
    0 for structs passed by value, whose bytes are in ``inputs``).

    ``inputs`` maps a parameter's index to the bytes it pointed to at entry (structs, strings, arrays), and the one behind the last
    to the attributes of a launch: all, or those that record an event;
    ``seen`` maps it to the shim's view of the handle; ``pointers`` are the kernel arguments that may be addresses.
    ``context`` is the context current on the thread at entry as the driver told it; None if nobody asked (then
    the model's own view holds). ``per_thread`` says that the call went through a ``_ptsz`` or ``_ptds`` symbol, for which
    stream 0 is the per-thread default stream.

    Of a host registration ``maps`` are the lines of /proc/self/maps that touch its range, and their neighbours; of an unregistration
    likewise, if the range is not all mapped any more, or, if it fails, another registration's is not. Of a load ``image``
    are the first bytes (at most 4096) of what was given, of which ``image_readable`` bytes can be read (-1: a file that cannot be
    opened); ``image_terminated`` says whether they are text that a NUL ends. The shim records a registration's and a load's only when the
    call fails, and text without a NUL before it is loaded; the emulated device looks before it answers.
    """

    entry_point: EntryPoint
    args: tuple[int, ...]
    process: int = 0
    thread: int = 0
    number: int = 0
    time_ns: int = 0
    context: int | None = None
    inputs: dict[int, bytes] = {}
    seen: dict[int, SeenHandle] = {}
    pointers: tuple[int, ...] = ()
    arguments: Arguments | None = None
    """Of a launch, if accesses are looked at (``Model.touches``) and the driver told the layout."""
    by_library: bool = False
    """Of such a launch: a library made it, as far as is known, and not the program's own code."""
    inner: bool = False
    """A library makes it inside a call of its own, which says what is touched."""
    site: Site | None = None
    per_thread: bool = False
    in_host_function: bool = False
    """A host function makes it, which the driver called. Of a recorded call known only if it was not permitted."""
    stack: int = 0
    """Of a recorded call: the id of its stack in the recording; 0 if it has none."""
    maps: tuple[str, ...] = ()
    image: bytes = b""
    image_readable: int = 0
    image_terminated: bool = False
    shared_with: int = 0
    """Of a call of a library: the thread that was inside another call with the same handle when this one entered; 0 if there was none."""
    shared_call: EntryPoint | None = None
    """What that thread was inside; None if that is not known."""
    launches: tuple[Launch, ...] = ()
    """Of a call that told that a context was lost: what its process had launched before, without what the launching thread has
    synchronised with since; oldest first for each thread."""
    awaited: bool = False
    """Of such a call: it is a launch that the driver accepted, and told when the shim had waited for its work. What its stream had before
    was done."""
    more_launches: bool = False
    """There may be others before these: of threads that ended, of graphs, or too long ago."""
    like: Hashable | None = None
    """Equal for calls of a process that differ in nothing but time, number, ``pointers`` and ``arguments``; None: not known."""
    position: tuple[int, int] | None = None
    """Set by ``Model.observe``: number of the stream this call's work went to, and which work it is there, from 1."""

    @property
    def name(self) -> str:
        """Canonical driver spelling, e.g. ``cuStreamDestroy``."""
        return self.entry_point.name

    @property
    def asked(self) -> str:
        """The name of the function that was called: of the runtime, if it made the call."""
        return self.site.api if self.site is not None else self.name

    def where(self) -> str:
        """Where it was made, `` at file:line``, if it is a recorded call and that is known; else nothing."""
        return ""

    def index(self, parameter: str) -> int:
        """The index of the parameter of that name. KeyError if there is none."""
        return self.entry_point.index[parameter]

    def arg(self, parameter: str) -> int:
        """The word passed for the parameter of that name. KeyError if there is none."""
        return self.args[self.entry_point.index[parameter]]


class Outcome(msgspec.Struct):
    """How a call ended. ``status`` None: it did not return (the process died in it, or is still in it).

    ``outputs`` maps a parameter's index to the word the driver wrote through it (only if status is 0);
    ``generations`` maps it to the generation that the shim gave to a new object (absent: one more than the handle's last).
    ``handed_out`` maps it to the handles in the array that the driver wrote, each with its generation (0: not told); those that name
    known objects may be left out.
    """

    status: int | None
    outputs: dict[int, int] = {}
    signal: int | None = None
    generations: dict[int, int] = {}
    handed_out: dict[int, tuple[tuple[int, int], ...]] = {}
