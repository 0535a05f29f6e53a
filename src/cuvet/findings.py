"""Defines findings, sites and objects, which every command produces and every report takes.

The JSON form of a ``Report`` is the contract ``cuvet-report/1``; its schema is
generated from these types (``make generate``) into ``reports/report.schema.json``.
"""

from __future__ import annotations

import os
from typing import Literal, get_args

import msgspec

SCHEMA = "cuvet-report/1"

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The worst first."""


def is_c_library(module: str | None) -> bool:
    """Whether the file is glibc's, which calls main, functions of threads and what others give it, and never CUDA."""
    return os.path.basename(module or "").startswith(("libc.so", "libc-2."))


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One frame of a stack: innermost frames come first in a site."""

    function: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    """From 1, in characters. Known where the source was read."""
    end_column: int | None = None
    """The first column after what is meant, on the same line."""
    module: str | None = None
    language: Literal["c++", "python", "cuda", "c#"] = "c++"

    @property
    def of_c_library(self) -> bool:
        return is_c_library(self.module)


class Rank(msgspec.Struct, frozen=True, kw_only=True):
    """The number of a process among those that a launcher (torchrun, mpirun, srun, …) started together, from 0. ``size``: how many there
    are; ``local_rank``: its number among those of its host. None: the launcher does not tell."""

    rank: int
    size: int | None = None
    local_rank: int | None = None
    host: str = ""


class ProcessRank(msgspec.Struct, frozen=True, kw_only=True):
    """A process that has a rank."""

    process: int
    rank: Rank


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """Where and when a CUDA call was made.

    ``api`` is the name that the user wrote (``cudaEventRecord``); ``call`` counts the
    CUDA calls of that thread from 1; ``time_ns`` is nanoseconds since the process's first record. ``rank`` is that of the process.
    """

    api: str
    call: int
    process: int
    thread: int
    time_ns: int
    rank: Rank | None = None
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


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a claim is believed: measured on hardware, written in a document, or established in a public thread."""

    kind: Literal["measured", "documented", "reported"]
    text: str
    source: str
    """Measured: "<GPU>, driver <version>, <date>, <fact id>". Documented: document, section. Reported: the thread's address."""
    succeeds: bool = False
    """It shows that a call can break the rule and return success."""


class EarlierCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call without which the one at fault would not be wrong. ``text``: what it did, part of a sentence."""

    text: str
    site: Site


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a path through source code: ``frame`` says where, ``text`` what happens or is taken there."""

    frame: Frame
    text: str


class MemoryPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Memory that calls with one stack hold. ``site`` is of the first of them."""

    site: Site
    library: str | None = None
    """File whose code called CUDA (``libtorch_cuda.so``), or package of Python; None if that is not known."""
    bytes: int
    count: int
    """Allocations."""
    peak_bytes: int
    peak_count: int
    """When all places of the process and of this kind of memory together held most."""


class MemoryUse(msgspec.Struct, frozen=True, kw_only=True):
    """What a process held of one kind of memory: at the end of its recording, and at the peak."""

    process: int
    memory: Literal["device", "managed", "host"]
    device: int | None = None
    """Of device memory; None if it is not known which."""
    capacity: int | None = None
    """Bytes that the device has, if that is known."""
    bytes: int
    count: int
    peak_bytes: int
    peak_count: int
    peak_ns: int
    """When the peak was reached, in nanoseconds since the process's first record."""
    places: tuple[MemoryPlace, ...] = ()
    """The largest first; small ones can be left out."""


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
    kept: Literal["asked", "refused"] | None = None
    """The object at fault had ended, and the quarantine kept it: the driver was asked, which has it still; or the call was to end it once
    more, and cuvet returned ``status`` without asking."""
    signal: int | None = None
    refused: bool = False
    """The call was not made (``cuvet run --protect``): ``status`` is what cuvet answered in the place of CUDA."""
    refused_then: Literal["trapped", "ended"] | None = None
    """What cuvet did before it answered: it raised SIGTRAP (``--protect=trap``), or ended the process (``--protect=abort``)."""
    undefined: bool = False
    """CUDA does not promise that the call returns an error: with another driver, or at another time, it may do anything."""
    host: Literal["read", "wrote"] | None = None
    """What code of the program did to memory, if it was no call; then ``api`` is its function."""
    argument: int | None = None
    """Index of the parameter at fault, in the API that the user called."""
    site: Site
    objects: tuple[ObjectReport, ...] = ()
    path: tuple[Step, ...] = ()
    """Of a finding in source code: how its place is reached, from the first step that matters."""
    because: tuple[str, ...] = ()
    earlier: tuple[EarlierCall, ...] = ()
    """The other side of a race, for example."""
    help: str = ""
    evidence: tuple[Evidence, ...] = ()
    memory: tuple[MemoryPlace, ...] = ()
    """Of a want of memory: the places that held most when the call failed, the largest first."""
    driver_log: tuple[str, ...] = ()
    """What the driver's own error log says about this call, one message each (``cuvet run --driver-log``)."""
    library_log: tuple[str, ...] = ()
    """What cuDNN's log says about this call, one line each: a status and its reason."""
    during: str = ""
    """What the program was doing then by its marks (``cuvet.mark``, ``pytest --cuvet``): part of a sentence."""
    repeats: int = 1
    """How many calls have this finding (same rule, same place); they are folded."""
    processes: int = 1
    """In how many processes it occurred, with the same message and stack; ``site`` is in the first."""
    ranks: tuple[int, ...] = ()
    """Of several recordings: the ranks in which it occurred; ``site`` is in the one in which it occurred first."""
    consequences: tuple[Finding, ...] = ()
    """Findings that there would not be without this one: calls that failed because this one did, as they came."""


class MachineCause(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with the machine, where that can be why the program failed. ``cause``: id of a cause, for ``cuvet explain``."""

    cause: str
    verdict: str
    """One line that stands alone."""
    evidence: tuple[str, ...] = ()
    fix: str = ""
    """The command that fixes it, or a sentence."""


class LikelyCause(msgspec.Struct, frozen=True, kw_only=True):
    """What the knowledge base holds for likely. ``cause``: its id, for ``cuvet explain``."""

    cause: str
    title: str
    """One line that stands alone."""


class UnexplainedFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Calls that failed, from one place or of one library, and that no rule explains. ``site`` is of the first of them."""

    api: str
    status: int
    site: Site
    library: str | None = None
    """The library that made them: it may have expected the failure, and dealt with it. None: the program's own code."""
    count: int = 1
    reason: str = ""
    """Why, if that is known although no rule is about it: that the emulated device does not have the call. Part of a sentence."""
    causes: tuple[LikelyCause, ...] = ()
    """The likeliest first; none for calls of libraries, nor beside a ``reason``."""


class Suppression(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Findings of a rule that a user does not want to be told of: those with a frame, on any of their stacks, that has the function, the
    file and the module. Each is a pattern as of a shell, ``*`` for any text; None is every one."""

    rule: str
    """Name, code, or a pattern of them."""
    function: str | None = None
    file: str | None = None
    """Of the whole path, or of its last parts: ``pool.cu``, ``src/*.cu``."""
    module: str | None = None
    """Likewise, of the executable or library."""
    reason: str
    source: str = ""
    """Where it is written."""


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A call that has not returned. ``site`` says when it was made, and where, if it was stored with its stack."""

    site: Site
    thread_name: str = ""
    for_ns: int | None = None
    """How long, until now, or until the program ended."""
    at_least: bool = False
    """It is not known since when: ``for_ns`` is how long it was watched, and ``site`` has the time of an earlier call."""
    waits_for: str = ""
    """What it waits for, if that is known: ``stream#3 (0x5581)``."""
    last_work: Site | None = None
    """The newest call that put work there."""
    nested: bool = False
    """A function that CUDA itself had called, such as a host function of a stream, made the call."""
    ranks: tuple[int, ...] = ()
    """Of several recordings: the ranks that wait so; ``site`` is in the one that has waited longest."""


class Follower(msgspec.Struct, frozen=True, kw_only=True):
    """How others failed after the first. ``after_ns``: how long after it the first of them did."""

    text: str
    ranks: tuple[int, ...] = ()
    processes: int = 1
    after_ns: int


class FirstFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Of several processes, the one that failed first. ``finding``: it is the first of the report's ``findings``."""

    process: int
    rank: Rank | None = None
    text: str
    """One line that stands alone."""
    time_ns: int
    """Since the Unix epoch, by the corrected clock."""
    finding: bool = False
    waiting: Waiting | None = None
    """The call in which it was."""
    clocks: str = ""
    """What is assumed about the clocks of several machines. Empty: one machine has one clock."""
    followers: tuple[Follower, ...] = ()


class Program(msgspec.Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    exit_code: int | None = None
    signal: int | None = None
    device: Literal["real", "emulated", "unknown"] = "real"
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
    ranks: tuple[ProcessRank, ...] = ()
    """The processes that a launcher gave a rank, as far as it is known."""
    first_failure: FirstFailure | None = None
    """Of several recordings, if one of their programs failed."""
    waiting: tuple[Waiting, ...] = ()
    """Of several recordings whose programs somebody ended: the calls in which they were, those of the fewest ranks first."""
    findings: tuple[Finding, ...] = ()
    unexplained: tuple[UnexplainedFailure, ...] = ()
    """Calls that failed, of which no rule says why, and whose status is no answer (not ready, already so); the first of many. How many
    there were in all: ``stats["unexplained_failures"]``."""
    machine: tuple[MachineCause, ...] = ()
    """Of a program that failed: what the probes of ``cuvet doctor`` found, right after its end, about what it had loaded and asked for."""
    memory: tuple[MemoryUse, ...] | None = None
    """Asked for with ``--memory``."""
    not_checked: tuple[str, ...] = ()
    """What was seen and could not be judged, one sentence each."""
    hints: tuple[str, ...] = ()
    """What would make the next report of this program better, one sentence each."""
    configuration: str | None = None
    """File and table that chose the findings, if there is one."""
    unused_suppressions: tuple[Suppression, ...] = ()
    """Those that no finding had, though their rules were asked for."""
    stats: dict[str, int] = {}
