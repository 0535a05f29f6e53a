"""cuFFT: plans, which are small numbers. Its experimental interface of ``cufft_device.h`` passes through unseen."""

from cuvet.catalog.authored.words import *
from cuvet.catalog.kinds import Kind

HANDLES = {"cufftHandle": Kind.CUFFT_PLAN}
WORKSPACES: frozenset[str] = frozenset()
UNTRACKED: Reasons = {}

_PLANS = (creates(Kind.CUFFT_PLAN, "plan"),)

ROLES: Roles = {
    **alike("cufftPlan1d cufftPlan2d cufftPlan3d cufftPlanMany", *_PLANS),
    "cufftSetWorkArea": (uses(Kind.CUFFT_PLAN, "plan"), sets_workspace("workArea", of="plan")),
}


NO_ROLE: ByReason = {
    "estimates a size from numbers": "cufftEstimate1d cufftEstimate2d cufftEstimate3d cufftEstimateMany",
    "reports a version": "cufftGetProperty cufftGetVersion",
    "names a struct of memory on several GPUs, and no plan": "cufftXtFree",
}
