"""What a cause is, and how ``explain`` ranks causes."""

from collections.abc import Mapping
from dataclasses import dataclass

from cuvet.findings import Evidence


@dataclass(frozen=True, slots=True)
class Tell:
    """How to tell that this is the cause: a ``command``, and what it ``shows`` if it is."""

    command: str
    shows: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What makes a cause the likelier one, and what excludes it.

    ``errors``: how usual the cause is where this error is seen and nothing else is known, 1 (rare) to 100; keys are names of enumerators
    (``CUDA_ERROR_INVALID_HANDLE``; ``SIGSEGV`` for a crash). ``calls``: the functions whose failure points to it, as the user writes them.
    ``says``: regular expressions (case ignored) over the text that the user shows: a sentence, a file or a name that hardly anything else
    prints. ``words``: expressions that other causes' texts match too; they never decide alone. ``<gpu-dropped>`` among the expressions
    is a fact of the machine that the text tells (``cuvet.knowledge.facts_of_text``).

    What excludes the cause: ``against`` matches the text; a function failed, and it is none of the ``calls``, if these are ``only_calls``;
    the text shows another stage than ``stages``, or another platform than ``platforms`` (``cuvet.knowledge.situation``).
    """

    errors: Mapping[str, int]
    calls: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    only_calls: bool = False
    stages: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A reason for an error that no rule finds in a trace.

    ``id``: a slug that names what is wrong, never re-used. ``title``: one line that stands alone. ``why``: how it leads to the error, in
    plain words. ``fix``: what fixes it, a command where there is one. ``beliefs``: what people wrongly hold for true about it.
    ``cases``: the categories of the public cases (``tests/knowledge/public_cases.jsonl``) that it is the cause of.
    """

    id: str
    title: str
    why: str
    tell: tuple[Tell, ...]
    fix: str
    evidence: tuple[Evidence, ...]
    signs: Signs
    beliefs: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCause:
    """A cause that a rule finds: title, text, fix and evidence are those of the rule of this name. ``tell``: what else shows it."""

    id: str
    signs: Signs
    tell: tuple[Tell, ...] = ()
    beliefs: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What an enumerator means, in plain words, and what people wrongly believe about it. Source: the API's reference, or a fact."""

    text: str
    evidence: tuple[Evidence, ...] = ()
    beliefs: tuple[str, ...] = ()
