"""Expressions of C#: what they name and give, after the operations that they take."""

import re
from collections.abc import Iterable, Sequence

from cuvet.source.constants import enumerator
from cuvet.source.languages.csharp_names import HANDLE, CSharpDefinition, arguments, positions
from cuvet.source.languages.csharp_wrapped import Wrapped
from cuvet.source.languages.interest import Interest
from cuvet.source.languages.operations import by_type, number_of, spans, zero
from cuvet.source.program import Address, Escape, Invoke, Value
from cuvet.source.syntax.parsing import Node, Source, field_text, text_of

_NEW = ("object_creation_expression", "implicit_object_creation_expression")
_ENDS_PROCESS = frozenset({"Environment.Exit", "Environment.FailFast", "System.Environment.Exit", "Application.Exit"})
_ZERO = frozenset(
    """
    IntPtr.Zero UIntPtr.Zero System.IntPtr.Zero nint.Zero Success SUCCESS CUDA_SUCCESS cudaSuccess
    """.split()
)


class Expressions(Wrapped):
    """Of one method."""

    def __init__(self, source: Source, definition: CSharpDefinition, body: Node, interest: Interest) -> None:
        super().__init__(source, definition.node, definition.owner, definition.name, interest)
        self.definition = definition
        self.body = body
        self._objects: dict[str, bool] = {}
        self.understood: set[str] = set()
        """Results of calls of which it is known what they do with what they are given."""

    def meant(self, word: str) -> Iterable[str]:
        return (word, f"this.{word}") if word in self.definition.types else (word,)

    # Lvalues.

    def lvalue(self, node: Node) -> str:
        """What the expression names; ``""`` if it names nothing that can be followed."""
        kind = node.type
        if kind == "identifier":
            name = text_of(node)
            return f"this.{name}" if name in self.definition.types and not self._is_variable(name) else name
        if kind == "member_access_expression":
            return self._member(node)
        if kind == "element_access_expression":
            base, inside = node.child_by_field_name("expression"), field_text(node, "subscript").strip("[]")
            outer = self.lvalue(base) if base is not None else ""
            return f"{outer}[{inside if inside.isdigit() else '*'}]" if outer else ""
        if kind == "declaration_expression":
            name = field_text(node, "name")
            self.locals[name] = type_of(node)
            return name
        if kind in ("parenthesized_expression", "ref_expression") and node.named_children:
            return self.lvalue(node.named_children[-1])
        return ""

    def _is_variable(self, name: str) -> bool:
        return name in self.locals or any(parameter.name == name for parameter in self.parameters)

    def _member(self, node: Node) -> str:
        base, name = node.child_by_field_name("expression"), text_of(node.child_by_field_name("name") or node)
        if base is None:
            return ""
        if base.type in ("this", "base"):
            return f"this.{name}"
        outer = self.lvalue(base)
        same = name in ("Pointer", "Value") or self.is_handle(outer, name)
        return outer if same else f"{outer}.{name}" if outer else ""

    def share(self, lvalue: str, at: int) -> None:
        """Arrays are objects: that of a parameter is the caller's."""
        name, bracket, _ = lvalue.partition("[")
        if bracket and any(parameter.name == name for parameter in self.parameters):
            self.emit(Escape(lvalue, at))
        super().share(lvalue, at)

    # Expressions.

    def _name(self, node: Node) -> Value:
        text = text_of(node)
        last = text.rpartition(".")[2]
        if text in _ZERO or (last in _ZERO and "." in text) or text == "default":
            return 0
        number = enumerator(last)
        return number if number is not None else self.lvalue(node) or None

    def _boolean(self, node: Node) -> Value:
        return int(node.text == b"true")

    def _element(self, node: Node) -> Value:
        return self.lvalue(node) or None

    def _address(self, node: Node) -> Value:
        """``&x``; ``!x``, ``-x`` and the like are nothing that is followed."""
        if node.children[0].type == "&":
            lvalue = self.lvalue(node.named_children[-1])
            return Address(lvalue) if lvalue else None
        value = self.value(node.named_children[-1])
        return -value if isinstance(value, int) and node.children[0].type == "-" else None

    def _assignment(self, node: Node) -> Value:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None:
            return None
        if self.make(self.lvalue(left), right):
            return self.lvalue(left)
        value = self.value(right)
        if operator is not None and text_of(operator) != "=":
            self.escape(value, node.start_byte)
            value = None
        if left.type == "identifier" and text_of(left) == "_":
            return value
        lvalue = self.lvalue(left)
        self.assign(lvalue, value, node)
        return value if isinstance(value, int) else lvalue or None

    def _changed(self, node: Node) -> Value:
        """``x++``."""
        if node.children[-1].type in ("++", "--"):
            self.assign(self.lvalue(node.named_children[0]), None, node)
            return None
        return self.value(node.named_children[0])

    def _new(self, node: Node) -> Value:
        """``new IntPtr(x)`` is x; any other class may keep what it is made of."""
        given = arguments(node)
        kind = text_of(node.child_by_field_name("type") or node)
        if HANDLE.search(kind) and len(given) < 2 and node.child_by_field_name("initializer") is None:
            return self.value(given[0].named_children[-1]) if given else 0
        for child in node.named_children:
            if self.hot(child):
                self.escape_names(child)
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
        api = self.definition.entry_point(path.rpartition(".")[2])
        given = arguments(node)
        if api:
            return self._cuda(node, api, given)
        if self.wrapped_call(node, function, path, given):
            return None
        return self._other(node, function, path, given)

    def _cuda(self, node: Node, api: str, given: Sequence[Node]) -> Value:
        form = positions(api, len(given))
        values = [self.argument(child) for child in given]
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
        self.understood.add(result)
        self.emit(Invoke(api, tuple(ordered), node.start_byte, node.end_byte, result=result, spans=tuple(where)))
        for value in ordered:
            if isinstance(value, Address):
                self.share(value.lvalue, node.start_byte)
        return result or None

    def argument(self, node: Node) -> Value:
        """``ref x``, ``out x`` and ``out var x`` are the address of x."""
        inner = node.named_children[-1] if node.named_children else node
        if any(child.type in ("ref", "out", "in") for child in node.children) or inner.type == "declaration_expression":
            lvalue = self.lvalue(inner)
            return Address(lvalue) if lvalue and lvalue != "_" else None
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
            receiver = self.lvalue(base) if base is not None else ""
        values = tuple(self.argument(child) for child in given)
        own = path.removeprefix("this.") == name
        known = self._method(name, "this" if own else receiver)
        if own or name in self.definition.functions:
            self._changes_others(node, object_too=not known)
        if known and not self.looks_at_result(values, before):
            result, where = self.temporary(), spans(given)
            call = Invoke(known, values, node.start_byte, node.end_byte, result, receiver or "this", where)
            self.emit(call)
            self.understood.add(call.result)
            return call.result
        return self.other_call(name, receiver, values, given, node, before)

    def _method(self, name: str, receiver: str) -> str:
        """The method with the name of its class, if that and the object are known: ``Pipeline.Close``."""
        kind = self.owner if receiver == "this" else self.locals.get(receiver, "")
        if receiver.startswith("this."):
            kind = self.definition.types.get(receiver.removeprefix("this."), "")
        kind = kind.rpartition(".")[2].rstrip("?")
        if (kind, name) not in self.definition.methods or (receiver in self.locals and not self._only_called(receiver)):
            return ""
        return f"{kind}.{name}"

    def _only_called(self, name: str) -> bool:
        """Whether nobody else knows the object of a variable: it is a new one, and the method does nothing but call its methods."""
        if name not in self._objects:
            found = re.finditer(rb"\b%s\b" % name.encode(), self.text[self.body.start_byte : self.body.end_byte])
            offsets = (match.start() + self.body.start_byte for match in found)
            nodes = (self.body.descendant_for_byte_range(at, at + len(name.encode())) for at in offsets)
            self._objects[name] = all(node is not None and _is_made_or_called(node) for node in nodes)
        return self._objects[name]

    def _changes_others(self, node: Node, object_too: bool) -> None:
        """A method of the same object may change its fields, and those that are static."""
        if self.owner and object_too:
            self.emit(Escape("this", node.start_byte, written=True))
        for word in self.interest.names:
            lvalue = word.decode()
            if lvalue not in self.definition.types and not self._is_variable(lvalue):
                self.emit(Escape(lvalue, node.start_byte, written=True))


def type_of(declaration: Node) -> str:
    """The type that is written there; empty for ``var``."""
    kind = declaration.child_by_field_name("type")
    return text_of(kind) if kind is not None and kind.type != "implicit_type" else ""


def _is_made_or_called(node: Node) -> bool:
    """Of the name of a variable: whether it stands in ``name = new …`` or ``name.Method()``, or in no code."""
    parent = node.parent
    if node.type != "identifier" or parent is None:
        return node.type in ("comment", "string_literal_content")
    if parent.type == "variable_declarator":
        return parent.named_children[-1].type in _NEW
    if parent.type == "assignment_expression":
        right = parent.child_by_field_name("right")
        return parent.child_by_field_name("left") == node and right is not None and right.type in _NEW
    called = parent.parent
    return (
        parent.type == "member_access_expression"
        and parent.child_by_field_name("expression") == node
        and called is not None
        and called.type == "invocation_expression"
        and called.child_by_field_name("function") == parent
    )


def type_made(declarator: Node) -> str:
    """The class in ``var x = new Class()``; empty for any other value."""
    value = declarator.named_children[-1]
    return field_text(value, "type") if value.type == "object_creation_expression" else ""


Expressions.expressions = by_type(
    {
        "identifier member_access_expression": Expressions._name,
        "integer_literal": number_of,
        "boolean_literal": Expressions._boolean,
        "null_literal default_expression": zero,
        "parenthesized_expression checked_expression await_expression ref_expression": Expressions.inner,
        "cast_expression": Expressions.cast,
        "element_access_expression": Expressions._element,
        "prefix_unary_expression": Expressions._address,
        "postfix_unary_expression": Expressions._changed,
        "assignment_expression": Expressions._assignment,
        "binary_expression": Expressions.binary,
        "conditional_expression": Expressions.conditional,
        "lambda_expression anonymous_method_expression query_expression": Expressions.out_of_sight,
        "object_creation_expression implicit_object_creation_expression": Expressions._new,
        "invocation_expression": Expressions._call,
    }
)
