"""NCCL: communicators. The second names of its functions, ``pnccl…``, pass through unseen."""

from cuvet.catalog.authored.words import Reasons, Roles, creates, destroys, uses
from cuvet.catalog.kinds import Kind

HANDLES = {"ncclComm_t": Kind.NCCL_COMMUNICATOR}
WORKSPACES: frozenset[str] = frozenset()
_SETTING = "reads a setting of NCCL, of no communicator"
UNTRACKED: Reasons = {
    "ncclParamHandle_t": _SETTING,
    "ncclWindow_t": "a registration, which lives no longer than its communicator",
}

_COMMUNICATOR = uses(Kind.NCCL_COMMUNICATOR, "comm")
_FROM_COMMUNICATOR = (_COMMUNICATOR, creates(Kind.NCCL_COMMUNICATOR, "newcomm"))
_INITIALISES = (creates(Kind.NCCL_COMMUNICATOR, "comm"),)
_ENDS = (destroys(Kind.NCCL_COMMUNICATOR, "comm", null=True),)

ROLES: Roles = {
    "ncclCommAbort": _ENDS,
    "ncclCommDestroy": _ENDS,
    # Ranks that join have no communicator yet (nccl.h).
    "ncclCommGrow": (uses(Kind.NCCL_COMMUNICATOR, "comm", null=True), creates(Kind.NCCL_COMMUNICATOR, "newcomm")),
    "ncclCommInitAll": (creates(Kind.NCCL_COMMUNICATOR, "comm", count="ndev"),),
    "ncclCommInitRank": _INITIALISES,
    "ncclCommInitRankConfig": _INITIALISES,
    "ncclCommInitRankScalable": (creates(Kind.NCCL_COMMUNICATOR, "newcomm"),),
    "ncclCommShrink": _FROM_COMMUNICATOR,
    "ncclCommSplit": _FROM_COMMUNICATOR,
    # "currently unused and can be set to NULL": NCCL's user guide, of its argument
    "ncclGetLastError": (uses(Kind.NCCL_COMMUNICATOR, "comm", null=True),),
    "ncclRedOpDestroy": (_COMMUNICATOR,),
}

_GROUP = "begins or ends a group of calls of the thread"
_MEMORY = "is seen as the driver's calls that it makes"
_PROCESS = "tells or sets something of the process, before there is a communicator"

NO_ROLE: Reasons = {
    "ncclGetErrorString": "names an error",
    "ncclGetUniqueId": _PROCESS,
    "ncclGetVersion": _PROCESS,
    "ncclGroupEnd": _GROUP,
    "ncclGroupSimulateEnd": _GROUP,
    "ncclGroupStart": _GROUP,
    "ncclMemAlloc": _MEMORY,
    "ncclMemFree": _MEMORY,
    "ncclParamDumpAll": _SETTING,
    "ncclParamGetAllParameterKeys": _SETTING,
    "ncclParamGetParameter": _SETTING,
    "ncclSetEncryption": _PROCESS,
}
