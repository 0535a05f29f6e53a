"""NCCL: communicators. The second names of its functions, ``pnccl…``, pass through unseen."""

from cuvet.catalog.authored.words import *
from cuvet.catalog.kinds import Kind
from cuvet.catalog.roles import Role, Verb

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
    **alike("ncclCommAbort ncclCommDestroy", *_ENDS),
    # Ranks that join have no communicator yet (nccl.h).
    "ncclCommGrow": (uses(Kind.NCCL_COMMUNICATOR, "comm", null=True), creates(Kind.NCCL_COMMUNICATOR, "newcomm")),
    "ncclCommInitAll": (creates(Kind.NCCL_COMMUNICATOR, "comm", count="ndev"),),
    **alike("ncclCommInitRank ncclCommInitRankConfig", *_INITIALISES),
    "ncclCommInitRankScalable": (creates(Kind.NCCL_COMMUNICATOR, "newcomm"),),
    **alike("ncclCommShrink ncclCommSplit", *_FROM_COMMUNICATOR),
    # "currently unused and can be set to NULL": NCCL's user guide, of its argument
    "ncclGetLastError": (uses(Kind.NCCL_COMMUNICATOR, "comm", null=True),),
    "ncclGroupEnd": (Role(Verb.ENDS_GROUP, ""),),
    "ncclGroupStart": (Role(Verb.BEGINS_GROUP, ""),),
    "ncclRedOpDestroy": (_COMMUNICATOR,),
}


NO_ROLE: ByReason = {
    "names an error": "ncclGetErrorString",
    "tells or sets something of the process, before there is a communicator": """
        ncclGetUniqueId ncclGetVersion ncclSetEncryption
    """,
    "says how long a group of calls would take": "ncclGroupSimulateEnd",
    "is seen as the driver's calls that it makes": "ncclMemAlloc ncclMemFree",
    _SETTING: "ncclParamDumpAll ncclParamGetAllParameterKeys ncclParamGetParameter",
}
