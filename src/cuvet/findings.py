"""What every lens produces and every report takes: findings, sites and objects.

The JSON form of a ``Report`` is the contract ``cuvet-report/1``; its schema is
generated from these types (``make generate``) into ``reports/report.schema.json``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = "cuvet-report/1"

Severity = Literal["error", "warning", "note"]


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One frame of a stack: innermost frames come first in a site."""

    function: str
    file: str | None = None
    line: int | None = None
    module: str | None = None
    language: Literal["c++", "python", "cuda"] = "c++"


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """Where and when a CUDA call was made.

    ``api`` is the name that the user wrote (``cudaEventRecord``); ``call`` counts the
    CUDA calls of that thread from 1; ``time_ns`` is nanoseconds since the process's first record.
    """

    api: str
    call: int
    process: int
    thread: int
    time_ns: int
    frames: tuple[Frame, ...] = ()


class ObjectReport(msgspec.Struct, frozen=True, kw_only=True):
    """A CUDA object that a finding is about. ``handle`` is hexadecimal, as CUDA prints it."""

    kind: str
    handle: str
    generation: int
    name: str
    """How the report refers to it, e.g. ``stream#3``; stable within one recording."""
    context: str | None = None
    device: int | None = None
    created: Site | None = None
    destroyed: Site | None = None


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Why a claim is believed: measured on hardware, written in a document, or established in a public thread."""

    kind: Literal["measured", "documented", "reported"]
    text: str
    source: str
    """Measured: "<GPU>, driver <version>, <date>, <fact id>". Documented: document, section. Reported: the thread's address."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    rule: str
    """Stable code, ``CV101``."""
    name: str
    """Slug of the rule, ``stream-use-after-destroy``."""
    severity: Severity
    message: str
    """One line that stands alone."""
    api: str
    status: int | None = None
    """What the call returned; None if it did not return."""
    signal: int | None = None
    argument: int | None = None
    """Index of the parameter at fault, in the API that the user called."""
    site: Site
    objects: tuple[ObjectReport, ...] = ()
    because: tuple[str, ...] = ()
    help: str = ""
    evidence: tuple[Evidence, ...] = ()
    repeats: int = 1
    """How often this finding (same rule, same place) occurred; repeats are folded."""
    processes: int = 1
    """In how many processes it occurred, with the same message and stack; ``site`` is in the first."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    exit_code: int | None = None
    signal: int | None = None
    device: Literal["real", "emulated"] = "real"
    gpus: tuple[str, ...] = ()
    driver: str | None = None
    """Newest CUDA version that the driver supports, ``13.0``."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    name: str = "cuvet"
    version: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    schema: str = SCHEMA
    tool: Tool
    program: Program
    findings: tuple[Finding, ...] = ()
    not_checked: tuple[str, ...] = ()
    """What was seen and could not be judged, one sentence each."""
    stats: dict[str, int] = {}
