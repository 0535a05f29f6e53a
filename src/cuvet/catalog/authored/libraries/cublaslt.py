"""cuBLASLt: handles and descriptors."""

from cuvet.catalog.authored.words import Reasons, Roles, registers
from cuvet.catalog.kinds import Kind
from cuvet.catalog.roles import Role

HANDLES = {
    "cublasLtHandle_t": Kind.CUBLASLT_HANDLE,
    "cublasLtEmulationDesc_t": Kind.CUBLASLT_DESCRIPTOR,
    "cublasLtMatmulDesc_t": Kind.CUBLASLT_DESCRIPTOR,
    "cublasLtMatmulPreference_t": Kind.CUBLASLT_DESCRIPTOR,
    "cublasLtMatrixLayout_t": Kind.CUBLASLT_DESCRIPTOR,
    "cublasLtMatrixTransformDesc_t": Kind.CUBLASLT_DESCRIPTOR,
}
WORKSPACES = frozenset({"workspace"})
_LOG = "sets where cuBLASLt logs"
UNTRACKED: Reasons = {"cublasLtLoggerCallback_t": _LOG}


def _in_place(parameter: str) -> tuple[Role, ...]:
    """A descriptor in the program's own memory; it ends with that memory."""
    return (registers(parameter, size="size", kind=Kind.CUBLASLT_DESCRIPTOR, variant="in place"),)


ROLES: Roles = {
    "cublasLtEmulationDescInit_internal": _in_place("emulationDesc"),
    "cublasLtGroupedMatrixLayoutInit_internal": _in_place("matLayout"),
    "cublasLtMatmulDescInit_internal": _in_place("matmulDesc"),
    "cublasLtMatmulPreferenceInit_internal": _in_place("pref"),
    "cublasLtMatrixLayoutInit_internal": _in_place("matLayout"),
    "cublasLtMatrixTransformDescInit_internal": _in_place("transformDesc"),
}

_VERSION = "reports a version"
_TEXT = "names an error"
_CACHE = "the size of a cache of heuristics"
_ALGORITHM = "reads or sets a member of an algorithm, a struct of the program"

NO_ROLE: Reasons = {
    "cublasLtGetCudartVersion": _VERSION,
    "cublasLtGetProperty": _VERSION,
    "cublasLtGetStatusName": _TEXT,
    "cublasLtGetStatusString": _TEXT,
    "cublasLtGetVersion": _VERSION,
    "cublasLtHeuristicsCacheGetCapacity": _CACHE,
    "cublasLtHeuristicsCacheSetCapacity": _CACHE,
    "cublasLtLoggerForceDisable": _LOG,
    "cublasLtLoggerOpenFile": _LOG,
    "cublasLtLoggerSetFile": _LOG,
    "cublasLtLoggerSetLevel": _LOG,
    "cublasLtLoggerSetMask": _LOG,
    "cublasLtMatmulAlgoCapGetAttribute": _ALGORITHM,
    "cublasLtMatmulAlgoConfigGetAttribute": _ALGORITHM,
    "cublasLtMatmulAlgoConfigSetAttribute": _ALGORITHM,
}
