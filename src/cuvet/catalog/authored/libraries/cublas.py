"""cuBLAS.

The legacy interface of ``cublas.h``, which has no handles, passes through unseen: its symbols are not in the catalog. ``cublasSgemm`` in
source code that includes ``cublas_v2.h`` is the symbol ``cublasSgemm_v2``.
"""

from cuvet.catalog.authored.words import Reasons, Roles, sets_workspace, uses
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
    ),
}

_VERSION = "reports a version"
_TEXT = "names an error"
_COPY = "names no handle; it is seen as the copies that it makes"
_BOARDS = "counts GPU boards"

NO_ROLE: Reasons = {
    "cublasGetCudartVersion": _VERSION,
    "cublasGetMatrix": _COPY,
    "cublasGetProperty": _VERSION,
    "cublasGetStatusName": _TEXT,
    "cublasGetStatusString": _TEXT,
    "cublasGetVector": _COPY,
    "cublasLoggerConfigure": "sets where cuBLAS logs",
    "cublasSetMatrix": _COPY,
    "cublasSetVector": _COPY,
    "cublasXerbla": _TEXT,
    "cublasXtGetNumBoards": _BOARDS,
    "cublasXtMaxBoards": _BOARDS,
}
