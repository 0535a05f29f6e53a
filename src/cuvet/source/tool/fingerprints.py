"""What tells a finding from all others, and stays when the lines around it move."""

import os
from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

import msgspec

from cuvet.findings import Finding, Frame
from cuvet.source.tool.lines import line_of
from cuvet.source.tool.report import CheckFinding

MOST_CHARACTERS = 1000
"""Of a line that go into a fingerprint."""


def fingerprinted(findings: Iterable[Finding], root: Path) -> list[CheckFinding]:
    """The findings in the order of their places.

    A fingerprint is made of the rule, the file's path from ``root``, the function, the call, and the text of the line without
    its spaces; not of the line's number. Findings of which all this is the same are numbered by their order.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    done = []
    for finding in sorted(findings, key=_order):
        frame = place(finding)
        text = "".join(line_of(Path(frame.file or ""), frame.line)[:MOST_CHARACTERS].split())
        parts = (finding.name, relative(frame.file or "", root), frame.function, finding.api, text)
        digest = blake2b("\0".join((*parts, str(seen[parts]))).encode("utf-8", "surrogateescape"), digest_size=12)
        seen[parts] += 1
        done.append(CheckFinding(**msgspec.structs.asdict(finding), fingerprint=digest.hexdigest()))
    return done


def place(finding: Finding) -> Frame:
    """Where a finding in source code is."""
    return finding.site.frames[0]


def relative(file: str, root: Path) -> str:
    """The path from ``root``, with ``/``; as it is, absolute, if it is not below."""
    path = Path(os.path.abspath(file))
    return (path.relative_to(root) if root in path.parents else path).as_posix()


def _order(finding: Finding) -> tuple[str, int, int, str]:
    frame = place(finding)
    return frame.file or "", frame.line or 0, frame.column or 0, finding.rule
