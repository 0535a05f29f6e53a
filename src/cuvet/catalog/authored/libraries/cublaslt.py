"""cuBLASLt: handles and descriptors."""

from cuvet.catalog.authored.words import *
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


NO_ROLE: ByReason = {
    "reports a version": "cublasLtGetCudartVersion cublasLtGetProperty cublasLtGetVersion",
    "names an error": "cublasLtGetStatusName cublasLtGetStatusString",
    "the size of a cache of heuristics": "cublasLtHeuristicsCacheGetCapacity cublasLtHeuristicsCacheSetCapacity",
    _LOG: """
        cublasLtLoggerForceDisable cublasLtLoggerOpenFile cublasLtLoggerSetFile cublasLtLoggerSetLevel
        cublasLtLoggerSetMask
    """,
    "reads or sets a member of an algorithm, a struct of the program": """
        cublasLtMatmulAlgoCapGetAttribute cublasLtMatmulAlgoConfigGetAttribute cublasLtMatmulAlgoConfigSetAttribute
    """,
}
