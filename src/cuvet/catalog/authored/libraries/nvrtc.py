"""NVRTC: programs."""

from cuvet.catalog.authored.words import *
from cuvet.catalog.kinds import Kind

HANDLES = {"nvrtcProgram": Kind.NVRTC_PROGRAM}
WORKSPACES: frozenset[str] = frozenset()
UNTRACKED: Reasons = {"int (*)(void *,void *)": "a function of the program, which NVRTC calls"}

ROLES: Roles = {"nvrtcDestroyProgram": (destroys(Kind.NVRTC_PROGRAM, "prog", field="*"),)}


NO_ROLE: ByReason = {
    "installs or removes headers that NVRTC brings along": """
        nvrtcGetBundledHeadersInfo nvrtcInstallBundledHeaders nvrtcRemoveBundledHeaders
    """,
    "names an error": "nvrtcGetErrorString",
    "tells or sets what the compiler is, for all programs": """
        nvrtcGetNumSupportedArchs nvrtcGetPCHHeapSize nvrtcGetSupportedArchs nvrtcSetPCHHeapSize nvrtcVersion
    """,
}
