"""cuSOLVER: handles of cuSolverDN, cuSolverSP, cuSolverRF and cuSolverMg, their parameters and infos."""

from cuvet.catalog.authored.words import *
from cuvet.catalog.kinds import Kind

_HANDLES = "cusolverDnHandle_t cusolverSpHandle_t cusolverRfHandle_t cusolverMgHandle_t".split()
_DESCRIPTORS = """
    cusolverDnParams_t cusolverDnIRSParams_t cusolverDnIRSInfos_t gesvdjInfo_t syevjInfo_t
    csrqrInfo_t csrqrInfoHost_t csrluInfoHost_t csrcholInfo_t csrcholInfoHost_t
    cudaLibMgGrid_t cudaLibMgMatrixDesc_t
""".split()
HANDLES = {
    **dict.fromkeys(_HANDLES, Kind.CUSOLVER_HANDLE),
    **dict.fromkeys(_DESCRIPTORS, Kind.CUSOLVER_DESCRIPTOR),
    "cusparseMatDescr_t": Kind.CUSPARSE_DESCRIPTOR,
}
WORKSPACES = frozenset({"Work", "Workspace", "bufferOnDevice", "dWorkspace", "d_work", "pBuffer", "work"})
ON_DEVICE = frozenset({"devInfo"})
"""Parameters that point to memory of the device, whatever their type is (cuSOLVER, cuSolverDN: Function Reference)."""
UNTRACKED: Reasons = {}

ROLES: Roles = {"cusolverMgCreate": (creates(Kind.CUSOLVER_HANDLE, "handle", variant="several devices"),)}


NO_ROLE: ByReason = {"reports a version": "cusolverGetProperty cusolverGetVersion"}
