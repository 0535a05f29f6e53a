"""Every entry point has roles or says why not, and roles say nothing that the prototypes contradict."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from cuvet.catalog import Catalog, EntryPoint, Kind, Role, Verb, authored, driver, runtime

CATALOGS = pytest.mark.parametrize("catalog", [driver(), runtime()], ids=["driver", "runtime"])

KINDS = {
    Kind.CONTEXT: "CUcontext",
    Kind.STREAM: "CUstream cudaStream_t CUstream_st *",
    Kind.EVENT: "CUevent cudaEvent_t",
    Kind.MEMORY_POOL: "CUmemoryPool cudaMemPool_t",
    Kind.ARRAY: "CUarray cudaArray_t cudaArray_const_t",
    Kind.MIPMAPPED_ARRAY: "CUmipmappedArray cudaMipmappedArray_t cudaMipmappedArray_const_t",
    Kind.TEXTURE_OBJECT: "CUtexObject cudaTextureObject_t",
    Kind.SURFACE_OBJECT: "CUsurfObject cudaSurfaceObject_t",
    Kind.MODULE: "CUmodule",
    Kind.CULIBRARY: "CUlibrary cudaLibrary_t",
    Kind.FUNCTION: "CUfunction cudaFunction_t",
    Kind.KERNEL: "CUkernel cudaKernel_t",
    Kind.GRAPH: "CUgraph cudaGraph_t",
    Kind.GRAPH_EXEC: "CUgraphExec cudaGraphExec_t",
    Kind.GRAPH_NODE: "CUgraphNode cudaGraphNode_t",
    Kind.EXTERNAL_MEMORY: "CUexternalMemory cudaExternalMemory_t",
    Kind.EXTERNAL_SEMAPHORE: "CUexternalSemaphore cudaExternalSemaphore_t",
    Kind.GRAPHICS_RESOURCE: "CUgraphicsResource cudaGraphicsResource_t",
    Kind.LINKER: "CUlinkState",
    Kind.USER_OBJECT: "CUuserObject cudaUserObject_t",
    Kind.GREEN_CONTEXT: "CUgreenCtx cudaExecutionContext_t",
    Kind.MEMORY_HANDLE: "CUmemGenericAllocationHandle",
    Kind.TEXTURE_REFERENCE: "CUtexref",
    Kind.SURFACE_REFERENCE: "CUsurfref",
}
"""Types of the handles of each kind, in both APIs."""

KIND_OF = {kind_type: kind for kind, types in KINDS.items() for kind_type in types.split()}

BY_ADDRESS = frozenset({Kind.MEMORY, Kind.HOST_MEMORY, Kind.ADDRESS_RANGE})
ADDRESS = re.compile(r"(CUdeviceptr|(const )?(void|char) \*)$")

MAKES = frozenset({Verb.CREATES, Verb.RETURNS, Verb.ALLOCATES, Verb.POPS})


def roles(catalog: Catalog) -> Iterator[tuple[EntryPoint, Role]]:
    for entry in catalog.entry_points:
        for role in entry.roles:
            yield entry, role


def handle_type(catalog: Catalog, entry: EntryPoint, role: Role) -> str:
    """Type of the handle that the role is about, as the header spells it."""
    parameter = entry.parameters[entry.index[role.parameter]]
    if role.field:
        return catalog.field(parameter.pointee or "", role.field)[2]
    if role.count or role.verb in MAKES:
        pointee = (parameter.pointee or "").replace("cudaGraphicsResource *", "cudaGraphicsResource_t")
        return pointee.removeprefix("const ").removesuffix(" *") if role.when in entry.index else pointee
    return parameter.type


@CATALOGS
def test_every_entry_point_has_roles_or_a_reason(catalog: Catalog) -> None:
    for entry in catalog.entry_points:
        assert bool(entry.roles) != bool(catalog.no_role.get(entry.name)), entry
    assert not set(catalog.no_role) - {entry.name for entry in catalog.entry_points}


def test_tables_do_not_contradict_each_other() -> None:
    names = [name for table in authored.TABLES for name in (*table.ROLES, *" ".join(table.NO_ROLE.values()).split())]
    assert sorted(names) == [entry.name for entry in driver().entry_points]
    from cuvet.catalog.authored import runtime as tables

    names = [name for table in tables.TABLES for name in (*table.ROLES, *" ".join(table.NO_ROLE.values()).split())]
    assert len(names) == len(set(names))
    assert all(name in runtime() for name in names)


def test_unlisted_functions_are_not_in_the_catalog() -> None:
    assert not set(authored.UNLISTED) & set(driver().by_symbol)


@CATALOGS
def test_roles_name_parameters_and_members_that_exist(catalog: Catalog) -> None:
    for entry, role in roles(catalog):
        for name in (role.parameter, role.size, role.count, role.parent):
            assert not name or name in entry.index, (entry, role)
        for member in (role.field, role.when):
            if member and member not in entry.index:
                catalog.field(entry.parameters[entry.index[role.parameter]].pointee or "", member)
        assert bool(role.when) == bool(role.values), (entry, role)


@CATALOGS
def test_handles_have_the_type_of_their_kind(catalog: Catalog) -> None:
    for entry, role in roles(catalog):
        if role.kind in KINDS and role.parameter:
            assert (
                KIND_OF.get(handle_type(catalog, entry, role)) is role.kind
                or handle_type(catalog, entry, role) in KINDS[role.kind]
            ), (entry, role)


@CATALOGS
def test_memory_is_named_by_address(catalog: Catalog) -> None:
    for entry, role in roles(catalog):
        if role.kind in BY_ADDRESS:
            assert ADDRESS.match(handle_type(catalog, entry, role)), (entry, role)


@CATALOGS
def test_what_is_made_is_written_through_an_output(catalog: Catalog) -> None:
    for entry, role in roles(catalog):
        if role.verb in MAKES and not role.field and not role.count:
            assert entry.parameters[entry.index[role.parameter]].out, (entry, role)


@CATALOGS
def test_sizes_and_counts_are_integers(catalog: Catalog) -> None:
    for entry, role in roles(catalog):
        for name in (role.size, role.count):
            if name:
                parameter = entry.parameters[entry.index[name]]
                output = role.verb is Verb.RETURNS and parameter.out
                assert output or "*" not in parameter.type, (entry, role)


@CATALOGS
def test_a_parent_is_an_object_that_the_call_uses(catalog: Catalog) -> None:
    for entry, role in roles(catalog):
        if role.parent:
            assert any(r.parameter == role.parent and r.verb in (Verb.USES, Verb.RETURNS) for r in entry.roles), (
                entry,
                role,
            )


@CATALOGS
def test_every_handle_is_covered(catalog: Catalog) -> None:
    for entry in catalog.entry_points:
        covered = {role.parameter for role in entry.roles}
        for parameter in entry.parameters:
            if parameter.type in KIND_OF and parameter.name not in covered:
                assert parameter.type == "CUstream_st *", (entry, parameter)  # only carried to the launch


@CATALOGS
def test_handle_arrays_and_structs_hold_whole_words(catalog: Catalog) -> None:
    for entry, role in roles(catalog):
        parameter = entry.parameters[entry.index[role.parameter]] if role.parameter else None
        if parameter is not None and role.count:
            assert parameter.pointee_bytes == 8, (entry, role)
        if parameter is not None and role.field and role.kind is not Kind.NONE:
            assert catalog.field(parameter.pointee or "", role.field)[1] == 8, (entry, role)


@pytest.mark.parametrize(
    "name",
    [
        "cuEventRecord",
        "cuEventQuery",
        "cuStreamQuery",
        "cuStreamWaitEvent",
        "cuLaunchKernel",
        "cuLaunchKernelEx",
        "cuGraphLaunch",
        "cuMemcpyAsync",
        "cuMemcpyHtoDAsync",
        "cuMemsetD8Async",
        "cuCtxGetCurrent",
        "cuPointerGetAttribute",
        "cuDeviceGetAttribute",
        "cuStreamIsCapturing",
    ],
)
def test_hot(name: str) -> None:
    assert driver()[name].hot


@CATALOGS
def test_nothing_that_changes_a_lifetime_is_hot(catalog: Catalog) -> None:
    changes = {Verb.CREATES, Verb.DESTROYS, Verb.ALLOCATES, Verb.FREES, Verb.REGISTERS, Verb.UNREGISTERS, Verb.RESETS}
    assert not [entry for entry, role in roles(catalog) if role.verb in changes and entry.hot]


def test_the_runtime_means_what_the_driver_means() -> None:
    def verbs(entry: EntryPoint) -> list[tuple[Verb, Kind, int]]:
        return [(role.verb, role.kind, entry.index[role.parameter]) for role in entry.roles]

    for ours, theirs in (
        ("cudaStreamWaitEvent", "cuStreamWaitEvent"),
        ("cudaEventRecord", "cuEventRecord"),
        ("cudaEventDestroy", "cuEventDestroy"),
        ("cudaGraphLaunch", "cuGraphLaunch"),
        ("cudaMemPoolDestroy", "cuMemPoolDestroy"),
    ):
        assert verbs(runtime()[ours]) == verbs(driver()[theirs]), ours


def test_each_kind_that_is_created_can_end() -> None:
    """Else it would be reported as leaked. References and functions end with their module; handles and user objects are counted."""
    made = {role.kind for _, role in roles(driver()) if role.verb in (Verb.CREATES, Verb.ALLOCATES)}
    ended = {role.kind for _, role in roles(driver()) if role.verb in (Verb.DESTROYS, Verb.FREES)}
    assert made - ended == {Kind.MEMORY_HANDLE, Kind.USER_OBJECT}
