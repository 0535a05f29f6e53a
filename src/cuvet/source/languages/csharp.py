"""C#: P/Invoke declarations and classes that gather them (ManagedCuda, CUDA.NET), from tree-sitter's tree to ``cuvet.source.program``.

Fields of the method's own class are named ``this.stream``. ``Dispose`` and the finalizer are destructors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from cuvet.source.calls import meaning, symbols
from cuvet.source.constants import enumerators
from cuvet.source.languages.cpp import Class, Definition, Found
from cuvet.source.languages.lowering import DEEPEST, WORD, Act, Interest, Lowering, find_interest, handles
from cuvet.source.parsing import Source, text_of
from cuvet.source.program import Address, Call, Escape, Function, Inside, Parameter, Value

if TYPE_CHECKING:
    from tree_sitter import Node

_MENTIONS = re.compile(
    rb"\bcu(?:da|blas|dnn|fft|rand|sparse|solver)?[A-Z]\w{1,80}\s{0,80}\(|EntryPoint\s{0,80}=\s{0,80}\"cu"
)
HANDLE = re.compile(r"^(?:IntPtr|UIntPtr|nint|nuint|ulong|CU(?!DA)\w+|cuda\w+_t)\b|\*")
_IMPORTED = re.compile(
    rb'(?:DllImport|LibraryImport)\s*\([^\])]{0,300}?EntryPoint\s*=\s*"(cu\w+)"[^\]]{0,300}\](?:\s*\[[^\]]{0,300}\]){0,9}[^;{}(]{0,300}?\b(\w+)\s*\('
)
_CALL = re.compile(rb"\b([A-Za-z_]\w*)\s*\(")
_COPY = re.compile(
    rb"(?<![\w.\]])([A-Za-z_][\w.\[\]]*)\s?=(?!=)\s?(?:\([\w\s*.]{1,100}\))?\s?(?:new\s+\w+\s*\()?([A-Za-z_][\w.\[\]]*)\)?\s?[;,)]"
)
_LEAVES = frozenset({b"return", b"throw", b"break", b"continue", b"goto", b"Exit", b"FailFast"})
_ENDS_PROCESS = frozenset({"Environment.Exit", "Environment.FailFast", "System.Environment.Exit", "Application.Exit"})
_ZERO = frozenset(
    {
        "IntPtr.Zero",
        "UIntPtr.Zero",
        "System.IntPtr.Zero",
        "nint.Zero",
        "Success",
        "SUCCESS",
        "CUDA_SUCCESS",
        "cudaSuccess",
    }
)
_TYPES = frozenset({"class_declaration", "struct_declaration", "record_declaration", "record_struct_declaration"})
_CONTAINERS = frozenset(
    {
        "namespace_declaration",
        "file_scoped_namespace_declaration",
        "declaration_list",
        "preproc_if",
        "preproc_elif",
        "preproc_else",
        "preproc_region",
        "ERROR",
    }
)
_METHODS = frozenset(
    {
        "method_declaration",
        "constructor_declaration",
        "destructor_declaration",
        "operator_declaration",
        "conversion_operator_declaration",
        "local_function_statement",
        "accessor_declaration",
    }
)
_HOLDERS = frozenset(
    {"property_declaration", "indexer_declaration", "accessor_list", "event_declaration", "block", "global_statement"}
)
MAIN = "Main"


@dataclass(kw_only=True)
class CSharpDefinition(Definition):
    """``imported`` maps the file's P/Invoke names to entry points, ``functions`` are the names of those with a body in the file,
    ``fields`` those of the class."""

    imported: dict[str, str]
    functions: frozenset[str]
    fields: frozenset[str]
    static: bool = False


def mentions_cuda(text: bytes) -> bool:
    """Whether a file has to do with CUDA."""
    return b"cu" in text and _MENTIONS.search(text) is not None


def definitions(root: Node, text: bytes) -> Found:
    """All methods and classes of the file. Static methods belong to no class; statements outside of any are a function ``Main``."""
    imported = {match[2].decode(): match[1].decode() for match in _IMPORTED.finditer(text)}
    found = Found()
    nodes: list[tuple[Node, str]] = []
    waiting: list[tuple[Node, str, int]] = [(root, "", 0)]
    while waiting:
        node, owner, depth = waiting.pop()
        for child in node.named_children if depth < DEEPEST else ():
            body = child.child_by_field_name("body")
            if child.type in _TYPES and body is not None:
                found.classes.append(_class(child, body))
                waiting.append((body, _name(child), depth + 1))
            elif child.type in _METHODS and body is not None:
                nodes.append((child, owner))
                waiting.append((body, owner, depth + 1))
            elif child.type in _CONTAINERS or child.type in _HOLDERS:
                waiting.append((child, owner, depth + 1))
    if any(child.type == "global_statement" for child in root.named_children):
        nodes.append((root, ""))
    functions = frozenset(_name(node) for node, _ in nodes)
    fields = {each.name: frozenset(each.members) for each in found.classes}
    for node, owner in sorted(nodes, key=lambda each: each[0].start_byte):
        static = any(child.type == "modifier" and child.text == b"static" for child in node.children)
        name = MAIN if node is root else _function_name(node)
        owner = "" if static or node.type == "local_function_statement" else owner
        own = fields.get(owner, frozenset())
        found.functions.append(
            CSharpDefinition(node, owner, name, imported=imported, functions=functions, fields=own, static=static)
        )
    return found


def _name(node: Node) -> str:
    name = node.child_by_field_name("name")
    return text_of(name) if name is not None else ""


def _function_name(node: Node) -> str:
    if node.type == "destructor_declaration" or (node.type == "method_declaration" and _name(node) == "Dispose"):
        return "__del__"
    return "__init__" if node.type == "constructor_declaration" else _name(node)


def _class(node: Node, body: Node) -> Class:
    """Its members are its fields and properties that are not static."""
    bases = next((text_of(child) for child in node.named_children if child.type == "base_list"), "")
    made = Class(
        _name(node), node.start_byte, node.end_byte, references=node.type in ("class_declaration", "record_declaration")
    )
    made.bases = tuple(base for base in re.findall(r"[\w.<>]+", bases) if base != "IDisposable")
    for child in body.named_children:
        if {b"static", b"const"} & {each.text for each in child.children if each.type == "modifier"}:
            continue
        if child.type == "field_declaration":
            for variables in child.named_children:
                kind = variables.child_by_field_name("type")
                for variable in variables.named_children:
                    if variable.type == "variable_declarator" and kind is not None:
                        made.members[_name(variable)] = text_of(kind)
                        if len(variable.named_children) > 1:
                            made.initialised.append(_name(variable))
        elif child.type == "property_declaration":
            kind = child.child_by_field_name("type")
            made.members[_name(child)] = text_of(kind) if kind is not None else ""
        elif child.type in _METHODS:
            name = _function_name(child)
            made.declared["~()" if name == "__del__" else f"{made.name if name == '__init__' else name}()"] = "{}"
    return made


@cache
def positions(api: str, arguments: int) -> tuple[int, ...] | None:
    """Which parameter of the entry point each of so many arguments is: that of the signature with as many. None if there is none."""
    found = meaning(api)
    if found is None:
        return None
    own = found.entry_point
    if arguments == len(own.parameters):
        return tuple(range(arguments))
    for signature in own.signatures:
        if len(signature.parameters) == arguments:
            return tuple(own.index.get(parameter.name, -1) for parameter in signature.parameters)
    return None


def lower(
    definition: Definition,
    source: Source,
    wrappers: frozenset[bytes] = frozenset(),
    members: frozenset[bytes] = frozenset(),
) -> Function | None:
    """The function with its calls of CUDA and of the functions ``wrappers``, and what it does with these ``members`` of its class; None if
    there is nothing of that."""
    assert isinstance(definition, CSharpDefinition)
    text = source.text
    body = definition.node.child_by_field_name("body") or definition.node
    start, end = body.start_byte, body.end_byte
    calls = [(match.start(1), match[1].decode()) for match in _CALL.finditer(text, start, end)]
    found = [(at, api) for at, name in calls if (api := entry_point(definition, name))]
    others = (members | wrappers) and (members | wrappers) & set(WORD.findall(text, start, end))
    if not found and not others:
        return None
    names = set(members)
    for at, api in found:
        names |= _names_of_call(body, at, api)
    sites = [at for at, _ in found]
    for at, name in calls:
        if name in definition.functions:
            sites.append(at)
            if name.encode() in wrappers:
                names |= _names_of_call(body, at, None)
    interest = find_interest(text, start, end, names, _COPY, sites, _LEAVES | wrappers)
    return CSharpLowering(source, definition, body, interest).lowered()


def entry_point(definition: CSharpDefinition, name: str) -> str:
    """The entry point of CUDA that a call by that name reaches; ``""`` if none."""
    if name in definition.imported:
        api = definition.imported[name]
        return api if api in symbols() else ""
    return name if name[:2] == "cu" and name in symbols() and name not in definition.functions else ""


def _names_of_call(body: Node, at: int, api: str | None) -> set[bytes]:
    """Words in the arguments that are handles. ``api`` None: of any function, and what it is assigned to."""
    node = body.descendant_for_byte_range(at, at + 1)
    while node is not None and node.type not in ("invocation_expression", "block"):
        node = node.parent
    if node is None or node.type != "invocation_expression":
        return set()
    given = _arguments(node)
    if api is None:
        target = (
            node.parent.child_by_field_name("left") or node.parent.child_by_field_name("name")
            if node.parent is not None
            else None
        )
        return {
            word
            for child in (*given, *([target] if target is not None else []))
            for word in WORD.findall(child.text or b"")
        }
    wanted, form = handles(api), positions(api, len(given))
    return {
        word
        for child, position in zip(given, form or (), strict=False)
        if position in wanted
        for word in WORD.findall(child.text or b"")
    }


def _arguments(node: Node) -> list[Node]:
    listed = node.child_by_field_name("arguments")
    return [child for child in listed.named_children if child.type == "argument"] if listed is not None else []


class CSharpLowering(Lowering):
    """Of one method."""

    def __init__(self, source: Source, definition: CSharpDefinition, body: Node, interest: Interest) -> None:
        super().__init__(source, definition.node, definition.owner, definition.name, interest)
        self.definition = definition
        self.body = body

    def lowered(self) -> Function:
        listed = self.node.child_by_field_name("parameters")
        if listed is not None:
            self.parameters = tuple(self._parameters(listed))
        if self.owner:
            self.parameters += (Parameter("this", self.owner, reference=True),)
        statements = self.body.named_children
        if self.node.type == "compilation_unit":
            statements = [
                child.named_children[0]
                for child in statements
                if child.type == "global_statement" and child.named_children
            ]
        elif self.body.type == "arrow_expression_clause":
            statements = [self.body]
        return self.function([child for child in statements if child.type != "comment"], self.definition.static)

    def _parameters(self, listed: Node) -> Iterator[Parameter]:
        for child in listed.named_children:
            if child.type != "parameter":
                continue
            kind = child.child_by_field_name("type")
            reference = any(each.type == "modifier" and each.text in (b"ref", b"out") for each in child.children)
            parameter = Parameter(_name(child), text_of(kind) if kind is not None else "", reference)
            if not reference:
                self.locals[parameter.name] = parameter.type
            yield parameter

    # Statements.

    def statement(self, node: Node) -> None:
        if node.type == "local_function_statement":
            if self.hot(node):
                self.escape_names(node, self._meant)
        elif self.hot(node) or node.type in ("local_declaration_statement", "using_statement"):
            handler = _STATEMENTS.get(node.type)
            if handler is not None:
                handler(self, node)
            else:
                for child in node.named_children:
                    if child.type == "block" or child.type.endswith("statement"):
                        self.statement(child)
                    elif child.type == "variable_declaration":
                        self._variables(child)
                    else:
                        self.value(child)

    def _meant(self, word: str) -> Iterable[str]:
        """The places that a word in a text that is not followed may stand for."""
        return (word, f"this.{word}") if word in self.definition.fields else (word,)

    def block(self, node: Node) -> None:
        for child in node.named_children:
            if child.type != "comment":
                self.statement(child)

    def _act(self, node: Node | None) -> Act:
        return lambda: self.statement(node) if node is not None else None

    def declaration(self, node: Node) -> None:
        for child in node.named_children:
            if child.type == "variable_declaration":
                self._variables(child)

    def _variables(self, node: Node) -> None:
        kind = node.child_by_field_name("type")
        for child in node.named_children:
            if child.type != "variable_declarator":
                continue
            name = _name(child)
            self.locals[name] = text_of(kind) if kind is not None and kind.type != "implicit_type" else ""
            if self.hot(child) or name.encode() in self.interest.names:
                value = self.value(child.named_children[-1]) if len(child.named_children) > 1 else None
                self.assign(name, value, child, declared=True)

    def if_(self, node: Node) -> None:
        condition = node.child_by_field_name("condition")
        then, otherwise = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        assert condition is not None
        self.fork(lambda yes, no: self.condition(condition, yes, no), self._act(then), self._act(otherwise))

    def loop(self, node: Node) -> None:
        """while, do and for."""
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        initializer, update = node.child_by_field_name("initializer"), node.child_by_field_name("update")
        if initializer is not None:
            self.statement(initializer) if initializer.type != "variable_declaration" else self._variables(initializer)

        def test(yes: int, no: int) -> None:
            if condition is None:
                self.builder.branch(None, yes, no)
            else:
                self.condition(condition, yes, no)

        step = (
            (lambda: self.escape(self.value(update), update.start_byte))
            if update is not None and self.hot(update)
            else None
        )
        self.repeat(test, self._act(body), step, first=node.type == "do_statement")

    def foreach(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        kind = node.child_by_field_name("type")
        assert left is not None and right is not None
        elements = self.value(right)
        if isinstance(elements, str) and self.concerns(elements):
            self.emit(Escape(elements, right.start_byte, written=True))
        name = text_of(left)
        self.locals[name] = text_of(kind) if kind is not None else ""

        def body() -> None:
            self.assign(name, None, left)
            self._act(node.child_by_field_name("body"))()

        self.repeat(lambda yes, no: self.test(left, "", False, 0, yes, no), body)

    def switch(self, node: Node) -> None:
        value, body = node.child_by_field_name("value"), node.child_by_field_name("body")
        if value is not None and self.hot(value):
            self.value(value)
        cases = []
        for section in body.named_children if body is not None else ():
            if section.type == "switch_section":
                labels = [child for child in section.named_children if child.type.endswith("_pattern")]
                label = (
                    text_of(labels[0])
                    if labels and not any(child.type == "default" for child in section.children)
                    else None
                )
                cases.append((section, label, self._section(section, labels)))
        cases.sort(key=lambda case: case[1] is None)
        self.cases(text_of(value) if value is not None else "", cases, breaks=True)

    def _section(self, section: Node, labels: list[Node]) -> Act:
        statements = [child for child in section.named_children if child not in labels and child.type != "comment"]

        def act() -> None:
            for child in statements:
                self.statement(child)

        return act

    def try_(self, node: Node) -> None:
        body = node.child_by_field_name("body")
        assert body is not None
        handlers = [
            (child, self._act(child.child_by_field_name("body")))
            for child in node.named_children
            if child.type == "catch_clause"
        ]
        last = next((child.named_children[-1] for child in node.named_children if child.type == "finally_clause"), None)
        ending = self._act(last) if last is not None and self.hot(last) else None
        self.guarded(self._act(body), handlers, lambda: self.escape_names(body, self._meant), ending)

    def return_(self, node: Node) -> None:
        value: Value = None
        for child in node.named_children:
            value = self.value(child)
            if child.type not in ("identifier", "member_access_expression"):
                self.escape_names(child, self._meant)
        self.leave(node, "return", value)

    def throw(self, node: Node) -> None:
        for child in node.named_children:
            self.value(child)
        self.leave(node, "throw")

    def break_(self, node: Node) -> None:
        self.jump_out()

    def continue_(self, node: Node) -> None:
        self.jump_out(again=True)

    def goto(self, node: Node) -> None:
        if node.named_children and node.named_children[0].type == "identifier":
            self.builder.jump(self.builder.label(text_of(node.named_children[0])), "jump")
        self.builder.stop()

    def labeled(self, node: Node) -> None:
        label = self.builder.label(text_of(node.named_children[0]))
        self.builder.jump(label)
        self.builder.start(label)
        for child in node.named_children[1:]:
            self.statement(child)

    def preprocessor(self, node: Node) -> None:
        """#if: taken as a branch."""
        self.perhaps(text_of(node).split("\n")[0].strip(), node, lambda: self._arm(node))

    def _arm(self, node: Node) -> None:
        for child in node.named_children:
            if child.type in _STATEMENTS or child.type.endswith("_statement"):
                self.statement(child)

    # Conditions.

    def condition(self, node: Node, yes: int, no: int) -> None:
        kind = node.type
        operator = node.child_by_field_name("operator")
        symbol = text_of(operator) if operator is not None else ""
        if kind == "parenthesized_expression":
            self.condition(node.named_children[-1], yes, no)
        elif kind == "prefix_unary_expression" and node.children[0].type == "!":
            self.condition(node.named_children[-1], no, yes)
        elif kind == "binary_expression" and symbol in ("&&", "||"):
            middle = self.builder.new()
            left, right = node.named_children[0], node.named_children[-1]
            self.condition(left, middle if symbol == "&&" else yes, no if symbol == "&&" else middle)
            self.builder.start(middle)
            self.condition(right, yes, no)
        elif kind == "binary_expression" and symbol in ("==", "!="):
            self._compare(node, node.named_children[0], node.named_children[-1], symbol == "==", yes, no)
        elif kind == "is_pattern_expression":
            self._pattern(node, yes, no)
        else:
            value = self.value(node)
            if isinstance(value, int):
                self.builder.branch(None, yes if value else no, yes if value else no)
            else:
                self.test(node, value if isinstance(value, str) else "", False, 0, yes, no)

    def _compare(self, node: Node, left: Node, right: Node, same: bool, yes: int, no: int) -> None:
        first, second = self.value(left), self.value(right)
        place, other = (first, second) if isinstance(first, str) else (second, first)
        self.test(node, place if isinstance(place, str) else "", same, other, yes, no)

    def _pattern(self, node: Node, yes: int, no: int) -> None:
        """``x is null``, ``x is not CUResult.Success``."""
        subject, pattern = node.child_by_field_name("expression"), node.child_by_field_name("pattern")
        same = True
        if pattern is not None and pattern.type == "negated_pattern":
            same, pattern = False, pattern.named_children[0]
        if subject is not None and pattern is not None and pattern.type == "constant_pattern":
            self._compare(node, subject, pattern.named_children[0], same, yes, no)
        else:
            self.test(node, "", False, 0, yes, no)

    # Places.

    def place(self, node: Node) -> str:
        """What the expression names; ``""`` if it names nothing that can be followed."""
        kind = node.type
        if kind == "identifier":
            name = text_of(node)
            return f"this.{name}" if name in self.definition.fields and not self._is_variable(name) else name
        if kind == "member_access_expression":
            return self._member(node)
        if kind == "element_access_expression":
            base, index = node.child_by_field_name("expression"), node.child_by_field_name("subscript")
            outer = self.place(base) if base is not None else ""
            inside = text_of(index).strip("[]") if index is not None else ""
            return f"{outer}[{inside if inside.isdigit() else '*'}]" if outer else ""
        if kind == "declaration_expression":
            declared = node.child_by_field_name("type")
            self.locals[_name(node)] = (
                text_of(declared) if declared is not None and declared.type != "implicit_type" else ""
            )
            return _name(node)
        if kind in ("parenthesized_expression", "ref_expression") and node.named_children:
            return self.place(node.named_children[-1])
        return ""

    def _is_variable(self, name: str) -> bool:
        return name in self.locals or any(parameter.name == name for parameter in self.parameters)

    def _member(self, node: Node) -> str:
        base, name = node.child_by_field_name("expression"), text_of(node.child_by_field_name("name") or node)
        if base is None:
            return ""
        if base.type in ("this", "base"):
            return f"this.{name}"
        outer = self.place(base)
        return outer if name in ("Pointer", "Value") else f"{outer}.{name}" if outer else ""

    # Expressions.

    def value(self, node: Node) -> Value:
        kind = node.type
        if kind in ("identifier", "member_access_expression"):
            return self._name(node)
        if kind == "integer_literal":
            return _number(text_of(node))
        if kind in ("null_literal", "default_expression") or (kind == "boolean_literal" and node.text == b"false"):
            return 0
        if kind == "boolean_literal":
            return 1
        handler = _EXPRESSIONS.get(kind)
        if handler is not None:
            return handler(self, node)
        if self.hot(node):
            for child in node.named_children:
                self.escape(self.value(child), child.start_byte)
        return None

    def _name(self, node: Node) -> Value:
        text = text_of(node)
        last = text.rpartition(".")[2]
        if text in _ZERO or (last in _ZERO and "." in text) or text == "default":
            return 0
        if last[:2] in ("cu", "CU") and (number := enumerators().get(last)) is not None:
            return number
        return self.place(node) or None

    def _inner(self, node: Node) -> Value:
        return self.value(node.named_children[-1]) if node.named_children else None

    def _cast(self, node: Node) -> Value:
        value = node.child_by_field_name("value")
        return self.value(value) if value is not None else None

    def _element(self, node: Node) -> Value:
        return self.place(node) or None

    def _address(self, node: Node) -> Value:
        """``&x``; ``!x``, ``-x`` and the like are nothing that is followed."""
        if node.children[0].type == "&":
            place = self.place(node.named_children[-1])
            return Address(place) if place else None
        value = self.value(node.named_children[-1])
        return -value if isinstance(value, int) and node.children[0].type == "-" else None

    def _assignment(self, node: Node) -> Value:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None:
            return None
        value = self.value(right)
        if operator is not None and text_of(operator) != "=":
            self.escape(value, node.start_byte)
            value = None
        if left.type == "identifier" and text_of(left) == "_":
            return value
        place = self.place(left)
        self.assign(place, value, node)
        return place or None

    def _changed(self, node: Node) -> Value:
        """``x++``."""
        if node.children[-1].type in ("++", "--"):
            self.assign(self.place(node.named_children[0]), None, node)
            return None
        return self.value(node.named_children[0])

    def _binary(self, node: Node) -> Value:
        before = self.temporaries
        values = [self.value(child) for child in (node.named_children[0], node.named_children[-1])]
        operator = node.child_by_field_name("operator")
        symbol = text_of(operator) if operator is not None else ""
        if symbol in ("+", "-"):
            for value in values:
                if isinstance(value, str) and value[0] != "%" and self.concerns(value):
                    return Inside(value)
                if isinstance(value, Inside):
                    return value
        if symbol in ("==", "!="):
            self.builder.check(before)
        if symbol == "|" and isinstance(values[0], int) and isinstance(values[1], int):
            return values[0] | values[1]
        return None

    def _either(self, node: Node) -> Value:
        test, one, other = (child for child in node.named_children if child.type != "comment")
        return self.either(test, one, other)

    def _out_of_sight(self, node: Node) -> Value:
        self.escape_names(node, self._meant)
        return None

    def _throw_expression(self, node: Node) -> Value:
        return None

    def _new(self, node: Node) -> Value:
        """``new IntPtr(x)`` is x; any other class may keep what it is made of."""
        given = _arguments(node)
        kind = text_of(node.child_by_field_name("type") or node)
        if HANDLE.search(kind) and len(given) < 2 and node.child_by_field_name("initializer") is None:
            return self.value(given[0].named_children[-1]) if given else 0
        for child in node.named_children:
            if self.hot(child):
                self.escape_names(child, self._meant)
        return None

    # Calls.

    def _call(self, node: Node) -> Value:
        function = node.child_by_field_name("function")
        if function is None:
            return None
        path = (
            re.sub(r"\s+", "", text_of(function)) if function.type in ("identifier", "member_access_expression") else ""
        )
        if path in _ENDS_PROCESS:
            self.leave(node, "exit")
            return None
        if not self.hot(node):
            return None
        api = entry_point(self.definition, path.rpartition(".")[2])
        given = _arguments(node)
        if api:
            return self._cuda(node, api, given)
        return self._other(node, function, path, given)

    def _cuda(self, node: Node, api: str, given: Sequence[Node]) -> Value:
        form = positions(api, len(given))
        values = [self._argument(child) for child in given]
        if form is None:
            for value, child in zip(values, given, strict=True):
                self.escape(value, child.start_byte)
            return None
        ordered: list[Value] = [None] * (max(form, default=-1) + 1)
        where = [(node.start_byte, node.end_byte)] * len(ordered)
        for value, child, position in zip(values, given, form, strict=True):
            if position >= 0:
                ordered[position], where[position] = value, (child.start_byte, child.end_byte)
        result = "" if node.parent is not None and node.parent.type == "expression_statement" else self.temporary()
        self.emit(Call(api, tuple(ordered), node.start_byte, node.end_byte, result=result, spans=tuple(where)))
        for value in ordered:
            if isinstance(value, Address):
                self.share(value.place, node.start_byte)
        return result or None

    def _argument(self, node: Node) -> Value:
        """``ref x``, ``out x`` and ``out var x`` are the address of x."""
        inner = node.named_children[-1] if node.named_children else node
        if any(child.type in ("ref", "out", "in") for child in node.children) or inner.type == "declaration_expression":
            place = self.place(inner)
            return Address(place) if place and place != "_" else None
        return self.value(inner)

    def _other(self, node: Node, function: Node, path: str, given: Sequence[Node]) -> Value:
        """A function that is not CUDA's."""
        before = self.temporaries
        receiver, name = "", path.rpartition(".")[2]
        if function.type == "member_access_expression":
            base = function.child_by_field_name("expression")
            name = text_of(function.child_by_field_name("name") or function)
            if base is not None and base.type in ("invocation_expression", "parenthesized_expression"):
                value = self.value(base)
                if isinstance(value, str) and value[0] == "%":
                    self.builder.check(before)
                    return f"{value}?" if value[-1] != "?" else value
            receiver = self.place(base) if base is not None else ""
        values = tuple(self._argument(child) for child in given)
        if path.removeprefix("this.").partition(".")[0] == name or name in self.definition.functions:
            self._changes_others(node)
        return self.other_call(name, receiver, values, given, node, before)

    def _changes_others(self, node: Node) -> None:
        """A method of the same object may change its fields, and those that are static."""
        if self.owner:
            self.emit(Escape("this", node.start_byte, written=True))
        for word in self.interest.names:
            place = word.decode()
            if place not in self.definition.fields and not self._is_variable(place):
                self.emit(Escape(place, node.start_byte, written=True))


def _number(text: str) -> int | None:
    try:
        return int(text.rstrip("uUlL"), 0)
    except ValueError:
        return None


_STATEMENTS: dict[str, Callable[[CSharpLowering, Node], None]] = {
    "block": CSharpLowering.block,
    "local_declaration_statement": CSharpLowering.declaration,
    "if_statement": CSharpLowering.if_,
    "while_statement": CSharpLowering.loop,
    "do_statement": CSharpLowering.loop,
    "for_statement": CSharpLowering.loop,
    "foreach_statement": CSharpLowering.foreach,
    "switch_statement": CSharpLowering.switch,
    "try_statement": CSharpLowering.try_,
    "return_statement": CSharpLowering.return_,
    "arrow_expression_clause": CSharpLowering.return_,
    "throw_statement": CSharpLowering.throw,
    "break_statement": CSharpLowering.break_,
    "continue_statement": CSharpLowering.continue_,
    "goto_statement": CSharpLowering.goto,
    "labeled_statement": CSharpLowering.labeled,
    "preproc_if": CSharpLowering.preprocessor,
    "preproc_elif": CSharpLowering.preprocessor,
    "preproc_else": CSharpLowering.preprocessor,
}

_EXPRESSIONS: dict[str, Callable[[CSharpLowering, Node], Value]] = {
    "parenthesized_expression": CSharpLowering._inner,
    "checked_expression": CSharpLowering._inner,
    "await_expression": CSharpLowering._inner,
    "ref_expression": CSharpLowering._inner,
    "cast_expression": CSharpLowering._cast,
    "element_access_expression": CSharpLowering._element,
    "prefix_unary_expression": CSharpLowering._address,
    "postfix_unary_expression": CSharpLowering._changed,
    "assignment_expression": CSharpLowering._assignment,
    "binary_expression": CSharpLowering._binary,
    "conditional_expression": CSharpLowering._either,
    "lambda_expression": CSharpLowering._out_of_sight,
    "anonymous_method_expression": CSharpLowering._out_of_sight,
    "query_expression": CSharpLowering._out_of_sight,
    "throw_expression": CSharpLowering._throw_expression,
    "object_creation_expression": CSharpLowering._new,
    "implicit_object_creation_expression": CSharpLowering._new,
    "invocation_expression": CSharpLowering._call,
}
