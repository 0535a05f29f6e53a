"""The catalogs of the libraries hold what their headers and shared objects say, and every entry point has roles or a reason."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from clang.cindex import CursorKind, Index

from cuvet.catalog import (
    Catalog,
    EntryPoint,
    Kind,
    Parameter,
    Role,
    Verb,
    driver,
    libraries,
    recorded,
    recorded_entry_point,
    runtime,
    status_name,
    status_value,
)
from cuvet.catalog.authored.libraries import CUDA_HANDLES, TABLES
from cuvet.catalog.kinds import NOT_SHARED_BETWEEN_THREADS
from cuvet.image import dynamic
from cuvet.image.source import opened

NVIDIA = Path(next(iter(find_spec("nvidia").submodule_search_locations))) / "cu13"  # type: ignore[union-attr, arg-type]
LIBRARIES = pytest.mark.parametrize("library", libraries().values(), ids=list(libraries()))
NUMBERS = {"size_t", "int64_t", "uint64_t", "long long", "unsigned long long", "const char *"}
MADE = {Verb.CREATES, Verb.RETURNS}


def roles(library: Catalog) -> Iterator[tuple[EntryPoint, Role, Parameter]]:
    for entry in library.entry_points:
        for role in (role for role in entry.roles if role.parameter):
            yield entry, role, entry.parameters[entry.index[role.parameter]]


def handles(library: Catalog) -> dict[str, Kind]:
    return {**TABLES[library.api].HANDLES, **CUDA_HANDLES, "cudaStream_t": Kind.STREAM}


# ------------------------------------------------------------------------------------------------------------- numbers


def test_the_driver_comes_first_in_recordings() -> None:
    assert recorded()[: len(driver().entry_points)] == driver().entry_points
    assert [entry.id for entry in recorded()] == list(range(len(recorded())))
    assert len(recorded()) < 1 << 16


def test_no_two_entry_points_share_a_name_or_a_symbol() -> None:
    everything = (*recorded(), *runtime().entry_points)
    names = [entry.name for entry in everything]
    symbols = [symbol for entry in everything for symbol in entry.symbols]
    assert len(names) == len(set(names))
    assert len(symbols) == len(set(symbols))


def test_entry_points_are_found_by_name() -> None:
    for name, api in (("cuStreamCreate", "driver"), ("cublasSgemm", "cublas"), ("ncclAllReduce", "nccl")):
        entry = recorded_entry_point(name)
        assert entry is not None
        assert (entry.name, entry.api, recorded()[entry.id]) == (name, api, entry)
    assert recorded_entry_point("cudaMalloc") is None


def test_what_only_needs_the_driver_does_not_read_the_libraries() -> None:
    code = (
        "import sys; from cuvet.catalog import driver, status_name, recorded_entry_point; status_name('driver', 1);"
        "recorded_entry_point('cuInit'); sys.exit('cuvet.catalog.authored.libraries' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ------------------------------------------------------------------------------------------------------------- headers


def test_titles_and_shared_objects() -> None:
    assert [(api, library.api, library.title) for api, library in libraries().items()] == [
        ("cudnn", "cudnn", "cuDNN"),
        ("cublas", "cublas", "cuBLAS"),
        ("cublaslt", "cublaslt", "cuBLASLt"),
        ("cufft", "cufft", "cuFFT"),
        ("cusparse", "cusparse", "cuSPARSE"),
        ("cusolver", "cusolver", "cuSOLVER"),
        ("curand", "curand", "cuRAND"),
        ("nvrtc", "nvrtc", "NVRTC"),
        ("nvjitlink", "nvjitlink", "nvJitLink"),
        ("nccl", "nccl", "NCCL"),
        ("cutensor", "cutensor", "cuTENSOR"),
    ]
    assert libraries()["cudnn"].sonames == ("libcudnn.so.8", "libcudnn.so.9")
    assert libraries()["cutensor"].sonames == ("libcutensor.so.2",)
    assert libraries()["curand"].sonames == ("libcurand.so.10",)
    assert "libcusolverMg.so.12" in libraries()["cusolver"].sonames


@LIBRARIES
def test_exports_are_the_symbols_of_the_entry_points(library: Catalog) -> None:
    assert tuple(library.exports) == library.sonames
    assert {symbol for symbols in library.exports.values() for symbol in symbols} == set(library.by_symbol)


def test_exports_differ_between_releases() -> None:
    cudnn, cusolver = libraries()["cudnn"].exports, libraries()["cusolver"].exports
    assert "cudnnSetRNNDescriptor_v6" in set(cudnn["libcudnn.so.8"]) - set(cudnn["libcudnn.so.9"])
    assert "cudnnGetLastErrorString" in set(cudnn["libcudnn.so.9"]) - set(cudnn["libcudnn.so.8"])
    assert {name for name in cusolver["libcusolverMg.so.12"] if not name.startswith("cusolverMg")} == set()


@LIBRARIES
def test_the_shim_can_pass_on_what_it_wraps(library: Catalog) -> None:
    for entry in library.entry_points:
        assert entry.wrapped == bool(entry.roles)
        for parameter in (parameter for signature in entry.signatures for parameter in signature.parameters):
            if parameter.abi == "word":
                assert parameter.bytes in (1, 2, 4, 8), (entry, parameter)
            if parameter.pointee:
                assert (parameter.abi, parameter.bytes) == ("word", 8), (entry, parameter)
            assert parameter.abi != "complex" or not entry.wrapped, (entry, parameter)
        assert len(entry.index) == len(entry.parameters), entry


@LIBRARIES
def test_a_symbol_is_called_alike_in_every_shared_object(library: Catalog) -> None:
    """The shim has one wrapper of each."""
    called: dict[str, set[tuple[tuple[str, int], ...]]] = {}
    for signature in (signature for entry in library.entry_points for signature in entry.signatures):
        for symbol in signature.symbols:
            called.setdefault(symbol, set()).add(tuple((each.abi, each.bytes) for each in signature.parameters))
    assert [symbol for symbol, ways in called.items() if len(ways) > 1] == []


def test_symbols_fold_to_the_name_that_users_write() -> None:
    gemm = libraries()["cublas"]["cublasSgemm"]
    assert gemm.symbols == ("cublasSgemm_v2", "cublasSgemm_v2_64")
    assert (gemm.symbol, gemm.parameters[3].type, gemm.variants["cublasSgemm_v2_64"][3].type) == (
        "cublasSgemm_v2",
        "int",
        "int64_t",
    )
    assert libraries()["nvjitlink"].by_symbol["__nvJitLinkCreate_12_4"].name == "nvJitLinkCreate"
    assert "cudnnRNNBackwardData_v8" in libraries()["cudnn"], "another function than cudnnRNNBackwardData"


def test_legacy_cublas_is_not_taken_for_cublas() -> None:
    assert not {"cublasSgemm", "cublasInit", "cublasSetKernelStream"} & set(libraries()["cublas"].by_symbol)


@LIBRARIES
def test_a_parameter_means_the_same_in_every_signature(library: Catalog) -> None:
    for entry, role, parameter in roles(library):
        for signature in entry.signatures:
            for other in signature.parameters:
                if other.name == role.parameter:
                    assert (other.type, other.out) == (parameter.type, parameter.out), (entry, role)


def test_only_handles_are_outputs() -> None:
    create = libraries()["cublas"]["cublasCreate"].parameters[0]
    assert (create.type, create.pointee, create.pointee_bytes, create.out) == (
        "cublasHandle_t *",
        "cublasHandle_t",
        8,
        True,
    )
    plan = libraries()["cufft"]["cufftPlan1d"].parameters[0]
    assert (plan.pointee_bytes, plan.out) == (4, True)
    dot = libraries()["cublas"]["cublasSdot"].parameters[-1]
    assert (dot.type, dot.out) == ("float *", False), "may be device memory"


def test_what_does_not_return_a_status() -> None:
    assert not libraries()["cudnn"]["cudnnGetErrorString"].status
    assert libraries()["cusparse"]["cusparseGetMatType"].returns == "cusparseMatrixType_t"
    assert not libraries()["cusparse"]["cusparseGetMatType"].status
    assert libraries()["cublaslt"]["cublasLtMatmul"].status
    assert libraries()["nccl"]["ncclParamDumpAll"].return_abi.abi == "void"


@pytest.mark.parametrize(
    ("api", "header", "shared_object"),
    [("nvrtc", "nvrtc.h", "libnvrtc.so.13"), ("nvjitlink", "nvJitLink.h", "libnvJitLink.so.13")],
)
def test_the_installed_library_has_the_same(api: str, header: str, shared_object: str) -> None:
    """The wheel that is installed for tests may be of an older release than the one that the catalog was made from."""
    library = libraries()[api]
    unit = Index.create().parse(str(NVIDIA / "include" / header), ["-x", "c++", "-std=c++17"])
    declared = {
        cursor.spelling: len(list(cursor.get_arguments()))
        for namespace in (unit.cursor, *unit.cursor.get_children())
        for cursor in namespace.get_children()
        if cursor.kind == CursorKind.FUNCTION_DECL and cursor.spelling in library.by_symbol
    }
    assert len(declared) >= 12
    with opened(NVIDIA / "lib" / shared_object) as source:
        exported = {symbol.name for symbol in dynamic.symbols(source) if symbol.defined}
    assert declared.keys() - exported <= {"nvrtcGetTypeName"}
    for symbol, count in declared.items():
        signature = library.by_symbol[symbol].signature(symbol, shared_object)
        if symbol in exported:
            assert signature is not None, symbol
            assert len(signature.parameters) == count, symbol


def test_a_program_of_the_installed_library_is_what_the_roles_say() -> None:
    """nvrtcDestroyProgram takes the address of the handle, and clears it."""
    destroy = libraries()["nvrtc"]["nvrtcDestroyProgram"]
    nvrtc = ctypes.CDLL(str(NVIDIA / "lib" / "libnvrtc.so.13"))
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), b"", b"a.cu", 0, None, None) == 0
    assert program.value
    assert nvrtc.nvrtcDestroyProgram(ctypes.byref(program)) == 0
    assert not program.value
    (role,) = destroy.roles
    assert (role.verb, role.kind, role.field) == (Verb.DESTROYS, Kind.NVRTC_PROGRAM, "*")
    assert libraries()["nvrtc"].field(destroy.parameters[0].pointee or "", "*") == (0, 8, "nvrtcProgram")


# --------------------------------------------------------------------------------------------------------------- roles


@LIBRARIES
def test_every_entry_point_has_roles_or_a_reason(library: Catalog) -> None:
    for entry in library.entry_points:
        assert bool(entry.roles) != bool(library.no_role.get(entry.name)), entry
    assert not set(library.no_role) - {entry.name for entry in library.entry_points}
    assert not set(TABLES[library.api].ROLES) - {entry.name for entry in library.entry_points}


@LIBRARIES
def test_roles_name_parameters_and_types_of_their_kind(library: Catalog) -> None:
    kinds = handles(library)
    for entry, role, parameter in roles(library):
        for name in (role.size, role.count, role.parent):
            assert not name or name in entry.index, (entry, role)
        if role.kind is Kind.MEMORY:
            assert parameter.pointee and not parameter.out, (entry, role)
        else:
            through_pointer = role.verb in MADE or role.field
            assert kinds[(parameter.pointee or "") if through_pointer else parameter.type] is role.kind, (entry, role)
        assert parameter.out == (role.verb in MADE and not role.count), (entry, role)


@LIBRARIES
def test_what_is_set_is_set_on_an_object_of_the_call(library: Catalog) -> None:
    for entry, role, _ in roles(library):
        if role.verb in (Verb.SETS_STREAM, Verb.SETS_WORKSPACE):
            assert any(r.parameter == role.parent and r.verb is Verb.USES for r in entry.roles), (entry, role)
            assert role.null, (entry, role)
        else:
            assert not role.parent, (entry, role)


@LIBRARIES
def test_every_handle_is_covered(library: Catalog) -> None:
    """Arrays of handles that the library only reads are not followed."""
    kinds = handles(library)
    for entry in library.entry_points:
        covered = {role.parameter for role in entry.roles}
        for parameter in entry.parameters:
            named = parameter.type in kinds or (parameter.pointee in kinds and not parameter.const)
            assert not named or parameter.name in covered or entry.name in library.no_role, (entry, parameter)


@LIBRARIES
def test_every_type_of_handle_is_followed_or_has_a_reason(library: Catalog) -> None:
    table = TABLES[library.api]
    seen = {
        kind
        for entry in library.entry_points
        for parameter in entry.parameters
        for kind in (parameter.type, parameter.pointee)
        if kind and not kind.endswith(("*", "]")) and is_opaque(parameter, kind)
    }
    assert seen - handles(library).keys() == set(table.UNTRACKED), "type of an object that no list has"
    assert not table.HANDLES.keys() - seen - {"cufftHandle"}


def is_opaque(parameter: Parameter, kind: str) -> bool:
    """A pointer behind a name, by value or behind one more pointer."""
    if kind in NUMBERS or kind in ("double", "void", "char"):
        return False
    if kind == parameter.type:
        return parameter.pointee is None and (parameter.abi, parameter.bytes) == ("word", 8)
    return parameter.pointee_bytes == 8 and not kind.startswith(("cuComplex", "cufftComplex", "cufftDouble"))


@LIBRARIES
def test_every_type_of_handle_is_made_and_every_kind_ends(library: Catalog) -> None:
    made = {parameter.pointee for _, role, parameter in roles(library) if role.verb in MADE}
    ended = {role.kind for _, role, _ in roles(library) if role.verb is Verb.DESTROYS}
    table = TABLES[library.api]
    of_cusparse = {"cusparseMatDescr_t"} if library.api == "cusolver" else set()
    assert table.HANDLES.keys() - made == of_cusparse
    assert {kind for kind in table.HANDLES.values() if kind is not Kind.CUSPARSE_DESCRIPTOR} <= ended


@LIBRARIES
def test_names_and_verbs_agree(library: Catalog) -> None:
    for entry in library.entry_points:
        verbs = {role.verb for role in entry.roles if role.kind is not Kind.MEMORY}
        lower = entry.name.lower()
        if Verb.DESTROYS in verbs:
            assert "destroy" in lower or "abort" in lower, entry
        if Verb.CREATES in verbs:
            assert any(word in lower for word in ("create", "plan", "comm")), entry
        if Verb.RETURNS in verbs:
            assert "get" in lower, entry
        if "SetStream" in entry.name:
            assert Verb.SETS_STREAM in verbs, entry


def test_which_calls_are_hot() -> None:
    def hot(api: str, name: str) -> bool:
        return libraries()[api][name].hot

    assert hot("cublas", "cublasSgemm") and hot("cublas", "cublasSetStream") and hot("cudnn", "cudnnGetStream")
    assert hot("cudnn", "cudnnConvolutionForward") and hot("nccl", "ncclAllReduce")
    assert not hot("cublas", "cublasCreate") and not hot("cufft", "cufftDestroy")
    assert not hot("cublaslt", "cublasLtMatmulDescInit_internal")


def test_roles_that_matter() -> None:
    def of(api: str, name: str) -> set[tuple[Verb, str, bool]]:
        return {(role.verb, role.parameter, role.null) for role in libraries()[api][name].roles}

    assert (Verb.DESTROYS, "handle", True) in of("cudnn", "cudnnDestroy")
    assert (Verb.USES, "handle", False) in of("cudnn", "cudnnConvolutionForward")
    assert (Verb.USES, "xDesc", True) in of("cudnn", "cudnnConvolutionForward")
    assert (Verb.WRITES, "workSpace", True) in of("cudnn", "cudnnConvolutionForward")
    assert (Verb.SETS_WORKSPACE, "states", True) in of("cudnn", "cudnnSetDropoutDescriptor")
    assert (Verb.SETS_WORKSPACE, "workspace", True) in of("cublas", "cublasSetWorkspace")
    assert (Verb.ON, "stream", True) in of("cublaslt", "cublasLtMatmul")
    assert (Verb.CREATES, "plan", False) in of("cufft", "cufftPlanMany")
    assert (Verb.DESTROYS, "comm", True) in of("nccl", "ncclCommAbort")
    assert libraries()["nccl"]["ncclCommInitAll"].roles[0].count == "ndev"
    assert of("nccl", "ncclRedOpDestroy") == {(Verb.USES, "comm", False)}
    assert of("cusolver", "cusolverSpXcsrqrAnalysisHost") == {
        (Verb.USES, "handle", False),
        (Verb.USES, "descrA", True),
        (Verb.USES, "info", True),
    }


def test_kinds_of_the_libraries() -> None:
    assert (Kind.CUDNN_HANDLE, Kind.NCCL_COMMUNICATOR) == (32, 47)
    assert Kind.CUFFT_PLAN.noun == "cuFFT plan"
    assert Kind.CUDNN_BACKEND_DESCRIPTOR.noun == "cuDNN backend descriptor"
    named = {kind for library in libraries().values() for kind in TABLES[library.api].HANDLES.values()}
    assert named == {kind for kind in Kind if kind >= Kind.CUDNN_HANDLE}
    assert named >= NOT_SHARED_BETWEEN_THREADS


# ------------------------------------------------------------------------------------------------------------ statuses


@pytest.mark.parametrize("api", [*libraries(), "driver", "runtime"])
def test_every_api_has_statuses(api: str) -> None:
    success = status_name(api, 0)  # type: ignore[arg-type]
    assert "success" in success.lower()
    assert status_value(api, success) == 0  # type: ignore[arg-type]
    assert "123456" in status_name(api, 123456)  # type: ignore[arg-type]


def test_statuses_have_the_newest_name_of_their_number() -> None:
    assert status_name("cudnn", 1001) == "CUDNN_STATUS_NOT_INITIALIZED"
    assert status_name("cudnn", 8) == "CUDNN_STATUS_EXECUTION_FAILED", "of cuDNN 8"
    assert status_value("cudnn", "CUDNN_STATUS_EXECUTION_FAILED") == 5000
    assert status_name("cudnn", 1002) == "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"
    assert status_name("cublaslt", 7) == "CUBLAS_STATUS_INVALID_VALUE"
    assert status_name("curand", 102) == "CURAND_STATUS_ALLOCATION_FAILED"
    with pytest.raises(KeyError):
        status_value("cufft", "CUBLAS_STATUS_INVALID_VALUE")
