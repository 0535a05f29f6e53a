"""The generated tables hold what CUDA's headers say."""

from __future__ import annotations

import pytest

from cuvet.catalog import Catalog, driver, runtime, status_name, status_value

CATALOGS = pytest.mark.parametrize("catalog", [driver(), runtime()], ids=["driver", "runtime"])


@CATALOGS
def test_ids_are_positions_of_sorted_names(catalog: Catalog) -> None:
    names = [entry.name for entry in catalog.entry_points]
    assert names == sorted(set(names))
    assert [entry.id for entry in catalog.entry_points] == list(range(len(names)))


@CATALOGS
def test_every_symbol_belongs_to_one_entry_point(catalog: Catalog) -> None:
    symbols = [symbol for entry in catalog.entry_points for symbol in entry.symbols]
    assert len(symbols) == len(set(symbols)) == len(catalog.by_symbol)


@CATALOGS
def test_parameter_names_are_unique(catalog: Catalog) -> None:
    for entry in catalog.entry_points:
        for signature in entry.signatures:
            names = [parameter.name for parameter in signature.parameters]
            assert len(names) == len(set(names)), entry


@CATALOGS
def test_abi_classes(catalog: Catalog) -> None:
    for entry in catalog.entry_points:
        for signature in entry.signatures:
            for parameter in signature.parameters:
                if parameter.abi == "word":
                    assert parameter.bytes in (1, 2, 4, 8), (entry, parameter)
                if parameter.abi == "struct":
                    assert parameter.bytes == catalog.structs[parameter.type].bytes, (entry, parameter)
                if parameter.type.endswith("*"):
                    assert (parameter.abi, parameter.bytes) == ("word", 8), (entry, parameter)
                if parameter.out:
                    assert not parameter.const, (entry, parameter)
                    assert 0 < parameter.pointee_bytes <= 8, (entry, parameter)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("cuMemFree_v2", "cuMemFree"),
        ("cuMemFree", "cuMemFree"),
        ("cuStreamSynchronize_ptsz", "cuStreamSynchronize"),
        ("cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync"),
        ("cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD"),
        ("cuTexRefSetAddress2D_v3", "cuTexRefSetAddress2D"),
        ("cuCtxCreate_v4", "cuCtxCreate"),
    ],
)
def test_symbols_fold_to_one_name(symbol: str, name: str) -> None:
    assert driver().by_symbol[symbol] is driver()[name]


def test_plain_names_stand_for_the_symbols_that_the_header_maps_them_to() -> None:
    assert driver()["cuMemAlloc"].symbol == "cuMemAlloc_v2"
    assert driver()["cuGraphInstantiate"].symbol == "cuGraphInstantiateWithFlags"
    assert driver()["cuStreamSynchronize"].symbol == "cuStreamSynchronize"


def test_per_thread_symbols() -> None:
    assert driver()["cuMemcpyHtoD"].per_thread_symbols == ("cuMemcpyHtoD_v2_ptds",)
    assert driver()["cuEventCreate"].per_thread_symbols == ()


def test_entry_point_has_the_newest_signature_and_variants_have_theirs() -> None:
    create = driver()["cuCtxCreate"]
    assert list(create.index) == ["pctx", "ctxCreateParams", "flags", "dev"]
    assert set(create.variants) == {"cuCtxCreate", "cuCtxCreate_v2", "cuCtxCreate_v3"}
    assert [parameter.name for parameter in create.variants["cuCtxCreate_v2"]] == ["pctx", "flags", "dev"]
    (address,) = driver()["cuMemFree"].variants["cuMemFree"]
    assert address.bytes == 4, "CUdeviceptr had 32 bits before CUDA 3.2"


def test_runtime_symbols_mean_what_their_release_says() -> None:
    advise = runtime()["cudaMemAdvise"]
    newest, older = advise.signature("cudaMemAdvise", "13.5"), advise.signature("cudaMemAdvise", "12.9")
    assert newest is not None
    assert older is not None
    assert newest.parameters[3].type == "cudaMemLocation"
    assert older.parameters[3].type == "int"
    assert advise.signature("cudaMemAdvise_v2", "13.5") is None
    assert runtime().struct("cudaDeviceProp", "12.9").bytes != runtime().struct("cudaDeviceProp", "13.5").bytes


def test_structs_by_value() -> None:
    handle = driver()["cuIpcOpenMemHandle"].parameters[1]
    assert (handle.abi, handle.bytes, handle.align) == ("struct", 64, 1)
    location = driver()["cuMemPrefetchAsync"].parameters[2]
    assert (location.abi, location.bytes, location.align) == ("struct", 8, 4)
    grid = runtime()["cudaLaunchKernel"].parameters[1]
    assert (grid.abi, grid.bytes, grid.align) == ("struct", 12, 4)
    assert driver()["cuTexRefSetMipmapLevelBias"].parameters[1].abi == "float"


def test_what_does_not_return_a_status() -> None:
    other = {entry.name: entry.return_abi for entry in runtime().entry_points if not entry.status}
    assert all(entry.status for entry in driver().entry_points)
    assert other["__cudaRegisterFatBinary"].bytes == 8
    assert other["__cudaUnregisterFatBinary"].abi == "void"
    assert (other["cudaCreateChannelDesc"].abi, other["cudaCreateChannelDesc"].bytes) == ("struct", 20)
    assert other["cudaGetErrorString"].bytes == 8
    assert runtime()["cudaGetLastError"].status


def test_outputs() -> None:
    def outputs(name: str) -> list[str]:
        return [parameter.name for parameter in driver()[name].parameters if parameter.out]

    assert outputs("cuMemAllocPitch") == ["dptr", "pPitch"]
    assert outputs("cuMemAllocHost") == ["pp"]
    assert outputs("cuLaunchKernel") == []
    assert outputs("cuGraphGetNodes") == ["numNodes"]
    assert outputs("cuModuleLoadDataEx") == ["module"]
    assert outputs("cuDeviceGetName") == []


@pytest.mark.parametrize(
    ("struct", "size"),
    [
        ("CUDA_MEMCPY2D", 128),
        ("CUDA_MEMCPY3D", 200),
        ("CUDA_RESOURCE_DESC", 144),
        ("CUDA_TEXTURE_DESC", 104),
        ("CUDA_ARRAY3D_DESCRIPTOR", 40),
        ("CUipcMemHandle", 64),
        ("CUuuid", 16),
        ("CUlaunchConfig", 56),
        ("CUgraphNodeParams", 256),
        ("CUtensorMap", 128),
    ],
)
def test_struct_sizes(struct: str, size: int) -> None:
    assert driver().structs[struct].bytes == size


def test_members_of_structs() -> None:
    assert driver().structs["CUDA_MEMCPY2D"].fields["srcArray"] == (40, 8, "CUarray")
    assert driver().field("CUDA_RESOURCE_DESC", "res.pitch2D.pitchInBytes") == (40, 8, "size_t")
    assert driver().field("CUgraphNodeParams", "alloc.dptr") == (128, 8, "CUdeviceptr")
    with pytest.raises(KeyError):
        driver().field("CUgraphNodeParams", "alloc.nothing")


def test_statuses() -> None:
    assert status_name("driver", 0) == "CUDA_SUCCESS"
    assert status_name("driver", 400) == "CUDA_ERROR_INVALID_HANDLE"
    assert status_name("runtime", 400) == "cudaErrorInvalidResourceHandle"
    assert status_value("driver", "CUDA_ERROR_CONTEXT_IS_DESTROYED") == 709
    assert status_value("runtime", "cudaErrorStreamCaptureUnsupported") == 900
    assert "123456" in status_name("driver", 123456)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 100, 200, 201, 209, 218, 400, 600, 700, 709, 712, 713, 900, 906, 999])
def test_the_two_apis_share_the_numbers_of_common_errors(number: int) -> None:
    assert status_name("driver", number).startswith("CUDA_ERROR_")
    assert status_name("runtime", number).startswith("cudaError")


def test_constants_and_enumerations() -> None:
    assert driver().constants["CU_STREAM_PER_THREAD"] == 2
    assert driver().constants["CU_MEMHOSTREGISTER_READ_ONLY"] == 8
    assert runtime().constants["cudaEventDisableTiming"] == 2
    assert driver().enumerations["CUevent_flags"]["CU_EVENT_DISABLE_TIMING"] == 2
    assert driver().enumerations["CUmemorytype"]["CU_MEMORYTYPE_ARRAY"] == 3


def test_versions_that_brought_a_symbol() -> None:
    introduced = driver().introduced
    assert set(introduced) == set(driver().by_symbol)
    assert introduced["cuMemAlloc"] == 2000
    assert introduced["cuMemAlloc_v2"] == 3020
    assert introduced["cuStreamSynchronize_ptsz"] == 7000
    assert introduced["cuGetProcAddress_v2"] == 12000


def test_the_code_that_nvcc_generates_is_served() -> None:
    called = ("__cudaRegisterFatBinary", "__cudaRegisterFunction", "__cudaPushCallConfiguration", "__cudaInitModule")
    for name in called:
        for version in runtime().versions:
            assert runtime()[name].signature(name, version) is not None, name
