"""What tells a finding of a run from others, and stays when the lines around it move: the rule, the call and the functions that made it."""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path

from cuvet.findings import Site
from cuvet.reports.terminal import located
from cuvet.source.tool.fingerprints import relative

_MOST_FRAMES = 3
"""Of a stack that tell a finding from others."""


def fingerprint(rule: str, api: str, site: Site, root: Path | None) -> str:
    """Of a call of ``api`` that breaks the rule of that name. Files count by their path from ``root``; None: by their name alone, which is
    the same wherever the sources lie."""
    parts = (rule, api, *(f"{_file(f.file, root) or f.module} {f.function}" for f in located(site)[:_MOST_FRAMES]))
    return blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def _file(file: str | None, root: Path | None) -> str:
    if not file:
        return ""
    return os.path.basename(file) if root is None else relative(file, root)
