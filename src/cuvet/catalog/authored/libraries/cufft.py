"""cuFFT: plans, which are small numbers. Its experimental interface of ``cufft_device.h`` passes through unseen."""

from cuvet.catalog.authored.words import Reasons, Roles, creates, sets_workspace, uses
from cuvet.catalog.kinds import Kind

HANDLES = {"cufftHandle": Kind.CUFFT_PLAN}
WORKSPACES: frozenset[str] = frozenset()
UNTRACKED: Reasons = {}

_PLANS = (creates(Kind.CUFFT_PLAN, "plan"),)

ROLES: Roles = {
    "cufftPlan1d": _PLANS,
    "cufftPlan2d": _PLANS,
    "cufftPlan3d": _PLANS,
    "cufftPlanMany": _PLANS,
    "cufftSetWorkArea": (uses(Kind.CUFFT_PLAN, "plan"), sets_workspace("workArea", of="plan")),
}

_VERSION = "reports a version"
_ESTIMATE = "estimates a size from numbers"

NO_ROLE: Reasons = {
    "cufftEstimate1d": _ESTIMATE,
    "cufftEstimate2d": _ESTIMATE,
    "cufftEstimate3d": _ESTIMATE,
    "cufftEstimateMany": _ESTIMATE,
    "cufftGetProperty": _VERSION,
    "cufftGetVersion": _VERSION,
    "cufftXtFree": "names a struct of memory on several GPUs, and no plan",
}
