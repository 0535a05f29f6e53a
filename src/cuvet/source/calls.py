"""What a call in source code means: the driver call that the model is told, and what its arguments are."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

from cuvet.catalog import Catalog, EntryPoint, Kind, Role, Verb, driver, libraries, runtime
from cuvet.catalog.kinds import FUNCTIONS, LIBRARY_OBJECTS, OWNED
from cuvet.catalog.roles import ENDS, MAKES
from cuvet.device.runtime.forward import DRIVER_NAMES
from cuvet.source.paths.handles import FIRST, NOWHERE, SIZE
from cuvet.source.program import Value

_SAME_NAME = """
cudaStreamCreate cudaEventCreate cudaLaunchHostFunc cudaMemcpy cudaMemcpyAsync cudaMemcpyPeer cudaMemcpyPeerAsync
cudaGraphAddKernelNode cudaGraphAddMemcpyNode cudaGraphAddMemsetNode
cudaIpcOpenMemHandle cudaIpcCloseMemHandle cudaIpcOpenEventHandle
"""
_ALIKE = {name: "cu" + name.removeprefix("cuda") for name in _SAME_NAME.split()} | {
    "cudaMalloc": "cuMemAlloc",
    "cudaMallocPitch": "cuMemAllocPitch",
    "cudaMallocManaged": "cuMemAllocManaged",
    "cudaMallocAsync": "cuMemAllocAsync",
    "cudaMallocFromPoolAsync": "cuMemAllocFromPoolAsync",
    "cudaMallocHost": "cuMemHostAlloc",
    "cudaFreeHost": "cuMemFreeHost",
    "cudaFreeArray": "cuArrayDestroy",
    "cudaMallocArray": "cuArray3DCreate",
    "cudaMalloc3DArray": "cuArray3DCreate",
    "cudaMallocMipmappedArray": "cuMipmappedArrayCreate",
    "cudaCreateTextureObject": "cuTexObjectCreate",
    "cudaCreateSurfaceObject": "cuSurfObjectCreate",
    "cudaDeviceSynchronize": "cuCtxSynchronize",
    "cudaThreadSynchronize": "cuCtxSynchronize",
    "cudaMemset": "cuMemsetD8",
    "cudaMemsetAsync": "cuMemsetD8Async",
}
"""Entry points of the runtime that the emulated runtime answers with more than one call of the driver, and the one of these that
says what becomes of the objects. Parameters correspond by their roles (``cuvet.catalog.authored.runtime``)."""

ASKING = frozenset({"cudaPointerGetAttributes", "cuPointerGetAttribute", "cuPointerGetAttributes"})
"""Who asks what a pointer is may find that it is none any more."""

LAST_ERROR = frozenset({"cudaGetLastError", "cudaPeekAtLastError"})
"""Who tells whether an earlier call failed."""

_NOT_TRIED = {Kind.CUDNN_BACKEND_DESCRIPTOR, Kind.CURAND_DISTRIBUTION, Kind.NVJITLINK_HANDLE}
"""On public code."""
LOST = OWNED | {Kind.LINKER} | LIBRARY_OBJECTS - _NOT_TRIED
"""Kinds of objects that are missed if nobody ends them."""
LOST_OF_SEVERAL = LOST | {Kind.MODULE, Kind.CONTEXT}
"""Also those that end with their context, and contexts: they are missed where others of the kind are ended."""


@dataclass(frozen=True, eq=False)
class Meaning:
    """``entry_point`` is what was written (of the runtime or the driver), ``told`` the one that the model is told about;
    ``taken`` has, for each of its parameters, the index of the argument that is passed for it, or -1.
    ``made`` and ``ended`` are the roles of arguments through which an object is made, or which name the object that is ended."""

    entry_point: EntryPoint
    told: EntryPoint
    taken: tuple[int, ...]
    made: tuple[tuple[int, Role], ...]
    ended: tuple[tuple[int, Role], ...]
    ended_there: tuple[tuple[int, Role], ...]
    """Of those that point to the handle of what is ended."""
    named: tuple[tuple[int, Role], ...]
    sizes: frozenset[int]
    """Parameters of ``told`` that are the size of memory: they are not followed."""
    flags: frozenset[int]
    """Those that are flags: none are set where they are not known."""
    kept: frozenset[int]
    """Arguments that CUDA knows afterwards: what a function of the program is called with later, or a texture reference refers to."""

    @cached_property
    def sets_device(self) -> bool:
        return any(role.verb is Verb.SETS_CURRENT and role.kind is Kind.DEVICE for role in self.entry_point.roles)

    @cached_property
    def switches(self) -> bool:
        """Whether another device or context may be current afterwards."""
        return not {Verb.SETS_CURRENT, Verb.PUSHES, Verb.POPS}.isdisjoint(role.verb for role in self.entry_point.roles)

    @cached_property
    def resets(self) -> bool:
        return any(role.verb is Verb.RESETS for role in self.entry_point.roles)

    def words(self, given: Sequence[Value], word: Callable[[Value], int]) -> tuple[int, ...]:
        """What is passed for each parameter of ``told``, where ``word`` gives a value's word. Arguments left out are zero."""
        words = list(self._told)
        for index, at, is_flag in self._given:
            if at < len(given):
                found = word(given[at])
                words[index] = 0 if is_flag and found >= FIRST else found
        return tuple(words)

    @cached_property
    def _told(self) -> tuple[int, ...]:
        """What is passed for the parameters of ``told`` for which no word is asked."""
        made = {at for at, _ in self.made}
        return tuple(
            SIZE if index in self.sizes else NOWHERE if at in made else 0 for index, at in enumerate(self.taken)
        )

    @cached_property
    def _given(self) -> tuple[tuple[int, int, bool], ...]:
        """For each of the others: its index, the argument, and whether it is flags."""
        return tuple(
            (index, at, index in self.flags)
            for index, (at, word) in enumerate(zip(self.taken, self._told, strict=True))
            if at >= 0 and not word
        )

    def with_argument(self, argument: int, word: int) -> tuple[int, ...]:
        """What is passed for each parameter of ``told`` where nothing but one argument is known."""
        return tuple(
            SIZE if index in self.sizes else word if at == argument else 0 for index, at in enumerate(self.taken)
        )

    def fills(self, argument: int) -> bool:
        """Whether CUDA sets memory there to a number, and keeps nothing of what is there."""
        return self.told.name.startswith("cuMemset") and any(
            role.verb is Verb.WRITES for at, role in self.named if at == argument
        )

    @cached_property
    def copies(self) -> tuple[int, int]:
        """The arguments from where and to where the call copies memory; -1 where there is none."""
        by_verb = {role.verb: at for at, role in self.named}
        found = by_verb.get(Verb.READS, -1), by_verb.get(Verb.WRITES, -1)
        return found if min(found) >= 0 else (-1, -1)

    def only_reads(self, argument: int) -> bool:
        """Whether CUDA only reads what the argument points to."""
        parameters = self.entry_point.parameters
        return argument < len(parameters) and (
            parameters[argument].const
            or any(role.verb is not Verb.RETURNS for at, role in self.named if at == argument)
        )


@cache
def meaning(name: str) -> Meaning | None:
    """What the entry point of that name means; None if neither API has it."""
    found = _entry_point(name)
    if found is None:
        return None
    own, told = found
    roles = [(own.index[role.parameter], role) for role in own.roles if role.parameter and not role.field]
    return Meaning(
        own,
        told,
        _taken(own, told),
        made=tuple((at, role) for at, role in roles if _makes(role)),
        ended=tuple((at, role) for at, role in roles if role.verb in ENDS),
        ended_there=tuple(
            (own.index[each.parameter], each) for each in own.roles if each.verb in ENDS and each.field == "*"
        ),
        named=tuple((at, role) for at, role in roles if not _makes(role) and role.verb not in ENDS),
        sizes=frozenset(told.index[role.size] for role in told.roles if role.size),
        flags=frozenset(at for at, parameter in enumerate(told.parameters) if parameter.name.lower() == "flags"),
        kept=frozenset(_kept(own)),
    )


def _kept(entry_point: EntryPoint) -> Iterator[int]:
    if "userData" in entry_point.index:
        yield entry_point.index["userData"]
    if any(role.kind is Kind.TEXTURE_REFERENCE for role in entry_point.roles):
        of_others = (role for role in entry_point.roles if role.kind is not Kind.TEXTURE_REFERENCE and role.parameter)
        yield from (entry_point.index[role.parameter] for role in of_others if role.verb is Verb.USES)


class Sized(NamedTuple):
    """The arguments of a call that point to memory, and the one that is its size in bytes. ``made``: the call allocates it."""

    memory: tuple[int, ...]
    size: int
    made: bool


@cache
def sized(name: str) -> Sized | None:
    """None if no call of the runtime or the driver has the name, or it has no such size."""
    found = meaning(name)
    roles = [each for each in found.entry_point.roles if each.size and not each.field] if found is not None else []
    if found is None or found.entry_point.api not in ("runtime", "driver") or len({each.size for each in roles}) != 1:
        return None
    index = found.entry_point.index
    return Sized(tuple(index[each.parameter] for each in roles), index[roles[0].size], any(map(_makes, roles)))


@cache
def copied_by_kind(name: str) -> tuple[int, int, int] | None:
    """The arguments of a copy that are its destination, its source and its kind (cudaMemcpyKind); None if it has none."""
    found = meaning(name)
    index = found.entry_point.index if found is not None else {}
    if found is None or "kind" not in index:
        return None
    written, read = (
        [index[role.parameter] for role in found.entry_point.roles if role.verb is verb and role.parameter]
        for verb in (Verb.WRITES, Verb.READS)
    )
    return (written[0], read[0], index["kind"]) if len(written) == len(read) == 1 else None


_FUNCTION_TYPES = frozenset({"CUhostFn", "CUstreamCallback", "cudaHostFn_t", "cudaStreamCallback_t"})
"""Functions of the program that CUDA calls later, on the host."""


@cache
def called_back(name: str) -> int | None:
    """The argument that is a function which CUDA calls later; None if no entry point of that name takes one."""
    found = meaning(name)
    parameters = found.entry_point.parameters if found is not None else ()
    return next((at for at, each in enumerate(parameters) if each.type in _FUNCTION_TYPES), None)


def resets_device(name: str) -> bool:
    """Whether the function of that name is CUDA's, and ends all that was made on a device."""
    found = meaning(name)
    return found is not None and found.resets


def meaning_of(name: str) -> Meaning:
    """Of an entry point that is known to be one."""
    found = meaning(name)
    assert found is not None
    return found


def _makes(role: Role) -> bool:
    """Whether the handle that comes back is a new one: also one of a module's functions, which nobody ends by itself."""
    return role.verb in MAKES or (role.verb is Verb.RETURNS and role.kind in FUNCTIONS)


@cache
def symbols() -> frozenset[str]:
    """All names of entry points that source code can call."""
    catalogs = (runtime(), driver(), *libraries().values())
    return frozenset(name for catalog in catalogs for name in _names(catalog) if not name.startswith("__"))


@cache
def spellings() -> frozenset[bytes]:
    """``symbols`` as they stand in a file."""
    return frozenset(name.encode() for name in symbols())


def _names(catalog: Catalog) -> set[str]:
    return {entry.name for entry in catalog.entry_points} | set(catalog.by_symbol)


_MACROS = {"cuGraphInstantiate": "cuGraphInstantiateWithFlags"}
"""Names that cuda.h defines as others, with other parameters than the function of that name (since CUDA 12.0)."""


def _entry_point(name: str) -> tuple[EntryPoint, EntryPoint] | None:
    own = entry_point_called(_MACROS.get(name, name))
    if own is None:
        return None
    same = DRIVER_NAMES.get(own.name) or _ALIKE.get(own.name, "")
    return own, _alone(entry_point_called(same) or own)


@cache
def entry_point_called(name: str) -> EntryPoint | None:
    """That of the runtime, the driver or a library which has the name, or exports it as a symbol."""
    for catalog in (runtime(), driver(), *libraries().values()):
        if name in catalog:
            return catalog[name]
        if name in catalog.by_symbol:
            return catalog.by_symbol[name]
    return None


_LEFT_OUT = frozenset({Kind.ADDRESS_RANGE, Kind.MEMORY_HANDLE})
"""Kinds of objects that are not followed in source code."""


def _alone(entry_point: EntryPoint) -> EntryPoint:
    """The entry point without the roles that take more than the arguments' words: handles in structs and arrays."""
    roles = tuple(
        role for role in entry_point.roles if not (role.field or role.count or role.when or role.kind in _LEFT_OUT)
    )
    return entry_point if roles == entry_point.roles else replace(entry_point, roles=roles)


_OF_PITCH = frozenset({"WidthInBytes", "Height"})
"""Their product would be a size, and they are not followed."""


def _taken(own: EntryPoint, told: EntryPoint) -> tuple[int, ...]:
    if own.name == told.name:
        return tuple(-1 if each.name in _OF_PITCH else at for at, each in enumerate(own.parameters))
    if own.name in DRIVER_NAMES:
        return tuple(at if at < len(own.parameters) else -1 for at in range(len(told.parameters)))
    by_role: dict[tuple[Verb, Kind], int] = {
        (role.verb, role.kind): own.index[role.parameter] for role in own.roles if role.parameter and not role.field
    }
    for name in ("stream", "hStream"):
        if name in own.index:
            by_role[Verb.ON, Kind.STREAM] = own.index[name]
    taken = dict.fromkeys(range(len(told.parameters)), -1)
    for role in told.roles:
        if role.parameter and (role.verb, role.kind) in by_role:
            taken[told.index[role.parameter]] = by_role[role.verb, role.kind]
    for at, parameter in enumerate(told.parameters):
        if taken[at] < 0 and parameter.name.lower() in ("flags",) and parameter.name.lower() in own.index:
            taken[at] = own.index[parameter.name.lower()]
    return tuple(taken.values())
