"""What ``cuvet check`` reports: the contract ``cuvet-check/1``, whose schema is generated from these types (``make generate``)."""

import msgspec

from cuvet.findings import Finding, Tool
from cuvet.source import NotChecked

SCHEMA = "cuvet-check/1"


class CheckFinding(Finding, frozen=True, kw_only=True):
    """A finding in source code."""

    fingerprint: str
    """Stays the same when lines above move; of two findings alike in a function, each has its own."""


class Ignore(msgspec.Struct, frozen=True, kw_only=True):
    """A comment ``cuvet: ignore[stream-use-after-destroy] reason`` that ignores nothing, or not all that it names."""

    file: str
    line: int
    column: int
    """From 1, in characters, as those of a frame."""
    end_column: int
    why: str
    """One line that stands alone."""


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """A file or directory that could not be read, or at which the check itself failed."""

    file: str
    why: str


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """A path that is no source file to check."""

    file: str
    why: str


class CheckReport(msgspec.Struct, frozen=True, kw_only=True):
    """``hidden`` are counts of findings that are not shown: ``ignored`` by comments or as ``configured``, in the
    ``baseline``, on ``unchanged`` lines.

    ``stats`` are sums over the files: ``files``, ``lines``, ``functions`` (with CUDA), ``calls``, ``paths``, ``bytes``;
    and ``fixed``, the edits that ``--fix`` made.
    """

    schema: str = SCHEMA
    tool: Tool
    root: str
    """The project's directory, which fingerprints and SARIF's addresses are relative to."""
    findings: tuple[CheckFinding, ...] = ()
    unused_ignores: tuple[Ignore, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    unread: tuple[Unread, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    hidden: dict[str, int] = {}
    stats: dict[str, int] = {}
