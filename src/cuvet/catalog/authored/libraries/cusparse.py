"""cuSPARSE: handles, and descriptors of vectors, matrices and algorithms."""

from cuvet.catalog.authored.words import *
from cuvet.catalog.kinds import Kind

_DESCRIPTORS = """
    cusparseMatDescr_t cusparseColorInfo_t
    cusparseDnVecDescr_t cusparseConstDnVecDescr_t cusparseDnMatDescr_t cusparseConstDnMatDescr_t
    cusparseSpVecDescr_t cusparseConstSpVecDescr_t cusparseSpMatDescr_t cusparseConstSpMatDescr_t
    cusparseSpSVDescr_t cusparseSpSMDescr_t cusparseSpGEMMDescr_t cusparseSpGEAMDescr_t cusparseSpMMOpPlan_t
    bsric02Info_t bsrilu02Info_t bsrsm2Info_t bsrsv2Info_t csric02Info_t csrilu02Info_t csru2csrInfo_t pruneInfo_t
""".split()
HANDLES = {"cusparseHandle_t": Kind.CUSPARSE_HANDLE, **dict.fromkeys(_DESCRIPTORS, Kind.CUSPARSE_DESCRIPTOR)}
_LOG = "sets where cuSPARSE logs"
WORKSPACES = frozenset({"buffer", "externalBuffer", "pBuffer", "workspace"})
UNTRACKED: Reasons = {"cusparseLoggerCallback_t": _LOG}

ROLES: Roles = {}


NO_ROLE: ByReason = {
    "names an error": "cusparseGetErrorName cusparseGetErrorString",
    "reports a version": "cusparseGetProperty",
    _LOG: """
        cusparseLoggerForceDisable cusparseLoggerOpenFile cusparseLoggerSetFile cusparseLoggerSetLevel
        cusparseLoggerSetMask
    """,
}
