"""Python: ``cuda.bindings``, ``cupy.cuda.runtime`` and PyCUDA's driver, from tree-sitter's tree to ``cuvet.source.program``.

What an object's attribute holds is named ``self.stream``; ``self`` is then a parameter whose type is the class. Of a call that returns
several values, ``result[0]``, ``result[1]`` are the places of a variable that gets them all.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

from cuvet.source.calls import meaning
from cuvet.source.constants import enumerators
from cuvet.source.languages.cpp import Class, Definition, Found
from cuvet.source.languages.lowering import (
    DEEPEST,
    NOT_NAMES,
    WORD,
    Act,
    Interest,
    Lowering,
    find_interest,
    handles,
    spans,
)
from cuvet.source.languages.python_names import Api, Names, Shape, shape
from cuvet.source.parsing import Source, text_of
from cuvet.source.program import Address, Call, Escape, Function, Inside, Parameter, Value

if TYPE_CHECKING:
    from tree_sitter import Node

_MENTIONS = re.compile(
    rb"\bcuda\.bindings\b|\bfrom\s+cuda\s+import\b|\bcuda\.cudart\b|\bcuda\.cuda\b|\bpycuda\b|\bcuda\.(?:api\.)?runtime\b|\bcuda(?:\.api)?\s+import\s+runtime\b"
)
HANDLE = re.compile("")
"""Any member may be a handle: its type is not known."""
_CALL = re.compile(rb"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?=\s*\()")
_COPY = re.compile(
    rb"^[ \t]*([A-Za-z_][\w.\[\], ]{0,200}?)[ \t]?=(?!=)[ \t]*(?:\w+\()?([A-Za-z_][\w.\[\], ]{0,200})\)?[ \t]*(?:#.*)?$",
    re.MULTILINE,
)
_MEMBER = re.compile(rb"\bself\.(\w+)(?:[ \t]?,[^=\n]{0,200})?[ \t]?=(?!=)")
_LEAVES = frozenset({b"return", b"raise", b"break", b"continue", b"exit", b"_exit", b"quit", b"abort", b"yield"})
_ENDS_PROCESS = frozenset({"exit", "quit", "sys.exit", "os._exit", "os.abort"})
_SAME = frozenset({"int", "ctypes.c_void_p", "c_void_p", "np.uint64", "np.intp", "numpy.uint64", "numpy.intp"})
"""What keeps the value that it is given."""
_HANDLE_TYPE = re.compile(r"^(?:cuda\w+_t|CU[a-z]\w+|cudaGraphicsResource)$")
_EXPECTS_FAILURE = re.compile(r"(?i)raises|suppress|assertwarns")
_CONTAINERS = frozenset(
    "module block if_statement else_clause elif_clause try_statement except_clause finally_clause with_statement decorated_definition "
    "for_statement while_statement match_statement case_clause".split()
)
_DEFINITIONS = frozenset({"function_definition", "class_definition", "decorated_definition"})
_PASSES_ON = frozenset({"call", "argument_list", "parenthesized_expression", "subscript", "await", "tuple"})
MODULE = "<module>"


@dataclass(kw_only=True)
class PythonDefinition(Definition):
    """``names`` are those of the file, ``calls`` its calls of CUDA, ``functions`` the functions that it defines, ``inner`` where those
    inside of this one stand."""

    names: Names
    calls: list[tuple[int, Api]]
    functions: frozenset[str]
    inner: tuple[tuple[int, int], ...] = ()


def mentions_cuda(text: bytes) -> bool:
    """Whether a file has to do with CUDA."""
    return b"cuda" in text and _MENTIONS.search(text) is not None


def definitions(root: Node, text: bytes) -> Found:
    """All functions and classes of the file, and its own statements as a function ``<module>``."""
    names = Names(text)
    calls = names.calls(text)
    found = Found()
    if not calls:
        return found
    nodes: list[tuple[Node, str]] = []
    classes: list[tuple[Node, Node]] = []
    waiting: list[tuple[Node, str, int]] = [(root, "", 0)]
    while waiting:
        node, owner, depth = waiting.pop()
        for child in node.named_children if depth < DEEPEST else ():
            body = child.child_by_field_name("body")
            if child.type == "function_definition" and body is not None:
                nodes.append((child, owner))
                waiting.append((body, "", depth + 1))
            elif child.type == "class_definition" and body is not None:
                classes.append((child, body))
                waiting.append((body, _name(child), depth + 1))
            elif child.type in _CONTAINERS:
                waiting.append((child, owner, depth + 1))
    nodes.sort(key=lambda each: each[0].start_byte)
    functions = frozenset(_name(node) for node, _ in nodes)
    ranges = [(node.start_byte, node.end_byte) for node, _ in nodes]
    for at, (node, owner) in enumerate(nodes):
        inner = tuple(ranges[at + 1 : bisect_left(ranges, (node.end_byte,))])
        name = _name(node)
        found.functions.append(
            PythonDefinition(node, owner, name, names=names, calls=calls, functions=functions, inner=inner)
        )
    own = PythonDefinition(root, "", MODULE, names=names, calls=calls, functions=functions, inner=tuple(ranges))
    found.functions.append(own)
    handed = {word for at, api in calls for word in _names_of_call(root, at, api)} if classes else set()
    found.classes += [_class(node, body, handed) for node, body in classes]
    return found


def _name(node: Node) -> str:
    name = node.child_by_field_name("name")
    return text_of(name) if name is not None else ""


def _class(node: Node, body: Node, handed: set[bytes]) -> Class:
    """Its members are the attributes of ``self`` that its functions assign to, as far as CUDA's calls take them (``handed``)."""
    bases = node.child_by_field_name("superclasses")
    made = Class(_name(node), node.start_byte, node.end_byte, references=True)
    if bases is not None and text_of(bases) not in ("()", "(object)"):
        made.bases = (text_of(bases),)
    made.members = {word.decode(): "" for word in _MEMBER.findall(body.text or b"") if word in handed}
    for child in body.named_children:
        method = child.child_by_field_name("definition") if child.type == "decorated_definition" else child
        if method is not None and method.type == "function_definition":
            made.declared[f"{_name(method)}()"] = "{}"
    return made


def lower(
    definition: Definition,
    source: Source,
    wrappers: frozenset[bytes] = frozenset(),
    members: frozenset[bytes] = frozenset(),
) -> Function | None:
    """The function with its calls of CUDA and of the functions ``wrappers``, and what it does with these ``members`` of its class; None if
    there is nothing of that."""
    assert isinstance(definition, PythonDefinition)
    text = source.text
    body = definition.node.child_by_field_name("body") or definition.node
    found = own_calls(definition, body)
    others = (members | wrappers) and (members | wrappers) & set(WORD.findall(text, body.start_byte, body.end_byte))
    if not found and (not others or definition.name == MODULE):
        return None
    names = set(members)
    for at, api in found:
        names |= _names_of_call(body, at, api)
    sites = [at for at, _ in found]
    for match in _CALL.finditer(text, body.start_byte, body.end_byte):
        name = match.group().decode()
        if name.startswith("self.") or name in definition.functions:
            sites.append(match.start())
            if name.encode() in wrappers:
                names |= _names_of_call(body, match.start(), None)
    interest = find_interest(text, body.start_byte, body.end_byte, names, _COPY, sites, _LEAVES | wrappers)
    return PythonLowering(source, definition, body, interest).lowered()


def own_calls(definition: PythonDefinition, body: Node) -> list[tuple[int, Api]]:
    """(offset, entry point) of the calls of CUDA in that part of the function, without the functions inside of it."""
    calls = definition.calls
    first, last = (bisect_left(calls, at, key=itemgetter(0)) for at in (body.start_byte, body.end_byte))
    return [(at, api) for at, api in calls[first:last] if not any(start <= at < end for start, end in definition.inner)]


def _names_of_call(body: Node, at: int, api: Api | None) -> set[bytes]:
    """Words in the arguments that are handles, and in what gets the results. ``api`` None: of any function."""
    node = body.descendant_for_byte_range(at, at + 1)
    while node is not None and node.type not in ("call", "block", "module"):
        node = node.parent
    if node is None or node.type != "call":
        return set()
    listed = node.child_by_field_name("arguments")
    given = [child for child in listed.named_children if child.type != "comment"] if listed is not None else []
    words: set[bytes] = set()
    if api is None:
        words.update(WORD.findall(b" ".join(child.text or b"" for child in given)))
        makes = True
    else:
        form, found = shape(api, len(given)), meaning(api.name)
        wanted = handles(api.name)
        makes = bool(found is not None and found.made)
        for child, position in zip(given, form.given if form is not None else (), strict=False):
            if position in wanted:
                words.update(WORD.findall(child.text or b""))
    if makes:
        words.update(_target_words(node, api is not None and api.style == "tuple"))
    return words - NOT_NAMES


def _target_words(node: Node, status_first: bool) -> Iterator[bytes]:
    """Words in what the value of the expression is assigned to. ``status_first``: the first of several targets gets a status."""
    while node.parent is not None and node.parent.type in _PASSES_ON:
        if node.parent.type in ("call", "subscript"):
            status_first = False
        node = node.parent
    if node.parent is None or node.parent.type not in ("assignment", "named_expression"):
        return
    left = node.parent.child_by_field_name("left") or node.parent.child_by_field_name("name")
    if left is None:
        return
    several = left.named_children if left.type in ("pattern_list", "tuple_pattern", "list_pattern") else [left]
    for target in several[1:] if status_first and len(several) > 1 else several:
        yield from WORD.findall(target.text or b"")


Several = tuple[Value, ...]
"""The values of a call that returns a tuple."""


class PythonLowering(Lowering):
    """Of one function."""

    def __init__(self, source: Source, definition: PythonDefinition, body: Node, interest: Interest) -> None:
        super().__init__(source, definition.node, definition.owner, definition.name, interest)
        self.names = definition.names
        self.functions = definition.functions
        self.body = body
        self.is_module = definition.node.type == "module"
        self.globals: set[str] = set()
        self.freed_by_itself: set[str] = set()
        """Places of PyCUDA's allocations."""

    def lowered(self) -> Function:
        listed = self.node.child_by_field_name("parameters")
        if listed is not None:
            self.parameters = tuple(self._parameters(listed))
        return self.function([child for child in self.body.named_children if child.type != "comment"])

    def _parameters(self, listed: Node) -> Iterator[Parameter]:
        for index, child in enumerate(each for each in listed.named_children if each.type != "comment"):
            name = next((text_of(each) for each in (child, *child.named_children) if each.type == "identifier"), "")
            if index == 0 and self.owner and name == "self":
                yield Parameter("self", self.owner, reference=True)
            elif name:
                self.locals[name] = ""
                yield Parameter(name, "")

    # Statements.

    def statement(self, node: Node) -> None:
        if node.type in _DEFINITIONS:
            if not self.is_module and self.hot(node):
                self.escape_names(node, self._meant)
        elif node.type in ("global_statement", "nonlocal_statement"):
            self.globals.update(text_of(child) for child in node.named_children)
        elif self.hot(node):
            handler = _STATEMENTS.get(node.type)
            if handler is not None:
                handler(self, node)
            else:
                for child in node.named_children:
                    self.value(child)

    def _meant(self, word: str) -> Iterable[str]:
        """The places that a word in a text that is not followed may stand for."""
        return (word, f"self.{word}") if self.owner else (word,)

    def block(self, node: Node | None) -> None:
        for child in node.named_children if node is not None else ():
            if child.type != "comment":
                self.statement(child)

    def _act(self, node: Node | None) -> Act:
        return lambda: self.block(node)

    def if_(self, node: Node) -> None:
        self._arms(node, node.children_by_field_name("alternative"))

    def _arms(self, node: Node, others: Sequence[Node]) -> None:
        condition = node.child_by_field_name("condition")
        assert condition is not None
        self.fork(
            lambda yes, no: self.condition(condition, yes, no),
            self._act(node.child_by_field_name("consequence")),
            lambda: self._otherwise(others) if others else None,
        )

    def _otherwise(self, others: Sequence[Node]) -> None:
        first = others[0]
        if first.type == "elif_clause":
            self._arms(first, others[1:])
        else:
            self.block(first.child_by_field_name("body"))

    def while_(self, node: Node) -> None:
        condition = node.child_by_field_name("condition")
        assert condition is not None
        self.repeat(lambda yes, no: self.condition(condition, yes, no), self._act(node.child_by_field_name("body")))
        self._after_loop(node)

    def for_(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        assert left is not None and right is not None
        elements = self.value(right)
        if isinstance(elements, str) and self.concerns(elements):
            self.emit(Escape(elements, right.start_byte, written=True))

        def body() -> None:
            for place in self._targets(left):
                self.assign(place, None, left)
            self.block(node.child_by_field_name("body"))

        self.repeat(lambda yes, no: self.test(left, "", False, 0, yes, no), body)
        self._after_loop(node)

    def _after_loop(self, node: Node) -> None:
        otherwise = node.child_by_field_name("alternative")
        if otherwise is not None and self.hot(otherwise):
            self.perhaps("the loop was not left early", otherwise, self._act(otherwise.child_by_field_name("body")))

    def try_(self, node: Node) -> None:
        body = node.child_by_field_name("body")
        assert body is not None
        clauses = {child.type: child for child in node.named_children}
        last = clauses.get("finally_clause")
        handlers = [
            (child, self._act(child.named_children[-1]))
            for child in node.named_children
            if child.type in ("except_clause", "except_group_clause")
        ]
        otherwise = clauses.get("else_clause")

        def act() -> None:
            self.block(body)
            if otherwise is not None:
                self.block(otherwise.child_by_field_name("body"))

        ending = self._act(last.named_children[-1]) if last is not None and self.hot(last) else None
        self.guarded(act, handlers, lambda: self.escape_names(body, self._meant), ending)

    def with_(self, node: Node) -> None:
        for item in node.named_children[0].named_children:
            context = item.child_by_field_name("value")
            if context is None:
                continue
            if context.type == "as_pattern":
                self.escape(self._one(context.named_children[0]), context.start_byte)
                for place in self._targets(context.named_children[-1]):
                    self.assign(place, None, context)
            elif context.type == "call" and _EXPECTS_FAILURE.search(text_of(context.named_children[0])):
                self.escape_names(node, self._meant)
                return
            else:
                self.escape(self._one(context), context.start_byte)
        self.block(node.child_by_field_name("body"))

    def match(self, node: Node) -> None:
        subject, body = node.child_by_field_name("subject"), node.child_by_field_name("body")
        cases = []
        for case in body.named_children if body is not None else ():
            if case.type == "case_clause":
                label = text_of(case.named_children[0])
                cases.append(
                    (case, None if label == "_" else label, self._act(case.child_by_field_name("consequence")))
                )
        self.cases(text_of(subject) if subject is not None else "", cases, breaks=False)

    def return_(self, node: Node) -> None:
        values = [self._one(child) for child in node.named_children if child.type != "comment"]
        for child in node.named_children:
            if child.type in ("expression_list", "tuple", "list", "call", "conditional_expression", "dictionary"):
                self.escape_names(child, self._meant)
        self.leave(node, "return", values[0] if values else None)

    def raise_(self, node: Node) -> None:
        for child in node.named_children:
            self.value(child)
        self.leave(node, "throw")

    def assert_(self, node: Node) -> None:
        before = self.temporaries
        self.value(node.named_children[0])
        self.builder.check(before)

    def break_(self, node: Node) -> None:
        self.jump_out()

    def continue_(self, node: Node) -> None:
        self.jump_out(again=True)

    def delete(self, node: Node) -> None:
        for place in self._targets(node.named_children[0]):
            self.escape(place, node.start_byte)
            self.assign(place, None, node)

    # Conditions.

    def condition(self, node: Node, yes: int, no: int) -> None:
        kind = node.type
        if kind == "parenthesized_expression" and len(node.named_children) == 1:
            self.condition(node.named_children[0], yes, no)
        elif kind == "not_operator":
            self.condition(node.named_children[-1], no, yes)
        elif kind == "boolean_operator":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            assert left is not None and right is not None
            both = any(child.type == "and" for child in node.children)
            middle = self.builder.new()
            self.condition(left, middle if both else yes, no if both else middle)
            self.builder.start(middle)
            self.condition(right, yes, no)
        elif kind == "comparison_operator" and len(node.named_children) == 2:
            self._comparison(node, yes, no)
        else:
            value = self._one(node)
            if isinstance(value, int):
                self.builder.branch(None, yes if value else no, yes if value else no)
            else:
                self.test(node, value if isinstance(value, str) else "", False, 0, yes, no)

    def _comparison(self, node: Node, yes: int, no: int) -> None:
        left, right = (self._one(child) for child in node.named_children)
        symbol = "".join(child.type for child in node.children_by_field_name("operators"))
        place, other = (left, right) if isinstance(left, str) else (right, left)
        if symbol in ("==", "is", "!=", "is not", "isnot"):
            self.test(node, place if isinstance(place, str) else "", symbol in ("==", "is"), other, yes, no)
        else:
            self.test(node, "", False, 0, yes, no)

    # Places.

    def place(self, node: Node) -> str:
        """What the expression names; ``""`` if it names nothing that can be followed."""
        kind = node.type
        if kind == "identifier":
            return text_of(node)
        if kind == "attribute":
            base, name = node.child_by_field_name("object"), node.child_by_field_name("attribute")
            if base is None or name is None or self.names.is_module(text_of(base)):
                return ""
            outer = self.place(base)
            return outer if text_of(name) == "value" else f"{outer}.{text_of(name)}" if outer else ""
        if kind == "subscript":
            base, index = node.child_by_field_name("value"), node.child_by_field_name("subscript")
            outer = self.place(base) if base is not None else ""
            number = text_of(index) if index is not None and index.type == "integer" else "*"
            return f"{outer}[{number}]" if outer else ""
        if kind in ("parenthesized_expression", "as_pattern_target") and node.named_children:
            return self.place(node.named_children[0])
        return ""

    def _targets(self, node: Node) -> list[str]:
        """The places that an assignment to the expression changes; variables among them are new."""
        if node.type in ("pattern_list", "tuple_pattern", "list_pattern", "expression_list", "tuple", "list"):
            return [place for child in node.named_children for place in self._targets(child)]
        place = self.place(node)
        if node.type == "identifier" and place not in self.globals and not self.is_module:
            self.locals.setdefault(place, "")
        return [place]

    # Expressions.

    def value(self, node: Node) -> Value:
        found = self._all(node, ())
        return found[0] if isinstance(found, tuple) and found else None if isinstance(found, tuple) else found

    def _one(self, node: Node) -> Value:
        """The value; of a tuple that a call returned, that it is nothing which can be followed."""
        found = self._all(node, ())
        return found if not isinstance(found, tuple) else found[0] if len(found) == 1 else None

    def _all(self, node: Node, into: Sequence[str]) -> Value | Several:
        """The value, or all values of a call that returns several. ``into``: where they are going to be."""
        kind = node.type
        if kind in ("identifier", "attribute"):
            return self._name(node)
        if kind == "integer":
            return _number(text_of(node))
        if kind in ("none", "false"):
            return 0
        if kind == "true":
            return 1
        if kind in ("string", "concatenated_string"):
            return None
        handler = _EXPRESSIONS.get(kind)
        if handler is not None:
            return handler(self, node, into)
        if self.hot(node):
            for child in node.named_children:
                self.escape(self._one(child), child.start_byte)
        return None

    def _name(self, node: Node) -> Value:
        text = text_of(node)
        last = text.rpartition(".")[2]
        if last[:2] in ("cu", "CU") and (number := enumerators().get(last)) is not None:
            return number
        return self.place(node) or None

    def _inner(self, node: Node, into: Sequence[str]) -> Value | Several:
        return self._all(node.named_children[-1], into) if node.named_children else None

    def _subscript(self, node: Node, into: Sequence[str]) -> Value | Several:
        """``call(…)[1]`` is one of the values that the call returns."""
        base, index = node.child_by_field_name("value"), node.child_by_field_name("subscript")
        if base is None or base.type not in ("call", "await") or index is None:
            if index is not None and self.hot(index):
                self.escape(self._one(index), index.start_byte)
            return self.place(node) or None
        number = _number(text_of(index)) if index.type == "integer" else None
        wanted = [""] * number + (list(into[:1]) or ["_"]) if number else ()
        found = self._all(base, wanted)
        if isinstance(found, tuple):
            return found[number] if number is not None and number < len(found) else None
        return found if number == 0 else None

    def _assignment(self, node: Node, into: Sequence[str]) -> Value | Several:
        left = node.child_by_field_name("left") or node.child_by_field_name("name")
        right = node.child_by_field_name("right") or node.child_by_field_name("value")
        if left is None or right is None:
            return None
        several = left.type in ("pattern_list", "tuple_pattern", "list_pattern")
        if (
            several
            and right.type in ("expression_list", "tuple")
            and len(right.named_children) == len(left.named_children)
        ):
            self._one_by_one(left, right, node)
            return None
        places = self._targets(left)
        found = self._all(right, places if several or places[0] else ())
        if not several:
            self._store(places[0], found, node)
            return places[0] or None
        values = found if isinstance(found, tuple) else (None,)
        if not isinstance(found, tuple):
            self.escape(found, node.start_byte)
        if len(values) != len(places):
            values = (*values, *([None] * len(places)))
        for place, value in zip(places, values, strict=False):
            if place != "_":
                self.assign(place, value, node)
        return None

    def _one_by_one(self, left: Node, right: Node, node: Node) -> None:
        """``a, b = c, d``. Where one of the targets is a value too (a swap), which is which is not followed."""
        values = [self._one(child) for child in right.named_children]
        places = self._targets(left)
        mixed = any(place and place in values[at + 1 :] for at, place in enumerate(places)) or len(places) != len(
            values
        )
        for at, place in enumerate(places):
            value = values[at] if at < len(values) else None
            if mixed:
                self.escape(value, node.start_byte)
            self.assign(place, None if mixed else value, node)

    def _store(self, place: str, found: Value | Several, node: Node) -> None:
        if not isinstance(found, tuple):
            self.assign(place, found, node)
            return
        if place in self.locals:
            self.locals[place] = "[]"
        self.assign(place, found[0] if len(found) == 1 else None, node)
        for index, value in enumerate(found):
            self.assign(f"{place}[{index}]" if place else "", value, node)

    def _augmented(self, node: Node, into: Sequence[str]) -> Value:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if right is not None:
            self.escape(self._one(right), node.start_byte)
        if left is not None:
            self.assign(self.place(left), None, node)
        return None

    def _binary(self, node: Node, into: Sequence[str]) -> Value:
        values = [self._one(child) for child in node.named_children]
        operator = node.child_by_field_name("operator")
        symbol = operator.type if operator is not None else ""
        if symbol in ("+", "-"):
            for value in values:
                if isinstance(value, str) and value[0] != "%" and self.concerns(value):
                    return Inside(value)
                if isinstance(value, Inside):
                    return value
        if symbol == "|" and all(isinstance(value, int) for value in values):
            return sum({value for value in values if isinstance(value, int)})
        return None

    def _either(self, node: Node, into: Sequence[str]) -> Value:
        one, test, other = (child for child in node.named_children if child.type != "comment")
        return self.either(test, one, other)

    def _compare(self, node: Node, into: Sequence[str]) -> Value:
        """A comparison whose outcome nobody branches on."""
        before = self.temporaries
        for child in node.named_children:
            self._one(child)
        self.builder.check(before)
        return None

    def _out_of_sight(self, node: Node, into: Sequence[str]) -> Value:
        """A lambda or a comprehension."""
        self.escape_names(node, self._meant)
        return None

    # Calls.

    def _call(self, node: Node, into: Sequence[str]) -> Value | Several:
        function, listed = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None or listed is None:
            return None
        name = re.sub(r"\s+", "", text_of(function)) if function.type in ("identifier", "attribute") else ""
        given = (
            [child for child in listed.named_children if child.type != "comment"]
            if listed.type == "argument_list"
            else [listed]
        )
        if name in _ENDS_PROCESS:
            self.leave(node, "exit")
            return None
        api = self.names.api(name)
        if api is not None:
            return self._cuda(node, api, given, into)
        if (name in _SAME or _HANDLE_TYPE.match(name.rpartition(".")[2])) and len(given) <= 1:
            return self._all(given[0], into) if given else 0
        if not self.hot(node):
            return None
        if len(given) == 1 and (checked := self._checked(given[0], into)) is not None:
            return checked
        return self._other(node, function, name, given)

    def _cuda(
        self, node: Node, api: Api, given: Sequence[Node], into: Sequence[str], wrapped: bool = False
    ) -> Value | Several:
        """A call of CUDA. ``wrapped``: a function takes the status away from what is returned."""
        form = shape(api, len(given))
        if form is None:
            for child in given:
                self.escape(self._one(child), child.start_byte)
            return None
        arguments = self._arguments(api, form, given)
        status_first = api.style == "tuple" and (not wrapped or len(into) == len(form.outputs) + 1 > 1)
        targets = list(into[1:] if status_first else into)
        outputs: list[Value] = []
        for index, position in enumerate(form.outputs):
            target = targets[index] if index < len(targets) and targets[index] not in ("", "_") else ""
            if not target or not self.concerns(target):
                target = self.temporary()
            arguments[position] = (Address(target), (node.start_byte, node.end_byte))
            outputs.append(target)
        dropped = (
            api.style != "tuple"
            or not (wrapped or self._is_used(node))
            or (not wrapped and list(into[:1]) in ([""], ["_"]))
        )
        result = "" if dropped else self.temporary()
        ordered = [arguments.get(position, (None, (node.start_byte, node.end_byte))) for position in range(form.count)]
        call = Call(api.name, tuple(value for value, _ in ordered), node.start_byte, node.end_byte, result=result)
        call.spans = tuple(span for _, span in ordered)
        call.checked = wrapped or api.style != "tuple"
        self.emit(call)
        for output in outputs:
            if isinstance(output, str) and output[0] == "%":
                self.emit(Escape(output, node.start_byte))
            elif isinstance(output, str):
                self.share(output, node.start_byte)
        if api.style == "pycuda":
            for output in outputs:
                self._frees_itself(output, node)
        if api.style == "tuple" and (not wrapped or status_first):
            return (result or None, *outputs)
        return outputs[0] if len(outputs) == 1 else tuple(outputs) if outputs else None

    def _frees_itself(self, output: Value, node: Node) -> None:
        if isinstance(output, str):
            self.freed_by_itself.add(output)
            self.emit(Escape(output, node.start_byte))

    def _is_used(self, node: Node) -> bool:
        return node.parent is not None and node.parent.type != "expression_statement"

    def _arguments(self, api: Api, form: Shape, given: Sequence[Node]) -> dict[int, tuple[Value, tuple[int, int]]]:
        """By parameter: the argument's value, and where it stands."""
        found: dict[int, tuple[Value, tuple[int, int]]] = {}
        for index, child in enumerate(given):
            position = form.given[index] if index < len(form.given) else -1
            if child.type == "keyword_argument":
                keyword, child = child.named_children[0], child.named_children[-1]
                position = form.names.get(text_of(keyword), position)
            value = self._one(child)
            if position >= 0:
                found[position] = (value, (child.start_byte, child.end_byte))
        return found

    def _checked(self, argument: Node, into: Sequence[str]) -> Value | Several:
        """``check(cudaMalloc(n))``: a function is handed all that a call returns, looks at the status and returns the rest. None if
        this is none."""
        if argument.type == "list_splat":
            argument = argument.named_children[0]
        if argument.type != "call":
            return None
        function, listed = argument.child_by_field_name("function"), argument.child_by_field_name("arguments")
        if function is None or listed is None or listed.type != "argument_list":
            return None
        api = self.names.api(re.sub(r"\s+", "", text_of(function)))
        if api is None or api.style != "tuple":
            return None
        found = self._cuda(
            argument, api, [child for child in listed.named_children if child.type != "comment"], into, wrapped=True
        )
        return () if found is None else found

    def _other(self, node: Node, function: Node, name: str, given: Sequence[Node]) -> Value:
        """A function that is not CUDA's, or a method."""
        before = self.temporaries
        receiver = ""
        if function.type == "attribute":
            base = function.child_by_field_name("object")
            receiver = self.place(base) if base is not None else ""
            if base is not None and base.type == "call":
                self.escape(self._one(base), base.start_byte)
        values = tuple(
            self._one(child.named_children[-1] if child.type == "keyword_argument" else child) for child in given
        )
        last = name.rpartition(".")[2]
        if last == "free" and not given and receiver in self.freed_by_itself:
            self.emit(
                Call("cuMemFree", (receiver,), node.start_byte, node.end_byte, checked=True, spans=spans([function]))
            )
            return None
        self._changes_others(name, receiver, node)
        return self.other_call(last, receiver, values, given, node, before)

    def _changes_others(self, name: str, receiver: str, node: Node) -> None:
        """A function of the same file or object may change the file's variables, or the object."""
        if receiver in ("self", "super()") or "self" in name.split(".")[:1]:
            if receiver == "self":
                self.emit(Escape("self", node.start_byte, written=True))
        elif name in self.functions:
            for word in self.interest.names:
                place = word.decode()
                if place not in self.locals:
                    self.emit(Escape(place, node.start_byte, written=True))


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


_STATEMENTS: dict[str, Callable[[PythonLowering, Node], None]] = {
    "block": PythonLowering.block,
    "if_statement": PythonLowering.if_,
    "while_statement": PythonLowering.while_,
    "for_statement": PythonLowering.for_,
    "try_statement": PythonLowering.try_,
    "with_statement": PythonLowering.with_,
    "match_statement": PythonLowering.match,
    "return_statement": PythonLowering.return_,
    "raise_statement": PythonLowering.raise_,
    "assert_statement": PythonLowering.assert_,
    "break_statement": PythonLowering.break_,
    "continue_statement": PythonLowering.continue_,
    "delete_statement": PythonLowering.delete,
}

_EXPRESSIONS: dict[str, Callable[[PythonLowering, Node, Sequence[str]], Value | Several]] = {
    "parenthesized_expression": PythonLowering._inner,
    "await": PythonLowering._inner,
    "subscript": PythonLowering._subscript,
    "assignment": PythonLowering._assignment,
    "named_expression": PythonLowering._assignment,
    "augmented_assignment": PythonLowering._augmented,
    "binary_operator": PythonLowering._binary,
    "comparison_operator": PythonLowering._compare,
    "conditional_expression": PythonLowering._either,
    "lambda": PythonLowering._out_of_sight,
    "list_comprehension": PythonLowering._out_of_sight,
    "set_comprehension": PythonLowering._out_of_sight,
    "dictionary_comprehension": PythonLowering._out_of_sight,
    "generator_expression": PythonLowering._out_of_sight,
    "call": PythonLowering._call,
}
