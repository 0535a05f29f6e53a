"""nvJitLink: handles of links."""

from cuvet.catalog.authored.words import *
from cuvet.catalog.kinds import Kind

HANDLES = {"nvJitLinkHandle": Kind.NVJITLINK_HANDLE}
WORKSPACES: frozenset[str] = frozenset()
UNTRACKED: Reasons = {}

ROLES: Roles = {"nvJitLinkDestroy": (destroys(Kind.NVJITLINK_HANDLE, "handle", field="*"),)}

NO_ROLE: ByReason = {"reports a version": "nvJitLinkVersion"}
