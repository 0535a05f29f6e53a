"""cuSOLVER: handles of cuSolverDN, cuSolverSP, cuSolverRF and cuSolverMg, their parameters and infos."""

from __future__ import annotations

from cuvet.catalog.authored.words import (
    CUSOLVER_DESCRIPTOR,
    CUSOLVER_HANDLE,
    CUSPARSE_DESCRIPTOR,
    Reasons,
    Roles,
    creates,
)

_HANDLES = "cusolverDnHandle_t cusolverSpHandle_t cusolverRfHandle_t cusolverMgHandle_t".split()
_DESCRIPTORS = """
    cusolverDnParams_t cusolverDnIRSParams_t cusolverDnIRSInfos_t gesvdjInfo_t syevjInfo_t
    csrqrInfo_t csrqrInfoHost_t csrluInfoHost_t csrcholInfo_t csrcholInfoHost_t
    cudaLibMgGrid_t cudaLibMgMatrixDesc_t
""".split()
HANDLES = {
    **dict.fromkeys(_HANDLES, CUSOLVER_HANDLE),
    **dict.fromkeys(_DESCRIPTORS, CUSOLVER_DESCRIPTOR),
    "cusparseMatDescr_t": CUSPARSE_DESCRIPTOR,
}
WORKSPACES = frozenset({"Work", "Workspace", "bufferOnDevice", "dWorkspace", "d_work", "pBuffer", "work"})
UNTRACKED: Reasons = {}

ROLES: Roles = {"cusolverMgCreate": (creates(CUSOLVER_HANDLE, "handle", variant="several devices"),)}

_VERSION = "reports a version"

NO_ROLE: Reasons = {"cusolverGetProperty": _VERSION, "cusolverGetVersion": _VERSION}
