"""NVRTC: programs."""

from cuvet.catalog.authored.words import Reasons, Roles, destroys
from cuvet.catalog.kinds import Kind

HANDLES = {"nvrtcProgram": Kind.NVRTC_PROGRAM}
WORKSPACES: frozenset[str] = frozenset()
UNTRACKED: Reasons = {"int (*)(void *,void *)": "a function of the program, which NVRTC calls"}

ROLES: Roles = {"nvrtcDestroyProgram": (destroys(Kind.NVRTC_PROGRAM, "prog", field="*"),)}

_COMPILER = "tells or sets what the compiler is, for all programs"
_HEADERS = "installs or removes headers that NVRTC brings along"

NO_ROLE: Reasons = {
    "nvrtcGetBundledHeadersInfo": _HEADERS,
    "nvrtcGetErrorString": "names an error",
    "nvrtcGetNumSupportedArchs": _COMPILER,
    "nvrtcGetPCHHeapSize": _COMPILER,
    "nvrtcGetSupportedArchs": _COMPILER,
    "nvrtcInstallBundledHeaders": _HEADERS,
    "nvrtcRemoveBundledHeaders": _HEADERS,
    "nvrtcSetPCHHeapSize": _COMPILER,
    "nvrtcVersion": _COMPILER,
}
