"""cuBLAS.

The legacy interface of ``cublas.h``, which has no handles, passes through unseen: its symbols are not in the catalog. ``cublasSgemm`` in
source code that includes ``cublas_v2.h`` is the symbol ``cublasSgemm_v2``.
"""

from cuvet.catalog.authored.words import *
from cuvet.catalog.kinds import Kind

HANDLES = {"cublasHandle_t": Kind.CUBLAS_HANDLE}
WORKSPACES: frozenset[str] = frozenset()
UNTRACKED: Reasons = {
    "cublasLogCallback": "sets or reads where cuBLAS logs",
    "cublasXtHandle_t": "cuBLASXt works on several devices, with cuBLAS handles of its own",
}

ROLES: Roles = {
    "cublasSetWorkspace": (
        uses(Kind.CUBLAS_HANDLE, "handle"),
        sets_workspace("workspace", of="handle", size="workspaceSizeInBytes"),
    )
}


NO_ROLE: ByReason = {
    "reports a version": "cublasGetCudartVersion cublasGetProperty",
    "names no handle; it is seen as the copies that it makes": """
        cublasGetMatrix cublasGetVector cublasSetMatrix cublasSetVector
    """,
    "names an error": "cublasGetStatusName cublasGetStatusString cublasXerbla",
    "sets where cuBLAS logs": "cublasLoggerConfigure",
    "counts GPU boards": "cublasXtGetNumBoards cublasXtMaxBoards",
}
