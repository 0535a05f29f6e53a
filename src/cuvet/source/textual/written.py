"""Calls of CUDA as they stand in the text of a function, for rules that need no path."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from cuvet.findings import Finding, Frame, Severity, Step
from cuvet.rules.rule import Rule
from cuvet.source.calls import LAST_ERROR, symbols
from cuvet.source.languages.cpp import LAMBDA, Definition, mentions_cuda, name_of, runs_on_device
from cuvet.source.languages.cpp_text import function_declarator, is_launch
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.corrections import NEVER
from cuvet.source.syntax.hip import launches_with_hip
from cuvet.source.syntax.lexing import cpp_code
from cuvet.source.syntax.parsing import Node, Source, arguments_of, call_named_by, enclosing, field_text, text_of

Fate = Literal["dropped", "discarded", "assigned", "used"]
_CALL = re.compile(rb"cu(?<!\wcu)(?:da)?[A-Z]\w{0,100}(?=\s{0,80}\()")
LIBRARIES = re.compile(rb"\b(?:cu(?:blas|fft|rand|sparse|solver|dnn|tensor)|nccl|nvrtc)\w{1,100}(?=\s{0,80}\()")
"""Calls of what is named like a function of CUDA's libraries."""
_CHECK = re.compile(rb"(?:check|err|assert|verify|safe)\w{0,80}(?:\s*\(([^()]{0,400})\)|\s*;|[ \t]*\r?\n)", re.I)
"""A call of something that is named like a check, or a macro that stands alone; without what stands before in its name."""
_ALONE = re.compile(rb"\)\s*;\s*[A-Z][A-Z0-9_]{2,}[ \t]*(?=[;}/\r\n])")
"""A macro without arguments that is the next statement after a call."""
_ELEMENT = re.compile(rb"\w\s*\[[^\]]*\]")
_IN_BRACKETS, _NAME = re.compile(rb"\[([^\]\[]*)"), re.compile(rb"\w+")
_IN_FOR, _BEFORE_COLON = re.compile(rb"\bfor\s*\(([^;()]*)"), re.compile(rb"\b(\w+)\s*:")
_EXTERN = re.compile(rb"\bextern\b")
_WORD_END = re.compile(rb"\w*$")
_FEW_WORDS = 64
"""Where no more are asked for, each is searched in the text, which costs less than to look at all of them."""
_ONCE = frozenset(
    {
        "expression_statement",
        "return_statement",
        "call_expression",
        "parenthesized_expression",
        "assignment_expression",
        "condition_clause",
        "unary_expression",
    }
)
"""What is evaluated whenever it is reached, with all that is in it. Of a comparison only the left side is sure."""
_OF_CUDA = re.compile(rb"cu|gpu|launch|kernel|last", re.I)


@dataclass(frozen=True, slots=True)
class Written:
    """A call. ``fate`` is what becomes of its value: it is dropped, discarded with ``(void)``, assigned to ``variable``, or used."""

    name: str
    node: Node
    arguments: tuple[Node, ...]
    fate: Fate
    variable: str = ""

    @property
    def start(self) -> int:
        return self.node.start_byte

    @property
    def end(self) -> int:
        return self.node.end_byte


class Declared(NamedTuple):
    """A variable or parameter. ``declarator`` is the kind of its declarator, ``kind`` its type without that, ``node`` its name."""

    declarator: str
    kind: str
    node: Node


@dataclass
class Body:
    """A function that runs on the host. ``shown`` is its name as findings say it; ``owner`` is its class."""

    source: Source
    node: Node
    body: Node
    owner: str
    name: str
    calls: list[Written] = field(default_factory=list)
    _words: dict[str, list[int]] = field(default_factory=dict)
    _declared: dict[str, list[Declared]] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        return self.source.function_name(self.owner, self.name)

    @cached_property
    def text(self) -> bytes:
        return self.source.text[self.body.start_byte : self.body.end_byte]

    @cached_property
    def code(self) -> bytes:
        """``text`` with spaces for comments and for what stands in quotes."""
        return cpp_code(self.text)

    @cached_property
    def library_calls(self) -> list[Written]:
        """Calls of CUDA's libraries."""
        found = ((match[0].decode(), self.body.start_byte + match.start()) for match in LIBRARIES.finditer(self.code))
        return list(called(self, ((name, offset) for name, offset in found if name in symbols())))

    @cached_property
    def launches(self) -> list[Node]:
        """Launches with ``<<<>>>``."""
        found = (self._call_at(self.body.start_byte + match.start()) for match in re.finditer(rb"<<<", self.text))
        return list({node.id: node for node in found if node is not None and is_launch(node)}.values())

    @cached_property
    def error_checks(self) -> list[int]:
        """Offsets at which the last error is asked for: by ``cudaGetLastError``, or by a check that is given no call."""
        found = [call.start for call in self.calls if call.name in LAST_ERROR and call.fate in ("assigned", "used")]
        for match in _CHECK.finditer(self.code):
            if self._is_check(match):
                found.append(self.body.start_byte + match.start())
        after = {call.end for call in self.calls} | {launch.end_byte for launch in self.launches}
        for match in _ALONE.finditer(self.code):
            if self.body.start_byte + match.start() + 1 in after:
                found.append(self.body.start_byte + match.end())
        return sorted(found)

    def _is_check(self, match: re.Match[bytes]) -> bool:
        before = _WORD_END.search(self.code, max(0, match.start() - 60), match.start())
        name = (before[0] if before else b"") + re.split(rb"\W", match[0], maxsplit=1)[0]
        if match[1] is None:
            return name.isupper()
        return (
            name.decode() not in symbols()
            and name != b"perror"
            and (not match[1].strip() or bool(_OF_CUDA.search(name)))
        )

    def words(self, word: str) -> list[int]:
        """Offsets at which the word stands."""
        found = self._words.get(word)
        if found is None:
            if len(self._words) < _FEW_WORDS or not (word.isascii() and word.isidentifier()):
                found = [self.body.start_byte + at for at in positions(self.text, word.encode())]
            else:
                found = self._all_words.get(word.encode(), [])
            self._words[word] = found
        return found

    @cached_property
    def _all_words(self) -> dict[bytes, list[int]]:
        found: dict[bytes, list[int]] = {}
        for match in re.finditer(rb"\w+", self.text):
            found.setdefault(match[0], []).append(self.body.start_byte + match.start())
        return found

    @cached_property
    def bound(self) -> frozenset[bytes]:
        """Names that stand in brackets as those that a lambda captures, and those that a loop gives elements to; with ``extern``, if it
        declares something so."""
        code = _ELEMENT.sub(b" ", self.code)
        found = {word for inside in _IN_BRACKETS.findall(code) for word in _NAME.findall(inside)}
        found.update(word for inside in _IN_FOR.findall(code) for word in _BEFORE_COLON.findall(inside))
        return frozenset(found | ({b"extern"} if _EXTERN.search(code) else set()))

    def declarations(self, name: str) -> list[Declared]:
        """Of the name in the function and its parameters."""
        found = self._declared.get(name)
        if found is None:
            start = self.node.start_byte
            head = [start + at for at in positions(self.source.text[start : self.body.start_byte], name.encode())]
            nodes = (self.node.descendant_for_byte_range(at, at + 1) for at in [*head, *self.words(name)])
            found = self._declared[name] = [each for each in map(_declared, nodes) if each is not None]
        return found

    def identifiers(self, name: str) -> Iterator[tuple[Node, Node]]:
        """Where the name stands, and not a part of a comment or a string: its nodes, each with its parent."""
        for offset in self.words(name):
            node = self.at(offset)
            if node is not None and node.type == "identifier" and node.parent is not None:
                yield node, node.parent

    def paths(self, path: str) -> Iterator[tuple[Node, Node]]:
        """Where the variable, or the member that the path leads to (``a->b.c``), stands: the nodes, each with its parent."""
        if path.isidentifier():
            yield from self.identifiers(path)
            return
        for offset in self.words(re.split(r"\W+", path)[-1]):
            node = self.at(offset)
            whole = node.parent if node is not None and node.type == "field_identifier" else None
            if (
                whole is not None
                and whole.parent is not None
                and b"".join((whole.text or b"").split()) == path.encode()
            ):
                yield whole, whole.parent

    def at(self, offset: int) -> Node | None:
        return self.body.descendant_for_byte_range(offset, offset + 1)

    def _call_at(self, offset: int) -> Node | None:
        node = enclosing(self.at(offset), "call_expression", "compound_statement")
        return node if node is not None and node.type == "call_expression" else None

    def finding(
        self,
        rule: type[Rule],
        node: Node,
        message: str,
        *,
        api: str,
        severity: Severity | None = None,
        path: tuple[Step, ...] = (),
    ) -> Finding:
        """At a place of this function."""
        return finding(rule, message, site(api, self._frame(node)), path=path, severity=severity)

    def step(self, node: Node, text: str) -> Step:
        return Step(frame=self._frame(node), text=text)

    def _frame(self, node: Node) -> Frame:
        return frame(self.source, node.start_byte, node.end_byte, self.shown)

    def line(self, node: Node) -> int:
        return self.source.line(node.start_byte)


def _declared(node: Node | None) -> Declared | None:
    parent = node.parent if node is not None and node.type == "identifier" else None
    if node is None or parent is None:
        return None
    if node not in parent.children_by_field_name("declarator") and not parent.type.endswith("_declarator"):
        return None
    around = enclosing(parent, "declaration", "parameter_declaration", "optional_parameter_declaration")
    return Declared(parent.type, field_text(around, "type"), node) if around is not None else None


def block_of(call: Node) -> int | None:
    """Where the statement stands that makes the call whenever it is reached; None if there is none."""
    node = call
    while node.parent is not None and node.parent.type != "compound_statement":
        around = node.parent
        is_left = around.type == "binary_expression" and around.child_by_field_name("left") == node
        is_condition = around.type == "if_statement" and around.child_by_field_name("condition") == node
        if around.type.endswith(("_statement", "_expression", "_clause")) and not (
            is_condition or is_left or around.type in _ONCE
        ):
            return None
        node = around
    return node.parent.id if node.parent is not None else None


def positions(text: bytes, word: bytes) -> Iterator[int]:
    """Where the word stands in the text, as a whole; nowhere, if it is empty."""
    at = text.find(word) if word else -1
    while at >= 0:
        end = at + len(word)
        if not (_is_of_word(text, at - 1) or _is_of_word(text, end)):
            yield at
        at = text.find(word, end)


def _is_of_word(text: bytes, at: int) -> bool:
    return 0 <= at < len(text) and (text[at : at + 1].isalnum() or text[at] == 0x5F)


def called_names(text: bytes, start: int = 0, end: int | None = None) -> Iterator[tuple[str, int]]:
    """(name, offset) of everything that is called and named like a function of CUDA."""
    for match in _CALL.finditer(text, start, len(text) if end is None else end):
        if not _is_of_word(text, match.start() - 1):
            yield match[0].decode(), match.start()


def bodies(definitions: list[Definition], source: Source) -> Iterator[Body]:
    """The host functions among the definitions that call CUDA or launch kernels. Files of HIP launch with the same syntax."""
    if launches_with_hip(source.text):
        return
    for definition in definitions:
        node = definition.node
        body = node.child_by_field_name("body")
        if body is None or node.type == LAMBDA or not mentions_cuda(source.text, body.start_byte, body.end_byte):
            continue
        if runs_on_device(node, body, source) or not _is_function(node):
            continue
        yield _body(definition, body, source)


def body_of(definition: Definition, source: Source) -> Body | None:
    """The function, or the lambda, of that definition; None if it has no body."""
    body = definition.node.child_by_field_name("body")
    return _body(definition, body, source) if body is not None else None


def _body(definition: Definition, body: Node, source: Source) -> Body:
    owner, name = name_of(definition)
    found = Body(source, definition.node, body, owner, name)
    names = called_names(source.text, body.start_byte, body.end_byte)
    found.calls = list(called(found, ((name, offset) for name, offset in names if name in symbols())))
    return found


def functions(definitions: list[Definition], source: Source) -> Iterator[Body]:
    """All functions among the definitions, also those that do not call CUDA, without their calls."""
    for definition in definitions:
        body = definition.node.child_by_field_name("body")
        if body is not None and definition.node.type != LAMBDA and _is_function(definition.node):
            owner, name = name_of(definition)
            yield Body(source, definition.node, body, owner, name)


def _is_function(node: Node) -> bool:
    """Whether the definition has brackets for parameters; a class behind a macro that is not known reads as one without."""
    declarator = node.child_by_field_name("declarator")
    if declarator is None:
        return False
    named = function_declarator(declarator)
    while named.type == "qualified_identifier" and (name := named.child_by_field_name("name")) is not None:
        named = name
    return named.type == "operator_cast" or named.type.endswith("function_declarator")


def called(body: Body, names: Iterable[tuple[str, int]]) -> Iterator[Written]:
    """The calls of the functions whose names stand at these offsets, but for what is never compiled."""
    skips = NEVER.search(body.text) is not None
    for name, offset in names:
        node = body.at(offset)
        call = call_named_by(node) if node is not None and node.text == name.encode() else None
        if call is None or (skips and is_never_compiled(call)):
            continue
        fate, variable = _fate(call)
        yield Written(name, call, tuple(arguments_of(call)), fate, variable)


def is_never_compiled(node: Node) -> bool:
    """Whether it stands in the first arm of ``#if 0``."""
    inner, around = node, node.parent
    while around is not None:
        condition = around.child_by_field_name("condition") if around.type == "preproc_if" else None
        if condition is not None and condition.text == b"0" and around.child_by_field_name("alternative") != inner:
            return True
        inner, around = around, around.parent
    return False


def _fate(call: Node) -> tuple[Fate, str]:
    inner, node = call, call.parent
    while node is not None and node.type == "parenthesized_expression":
        inner, node = node, node.parent
    if node is None:
        return "used", ""
    if node.type == "expression_statement":
        return "dropped", ""
    if node.type == "cast_expression":
        kind = node.child_by_field_name("type")
        return ("discarded", "") if kind is not None and kind.text == b"void" else ("used", "")
    if node.type == "init_declarator":
        name = node.child_by_field_name("declarator")
        return ("assigned", text_of(name)) if name is not None and name.type == "identifier" else ("used", "")
    if node.type == "assignment_expression" and node.child_by_field_name("right") == inner:
        left, operator = node.child_by_field_name("left"), node.child_by_field_name("operator")
        plain = left is not None and left.type == "identifier" and operator is not None and operator.text == b"="
        if plain and left is not None and node.parent is not None and node.parent.type == "expression_statement":
            return "assigned", text_of(left)
    return "used", ""
