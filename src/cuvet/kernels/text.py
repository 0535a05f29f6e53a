"""From PTX text to functions and their instructions (PTX ISA 9.0). Nothing here raises: what is not understood becomes an
instruction without a name, at which following ends."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

MOST_TEXT = 32 << 20
"""Longest PTX text that is read, in characters."""

_COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*(?:.*?\*/|.*)|"[^"\n]*"', re.DOTALL)
_LINE_DIRECTIVE = re.compile(r"^[ \t]*\.(?:loc|file)\b[^\n;]*$", re.MULTILINE)
_FUNCTION = re.compile(r"\.(?:entry|func)\b")
_HEADER_END = re.compile(r"[{;]")
_HEADER = re.compile(r"\s*(?:\(([^()]*)\)\s*)?([\w$%]+)\s*(?:\(([^()]*)\))?")
_BRACE = re.compile(r"[{}]")
_MARK = re.compile(r"[{};]")
_LABEL = re.compile(r"\s*([\w$%]+)\s*:(?!:)")
_GUARD = re.compile(r"@(!?)\s*([\w$%]+)\s*")
_REGISTERS = re.compile(r"\.reg\s+(?:\.v\d\s+)?\.\w+\s+(.*)", re.DOTALL)
_RANGE = re.compile(r"([\w$%]+)<(\d+)>")
_NAME = re.compile(r"[A-Za-z_$%][\w$%.]*")
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?")
_MOST_RANGE = 1000
_MOST_SCOPES = 50


class Address(NamedTuple):
    """``[base + offset]``; ``base`` is the name of a register or a variable, or a number."""

    base: str | int
    offset: int


Operand = str | int | None | Address | tuple["Operand", ...]
"""A name, an integer, a floating-point constant (None), an address, or several in braces, parentheses or around ``|``."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """``name`` is "" if it is none that can be read. ``parts`` are its qualifiers. It is carried out if the register ``guard``
    (if there is one) is ``wanted``."""

    name: str
    parts: tuple[str, ...] = ()
    operands: tuple[Operand, ...] = ()
    guard: str | None = None
    wanted: bool = True


@dataclass(slots=True, eq=False)
class Function:
    """A kernel or a device function. ``labels`` are indexes into ``code``; -1: ambiguous. ``variables`` are the names of its
    parameters and of what it keeps in local memory. ``needed``: registers on which something that it does may depend."""

    name: str
    parameters: tuple[str, ...] = ()
    returns: tuple[str, ...] = ()
    code: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)
    needed: frozenset[str] = frozenset()


class Program:
    """A PTX text, read when the first of its functions is asked for, and each function when it is."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._read = text
        self._functions: dict[str, Function | None] = {}

    @cached_property
    def _text(self) -> str:
        text = self._read()
        if len(text) > MOST_TEXT:
            return ""
        return _LINE_DIRECTIVE.sub("", _COMMENT_OR_STRING.sub(" ", text))

    @cached_property
    def _heads(self) -> dict[str, tuple[Function, int]]:
        """Functions without their code, by name, and where their bodies start."""
        found, position = {}, 0
        while (begin := _FUNCTION.search(self._text, position)) and (
            end := _HEADER_END.search(self._text, begin.end())
        ):
            position = end.end()
            head = _HEADER.match(self._text[begin.end() : end.start()])
            if head is not None and end[0] == "{":
                returns, parameters = (tuple(_variables(text or "")) for text in (head[1], head[3]))
                function = Function(head[2], parameters, returns, variables={*parameters, *returns})
                found[function.name] = (function, position)
        return found

    def function(self, name: str) -> Function | None:
        """The kernel or function of that name; None if the text does not define it."""
        if name not in self._functions:
            function, start = self._heads.get(name, (None, 0))
            if function is not None:
                _fill(function, self._body(start))
            self._functions[name] = function
        return self._functions[name]

    def _body(self, start: int) -> str:
        """What stands between the brace before ``start`` and the one that closes it; all that is left if none does."""
        depth = 1
        for brace in _BRACE.finditer(self._text, start):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                return self._text[start : brace.start()]
        return self._text[start:]


def _variables(declarations: str) -> Iterator[str]:
    """Names that are declared: the last word of each, before its dimension."""
    for declaration in declarations.split(","):
        words = declaration.partition("[")[0].split()
        if words:
            yield words[-1]


def _fill(function: Function, body: str) -> None:
    scopes: list[dict[str, str]] = []
    for number, statement in enumerate(_statements(body)):
        if statement == "{":
            scopes.append({})
            if len(scopes) > _MOST_SCOPES:
                break
        elif statement == "}":
            if scopes:
                scopes.pop()
        else:
            _take(function, statement, scopes, number)
    function.needed = _needed(function.code)


def _statements(body: str) -> Iterator[str]:
    """Statements without their semicolon, and the braces of blocks; braces of operands belong to their statement."""
    start, inside = 0, 0
    for mark in _MARK.finditer(body):
        if inside or (mark[0] == "{" and not _is_empty(body[start : mark.start()])):
            inside += {"{": 1, "}": -1}.get(mark[0], 0)
            continue
        yield body[start : mark.start()]
        if mark[0] != ";":
            yield mark[0]
        start = mark.end()


def _is_empty(text: str) -> bool:
    """Whether there is nothing but labels."""
    while label := _LABEL.match(text):
        text = text[label.end() :]
    return not text.strip()


def _take(function: Function, text: str, scopes: list[dict[str, str]], number: int) -> None:
    """Add a statement: labels, a declaration, an instruction."""
    while label := _LABEL.match(text):
        function.labels[label[1]] = -1 if label[1] in function.labels else len(function.code)
        text = text[label.end() :]
    text = text.strip()
    if text.startswith(".reg"):
        if scopes:
            scopes[-1].update(_declared(text, f"@{number}"))
    elif text.startswith((".param", ".local")):
        function.variables.update(_variables(text))
    elif text and not text.startswith("."):
        function.code.append(_instruction(text, scopes))


def _declared(text: str, suffix: str) -> dict[str, str]:
    """Registers of an inner block, which may have the names of outer ones: by name, a name of their own."""
    found = _REGISTERS.match(text)
    names: list[str] = []
    for part in found[1].split(",") if found else ():
        several = _RANGE.fullmatch(part.strip())
        if several is None:
            names.append(part.strip())
        else:
            names += [f"{several[1]}{index}" for index in range(min(int(several[2][:6]), _MOST_RANGE))]
    return {name: name + suffix for name in names}


def _instruction(text: str, scopes: list[dict[str, str]]) -> Instruction:
    guard = _GUARD.match(text)
    words = text[guard.end() if guard else 0 :].split(None, 1)
    if not words:
        return Instruction("")
    name, *parts = words[0].split(".")
    try:
        operands = tuple(_operand(part, scopes) for part in _split(words[1], ",")) if len(words) == 2 else ()
    except ValueError:
        return Instruction("")
    register = None if guard is None else _renamed(guard[2], scopes)
    return Instruction(name, tuple(parts), operands, register, guard is None or not guard[1])


def _split(text: str, mark: str) -> Iterator[str]:
    """The parts between marks that stand in no brackets."""
    depth, start = 0, 0
    for position, character in enumerate(text):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == mark and depth == 0:
            yield text[start:position]
            start = position + 1
    yield text[start:]


def _operand(text: str, scopes: list[dict[str, str]]) -> Operand:
    """ValueError if it is none."""
    text = text.strip()
    if text[:1] == "[" and text[-1:] == "]":
        return _address(text[1:-1], scopes)
    if (text[:1], text[-1:]) in (("{", "}"), ("(", ")")):
        inner = text[1:-1].strip()
        return tuple(_element(part, scopes) for part in _split(inner, ",")) if inner else ()
    if "|" in text:
        return tuple(_element(part, scopes) for part in text.split("|"))
    return _element(text, scopes)


def _element(text: str, scopes: list[dict[str, str]]) -> Operand:
    text = text.strip()
    if _NAME.fullmatch(text):
        return _renamed(text, scopes)
    if text[:1] == "!" and _NAME.fullmatch(text[1:]):
        raise ValueError(text)
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if re.fullmatch(r"0[fFdD][0-9a-fA-F]+|-?\d*\.\d*(?:[eE][+-]?\d+)?", text):
        return None
    raise ValueError(text)


def _integer(text: str) -> int:
    """ValueError if it is longer than any constant of PTX."""
    digits = text.rstrip("U").lstrip("-")
    if len(digits) > 66:
        raise ValueError(text)
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    value = int(digits, 8) if octal else int(digits, 0)
    return -value if text[0] == "-" else value


def _address(text: str, scopes: list[dict[str, str]]) -> Address:
    base, plus, offset = text.partition("+")
    if "," in text:
        return Address("", 0)  # of a texture, a tensor, …
    start = _element(base, scopes)
    if not isinstance(start, str | int):
        raise ValueError(text)
    distance = _element(offset, scopes) if plus else 0
    if not isinstance(distance, int):
        raise ValueError(text)
    return Address(start, distance)


def _renamed(name: str, scopes: list[dict[str, str]]) -> str:
    return next((scope[name] for scope in reversed(scopes) if name in scope), name)


_WITHOUT_RESULT = frozenset({"st", "red", "bra", "call", "ret", "exit", "trap", "bar", "barrier", ""})


def _needed(code: list[Instruction]) -> frozenset[str]:
    """Registers that stores, atomics, calls and conditions depend on. A load into any other may be left out by the assembler."""
    made_of: dict[str, set[str]] = {}
    needed: list[str] = []
    for each in code:
        if each.guard is not None:
            needed.append(each.guard)
        results = (
            0
            if each.name in _WITHOUT_RESULT or any(isinstance(operand, Address) for operand in each.operands[:1])
            else 1
        )
        names = set(_names(each.operands[results:]))
        if not results or each.name == "atom" or "volatile" in each.parts:
            needed += names
        for result in _names(each.operands[:results]):
            made_of.setdefault(result, set()).update(names)
    found: set[str] = set()
    while needed:
        name = needed.pop()
        if name not in found:
            found.add(name)
            needed += made_of.get(name, ())
    return frozenset(found)


def _names(operands: tuple[Operand, ...]) -> Iterator[str]:
    for operand in operands:
        if isinstance(operand, str):
            yield operand
        elif isinstance(operand, Address):
            if isinstance(operand.base, str):
                yield operand.base
        elif isinstance(operand, tuple):
            yield from _names(operand)
