"""Defines the words with which the catalog says what a parameter means.

A role ties one parameter of an entry point to something that CUDA does with it. Everything else is
derived from roles: the C++ wrappers, the recording's decoder, the generic rules, the model's transitions.
"""

from dataclasses import dataclass
from enum import Enum

from cuvet.catalog.kinds import Kind as Kind


class Verb(Enum):
    """What the call does with the parameter. The model follows the roles of a call in this order."""

    INITIALISES = "initialises"
    WAITS = "waits"
    """The event that later work of the stream waits for."""
    ON = "on"
    """The stream on which work is enqueued."""
    READS = "reads"
    """Memory at this address is read (source of a copy)."""
    WRITES = "writes"
    """Memory at this address is written (destination of a copy or set)."""
    USES = "uses"
    """The object must be alive. With kind CONTEXT and no parameter: a context must be current on the calling thread. Memory is
    named by any address inside it."""
    LAUNCHES = "launches"
    """Function, kernel or executable graph that is enqueued."""
    CALLS_BACK = "calls back"
    """Host function that the driver will call."""
    RECORDS = "records"
    """The event that captures the work of the stream."""
    BLOCKS = "blocks"
    """The host waits until this stream, event, context (or, with no parameter, the current context) is done."""
    QUERIES = "queries"
    """Asks, without waiting, whether this stream or event is done."""
    BEGINS_CAPTURE = "begins capture"
    ENDS_CAPTURE = "ends capture"
    UNREGISTERS = "unregisters"
    FREES = "frees"
    DESTROYS = "destroys"
    RELEASES = "releases"
    RESETS = "resets"
    """Primary context of this device is destroyed with all that belongs to it."""
    RETAINS = "retains"
    """Primary context of this device is retained."""
    LOADS = "loads"
    """Image (bytes or file name) that is loaded into a new module or library."""
    CREATES = "creates"
    """Writes a new object's handle through this pointer parameter."""
    RETURNS = "returns"
    """Hands out, through this pointer parameter, an object that may exist already
    (cuDevicePrimaryCtxRetain, cuDeviceGetDefaultMemPool, cuModuleGetFunction)."""
    ALLOCATES = "allocates"
    """Writes a new allocation's address through this pointer parameter."""
    REGISTERS = "registers"
    POPS = "pops"
    PUSHES = "pushes"
    SETS_CURRENT = "sets current"
    """Makes this context current; in the runtime API, the primary context of this device."""
    SETS_STREAM = "sets stream"
    """The library object that ``parent`` names enqueues on this stream from now on."""
    BEGINS_GROUP = "begins group"
    """Calls of the thread that follow are done together, when the group ends (NCCL)."""
    ENDS_GROUP = "ends group"
    SETS_WORKSPACE = "sets workspace"
    """The library object that ``parent`` names uses this memory, of ``size`` bytes, from now on."""

    __hash__ = object.__hash__


MAKES = frozenset({Verb.CREATES, Verb.ALLOCATES})
"""Verbs of calls that make something new and write its handle or address."""

ENDS = frozenset({Verb.DESTROYS, Verb.FREES, Verb.UNREGISTERS})
"""Verbs of calls that end what they name."""

INTRODUCES = MAKES | {Verb.RETURNS, Verb.REGISTERS, Verb.LOADS, Verb.POPS}
"""Verbs whose parameter does not name an object that has to exist already."""


@dataclass(frozen=True, slots=True)
class Role:
    """One role of one parameter.

    ``parameter`` names the parameter ("" for roles of the call as a whole); ``field`` a dotted member when the handle sits in a struct that
    the parameter points to, "*" when the parameter points to the handle itself; ``size``, ``count`` and ``parent`` name other parameters:
    size of the memory, elements of an array parameter, the object that the new one belongs to. Where an array is handed out, ``count`` may
    point to how many elements were written, and the parameter to a pointer to them. ``size`` counts elements of ``element`` bytes. Where an
    extent takes more to say (pitched copies and sets), it is "". ``null`` says that zero is an ordinary value (the default stream, free of
    a null pointer). ``variant`` distinguishes e.g. ``pitched``, ``managed``, ``stream-ordered`` allocations. Members are looked up in the
    struct of the symbol that was called: older symbols have older structs. With ``when``, the role holds only if that member of the struct
    is one of ``values``; else the member that ``field`` names may hold anything. Of what is handed out, ``when`` is the parameter through
    which such a value was written.
    """

    verb: Verb
    parameter: str
    kind: Kind = Kind.NONE
    field: str = ""
    size: str = ""
    count: str = ""
    parent: str = ""
    null: bool = False
    variant: str = ""
    element: int = 1
    when: str = ""
    values: tuple[int, ...] = ()
