"""A file's functions in the tree of ``cuvet.source.program``, each read with what the functions that it calls do in mind."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cuvet.source import callees
from cuvet.source.calls import meaning, symbols
from cuvet.source.languages import Language
from cuvet.source.languages.cpp import Definition, Found, name_of
from cuvet.source.languages.interest import WORD
from cuvet.source.methods import plain
from cuvet.source.paths.handles import root
from cuvet.source.program import Function, lvalue_of
from cuvet.source.result import NotChecked, Summaries
from cuvet.source.storing import storing
from cuvet.source.summaries import merged, names_that_matter, summarise
from cuvet.source.syntax.parsing import Source

MOST_WRAPPED = 3
"""How many functions deep a call is followed within a file."""
_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
_CREATED = re.compile(
    rb"(?<![.>])\b\w*[cC]reate\w*\s*(?:<[^;<>(){}]*>)?\s*\(\s*&\s*(?:this\s*->\s*)?([A-Za-z_]\w*)\s*[,)]"
)
"""The address of a variable is the first that a function is given whose name says that it creates something."""


@dataclass
class Lowered:
    """What was read of a file. ``functions`` have to do with CUDA; ``companions`` belong to a class of which others have."""

    functions: list[Function]
    companions: list[Function]
    summaries: Summaries
    not_checked: list[NotChecked]
    offers: Summaries
    calls: frozenset[str]
    guessed: frozenset[str]


@dataclass
class _Reader:
    """Reads the definitions of a file. ``not_checked`` are those that cannot be read, by where they begin."""

    language: Language
    source: Source
    not_checked: dict[int, NotChecked]
    words: dict[int, frozenset[bytes]] = field(default_factory=dict)
    """By identity of a definition: all words in it."""
    done: dict[int, tuple[frozenset[bytes], frozenset[bytes], Function | None]] = field(default_factory=dict)
    """What was read of it last, and with which wrappers, that it names, and members."""

    def read(self, definition: Definition, wrappers: frozenset[bytes], members: frozenset[bytes]) -> Function | None:
        """See ``Language.lower``. A wrapper that the definition does not name changes nothing of what is read."""
        named = wrappers & self._words(definition) if wrappers else wrappers
        before = self.done.get(id(definition))
        if before is None or before[:2] != (named, members):
            before = self.done[id(definition)] = (named, members, self._lower(definition, named, members))
        return before[2]

    def _words(self, definition: Definition) -> frozenset[bytes]:
        found = self.words.get(id(definition))
        if found is None:
            node = definition.node
            found = frozenset(WORD.findall(self.source.text, node.start_byte, node.end_byte))
            self.words[id(definition)] = found
        return found

    def _lower(self, definition: Definition, wrappers: frozenset[bytes], members: frozenset[bytes]) -> Function | None:
        try:
            return self.language.lower(definition, self.source, wrappers, members)
        except RecursionError:
            start, end = definition.node.start_byte, definition.node.end_byte
            self.not_checked[start] = unread(start, end, "the function is nested too deeply", self.source)
            return None


def read(defined: Found, source: Source, language: Language, linked: Summaries) -> Lowered:
    """Functions that make or end objects for others are found first, because their callers are read with them in mind; and these may
    do the same for others again. ``linked`` are functions of other files."""
    reader = _Reader(language, source, {})
    unseen = _unseen(defined, source)
    named = merged(linked, callees.by_name(unseen, source.text))
    first = [reader.read(each, names_that_matter(named), frozenset()) for each in defined.functions]
    used = callees.by_use(filter(None, first), unseen, source)
    members = _members_in_reach(defined, first, language, source.code)
    elsewhere = merged(linked, used, named)
    own = callees.with_scopes(summarise(filter(None, first), named), defined, source)
    for _ in range(MOST_WRAPPED):
        summaries = merged(own, elsewhere)
        wrappers = names_that_matter(summaries)
        functions = [
            (reader.read(definition, wrappers, known) or before) if wrappers or known else before
            for definition, known, before in zip(defined.functions, members, first, strict=True)
        ]
        own = callees.with_scopes(summarise(filter(None, functions), summaries), defined, source)
        if names_that_matter(merged(own, elsewhere)) <= wrappers:
            break
    concerned, companions = _parted(functions, first, wrappers)
    kept = storing(concerned, merged(own, elsewhere), defined, source)
    for each in concerned:
        if each.broken:
            why = f"{each.name} holds text that could not be parsed"
            reader.not_checked[each.start] = unread(each.start, each.end, why, source)
    return Lowered(
        functions=concerned,
        companions=companions,
        summaries=merged(own, elsewhere, kept),
        not_checked=list(reader.not_checked.values()),
        offers=callees.offered(own, defined, source),
        calls=unseen,
        guessed=frozenset({*named, *used} - linked.keys()),
    )


def _members_in_reach(
    defined: Found, first: Sequence[Function | None], language: Language, text: bytes
) -> list[frozenset[bytes]]:
    """For each function: members of its class that may hold an object of CUDA, as far as their type tells; of a class that the file does
    not define, what the function gives to another that is named as if it created it, and what the ``first`` end of it. None for
    functions of a class of which no function was among the ``first``."""
    owners = {function.owner for function in first if function is not None and function.owner}
    members = {
        each.name: frozenset(member.encode() for member, kind in each.members.items() if language.HANDLE.search(kind))
        for each in (defined.classes if owners else ())
    }
    ended: dict[str, set[bytes]] = defaultdict(set)
    for function in filter(None, first):
        if function.owner not in members:
            ended[function.owner].update(_ended(function))
    nothing: frozenset[bytes] = frozenset()
    return [
        nothing
        if owner not in owners
        else members[owner]
        if owner in members
        else frozenset(_CREATED.findall(text, definition.node.start_byte, definition.node.end_byte)) | ended[owner]
        for definition, (owner, _) in zip(defined.functions, map(name_of, defined.functions), strict=True)
    ]


def _ended(function: Function) -> Iterator[bytes]:
    """Members that a call of CUDA in the function ends."""
    own = {*function.locals, *(each.name for each in function.parameters)}
    for call in function.calls:
        known = meaning(call.name)
        for at, _ in known.ended if known is not None and not call.launch else ():
            name = root(lvalue_of(call.argument(at)).removeprefix("this->"))
            if name.isidentifier() and name not in own:
                yield name.encode()


def _parted(
    functions: Sequence[Function | None], first: Sequence[Function | None], wrappers: frozenset[bytes]
) -> tuple[list[Function], list[Function]]:
    """Functions that have to do with CUDA, by themselves (``first``) or by what they call, and the others."""
    concerned: list[Function] = []
    companions: list[Function] = []
    for function, before in zip(functions, first, strict=True):
        if function is not None:
            (concerned if before is not None or _calls_one_of(wrappers, function) else companions).append(function)
    return concerned, companions


def _calls_one_of(names: frozenset[bytes], function: Function) -> bool:
    return any(plain(call.name.rpartition("::")[2]).encode() in names for call in function.calls)


def _unseen(defined: Found, source: Source) -> frozenset[str]:
    """Functions that the file calls and does not define."""
    if not source.is_cpp:
        return frozenset()
    own = {name_of(each)[1] for each in defined.functions}
    macros = {match[1].decode() for match in _MACRO.finditer(source.text)}
    return frozenset(name for name, _, _ in source.called) - symbols() - own - macros


def unread(start: int, end: int, why: str, source: Source) -> NotChecked:
    return NotChecked(file=str(source.path), first=source.line(start), last=source.line(end), why=why)
