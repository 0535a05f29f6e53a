"""What a rule is: a precondition of CUDA, with its documentation, evidence and example programs.

A rule says when a call is not allowed, what the driver then does (``Violation.outcomes``), why it is wrong and what to do instead.
Its VALID and INVALID programs are its tests and its documentation, written as text (``cuvet.rules.examples``). They are Python
over the driver API (``cuvet.rules.programs``) and mark the line at fault with ``# error: [slug]`` (or warning, note). If ``cuvet
check`` applies the rule, some of them are source files.

There is a class for each occasion on which a rule is asked:

* ``CallRule``: about a call, before it is made.
* ``FailureRule``: about a call that failed and that breaks no rule itself.
* ``FaultRule``: about an access of host code that ended the process.
* ``TouchRule``: about an access of host code to guarded memory (``cuvet run --guard``).
* ``ExitRule``: about a process that has ended.
* ``SourceRule``: never while a program runs. ``cuvet check`` alone sees that it is broken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from cuvet.catalog.results import INVALID_VALUE
from cuvet.findings import Severity
from cuvet.model.call import ABORT, CRASH
from cuvet.model.precedence import Stage
from cuvet.rules.evidence import succeeding

if TYPE_CHECKING:
    from cuvet.catalog import EntryPoint
    from cuvet.catalog.roles import Kind, Verb
    from cuvet.model import Call, ModelView, Object
    from cuvet.model.ledger import Total

__all__ = [
    "ABORT",
    "CRASH",
    "CallRule",
    "Ended",
    "ExitRule",
    "FailureRule",
    "FaultRule",
    "Rule",
    "SourceRule",
    "TouchRule",
    "Violation",
    "Violations",
]


class Edge(NamedTuple):
    """What is missing: stream number ``waits`` waits for work number ``work`` of stream number ``other``."""

    other: int
    work: int
    waits: int


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule broken by a call.

    ``objects`` are objects of the model, the one at fault first. ``argument`` is the index of the parameter at fault of the driver entry
    point. ``outcomes`` are the statuses that the driver may return (``CRASH`` for a signal), empty if the call succeeds. With ``undefined``
    other outcomes are possible too. With ``only_if_failed`` it is reported only when the call fails, with one of ``outcomes``, if there are
    any and it is not ``undefined``, or does not return, unless 0 is one of ``outcomes``. With ``driver_only`` it is not reported when the
    CUDA runtime makes the call, because the runtime expects the failure and fixes it. ``culprit`` is an earlier call at which the finding
    is reported instead. ``cause`` is an earlier call whose mistake led to this one: the finding is shown below that of the cause, if that
    is as severe and of one of the rules named in ``cause_rules`` (none: of any). ``held``, if memory is exhausted: what holds the memory of
    that kind, read when the finding is made. ``earlier``: calls without which it would not be wrong, each with what it did; two violations
    that differ in the first are two findings. ``help``: what to do, if that can be said better than the rule does. ``times``: for how many
    objects that are alike it stands. ``edge``, of a race: which stream would have to wait for which work of which other one.
    """

    rule: type[Rule]
    message: str
    objects: tuple[Object, ...] = ()
    argument: int | None = None
    because: tuple[str, ...] = ()
    outcomes: tuple[int, ...] = ()
    undefined: bool = False
    only_if_failed: bool = False
    driver_only: bool = False
    culprit: Call | None = None
    cause: Call | None = None
    cause_rules: frozenset[str] = frozenset()
    held: Total | None = None
    earlier: tuple[tuple[str, Call], ...] = ()
    help: str = ""
    times: int = 1
    edge: Edge | None = None

    def stands(self, call: Call, status: int | None) -> bool:
        """Whether it still holds after the driver answered ``call`` with ``status`` (None: it did not return). A call that returned
        success is accused only if it was measured that such a call can succeed (``Rule.can_succeed``), or if the quarantine keeps the
        object at fault. Where only a failure shows that something is wrong, and success is expected as well, a call that did not
        return shows nothing."""
        if self.of_kept(call):
            return True
        if status is None:
            return not (self.only_if_failed and 0 in self.outcomes)
        if self.rule.about_work and status:
            return False
        if self.only_if_failed:
            return status != 0 and (self.undefined or not self.outcomes or status in self.outcomes)
        return status != 0 or 0 in self.outcomes or self.rule.can_succeed(call.name)

    def of_kept(self, call: Call) -> bool:
        """Whether the object at fault had ended and the quarantine kept it, so that the driver could not refuse it."""
        if self.argument is None or not self.objects or self.objects[0].alive:
            return False
        seen = call.seen.get(self.argument)
        return seen is not None and seen.kept and seen.handle == self.objects[0].handle

    def contradicted(self, call: Call, status: int | None) -> bool:
        """Whether the driver accepted what the violation says it refuses."""
        return status == 0 and not self.only_if_failed and not self.stands(call, status)


Violations = Iterator[Violation]
"""What a rule yields."""


class Rule(ABC):
    """The subclass's docstring has the four fields (``cuvet.fields``) that become its page: what it ``checks``, ``why`` that is wrong, what
    to use ``instead``, and its ``limits``."""

    code: ClassVar[str]
    name: ClassVar[str]
    """From its place: ``stream-destroy-default`` is ``stream/destroy_default.py``."""
    severity: ClassVar[Severity] = "error"
    summary: ClassVar[str]
    help: ClassVar[str]
    evidence: ClassVar[str]
    """What is known, and from where, as text (``cuvet.rules.evidence``). If none of it shows that a call can break the rule and succeed,
    a call that succeeded is not accused."""
    VALID: ClassVar[str]
    INVALID: ClassVar[str]
    """Programs that the rule allows, and such that break it, as text (``cuvet.rules.examples``)."""
    kinds: ClassVar[frozenset[Kind] | None] = None
    """The kinds of objects that it is about (None: any)."""
    in_source: ClassVar[bool] = False
    """A path through source code can show that it is broken. Other rules need sizes, flags, stream order or effects of other code."""
    about_devices: ClassVar[bool] = False
    """It depends on which device or context is current."""
    fix: ClassVar[Literal["remove-call", "check-status"] | None] = None
    """How ``cuvet check --fix`` fixes what it finds, where that is mechanical and safe."""
    stage: ClassVar[Stage] = Stage.STATE
    """When the driver checks it. What is wrong with the process is reported instead of other mistakes of the call."""
    about_work: ClassVar[bool] = False
    """It is about work that the call enqueues: a call that failed enqueued none."""
    of_process: ClassVar[bool] = False
    """It is about the state of the process: it is reported once for each."""
    answers: ClassVar[bool] = False
    """It is about calls whose failure may be an answer (``catalog.answers``). Then it is a note, and not reported if a library asked."""

    def __init_subclass__(cls) -> None:
        place = cls.__module__.split(".")[2:]
        if len(place) == 2 and "name" not in vars(cls):
            cls.name = "-".join(place).replace("_", "-")

    @classmethod
    def where(cls, part: str) -> str:
        """Where a part of the rule is written: its file below ``src/cuvet``, its name, the part."""
        return f"{cls.__module__.partition('.')[2].replace('.', '/')}.py, {cls.name}, {part}"

    @classmethod
    def broken(
        cls,
        message: str,
        *objects: Object | None,
        argument: int | None = None,
        because: tuple[str, ...] = (),
        outcomes: tuple[int, ...] = (),
        undefined: bool = False,
        only_if_failed: bool = False,
        culprit: Call | None = None,
        cause: Call | None = None,
        help: str = "",
        times: int = 1,
    ) -> Violation:
        """A violation of this rule. ``objects`` that are None are left out."""
        known = tuple(each for each in objects if each is not None)
        return Violation(
            cls,
            message,
            known,
            argument,
            because,
            outcomes,
            undefined,
            only_if_failed,
            False,
            culprit,
            cause,
            help=help,
            times=times,
        )

    @classmethod
    def refused(
        cls,
        message: str,
        *objects: Object | None,
        argument: int | None = None,
        because: tuple[str, ...] = (),
        outcomes: tuple[int, ...] = (INVALID_VALUE,),
        undefined: bool = False,
        help: str = "",
    ) -> Violation:
        """The same that the driver is expected to refuse with one of ``outcomes``. It is reported only if the call fails."""
        return cls.broken(
            message,
            *objects,
            argument=argument,
            because=because,
            outcomes=outcomes,
            undefined=undefined,
            only_if_failed=True,
            help=help,
        )

    @classmethod
    def can_succeed(cls, name: str) -> bool:
        """Whether a call of that entry point is shown to return success although it breaks the rule."""
        return not succeeding(cls).isdisjoint((name, "*"))


class CallRule(Rule):
    """A rule that a call breaks.

    ``kinds`` and ``verbs`` say at which calls it can fire, so that the model asks it about no others: those with a role of one of these
    kinds, and one of these verbs (None: any). ``entry_points`` names them instead.
    """

    verbs: ClassVar[frozenset[Verb] | None] = None
    entry_points: ClassVar[frozenset[str] | None] = None
    libraries: ClassVar[bool] = False
    """It is about calls of CUDA's libraries too."""
    only_for_failed: ClassVar[bool] = False
    """All its violations are ``only_if_failed``: it need not be asked about calls that returned success."""
    only_for_dead: ClassVar[bool] = False
    """It fires only at calls that name an object that is not alive: dead, unknown, or NULL where that is no value."""
    only_after_end: ClassVar[bool] = False
    """It fires only about objects that a call has ended."""
    only_when: ClassVar[Callable[[Call, ModelView], bool] | None] = None
    """It fires only at calls of which this holds (``cuvet.rules.occasions``); then the model asks it about no others."""

    same_for_alike: ClassVar[bool] = False
    """Outside of captures it says the same of all calls that are alike (``cuvet.model.alike``): it looks at no memory, and at no order."""

    @classmethod
    def applies_to(cls, entry_point: EntryPoint) -> bool:
        """Whether the rule can fire at a call of this entry point."""
        if cls.entry_points is not None:
            return entry_point.name in cls.entry_points
        return (cls.kinds is None and cls.verbs is None) or any(
            (cls.kinds is None or role.kind in cls.kinds) and (cls.verbs is None or role.verb in cls.verbs)
            for role in entry_point.roles
        )

    @classmethod
    @abstractmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        """Yield what is wrong with making ``call`` now. The view has nothing that changes the model, and a test keeps rules from changing
        an object that it tells of."""


class FailureRule(Rule):
    """A rule that explains the failure of a call that breaks no rule itself."""

    asked_first: ClassVar[bool] = False
    """Before the others, where more than one has an explanation."""

    @classmethod
    @abstractmethod
    def explain(cls, call: Call, status: int, model: ModelView) -> Violation | None:
        """Why the call returned ``status``; None if that has another reason. Asked after the model has observed it. ``Violation.culprit``
        says under which call a failure is to be counted, so that all that follows one error is one finding."""


class FaultRule(Rule):
    """A rule about memory that host code touches, without a call."""

    @classmethod
    @abstractmethod
    def explain(cls, address: int, model: ModelView) -> Violation | None:
        """The violation behind a SIGSEGV at ``address`` that ended the process; None if the address is not memory of CUDA."""


class TouchRule(Rule):
    """A rule about memory that host code touches, without a call, while work in flight may use it."""

    @classmethod
    @abstractmethod
    def explain(cls, address: int, writes: bool, model: ModelView) -> Violation | None:
        """What is wrong with reading or writing at ``address`` now; None if nothing is."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What is known of a process that has ended, beside the model.

    ``refused``: in a process in which cuInit never succeeded, the first call that failed for it, and how many did. ``leaks``: whether
    the user asks what was never freed.
    """

    refused: tuple[Call, int] | None = None
    leaks: bool = False


class ExitRule(Rule):
    """A rule that only the end of a process shows to be broken."""

    @classmethod
    @abstractmethod
    def at_exit(cls, model: ModelView, ended: Ended) -> Violations:
        """Yield what was wrong, each at its ``Violation.culprit``."""


class SourceRule(Rule):
    """A rule that ``cuvet check`` alone applies: no call breaks it, but the text or a path through it does."""
