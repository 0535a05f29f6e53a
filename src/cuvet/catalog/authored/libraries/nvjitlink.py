"""nvJitLink: handles of links."""

from __future__ import annotations

from cuvet.catalog.authored.words import NVJITLINK_HANDLE, Reasons, Roles, destroys

HANDLES = {"nvJitLinkHandle": NVJITLINK_HANDLE}
WORKSPACES: frozenset[str] = frozenset()
UNTRACKED: Reasons = {}

ROLES: Roles = {"nvJitLinkDestroy": (destroys(NVJITLINK_HANDLE, "handle", field="*"),)}

NO_ROLE: Reasons = {"nvJitLinkVersion": "reports a version"}
