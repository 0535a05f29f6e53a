"""What injected faults showed: the types of ``cuvet inject``'s report, ``cuvet-inject/1``."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from cuvet.findings import Frame, Program, Severity, Tool

SCHEMA = "cuvet-inject/1"
Occurrence = Literal["every", "first", "last"]
"""Which calls of a place failed: every one from the first on, only the first, only the last."""
Class = Literal["resource", "refused", "sticky"]
CLASSES: tuple[Class, ...] = get_args(Class)
"""Of statuses. ``resource``: there is not enough of something. ``refused``: the call is not accepted as it is. ``sticky``: work on the
device has failed and all calls after it fail, too."""
Verdict = Literal[
    "crash",
    "hang",
    "double-destroy",
    "use-after-destroy",
    "use-of-unmade",
    "leak",
    "wrong-blame",
    "ignored",
    "unstable",
    "handled",
    "not-reached",
    "not-tried",
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""The worst first."""
HARMLESS: tuple[Verdict, ...] = ("handled", "not-reached", "not-tried")
"""Nothing was seen that is not as it should be."""
SEVERITY: dict[Verdict, Severity] = {
    "crash": "error",
    "hang": "error",
    "double-destroy": "error",
    "use-after-destroy": "error",
    "use-of-unmade": "error",
    "leak": "warning",
    "wrong-blame": "warning",
    "ignored": "warning",
    "unstable": "note",
}
"""Of those that are a defect."""


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended: with an exit code, by a signal, or not at all. ``stdout``, ``stderr``: the first and the last of what it wrote;
    ``cut``: something between them is not there. ``digest``: equal of runs that wrote the same, also there. ``cpu_s``: of the program and
    its emulated device."""

    pid: int = 0
    exit_code: int | None = None
    signal: int | None = None
    hung: bool = False
    wall_s: float = 0.0
    cpu_s: float = 0.0
    stdout: str = ""
    stderr: str = ""
    cut: bool = False
    digest: str = ""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of one function from one stack. ``id`` is the same in every run of the program, for ``--at``. ``file``, ``line`` and
    ``function`` are those of the innermost frame whose line is known; ``frames``: the stack."""

    id: str
    api: str
    file: str | None = None
    line: int | None = None
    function: str | None = None
    frames: tuple[Frame, ...] = ()


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault: which calls of a place fail, from 1 (``last`` 0: all that follow), with which status. ``later``: not the call fails, but the
    work that it gives to a stream."""

    first: int
    last: int
    status: int
    code: str
    kind: Class
    later: bool = False

    @property
    def occurrence(self) -> Occurrence:
        if not self.last:
            return "every"
        return "first" if self.first == 1 else "last"


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What the program did with one fault. ``at``: the place that is to blame, if it is another than where the fault was injected: the
    first call that told of work that had failed. ``because``: sentences. ``recording``: directory of the run's recording, "" if it was
    not kept. ``command``: repeats it."""

    fault: Fault
    verdict: Verdict
    exit_code: int | None = None
    signal: int | None = None
    at: Place | None = None
    because: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    """Lines that it wrote and does not write without the fault."""
    minor: bool = False
    """The program may mean to do so: it took the default stream in place of one that was not made; it ended at once, in Python, or by an
    exception that main does not catch; or the call only asked about work for which it waits later."""
    recording: str = ""
    command: str = ""


class Tried(Place, frozen=True, kw_only=True):
    """A place with all its trials, the worst first. ``verdict``, ``code``, ``occurrence`` and ``command`` are of that one. ``count``: its
    calls in a run without faults. ``severity``: None, it is no defect."""

    count: int
    verdict: Verdict
    severity: Severity | None = None
    code: str | None = None
    occurrence: Occurrence | None = None
    command: str | None = None
    trials: tuple[Trial, ...] = ()


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """The program without faults. ``deterministic``: two runs made the same calls and wrote the same; ``unstable``: sentences about what
    differed."""

    exit_code: int | None = None
    signal: int | None = None
    seconds: float = 0.0
    calls: int = 0
    left: int = 0
    """Objects at the end."""
    deterministic: bool = True
    unstable: tuple[str, ...] = ()


class InjectReport(msgspec.Struct, frozen=True, kw_only=True):
    schema: str = SCHEMA
    tool: Tool
    program: Program
    survey: Survey
    sites: tuple[Tried, ...] = ()
    """Those that were tried, the worst first."""
    untried: int = 0
    """Places that were left out, because of ``--at``, ``--changed`` or ``--budget``."""
    runs: int = 0
    seconds: float = 0.0
    verdicts: dict[str, int] = {}
    notes: tuple[str, ...] = ()
