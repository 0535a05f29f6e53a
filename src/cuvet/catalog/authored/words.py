"""The words in which roles are written, so that a table of roles reads like prose.

``"cuStreamWaitEvent": (on("hStream"), waits("hEvent"))``: a call on a stream, which later work then waits for an event.
Except for the words that make something new, each also says that its object must be alive.
"""

from functools import partial

from cuvet.catalog.roles import Kind, Role, Verb

Roles = dict[str, tuple[Role, ...]]
Reasons = dict[str, str]
ByReason = dict[str, str]
"""Names of entry points, separated by blanks, by the reason why they have no role."""


def by_name(table: ByReason) -> Reasons:
    """The reason of each entry point."""
    return {name: reason for reason, names in table.items() for name in names.split()}


def alike(names: str, *roles: Role) -> Roles:
    """Entry points with the same roles; their names are separated by blanks."""
    return dict.fromkeys(names.split(), roles)


CONTEXT = Kind.CONTEXT
STREAM = Kind.STREAM
EVENT = Kind.EVENT
MEMORY = Kind.MEMORY
HOST_MEMORY = Kind.HOST_MEMORY
MEMORY_POOL = Kind.MEMORY_POOL
ARRAY = Kind.ARRAY
MIPMAPPED_ARRAY = Kind.MIPMAPPED_ARRAY
TEXTURE_OBJECT = Kind.TEXTURE_OBJECT
SURFACE_OBJECT = Kind.SURFACE_OBJECT
MODULE = Kind.MODULE
CULIBRARY = Kind.CULIBRARY
FUNCTION = Kind.FUNCTION
KERNEL = Kind.KERNEL
GRAPH = Kind.GRAPH
GRAPH_EXEC = Kind.GRAPH_EXEC
GRAPH_NODE = Kind.GRAPH_NODE
EXTERNAL_MEMORY = Kind.EXTERNAL_MEMORY
EXTERNAL_SEMAPHORE = Kind.EXTERNAL_SEMAPHORE
GRAPHICS_RESOURCE = Kind.GRAPHICS_RESOURCE
LINKER = Kind.LINKER
USER_OBJECT = Kind.USER_OBJECT
GREEN_CONTEXT = Kind.GREEN_CONTEXT
MEMORY_HANDLE = Kind.MEMORY_HANDLE
ADDRESS_RANGE = Kind.ADDRESS_RANGE
TEXTURE_REFERENCE = Kind.TEXTURE_REFERENCE
SURFACE_REFERENCE = Kind.SURFACE_REFERENCE
DEVICE = Kind.DEVICE


# Objects


def creates(kind: Kind, parameter: str, *, parent: str = "", count: str = "", variant: str = "") -> Role:
    """A new object. It belongs to the current context, or to ``parent``."""
    return Role(Verb.CREATES, parameter, kind, parent=parent, count=count, variant=variant)


def returns(
    kind: Kind,
    parameter: str,
    *,
    parent: str = "",
    count: str = "",
    size: str = "",
    variant: str = "",
    when: str = "",
    values: tuple[int, ...] = (),
) -> Role:
    """An object that may be known already; a new one belongs to ``parent``."""
    return Role(
        Verb.RETURNS, parameter, kind, size=size, count=count, parent=parent, variant=variant, when=when, values=values
    )


def destroys(kind: Kind, parameter: str, *, field: str = "", null: bool = False) -> Role:
    """With ``null``, a null handle is let pass without complaint."""
    return Role(Verb.DESTROYS, parameter, kind, field, null=null)


def uses(
    kind: Kind,
    parameter: str,
    *,
    field: str = "",
    size: str = "",
    count: str = "",
    null: bool = False,
    variant: str = "",
    when: str = "",
    values: tuple[int, ...] = (),
) -> Role:
    """An object in a struct that may hold another instead may be null."""
    null = null or bool(when)
    return Role(Verb.USES, parameter, kind, field, size, count, null=null, variant=variant, when=when, values=values)


def in_current_context() -> Role:
    """The call acts on the context that is current on the calling thread, and there has to be one."""
    return Role(Verb.USES, "", Kind.CONTEXT)


# Memory


allocates = partial(Role, Verb.ALLOCATES, kind=MEMORY, variant="linear")
frees = partial(Role, Verb.FREES, kind=MEMORY, null=True)
"""Null is freed without complaint."""
registers = partial(Role, Verb.REGISTERS, kind=HOST_MEMORY)
unregisters = partial(Role, Verb.UNREGISTERS, kind=HOST_MEMORY)
reads = partial(Role, Verb.READS, kind=MEMORY)
"""Memory at an address is the source. Variant ``unified``: the address may be of device or host memory."""
writes = partial(Role, Verb.WRITES, kind=MEMORY)
"""Memory at an address is the destination. Variants as for ``reads``."""


# Work and order

on = partial(Role, Verb.ON, kind=STREAM, null=True)
records = partial(Role, Verb.RECORDS, kind=EVENT)
waits = partial(Role, Verb.WAITS, kind=EVENT)
begins_capture = partial(Role, Verb.BEGINS_CAPTURE, kind=STREAM, null=True)
ends_capture = partial(Role, Verb.ENDS_CAPTURE, kind=STREAM, null=True)
calls_back = partial(Role, Verb.CALLS_BACK)


def launches(parameter: str, kind: Kind = FUNCTION) -> Role:
    """Kinds of functions and kernels are one here: a launch takes either."""
    return Role(Verb.LAUNCHES, parameter, kind)


def blocks(kind: Kind, parameter: str = "", *, null: bool = False) -> Role:
    return Role(Verb.BLOCKS, parameter, kind, null=null)


def queries(kind: Kind, parameter: str, *, null: bool = False) -> Role:
    return Role(Verb.QUERIES, parameter, kind, null=null)


# Objects of libraries


def sets_stream(parameter: str, *, of: str) -> Role:
    """The object ``of`` enqueues on this stream from now on."""
    return Role(Verb.SETS_STREAM, parameter, STREAM, parent=of, null=True)


def sets_workspace(parameter: str, *, of: str, size: str = "") -> Role:
    """The object ``of`` uses this memory from now on; null gives it back its own."""
    return Role(Verb.SETS_WORKSPACE, parameter, MEMORY, size=size, parent=of, null=True)


# Images, contexts and devices


loads = partial(Role, Verb.LOADS, variant="image")
"""Bytes of an image (variant ``image``), or the name of a file that holds one (variant ``file``)."""
pushes = partial(Role, Verb.PUSHES, kind=CONTEXT)
pops = partial(Role, Verb.POPS, kind=CONTEXT)
retains = partial(Role, Verb.RETAINS, kind=DEVICE)
releases = partial(Role, Verb.RELEASES, kind=DEVICE)
initialises = partial(Role, Verb.INITIALISES, "")


def sets_current(parameter: str, kind: Kind = CONTEXT) -> Role:
    return Role(Verb.SETS_CURRENT, parameter, kind, null=True)


def resets(parameter: str = "") -> Role:
    """Without a parameter: the device that is current on the calling thread."""
    return Role(Verb.RESETS, parameter, DEVICE)
