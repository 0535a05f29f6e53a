"""cuTENSOR 2: handles, descriptors of tensors and operations, preferences, plans."""

from cuvet.catalog.authored.words import *
from cuvet.catalog.kinds import Kind

_DESCRIPTORS = "TensorDescriptor BlockSparseTensorDescriptor OperationDescriptor PlanPreference".split()
HANDLES = {
    "cutensorHandle_t": Kind.CUTENSOR_HANDLE,
    "cutensorPlan_t": Kind.CUTENSOR_PLAN,
    **{f"cutensor{noun}_t": Kind.CUTENSOR_DESCRIPTOR for noun in _DESCRIPTORS},
}
WORKSPACES = frozenset({"workspace"})
_LOG = "sets where cuTENSOR logs"
UNTRACKED: Reasons = {"cutensorComputeDescriptor_t": "a constant of cuTENSOR", "cutensorLoggerCallback_t": _LOG}

ROLES: Roles = {
    "cutensorCreatePlan": (
        uses(Kind.CUTENSOR_HANDLE, "handle"),
        creates(Kind.CUTENSOR_PLAN, "plan"),
        uses(Kind.CUTENSOR_DESCRIPTOR, "desc"),
        uses(Kind.CUTENSOR_DESCRIPTOR, "pref", null=True),  # "May be nullptr" (cutensor.h)
    )
}


NO_ROLE: ByReason = {
    "reports a version": "cutensorGetCudartVersion cutensorGetVersion",
    "names an error": "cutensorGetErrorString",
    _LOG: """
        cutensorLoggerForceDisable cutensorLoggerOpenFile cutensorLoggerSetFile cutensorLoggerSetLevel
        cutensorLoggerSetMask
    """,
}
