"""What ``cuvet explain`` answers. The JSON form of an ``Explanation`` is ``cuvet-explanation/1`` (``explanation.schema.json``)."""

from collections.abc import Sequence

import msgspec

import cuvet
from cuvet.findings import Evidence, Tool
from cuvet.knowledge.cases import Index
from cuvet.knowledge.cause import Cause, Meaning
from cuvet.knowledge.device_faults import DeviceFault
from cuvet.knowledge.errors import Error, integer, named, numbered
from cuvet.knowledge.logs import Line, Log, Sighting
from cuvet.knowledge.mentions import calls_in, errors_in
from cuvet.knowledge.reading import meanings_of
from cuvet.knowledge.search import LEAST_OF_FAILURE, Match, cause_named, known, likely, rank, shows, written
from cuvet.rules.evidence import evidence_of
from cuvet.rules.headings import HEADINGS, sections
from cuvet.rules.rule import Rule

SCHEMA = "cuvet-explanation/1"
_LIKE = 0.5
_MOST_CANDIDATES = 4
_MOST_CHECKS = 3


class ErrorText(msgspec.Struct, frozen=True, kw_only=True):
    """An error: its names, the releases with their number for it, and what it means."""

    title: str
    """CUDA for the driver and the runtime, else the library."""
    apis: tuple[str, ...]
    names: tuple[str, ...]
    numbers: dict[str, int]
    meaning: str | None = None
    evidence: tuple[Evidence, ...] = ()
    beliefs: tuple[str, ...] = ()
    """What people wrongly hold for true."""


class Step(msgspec.Struct, frozen=True):
    """A command, and what it shows if this is the cause."""

    command: str
    shows: str


class Outcome(msgspec.Struct, frozen=True):
    """What a command ``shows`` if the ``cause`` is that of this id."""

    shows: str
    cause: str


class Check(msgspec.Struct, frozen=True):
    """A command that tells candidates apart."""

    command: str
    outcomes: tuple[Outcome, ...]


class CauseText(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    """The name of a rule (``cuvet rules``), or the id of a cause that no rule finds."""
    title: str
    why: str
    tell: tuple[Step, ...]
    fix: str
    evidence: tuple[Evidence, ...]
    beliefs: tuple[str, ...] = ()
    score: int = 0
    signs: tuple[str, ...] = ()
    """What of the text spoke for it."""
    like: str | None = None
    """A public case of the cause that the text is like."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    schema: str = SCHEMA
    tool: Tool
    asked: str
    known: bool = True
    """False if too little speaks for any cause. Then ``checks`` are what would tell."""
    errors: tuple[ErrorText, ...] = ()
    """If a number was asked for, the causes are those of the first."""
    sightings: tuple[Sighting, ...] = ()
    """Of a log: its errors in the order of time. The causes are those of the first."""
    begins: Line | None = None
    """Of a short log whose first error is a signal: the first line before it that tells of a failure and speaks for the first cause."""
    faults: tuple[DeviceFault, ...] = ()
    """Of a log: the faults of kernels that compute-sanitizer or the kernel's log (Xid 31) tells, with their addresses."""
    causes: tuple[CauseText, ...] = ()
    more_causes: int = 0
    """How many less likely ones are left out."""
    checks: tuple[Check, ...] = ()


def unknown(asked: str) -> Explanation:
    """Of what nothing is known."""
    return Explanation(tool=Tool(version=cuvet.__version__), asked=asked, known=False)


def explain_cause(id: str) -> Explanation | None:
    """The cause of this id, if there is one."""
    cause = cause_named(id)
    found = _explanation(id, (), [Match(cause, 0, ())], everything=True) if cause else None
    return msgspec.structs.replace(found, known=True) if found else None


def explain_rule(rule: type[Rule]) -> Explanation:
    """What a rule finds, as a cause: for rules of which there is no text of a cause."""
    about = sections(rule)
    cause = CauseText(
        id=rule.name, title=rule.summary, why=about[HEADINGS["why"]], tell=(), fix=rule.help, evidence=evidence_of(rule)
    )
    return Explanation(tool=Tool(version=cuvet.__version__), asked=rule.name, causes=(cause,))


def explain_text(
    text: str, api: str | None = None, *, everything: bool = False, cases: Index | None = None
) -> Explanation | None:
    """What the words mean: an error's name, number or message, and what was called. ``api`` narrows to its errors;
    ``everything`` tells every cause, not only the likely ones. Of a number, the causes are those of its first error: how usual a cause
    is says nothing about how usual the error is. None if nothing is known."""
    number = integer(text)
    if number is not None:
        errors = numbered(number)
    else:
        exact = named(text.strip())
        errors = (exact,) if exact else errors_in(text)
    errors = tuple(error for error in errors if api is None or api in error.apis)
    meant = errors if number is None else errors[:1]
    shown = "" if number is not None or named(text.strip()) else text
    matches = rank(meant, calls_in(text), shown, cases) if errors or (number is None and api is None) else []
    return _explanation(text, errors, matches, everything, shown, looked_up=not shown) if errors or matches else None


def explain_log(
    name: str,
    log: Log,
    faults: tuple[DeviceFault, ...] = (),
    *,
    everything: bool = False,
    cases: Index | None = None,
) -> Explanation | None:
    """The first error of the log and its causes, and the faults of kernels that it tells; None if there are none, no cause speaks from it,
    or too little does and nothing tells of a failure."""
    matches = rank(log.errors, log.calls, log.text, cases)
    if not (log.errors or faults or (matches and (known(matches, (), log.text) or log.fails))):
        return None
    found = _explanation(name, log.errors, matches, everything, log.text)
    begins = _begins(log, matches) if found.known else None
    return msgspec.structs.replace(found, sightings=log.sightings, begins=begins, faults=faults)


def _begins(log: Log, matches: Sequence[Match]) -> Line | None:
    """The first line that tells of what the signal is the end of."""
    if not (log.whole and log.sightings and matches and all(error.title == "signal" for error in log.errors)):
        return None
    earlier = enumerate(log.text.split("\n")[: log.sightings[0].line - 1], 1)
    return next((Line(line=number, text=line.strip()) for number, line in earlier if shows(matches[0], line)), None)


def meaning(error: Error) -> Meaning | None:
    """What the error means, under the first of its names that has a text."""
    for name in error.names:
        for api in error.apis:
            if found := meanings_of(api).get(name):
                return found
    return None


def _explanation(
    asked: str,
    errors: Sequence[Error],
    matches: list[Match],
    everything: bool,
    text: str = "",
    *,
    looked_up: bool = False,
) -> Explanation:
    """``looked_up``: an error was asked for by its name or number, with no text around it."""
    is_known = known(matches, errors, text) or bool(looked_up and errors)
    told = matches if everything else likely(matches) if is_known else []
    return Explanation(
        tool=Tool(version=cuvet.__version__),
        asked=asked,
        known=is_known,
        errors=tuple(map(_error, errors)),
        causes=tuple(_cause(written(match.cause), match) for match in told),
        more_causes=len(matches) - len(told) if is_known else 0,
        checks=() if is_known else _checks(matches),
    )


def _error(error: Error) -> ErrorText:
    means = meaning(error) or Meaning(text="")
    return ErrorText(
        title=error.title,
        apis=error.apis,
        names=error.names,
        numbers=dict(error.numbers),
        meaning=means.text or None,
        evidence=means.evidence,
        beliefs=means.beliefs,
    )


def _cause(cause: Cause, match: Match) -> CauseText:
    return CauseText(
        id=cause.id,
        title=cause.title,
        why=cause.why,
        tell=tuple(Step(tell.command, tell.shows) for tell in cause.tell),
        fix=cause.fix,
        evidence=cause.evidence,
        beliefs=cause.beliefs,
        score=match.score,
        signs=match.signs,
        like=match.like.url if match.like and match.like.share >= _LIKE else None,
    )


def _checks(matches: Sequence[Match]) -> tuple[Check, ...]:
    """The commands that tell most of the first causes apart: those that several of them share, then those of the likelier. A cause for
    which one word speaks is none of them."""
    likelier = [match for match in matches[:_MOST_CANDIDATES] if match.score >= LEAST_OF_FAILURE]
    outcomes_of: dict[str, list[Outcome]] = {}
    for cause in (written(match.cause) for match in likelier):
        for tell in cause.tell:
            outcomes_of.setdefault(tell.command, []).append(Outcome(tell.shows, cause.id))
    found = sorted(outcomes_of.items(), key=lambda item: -len(item[1]))
    told: set[str] = set()
    checks: list[Check] = []
    for command, outcomes in found:
        if len(checks) < _MOST_CHECKS and not told.issuperset(outcome.cause for outcome in outcomes):
            told.update(outcome.cause for outcome in outcomes)
            checks.append(Check(command, tuple(outcomes)))
    return tuple(checks)
