"""Expressions of C++: what they give, after the operations that they take."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cuvet.source.calls import meaning, spellings, symbols
from cuvet.source.graph import Builder
from cuvet.source.languages.cpp_text import constant, function_declarator, literal, number, parameters
from cuvet.source.parsing import Source, text_of
from cuvet.source.program import Address, Assign, Call, Escape, Inside, Return, Value

if TYPE_CHECKING:
    from tree_sitter import Node

WORD = re.compile(rb"[A-Za-z_]\w*|<<<")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_COPY = re.compile(
    rb"(?<!\w)([A-Za-z_][\w.\->\[\]]{0,200})\s{0,80}=(?!=)\s{0,80}"
    rb"((?:\w{1,80}_cast<[^>;]{0,200}>|\([\w\s*:<>]{1,200}\))?\s{0,80}\(?[&*]?[A-Za-z_][\w.\->\[\]]{0,200}\)?)\s{0,80}[;,)]"
)
"""One variable is set to another."""
_INTO = re.compile(rb"\b([A-Za-z_]\w*)\s*=\s*&?\s*\(?([A-Za-z_]\w*)\s*(?:\[|[+-](?![=+-]))[^;=]{0,200};")
"""A variable is set to an address in the memory of another: ``&all[i]``, ``all + i``."""
_TARGET = re.compile(
    rb"(?<!\w)([\w.\->\[\]]{1,200})\s{0,80}=(?!=)\s{0,80}(?:\w{1,80}_cast<[^>;]{0,200}>|\([\w\s*:<>]{1,200}\))?\s{0,80}\(?[\w:]{0,200}$"
)
"""What the result of a call is assigned to, up to the call's name."""
_VIEW = re.compile(
    rb"\b\w*(?:[vV]iew|[sS]pan)\w*(?:\s*<[^;{}=]{0,400}>)?\s+(?P<declared>\w+)\s*(?P<of>[({][^;]{0,400});|"
    rb"\b(?P<set>\w+)\s*=\s*(?P<to>[\w:]*(?:[vV]iew|[sS]pan)\b[^;]{0,400});"
)
"""A variable that is made a view of something."""
_BOOL = re.compile(rb"\bbool\s+([A-Za-z_]\w*)")
_SET = re.compile(rb"\b([A-Za-z_]\w*)\s*=\s*(?:true|false)\b")
_LEAVES = frozenset({b"return", b"throw", b"goto", b"break", b"continue", b"exit", b"abort", b"_Exit", b"quick_exit"})
_ENDS_PROCESS = frozenset(
    {
        "exit",
        "abort",
        "_exit",
        "_Exit",
        "quick_exit",
        "std::exit",
        "std::abort",
        "std::terminate",
        "__builtin_unreachable",
        "__builtin_trap",
    }
)
TRANSPARENT = frozenset(
    {
        "static_cast",
        "reinterpret_cast",
        "const_cast",
        "dynamic_cast",
        "std::move",
        "move",
        "std::forward",
        "__builtin_expect",
        "likely",
        "unlikely",
        "(void)",
        "raw_pointer_cast",
        "thrust::raw_pointer_cast",
    }
)
_RESULT = re.compile(r"%(\d+)\??$")
_NOT_NAMES = frozenset(
    b"void const sizeof float double int char unsigned long short size_t this NULL nullptr reinterpret_cast static_cast "
    b"cudaStream_t cudaEvent_t CUdeviceptr".split()
)


class Expressions(ABC):
    """Of one function. What touches no name of interest is skipped unseen."""

    def __init__(
        self,
        source: Source,
        node: Node,
        owner: str,
        declarator: Node,
        body: Node,
        wrappers: frozenset[bytes],
        members: frozenset[bytes],
    ) -> None:
        self.wrappers = wrappers
        self.members = members
        self.source = source
        self.text = source.text
        self.node = node
        self.owner = owner
        self.body = body
        self.builder = Builder()
        self.locals: dict[str, str] = {}
        self.temporaries = 0
        self.catching: list[int] = []
        """Where an exception leads, of the try blocks around."""
        self.function_declarator = function_declarator(declarator)
        self.parameters = tuple(parameters(self.function_declarator))
        self.tracked, self.hot_at = self._interest()

    # What is of interest.

    def _interest(self) -> tuple[frozenset[bytes], list[int]]:
        """Names that CUDA calls take, and the offsets of all words that make a statement worth looking at."""
        node = self.node
        words = [(match.start(), match.group()) for match in WORD.finditer(self.text, node.start_byte, node.end_byte)]
        known = spellings()
        tracked = set(self.members)
        for at, word in words:
            if word in known:
                self._track(at, word.decode(), tracked)
            elif word in self.wrappers:
                self._track_wrapped(at, len(word), tracked)
        self._track_copies(tracked)
        tracked |= self._flags()
        hot = [
            at
            for at, word in words
            if word in tracked or word in _LEAVES or word in self.wrappers or word == b"<<<" or word in known
        ]
        self.concerned = any(word in known or word == b"<<<" or word in self.wrappers for _, word in words)
        return frozenset(tracked), hot

    def _flags(self) -> set[bytes]:
        """Variables of the function that are set to true and false: branches ask them what was done before."""
        start, end = self.node.start_byte, self.body.end_byte
        declared = {match[1] for match in _BOOL.finditer(self.text, start, end)}
        return declared and {match[1] for match in _SET.finditer(self.text, start, end)} & declared

    def _track_wrapped(self, at: int, length: int, tracked: set[bytes]) -> None:
        """The arguments of a function that makes or ends objects, and what its result is assigned to."""
        node = self.body.descendant_for_byte_range(at, at + length)
        while node is not None and node.type not in ("call_expression", "compound_statement"):
            node = node.parent
        if node is None or node.type != "call_expression":
            return
        arguments = node.child_by_field_name("arguments")
        tracked.update(word for word in WORD.findall((arguments and arguments.text) or b"") if word not in _NOT_NAMES)
        if match := _TARGET.search(self.text, self.text.rfind(b";", 0, at) + 1, at):
            tracked.update(WORD.findall(match[1]))

    def _track_copies(self, tracked: set[bytes]) -> None:
        """What is copied to or from a tracked variable is tracked too."""
        pairs = [
            (set(WORD.findall(match[1])), set(WORD.findall(match[2])) - _NOT_NAMES)
            for match in _COPY.finditer(self.text, self.body.start_byte, self.body.end_byte)
        ]
        if b"iew" in self.text or b"pan" in self.text:
            for match in _VIEW.finditer(self.text, self.body.start_byte, self.body.end_byte):
                if not tracked.isdisjoint(WORD.findall(match["of"] or match["to"])):
                    tracked.add(match["declared"] or match["set"])
        pairs += [
            ({match[1]}, {match[2]})
            for match in _INTO.finditer(self.text, self.body.start_byte, self.body.end_byte)
            if match[2] in tracked
        ]
        for _ in range(3):
            before = len(tracked)
            for target, source in pairs:
                if not tracked.isdisjoint(target | source):
                    tracked |= target | source
            if len(tracked) == before:
                return

    def _track(self, at: int, name: str, tracked: set[bytes]) -> None:
        node = self.body.descendant_for_byte_range(at, at + len(name))
        call = node.parent if node is not None else None
        if call is None or call.type != "call_expression":
            return
        found = meaning(name)
        arguments = call.child_by_field_name("arguments")
        if found is None or arguments is None:
            return
        given = arguments.named_children
        for position, _ in (*found.made, *found.ended, *found.named):
            if position < len(given):
                words = WORD.findall(given[position].text or b"")
                tracked.update(word for word in words if word not in _NOT_NAMES)

    def hot(self, node: Node) -> bool:
        at = bisect_left(self.hot_at, node.start_byte)
        return at < len(self.hot_at) and self.hot_at[at] < node.end_byte

    def concerns(self, place: str) -> bool:
        match = IDENTIFIER.match(place)
        return place[:1] == "%" or (
            match is not None and any(word.encode() in self.tracked for word in IDENTIFIER.findall(place))
        )

    def emit(self, operation: Call | Assign | Escape | Return) -> None:
        if isinstance(operation, Assign) and isinstance(operation.value, str) and not self.concerns(operation.value):
            operation.value = None  # what happens to that place is not followed
        self.builder.add(operation)

    # Values and places.

    @abstractmethod
    def statement(self, node: Node) -> None:
        """One statement."""

    @abstractmethod
    def condition(self, node: Node, yes: int, no: int) -> None:
        """Go to ``yes`` or ``no``."""

    def value(self, node: Node, dropped: bool = False) -> Value:
        """What the expression gives, after the operations that it takes."""
        kind = node.type
        if kind in ("identifier", "field_identifier", "qualified_identifier", "this"):
            return constant(text_of(node))
        if kind in ("number_literal", "char_literal"):
            return number(text_of(node))
        if kind in ("null", "false"):
            return 0
        if kind == "true":
            return 1
        handler = _EXPRESSIONS.get(kind)
        if handler is not None:
            return handler(self, node, dropped)
        if not self.hot(node):
            return None
        for child in node.named_children:
            self._escape(self.value(child), child.start_byte)
        return None

    def _escape(self, value: Value, at: int) -> None:
        if isinstance(value, str):
            if self.concerns(value):
                self.emit(Escape(value, at))
        elif isinstance(value, Address):
            if self.concerns(value.place):
                self.emit(Escape(value.place, at, written=True))
        elif isinstance(value, Inside) and self.concerns(value.place):
            self.emit(Escape(value.place, at))

    def _escape_words(self, node: Node) -> None:
        """Every tracked name in the text is known elsewhere, and may be changed there."""
        for word in dict.fromkeys(WORD.findall(node.text or b"")):
            if word in self.tracked:
                self.emit(Escape(word.decode(), node.start_byte, written=True))

    def _inner(self, node: Node, dropped: bool) -> Value:
        children = [child for child in node.named_children if child.type != "comment"]
        return self.value(children[-1], dropped) if children else None

    def _cast(self, node: Node, dropped: bool) -> Value:
        value = node.child_by_field_name("value")
        return self.value(value) if value is not None else None

    def _pointer(self, node: Node, dropped: bool) -> Value:
        argument = node.child_by_field_name("argument") or node.named_children[-1]
        if node.children[0].type == "&":
            place = self.place(argument)
            return Address(place) if place else None
        value = self.value(argument)
        if isinstance(value, Address):
            return value.place
        if isinstance(value, Inside):
            return f"{value.place}[*]"
        return f"{value}[0]" if isinstance(value, str) and value[0] != "%" else None

    def place(self, node: Node) -> str:
        """The place that an expression names; empty if it is none."""
        kind = node.type
        if kind == "parenthesized_expression" and node.named_children:
            return self.place(node.named_children[-1])
        if kind == "cast_expression":
            return ""
        value = self.value(node)
        return value if isinstance(value, str) else ""

    def _subscript(self, node: Node, dropped: bool) -> Value:
        base = self.place(node.child_by_field_name("argument") or node.named_children[0])
        indices = node.child_by_field_name("indices") or node.named_children[-1]
        index = (
            indices.named_children[0]
            if indices.type == "subscript_argument_list" and indices.named_children
            else indices
        )
        if self.hot(index):
            self.value(index)
        if not base or base[0] == "%":
            return None
        at = number(text_of(index))
        return f"{base}[{'*' if at is None else at}]"

    def _field(self, node: Node, dropped: bool) -> Value:
        argument = node.child_by_field_name("argument") or node.named_children[0]
        name = node.child_by_field_name("field")
        if name is None:
            return None
        if argument.type == "this" or text_of(argument) == "(*this)":
            member = text_of(name)
            return f"this->{member}" if member in self.locals else member
        base = self.place(argument)
        if not base or base[0] == "%":
            return None
        arrow = any(child.type == "->" for child in node.children)
        return f"{base}{'->' if arrow else '.'}{text_of(name)}"

    def _assignment(self, node: Node, dropped: bool) -> Value:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        assert left is not None and right is not None
        operator = node.child_by_field_name("operator")
        value = self.value(right)
        if operator is not None and text_of(operator) != "=":
            moved = self.place(left)
            follows = text_of(operator) in ("+=", "-=") and moved and moved[0] != "%" and self.concerns(moved)
            value = Inside(moved) if follows else None
        place = self.place(left)
        if not place:
            self._escape(value, node.start_byte)
            return None
        if self.concerns(place) or self._follows(value):
            self.emit(Assign(place, value, node.start_byte, node.end_byte))
        return place

    def _update(self, node: Node, dropped: bool) -> Value:
        place = self.place(node.child_by_field_name("argument") or node.named_children[0])
        if place and self.concerns(place):
            self.emit(Assign(place, None, node.start_byte, node.end_byte))
        return None

    def _binary(self, node: Node, dropped: bool) -> Value:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return None
        operator = node.child_by_field_name("operator")
        symbol = text_of(operator) if operator is not None else ""
        first = self.value(left) if self.hot(left) or symbol == "|" else literal(left)
        second = self.value(right) if self.hot(right) or symbol == "|" else literal(right)
        if symbol in ("+", "-"):
            for value in (first, second):
                if isinstance(value, str) and value[0] != "%":
                    return Inside(value)
                if isinstance(value, Inside):
                    return value
                if isinstance(value, Address):
                    return Inside(value.place.removesuffix("[0]")) if value.place.endswith("[0]") else value
        if symbol == "|" and isinstance(first, int) and isinstance(second, int):
            return first | second
        return None

    def _unary(self, node: Node, dropped: bool) -> Value:
        argument = node.child_by_field_name("argument") or node.named_children[-1]
        value = self.value(argument) if self.hot(argument) else literal(argument)
        return -value if isinstance(value, int) and node.children[0].type == "-" else None

    def _either(self, node: Node, dropped: bool) -> Value:
        """``condition ? one : other``."""
        test, *arms = (node.child_by_field_name(name) for name in ("condition", "consequence", "alternative"))
        if test is None or not any(arm is not None and self.hot(arm) for arm in arms):
            for child in node.named_children:
                value = self.value(child)
                if child != test:
                    self._escape(value, child.start_byte)
            return None
        self.temporaries += 1
        result = f"%{self.temporaries}"
        builder = self.builder
        yes, no, join = builder.new(), builder.new(), builder.new()
        self.condition(test, yes, no)
        decided = builder.last_decision
        for number_of_arm, (block, arm) in enumerate(zip((yes, no), arms, strict=True)):
            builder.enter(block, decided, number_of_arm)
            if arm is not None:
                self.emit(Assign(result, self.value(arm), arm.start_byte, arm.end_byte))
            builder.jump(join)
            builder.leave()
        builder.start(join)
        return result

    def _comma(self, node: Node, dropped: bool) -> Value:
        value: Value = None
        for child in node.named_children:
            value = self.value(child, dropped)
        return value

    def _lambda(self, node: Node, dropped: bool) -> Value:
        self._escape_words(node)
        return None

    def _list(self, node: Node, dropped: bool) -> Value:
        values = [(self.value(child), child) for child in node.named_children]
        for value, child in values:
            self._escape(value, child.start_byte)
        return 0 if not values else None

    def _new(self, node: Node, dropped: bool) -> Value:
        arguments = node.child_by_field_name("arguments")
        if arguments is not None and self.hot(arguments):
            self._take_all(arguments.named_children)
        return self._result(Call("new", (), node.start_byte, node.end_byte), dropped)

    def _delete(self, node: Node, dropped: bool) -> Value:
        argument = node.named_children[-1]
        value = self.value(argument)
        if isinstance(value, str) and self.concerns(value):
            self.emit(
                Call(
                    "delete",
                    (value,),
                    node.start_byte,
                    node.end_byte,
                    spans=((argument.start_byte, argument.end_byte),),
                )
            )
        return None

    def _result(self, call: Call, dropped: bool) -> Value:
        if not dropped:
            self.temporaries += 1
            call.result = f"%{self.temporaries}"
        self.emit(call)
        return call.result or None

    def _call(self, node: Node, dropped: bool) -> Value:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        if function is None or arguments is None:
            return None
        given = [child for child in arguments.named_children if child.type != "comment"]
        launch = next((child for child in node.children if child.type == "kernel_call_syntax"), None)
        if launch is not None:
            return self._launch(node, function, launch, given)
        name, receiver = self._callee(function)
        if name in TRANSPARENT and given:
            return self.value(given[0], dropped)
        if name in _ENDS_PROCESS:
            self.emit(Return(node.start_byte, node.end_byte, how="exit"))
            self.builder.stop()
            return None
        known = name in symbols()
        if not known and not self.hot(node):
            return None
        before = self.temporaries
        values = tuple(self._argument(child) for child in given)
        spans = tuple((child.start_byte, child.end_byte) for child in given)
        call = Call(name, values, node.start_byte, node.end_byte, receiver=receiver, spans=spans)
        if known:
            return self._result(call, dropped)
        if self._wraps(values, before):
            self.builder.check(before)
            return f"%{before + 1}?"
        makes = name.rpartition("::")[2].encode() in self.wrappers
        if makes or (receiver and self.concerns(receiver)) or any(self._follows(value) for value in values):
            return self._result(call, dropped)
        return None

    def _follows(self, value: Value) -> bool:
        place = value if isinstance(value, str) else value.place if isinstance(value, Address | Inside) else ""
        return bool(place) and self.concerns(place)

    def _wraps(self, values: tuple[Value, ...], before: int) -> bool:
        """Whether an argument is what a CUDA call just returned: the function or macro looks at the status."""
        results = [_RESULT.match(value) for value in values if isinstance(value, str)]
        return any(match is not None and int(match[1]) > before for match in results) and self.builder.is_cuda_result(
            before
        )

    def _argument(self, node: Node) -> Value:
        """A block is the argument of a macro, which runs it."""
        block = node.type == "compound_statement"
        before = node.prev_sibling if block else None
        if block and before is not None and before.type in (",", "("):
            self.statement(node)
            return None
        if block or node.type == "lambda_expression":
            self._escape_words(node)
            return None
        return self.value(node)

    def _callee(self, function: Node) -> tuple[str, str]:
        """Name of the function, and the place of the object that it is called on."""
        kind = function.type
        if kind == "identifier":
            return text_of(function), ""
        if kind == "field_expression":
            argument, name = function.child_by_field_name("argument"), function.child_by_field_name("field")
            if argument is None or name is None:
                return "", ""
            if argument.type == "this":
                return text_of(name), ""
            return text_of(name).split("<")[0], self.place(argument)
        if kind == "template_function":
            return text_of(function.child_by_field_name("name") or function).split("<")[0], ""
        if kind == "qualified_identifier":
            name_text = re.sub(r"<.*>", "", text_of(function)).lstrip(":")
            return name_text, ""
        if kind == "parenthesized_expression":
            return text_of(function), ""
        self.value(function)
        return (_last_name(function), "") if kind == "call_expression" else ("", "")

    def _launch(self, node: Node, function: Node, launch: Node, given: list[Node]) -> Value:
        values = tuple(self.value(child) for child in given)
        configuration = [child for child in launch.named_children if child.type != "comment"]
        stream: Value = self.value(configuration[3]) if len(configuration) > 3 else 0
        name, _ = self._callee(function)
        spans = tuple((child.start_byte, child.end_byte) for child in given)
        if len(configuration) > 3:
            spans += ((configuration[3].start_byte, configuration[3].end_byte),)
        self.emit(Call(name, values, node.start_byte, node.end_byte, spans=spans, launch=True, stream=stream))
        return None

    def view(self, kind: str, node: Node, given: Sequence[Value]) -> Value:
        """An object of a class that only refers to what it is made of."""
        return self._result(Call(kind.split("<")[0], tuple(given), node.start_byte, node.end_byte), dropped=False)

    def _take_all(self, given: list[Node]) -> None:
        """An object of a class is made of these values, and may keep them."""
        for each in given:
            self._escape(self.value(each), each.start_byte)


def _last_name(call: Node) -> str:
    """Name of the function that a call calls, without what it belongs to."""
    function = call.child_by_field_name("function")
    names = IDENTIFIER.findall(re.sub(r"<.*>", "", text_of(function))) if function is not None else []
    return names[-1] if names else ""


_EXPRESSIONS: dict[str, Callable[[Expressions, Node, bool], Value]] = {
    "parenthesized_expression": Expressions._inner,
    "cast_expression": Expressions._cast,
    "pointer_expression": Expressions._pointer,
    "subscript_expression": Expressions._subscript,
    "field_expression": Expressions._field,
    "assignment_expression": Expressions._assignment,
    "update_expression": Expressions._update,
    "binary_expression": Expressions._binary,
    "unary_expression": Expressions._unary,
    "conditional_expression": Expressions._either,
    "comma_expression": Expressions._comma,
    "lambda_expression": Expressions._lambda,
    "initializer_list": Expressions._list,
    "call_expression": Expressions._call,
    "new_expression": Expressions._new,
    "delete_expression": Expressions._delete,
}
