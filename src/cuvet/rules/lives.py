"""Makes the rules about NULL, unknown and dead handles from the table of lives, which has a row for each kind of object.

``Life`` is a row (``LIFE`` in ``rules/<noun>/life.py``): how an object is made, used and ended, and what is special about each mistake,
the texts of which are below it (``TEXTS``).
What a mistake has in common for all kinds, its check, texts and programs, is a ``Family`` (``rules/families.py``). ``rules_of`` makes the
rules of a row.
"""

import re
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple, cast

from cuvet.catalog.roles import Kind, Verb
from cuvet.fields import TextError, fields, mistakes_in
from cuvet.rules.families import Family
from cuvet.rules.headings import HEADINGS
from cuvet.rules.lifecycle import LifeRule, a

_WORD = re.compile(r"\{(\w+)\}")
FROM_NOWHERE = "0x1234567000"
_INVALID_HANDLE = "the handle is not valid (CUDA Driver API, Data types, CUDA_ERROR_INVALID_HANDLE)"


class Mistake(NamedTuple):
    """What is special about a mistake with one kind of object. Its texts are below the rows (``rules_of``).

    Of the family's programs those whose titles are in ``without`` are left out, all if ``programs`` is False; ``use`` stands for the
    row's. What follows ``rule`` are attributes of the rule (``Rule``, ``LifeRule``).
    """

    family: Family
    code: str
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
    kills: frozenset[Kind] | None = None
    mistaken: Mapping[Kind, tuple[int, ...]] | None = None


_ATTRIBUTES = (
    "outcomes_of",
    "undefined",
    "only_if_failed",
    "libraries",
    "kinds",
    "verbs",
    "roots",
    "kills",
    "mistaken",
)
_OTHERS = {*HEADINGS, "summary", "help"}


class Spelled(NamedTuple):
    """How a language makes, uses and ends an object in a function with the parameters ``given``: in Python statements; in
    C++ and C# calls, and the ``type`` of the object."""

    make: str
    end: str
    use: str = ""
    given: str = ""
    type: str = ""
    variable: str = ""
    """If what programs call it is a word of the language."""


class Life(NamedTuple):
    """How an object of a kind lives, in programs over the driver API (``cuvet.rules.programs``), and the mistakes there are.

    ``name`` begins the names of its rules. ``make`` is an expression that makes an object; ``use``, ``another_use`` and ``end`` are calls
    that use and end the one in the place of ``{}``. ``variable`` is what programs call it; ``other`` makes an object of another kind.
    """

    kind: Kind
    name: str
    make: str
    mistakes: tuple[Mistake, ...]
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
    undefined: str = ""
    """The document and section that calls the use of its handle after its end undefined."""
    cpp: Spelled | None = None
    python: Spelled | None = None
    csharp: Spelled | None = None


class _Text:
    """A text of a rule, written when it is asked for: pages and tests alone do."""

    def __init__(self, write: Callable[[], str]) -> None:
        self._write = write

    def __get__(self, rule: object, owner: type) -> str:
        return self._write()


def rules_of(life: Life, texts: str) -> tuple[type[LifeRule], ...]:
    """The rules of a row. ``texts`` has what is special about each. Below a line ``# rule`` are fields (``cuvet.fields``) with words in
    braces (``_words``): ``why`` it is wrong, what is known (``cuvet.rules.evidence``), and those of the family that are different here.
    Below ``# rule: right`` and ``# rule: wrong`` are programs that no family has.

    ValueError if there is no rule of that name in the row.
    """
    before, *parts = re.split(r"^# (.+)$", texts, flags=re.M)
    own = dict(zip(parts[::2], parts[1::2], strict=True))
    rules = tuple(_rule(life, mistake, own) for mistake in life.mistakes)
    if before.strip() or own:
        raise ValueError(f"text of no rule about the life of {a(life.kind.noun)}: {before.strip() or ', '.join(own)}")
    return rules


def _rule(life: Life, mistake: Mistake, own: dict[str, str]) -> type[LifeRule]:
    family, name = mistake.family, _rule_name(life, mistake)
    words = cache(lambda: _words(life, mistake))
    texts, right, wrong = (own.pop(key, "") for key in (name, f"{name}: right", f"{name}: wrong"))
    attributes = {
        "__module__": f"cuvet.rules.{life.name.replace('-', '_')}.life",
        "__doc__": _Text(lambda: _page(family, texts, words())),
        "code": mistake.code,
        "name": name,
        "summary": _Text(lambda: dict(_texts(family, texts, words()))["summary"]),
        "help": _Text(lambda: dict(_texts(family, texts, words()))["help"]),
        "evidence": _Text(lambda: _evidence(family, texts, words())),
        "VALID": _Text(lambda: _programs(family.valid, words(), mistake) + right),
        "INVALID": _Text(lambda: _programs(family.invalid, words(), mistake) + wrong),
        "kind": life.kind,
        "outcomes": mistake.outcomes,
    }
    attributes |= {each: getattr(mistake, each) for each in _ATTRIBUTES if getattr(mistake, each) is not None}
    made = type(name.title().replace("-", ""), (mistake.rule or family.base,), attributes)
    return cast("type[LifeRule]", made)


def _texts(family: Family, texts: str, words: Mapping[str, str]) -> list[tuple[str, str]]:
    """The fields of the family in the words of the row, then those of the mistake."""
    with mistakes_in(f"rules/{words['name'].replace('-', '_')}/life.py, {words['rule']}"):
        own = _written(texts, words)
    return _written(family.texts, words) + own


def _written(texts: str, words: Mapping[str, str]) -> list[tuple[str, str]]:
    return fields(_filled(texts, words))


def _page(family: Family, own: str, words: Mapping[str, str]) -> str:
    texts = dict(_texts(family, own, words))
    return "\n".join(f"{name}:\n{textwrap.indent(textwrap.fill(texts[name], 108), '  ')}" for name in HEADINGS)


def _evidence(family: Family, own: str, words: Mapping[str, str]) -> str:
    """What is known about the mistake with this kind of object, then what is known of all."""
    known = [*_written(own, words), *_written(family.texts, words)]
    return "\n".join(f"{name}: {value}" for name, value in known if name not in _OTHERS)


def _words(life: Life, mistake: Mistake) -> dict[str, str]:
    """What stands for the words in braces in the texts of a family."""
    variable = life.variable or life.name
    unload = life.verb == "unload"
    use, end = mistake.use or life.use, life.end.format(variable)
    words = {
        "invalid_handle": _INVALID_HANDLE,
        "undefined": f"Use of the handle after this call is undefined behavior. ({life.undefined})",
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
    for prefix, spelled in (("cpp", life.cpp), ("py", life.python), ("cs", life.csharp)):
        words |= _in_language(prefix, spelled, variable) if spelled else _BLANK[prefix]
    words["cpp"] = "cuda" if life.cpp and life.cpp.make.startswith("cuda") else "c++"
    words["py_module"] = "runtime" if life.python and "runtime." in life.python.make else "driver"
    return words | {"rule": _rule_name(life, mistake)}


def _rule_name(life: Life, mistake: Mistake) -> str:
    return mistake.family.name.format(name=life.name, verb=life.verb)


def _in_language(prefix: str, spelled: Spelled, variable: str) -> dict[str, str]:
    """The words of a language, which begin with ``prefix``: cpp, py or cs."""
    device = "device" if prefix == "py" else "CUdevice device"
    given = [spelled.given, "work" if prefix == "py" else ""]
    name = "Run" if prefix == "cs" else "run"
    words = {
        "run": f"{name}({', '.join(filter(None, given))})",
        "run_on_device": f"{name}({', '.join(filter(None, [device, *given]))})",
        "type": spelled.type,
        "x": spelled.variable or variable,
        "make": spelled.make,
        "use": spelled.use,
        "end": spelled.end,
    }
    return {f"{prefix}_{word}": text for word, text in words.items()}


_BLANK = {
    prefix: dict.fromkeys(_in_language(prefix, Spelled(make="", end=""), ""), "") for prefix in ("cpp", "py", "cs")
}
"""The words of a row that has no program in a language."""


def _filled(text: str, words: Mapping[str, str]) -> str:
    """The text in the words of a row. TextError if a row has no such word."""
    if unknown := [word for word in _WORD.findall(text) if word not in words]:
        place = f"rules/families.py, {words['rule']}"
        raise TextError(
            f"{place}: no row has the word {{{unknown[0]}}}; correct it, or add it to rules/lives.py, _words"
        )
    return _WORD.sub(lambda word: words[word[1]], text)


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
    lines = (line for line in text.split("\n") if not _WORD.fullmatch(line) or words.get(line[1:-1]) != "")
    rest = "\n".join(lines)
    filled = _filled(rest, words)
    return filled if all(words[word] for word in _WORD.findall(rest)) else ""
