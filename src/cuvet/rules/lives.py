"""The rules about the lives of objects: what each kind of object has in common with the others is written once, here.

``Life`` is a kind's row (``LIFE`` in ``rules/<noun>/life.py``): how an object is made, used and ended, and what is special about each
mistake. A ``Family`` has what one mistake has in common for all kinds: the class that checks it, the texts and the programs. ``rules_of``
makes the rules of a row.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from cuvet.fields import fields
from cuvet.rules.headings import HEADINGS
from cuvet.rules.lifecycle import (
    DestroyTwice,
    LifeRule,
    NeverCreated,
    NullHandle,
    ParentGone,
    UseAfterDestroy,
    a,
)

if TYPE_CHECKING:
    from cuvet.catalog.roles import Kind, Verb

_WORD = re.compile(r"\{(\w+)\}")
FROM_NOWHERE = "0x1234567000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A mistake as all kinds of objects know it: texts with the words of a row in braces (``_words``).

    A program is left out if a row has nothing for one of its words. A line that is nothing but such a word is left out alone.
    """

    base: type[LifeRule]
    name: str
    texts: str
    valid: str
    invalid: str


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is special about a mistake with one kind of object.

    ``texts`` are fields (``cuvet.fields``): ``why`` it is wrong, what is known (``cuvet.rules.evidence``), and such of the family as are
    others here. Of the family's programs those whose titles are in ``without`` are left out, all if ``programs`` is False; ``use`` stands
    for the row's. What follows ``rule`` are attributes of the rule (``Rule``, ``LifeRule``).
    """

    family: Family
    code: str
    texts: str
    outcomes: tuple[int, ...] = ()
    without: tuple[str, ...] = ()
    programs: bool = True
    use: str = ""
    rule: type[LifeRule] | None = None
    """The class that checks it, if it is not the family's."""
    outcomes_of: Mapping[str, tuple[int, ...]] | None = None
    undefined: bool | None = None
    only_if_failed: bool | None = None
    libraries: bool | None = None
    kinds: frozenset[Kind] | None = None
    verbs: frozenset[Verb] | None = None
    roots: frozenset[Kind] | None = None


_ATTRIBUTES = ("outcomes_of", "undefined", "only_if_failed", "libraries", "kinds", "verbs", "roots")
_OTHERS = {*HEADINGS, "summary", "help"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelled:
    """How a language makes, uses and ends an object in a function with the parameters ``given``: in Python statements, in C# calls and
    the ``type`` of the object."""

    make: str
    end: str
    use: str = ""
    given: str = ""
    type: str = ""
    variable: str = ""
    """If what programs call it is a word of the language."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """How an object of a kind lives, in programs over the driver API (``cuvet.rules.programs``), and the mistakes there are.

    ``name`` begins the names of its rules. ``make`` is an expression that makes an object; ``use``, ``another_use`` and ``end`` are calls
    that use and end the one in the place of ``{}``. ``variable`` is what programs call it; ``other`` makes an object of another kind.
    """

    kind: Kind
    name: str
    make: str
    use: str = ""
    another_use: str = ""
    end: str = ""
    ends_in_context: bool = False
    """The call that ends it needs a current context."""
    variable: str = ""
    other: str = ""
    verb: str = "destroy"
    null: str = "NULL"
    """How no object is written."""
    python: Spelled | None = None
    csharp: Spelled | None = None
    mistakes: tuple[Mistake, ...]


NULL_HANDLE = Family(
    base=NullHandle,
    name="{name}-null-handle",
    texts="""
    summary: {null} is given where {a} is wanted
    help: look at the status of the call that should have made the {noun}, and skip the call when there is none
    checks: A call that needs {a} is given {null}{fails}.
    instead: Look at the status of the call that should have made the {noun}; initialise handles to {null} and
      test them before the call.
    limits: Reported whether or not the program looks at the status.
    """,
    valid="""
## with a handle
{x} = {make}
{use}
{end}

## skipped when there is none
{x} = 0
if {x}:
    {end_or_use}
""",
    invalid="""
## used
{use_null}  # error: [{rule}]

## {ended}
{end_null}  # error: [{rule}]
""",
)

NEVER_CREATED = Family(
    base=NeverCreated,
    name="{name}-never-created",
    texts="""
    summary: {a} is named that was never created
    help: initialise the variable, and look at the status of the call that should have made the {noun}
    checks: A call that needs {a} is given a number that no call handed out as one, and the call fails or
      crashes.
    instead: Initialise the variable to NULL, look at the status of the call that should have made the {noun},
      and pass handles with their own types rather than as integers.
    limits: Silent when the call succeeds: the handle may have been made in a way that cannot be seen (another
      process, graphics interoperability, NVIDIA's own libraries).
    """,
    valid="""
## created first
{x} = {make}
{use}
{end}

## created by another thread
{x} = cu.in_thread(lambda: (cu.cuCtxSetCurrent(context), {make})[1])
{use}
{end}
""",
    invalid="""
## a number from nowhere
{use_number}  # error: [{rule}]

## an object of another kind
other = {other}
{use_other}  # error: [{rule}]
""",
)

MISTAKEN = replace(
    NEVER_CREATED,
    texts=NEVER_CREATED.texts
    + """
    summary: the handle of something else is given where {a} is wanted
    checks: A call that needs {a} is given the handle of something else, and the call fails or crashes.
    limits: A number that is no handle at all is not reported: {noun}s may be made in ways that cannot be seen.
    """,
    invalid="""
## an object of another kind
other = {other}
{use_other}  # error: [{rule}]
""",
)
"""As ``NEVER_CREATED``, for kinds of which not all objects are seen made (``Model.sees_all``)."""

DESTROYED_TWICE = Family(
    base=DestroyTwice,
    name="{name}-{verb}-twice",
    texts="""
    summary: {a} is {ended} twice
    help: let one owner {verb} the {noun}, and clear its handle at that moment
    checks: `{ends}` is called with {a} that was {ended} before.
    instead: Give the {noun} one owner, which {verb}s it once and forgets the handle in the same place.
    limits: The driver issues handle values again. When a new object has the old one's value, a second {ending}
      looks like the first of the new object.
    """,
    valid="""
## {ended} once
{x} = {make}
{end}

## handle issued again
note: the new one often has the old handle value
{x} = {make}
{end}
{x} = {make}
{end}
""",
    invalid="""
## {ended} twice
{x} = {make}
{end}
{end}  # error: [{rule}]

## {ended} by two threads
{x} = {make}
cu.in_thread(lambda: {end_elsewhere})
{end}  # error: [{rule}]

## Python: in the block and in finally [python]
from cuda.bindings import {py_module}

def {py_run}:
    {py_make}
    try:
        work({x})
        {py_end}
    finally:
        {py_end}  # error: [{rule}]

## C#: in the block and in finally [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void {cs_run} {
        {cs_type} {cs_x} = new {cs_type}();
        Check({cs_make});
        try {
            Work({cs_x});
            Check({cs_end});
        } finally {
            Check({cs_end});  // error: [{rule}]
        }
    }
}
""",
)

USED_AFTER_DESTROY = Family(
    base=UseAfterDestroy,
    name="{name}-use-after-{verb}",
    texts="""
    summary: {a} is used after it was {ended}
    help: {verb} the {noun} after its last use, or clear the variable that still holds it
    checks: A call names {a} that `{ends}` {ended} before.
    instead: {Verb} the {noun} after its last use, and clear every other variable that holds the handle.
    limits: The driver issues handle values again. When a new object has the old one's value, a call through the
      old handle looks like a use of the new object.
    """,
    valid="""
## {ended} after its last use
{x} = {make}
{use}
{end}

## handle issued again
note: the new one often has the old handle value
{x} = {make}
{end}
{x} = {make}
{use}
{end}
""",
    invalid="""
## used after its {ending}
{x} = {make}
{end}
{use}  # error: [{rule}]

## used in another way
{x} = {make}
{end}
{another_use}  # error: [{rule}]

## {ended} by another thread
{x} = {make}
cu.in_thread(lambda: {end_elsewhere})
{use}  # error: [{rule}]

## Python: used after its {ending} [python]
from cuda.bindings import {py_module}

def {py_run}:
    {py_make}
    work({x})
    {py_end}
    {py_use}  # error: [{rule}]

## C#: used after its {ending} [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void {cs_run} {
        {cs_type} {cs_x} = new {cs_type}();
        Check({cs_make});
        Work({cs_x});
        Check({cs_end});
        Check({cs_use});  // error: [{rule}]
    }
}
""",
)

USED_AFTER_CONTEXT = Family(
    base=ParentGone,
    name="{name}-use-after-context-destroy",
    texts="""
    summary: {a} is used after its context was destroyed
    help: {verb} the {noun} before its context, and the context last
    checks: A call uses or {verb}s {a} whose context was destroyed by `cuCtxDestroy` (or by the last
      `cuDevicePrimaryCtxRelease`).
    instead: Destroy the context last, when nothing that belongs to it is named any more. Destructors of objects
      that hold CUDA handles must run before it.
    limits: Objects whose context is not known (created before the first call that was seen) are not judged.
    documented: Destroys and cleans up all resources associated with the context. It is the caller's responsibility to
      ensure that the context or its resources are not accessed or passed in subsequent API calls and doing so will
      result in undefined behavior. (CUDA Driver API, Context Management, cuCtxDestroy)
    """,
    valid="""
## context destroyed last
own = cu.cuCtxCreate(0, 0, device)
{x} = {make}
{use}
{end}
cu.cuCtxDestroy(own)

## object of another context
note: it belongs to the context that is still there
{x} = {make}
own = cu.cuCtxCreate(0, 0, device)
cu.cuCtxDestroy(own)
{use}
{end}
""",
    invalid="""
## used after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
{x} = {make}
cu.cuCtxDestroy(own)
{use}  # error: [{rule}]

## {ended} after its context was destroyed
own = cu.cuCtxCreate(0, 0, device)
{x} = {make}
cu.cuCtxDestroy(own)
{end}  # error: [{rule}]

## context destroyed by another thread
own = cu.cuCtxCreate(0, 0, device)
{x} = {make}
cu.cuCtxPopCurrent()
cu.in_thread(lambda: cu.cuCtxDestroy(own))
{use}  # error: [{rule}]

## Python: {ended} after its context [python]
from cuda.bindings import {py_module}

def {py_run_on_device}:
    error, context = driver.cuCtxCreate(None, 0, device)
    {py_make}
    work({x})
    error, = driver.cuCtxDestroy(context)
    {py_end}  # error: [{rule}]

## C#: {ended} after its context [c#]
using static ManagedCuda.DriverAPINativeMethods;

class Worker {
    void {cs_run_on_device} {
        CUcontext context = new CUcontext();
        {cs_type} {cs_x} = new {cs_type}();
        Check(ContextManagement.cuCtxCreate_v2(ref context, CUCtxFlags.SchedAuto, device));
        Check({cs_make});
        Work({cs_x});
        Check(ContextManagement.cuCtxDestroy_v2(context));
        Check({cs_end});  // error: [{rule}]
    }
}
""",
)


class _Text:
    """A text of a rule, written when it is asked for: pages and tests alone do."""

    def __init__(self, write: Callable[[], str]) -> None:
        self._write = write

    def __get__(self, rule: object, owner: type) -> str:
        return self._write()


def rules_of(life: Life, examples: str) -> tuple[type[LifeRule], ...]:
    """The rules of a row. ``examples`` are those that no family has, below lines ``# rule: right`` and ``# rule: wrong``.

    ValueError if there is no rule of that name in the row.
    """
    before, *parts = re.split(r"^# (.+)$", examples, flags=re.M)
    own = dict(zip(parts[::2], parts[1::2], strict=True))
    rules = tuple(_rule(life, mistake, own) for mistake in life.mistakes)
    if before.strip() or own:
        raise ValueError(
            f"examples of no rule about the life of {a(life.kind.noun)}: {before.strip() or ', '.join(own)}"
        )
    return rules


def _rule(life: Life, mistake: Mistake, own: dict[str, str]) -> type[LifeRule]:
    family = mistake.family
    words = _words(life, mistake)
    name = words["rule"]
    right, wrong = own.pop(f"{name}: right", ""), own.pop(f"{name}: wrong", "")
    attributes = {
        "__module__": f"cuvet.rules.{life.name.replace('-', '_')}.life",
        "__doc__": _Text(lambda: _page(mistake, words)),
        "code": mistake.code,
        "name": name,
        "severity": "error",
        "summary": _Text(lambda: dict(_texts(mistake, words))["summary"]),
        "help": _Text(lambda: dict(_texts(mistake, words))["help"]),
        "evidence": _Text(lambda: _evidence(mistake, words)),
        "VALID": _Text(lambda: _programs(family.valid, words, mistake) + right),
        "INVALID": _Text(lambda: _programs(family.invalid, words, mistake) + wrong),
        "kind": life.kind,
        "outcomes": mistake.outcomes,
    }
    attributes |= {each: getattr(mistake, each) for each in _ATTRIBUTES if getattr(mistake, each) is not None}
    made = type(name.title().replace("-", ""), (mistake.rule or family.base,), attributes)
    return cast("type[LifeRule]", made)


def _texts(mistake: Mistake, words: Mapping[str, str]) -> list[tuple[str, str]]:
    """The fields of the family in the words of the row, then those of the mistake."""
    return fields(mistake.family.texts.format(**words)) + fields(mistake.texts)


def _page(mistake: Mistake, words: Mapping[str, str]) -> str:
    texts = dict(_texts(mistake, words))
    return "\n".join(f"{name}:\n{textwrap.indent(textwrap.fill(texts[name], 108), '  ')}" for name in HEADINGS)


def _evidence(mistake: Mistake, words: Mapping[str, str]) -> str:
    """What is known about the mistake with this kind of object, then what is known of all."""
    known = [*fields(mistake.texts), *fields(mistake.family.texts.format(**words))]
    return "\n".join(f"{name}: {value}" for name, value in known if name not in _OTHERS)


def _words(life: Life, mistake: Mistake) -> dict[str, str]:
    """What stands for the words in braces in the texts of a family."""
    variable = life.variable or life.name
    unload = life.verb == "unload"
    use, end = mistake.use or life.use, life.end.format(variable)
    words = {
        "name": life.name,
        "noun": life.kind.noun,
        "a": a(life.kind.noun),
        "null": life.null,
        "verb": life.verb,
        "Verb": life.verb.capitalize(),
        "ended": "unloaded" if unload else "destroyed",
        "ending": "unloading" if unload else "destruction",
        "ends": "".join(re.findall(r"cu\.(\w+)", end)),
        "fails": ", and fails" if mistake.only_if_failed else "",
        "x": variable,
        "make": life.make,
        "use": use.format(variable),
        "another_use": life.another_use.format(variable),
        "end": end,
        "end_elsewhere": f"(cu.cuCtxSetCurrent(context), {end})" if life.ends_in_context else end,
        "use_null": use.format(0),
        "end_null": life.end.format(0),
        "end_or_use": end or use.format(variable),
        "use_number": use.format(FROM_NOWHERE),
        "use_other": use.format("other"),
        "other": life.other,
    }
    words |= _python(life.python) if life.python else {}
    words |= _csharp(life.csharp, variable) if life.csharp else {}
    return words | {"rule": mistake.family.name.format(**words)}


def _python(spelled: Spelled) -> dict[str, str]:
    run = ", ".join(filter(None, (spelled.given, "work")))
    return {
        "py_module": "runtime" if "runtime." in spelled.make else "driver",
        "py_run": f"run({run})",
        "py_run_on_device": f"run(device, {run})",
        "py_make": spelled.make,
        "py_use": spelled.use,
        "py_end": spelled.end,
    }


def _csharp(spelled: Spelled, variable: str) -> dict[str, str]:
    return {
        "cs_run": f"Run({spelled.given})",
        "cs_run_on_device": f"Run({', '.join(filter(None, ('CUdevice device', spelled.given)))})",
        "cs_type": spelled.type,
        "cs_x": spelled.variable or variable,
        "cs_make": spelled.make,
        "cs_use": spelled.use,
        "cs_end": spelled.end,
    }


def _programs(text: str, words: Mapping[str, str], mistake: Mistake) -> str:
    """The programs of a family in the words of a row."""
    if not mistake.programs:
        return ""
    programs = (_program(each, words) for each in re.split(r"^(?=## )", text, flags=re.M)[1:])
    return "\n" + "".join(
        each for each in programs if each.removeprefix("## ").partition("\n")[0] not in mistake.without
    )


def _program(text: str, words: Mapping[str, str]) -> str:
    """One of them, "" if there is nothing for one of its words."""
    lines = (line for line in text.split("\n") if not _WORD.fullmatch(line) or words[line[1:-1]])
    rest = "\n".join(lines)
    if not all(words.get(word) for word in _WORD.findall(rest)):
        return ""
    return _WORD.sub(lambda word: words[word[1]], rest)
