"""Expressions of C++: what they give, after the operations that they take."""

import re
from collections.abc import Sequence

from cuvet.source.calls import meaning, symbols
from cuvet.source.kernels import keeps
from cuvet.source.languages.cpp_interest import interest_in
from cuvet.source.languages.cpp_text import (
    bound_names,
    constant,
    declared,
    function_declarator,
    goes_on,
    is_plain,
    parameters,
    qualified,
)
from cuvet.source.languages.flow import Flow
from cuvet.source.languages.interest import IDENTIFIER, WORD
from cuvet.source.languages.operations import by_type, not_evaluated, number, number_of, spans, true, zero
from cuvet.source.ownership import ON_HEAP, never_returns, runs_later
from cuvet.source.program import Address, Assign, Escape, Inside, Invoke, Operation, Range, Return, Value, pointed_at
from cuvet.source.syntax.parsing import Node, Source, field_text, part, text_of, without_comments

_THROWS = re.compile(r"(?<!NO)_THROWS?(?:_|$)")
"""A test's macro that is given what must throw: nothing of it need have happened."""
_JUMPS = re.compile(r"(?i)(?!.*(?:success|ok|done|ready)).*goto")
_OVERLOADS = {("cudaMallocAsync", 4): "cudaMallocFromPoolAsync"}
"""By name and number of arguments, the function that an overload of C++ calls (cuda_runtime.h)."""
_ONE_OBJECT = re.compile(r"(?:(\w+)::)?(?i:(?:get_?)?(?:instance|singleton))\(\)")
_CLASS = re.compile(r"(?:const\s+)?(?:\w+::)*[A-Z]\w*[a-z]\w*(?:<.*>)?")
TRANSPARENT = frozenset(
    """
    static_cast reinterpret_cast const_cast dynamic_cast std::move move std::forward __builtin_expect likely unlikely
    (void) raw_pointer_cast thrust::raw_pointer_cast
    """.split()
)

_ALSO_ELSEWHERE = rb"\b%s\s*=(?!=|\s*(?:nullptr|NULL|0)\b)|=\s*&?\s*%s\s*[;,]|[*&]\s*\w+\s*[({]\s*&?\s*%s\s*[)}]|\{[^{};]*&\s*%s\b[^{};]*\}"
"""The variable is set to another than null, or another one to it or its address."""
_EACH = frozenset({"std::for_each", "for_each"})


class Expressions(Flow):
    """Of one function."""

    def __init__(
        self,
        source: Source,
        node: Node,
        owner: str,
        name: str,
        declarator: Node,
        body: Node,
        wrappers: frozenset[bytes],
        members: frozenset[bytes],
        captured: frozenset[str] = frozenset(),
    ) -> None:
        """``name`` is empty where the declarator tells it. ``captured``: names of variables around a lambda."""
        self.name = name
        self.function_declarator = function_declarator(declarator)
        self.parameters = tuple(parameters(self.function_declarator))
        self.concerned, interest = interest_in(source, node, body, self.parameters, wrappers, members)
        super().__init__(source, node, owner, interest)
        self.captured = captured
        self.wrappers = wrappers
        self.body = body
        self.of_class = qualified(self.function_declarator, owner)[1]
        self.returns_template = "<" in field_text(node, "type")
        self.catching: list[int] = []
        """Where an exception leads, of the try blocks around."""

    def concerns(self, lvalue: str) -> bool:
        """``::name``, and the names ``[a, b]`` for the parts of something, are not followed."""
        return lvalue[:1] == "%" or (IDENTIFIER.match(lvalue) is not None and super().concerns(lvalue))

    # Values and lvalues.

    def emit(self, operation: Operation) -> None:
        """What a name that stands for several variables holds is not followed."""
        if isinstance(operation, Assign) and operation.lvalue.encode() in self.interest.several:
            self.escape(operation.value, operation.start)
        else:
            super().emit(operation)

    def _name(self, node: Node, dropped: bool = False) -> Value:
        return None if node.text in self.interest.several else constant(text_of(node))

    def _pointer(self, node: Node, dropped: bool = False) -> Value:
        argument = node.child_by_field_name("argument") or node.named_children[-1]
        if node.children[0].type == "&":
            lvalue = self.lvalue(argument)
            return Address(lvalue) if lvalue else None
        lvalue = pointed_at(self.value(argument))
        return lvalue if lvalue[:1] not in ("", "%") else None

    def lvalue(self, node: Node) -> str:
        """The lvalue that an expression names; empty if it is none."""
        kind = node.type
        if kind == "parenthesized_expression" and node.named_children:
            return self.lvalue(node.named_children[-1])
        if kind == "cast_expression":
            return ""
        value = self.value(node)
        return value if isinstance(value, str) else ""

    def _subscript(self, node: Node, dropped: bool = False) -> Value:
        base = self.lvalue(node.child_by_field_name("argument") or node.named_children[0])
        indices = node.child_by_field_name("indices") or node.named_children[-1]
        listed = indices.named_children if indices.type == "subscript_argument_list" else ()
        index = listed[0] if listed else indices
        if self.hot(index):
            self.value(index)
        if not base or base[0] == "%":
            return None
        at = number(text_of(index))
        return f"{base}[{'*' if at is None else at}]"

    def _is_this(self, text: str) -> bool:
        """``(*this)``, or how a class that has one object names it: ``get_instance()->member``."""
        named = _ONE_OBJECT.fullmatch(text)
        return text == "(*this)" or (named is not None and named[1] in (None, self.of_class) and self.of_class != "")

    def _field(self, node: Node, dropped: bool = False) -> Value:
        argument = node.child_by_field_name("argument") or node.named_children[0]
        name = node.child_by_field_name("field")
        if name is None:
            return None
        if argument.type == "this" or self._is_this(text_of(argument)):
            member = text_of(name)
            return f"this->{member}" if member in self.locals else member
        base = self.lvalue(argument)
        signs = {child.type for child in node.children}
        if not base or base[0] == "%" or not signs.isdisjoint((".*", "ERROR")):  # a pointer to a member leads to any
            return None
        if "->" in signs and "[]" in self.locals.get(base, ""):
            return f"{base}[0].{text_of(name)}"
        return f"{base}{'->' if '->' in signs else '.'}{text_of(name)}"

    def _assignment(self, node: Node, dropped: bool = False) -> Value:
        left, right = part(node, "left"), part(node, "right")
        operator = node.child_by_field_name("operator")
        value = self.set_to(text_of(left), right)
        if operator is not None and text_of(operator) != "=":
            moved = self.lvalue(left)
            follows = text_of(operator) in ("+=", "-=") and moved and moved[0] != "%" and self.concerns(moved)
            value = Inside(moved) if follows else None
        lvalue = self.lvalue(left)
        if not lvalue or lvalue[0] == "%":  # what a call returned: an element of something
            self.escape(value, node.start_byte)
            return None
        if self.concerns(lvalue) or self.follows(value):
            self.emit(Assign(lvalue, value, node.start_byte, node.end_byte))
        return value if isinstance(value, int) else lvalue

    def _update(self, node: Node, dropped: bool = False) -> Value:
        lvalue = self.lvalue(node.child_by_field_name("argument") or node.named_children[0])
        if lvalue and self.concerns(lvalue):
            self.emit(Assign(lvalue, None, node.start_byte, node.end_byte))
        return None

    def _unary(self, node: Node, dropped: bool = False) -> Value:
        argument = node.child_by_field_name("argument") or node.named_children[-1]
        value = self.value(argument)
        return -value if isinstance(value, int) and node.children[0].type == "-" else None

    def set_to(self, lvalue: str, node: Node) -> Value:
        """What a variable is set to. A flag that holds how a comparison came out is asked for later."""
        inner = node
        while inner.type == "parenthesized_expression" and inner.named_children:
            inner = inner.named_children[-1]
        compares = inner.type == "binary_expression" and field_text(inner, "operator") in ("==", "!=")
        negates = inner.type == "unary_expression" and inner.children[0].type == "!"
        if not (compares or negates) or not self.hot(inner) or not self.concerns(lvalue):
            return self.value(node)
        return self.one_of(inner, (inner, lambda: 1), (inner, lambda: 0))

    def _comma(self, node: Node, dropped: bool = False) -> Value:
        value: Value = None
        for child in node.named_children:
            value = self.read(child, dropped)
        return value

    def _list(self, node: Node, dropped: bool = False) -> Value:
        values = [(self.value(child), child) for child in node.named_children]
        for value, child in values:
            self.escape(value, child.start_byte)
        return 0 if not values else None

    def _new(self, node: Node, dropped: bool = False) -> Value:
        for given in (node.child_by_field_name("arguments"), node.child_by_field_name("placement")):
            if given is not None and self.hot(given):
                self._take_all(given.named_children)
        return self._result(Invoke("new", (), node.start_byte, node.end_byte), dropped)

    def _delete(self, node: Node, dropped: bool = False) -> Value:
        argument = node.named_children[-1]
        value = self.value(argument)
        if isinstance(value, str) and self.concerns(value):
            self.emit(Invoke("delete", (value,), node.start_byte, node.end_byte, spans=spans([argument])))
        return None

    def _result(self, call: Invoke, dropped: bool) -> Value:
        if not dropped:
            call.result = self.temporary()
        self.emit(call)
        return call.result or None

    def _call(self, node: Node, dropped: bool = False) -> Value:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        if function is None or arguments is None:
            return None
        given = without_comments(arguments)
        launch = next((child for child in node.children if child.type == "kernel_call_syntax"), None)
        if launch is not None:
            return self._launch(node, function, launch, given)
        name, receiver = self._callee(function)
        if name in TRANSPARENT and given:
            found: Value = self.read(given[0], dropped)
            return found
        if never_returns(name):
            self.emit(Return(node.start_byte, node.end_byte, how="exit"))
            self.builder.stop()
            return None
        if _THROWS.search(name) or runs_later(name):
            self.escape_names(arguments)
            for each in given:
                if each.type == "lambda_expression":
                    self._lambda(each)
            return None
        if name in _EACH and len(given) == 3 and self._for_each(node, given[0], given[2]):
            return None
        name = _OVERLOADS.get((name, len(given)), name)
        known = name in symbols()
        if name in ON_HEAP:
            return self._result(Invoke(name, (), node.start_byte, node.end_byte), dropped)
        if not known and not self.hot(node):
            return None
        before = self.temporaries
        values = tuple(self._argument(child) for child in given)
        if known:
            values = tuple(
                None if isinstance(value, Address) and self._is_owner(value.lvalue, name, at) else value
                for at, value in enumerate(values)
            )
        if name == "std::swap" and all(self._is_only_made(each) for each in values):
            self._exchange(node, *values)
            return None
        call = Invoke(name, values, node.start_byte, node.end_byte, receiver=receiver, spans=spans(given))
        call.of = self._class_of(function, receiver)
        if known:
            return self._result(call, dropped)
        is_object = name in self.locals or name in self.captured or any(name == each.name for each in self.parameters)
        if is_object:  # a lambda, or another object that is called: what it does is not known
            for value in values:
                self.escape(value, node.start_byte)
        if self.looks_at_result(values, before):
            self.builder.check(before)
            label = self._label_of_macro(name, given)
            if label:
                self._jumps_if_failed(f"%{before + 1}", label, node)
            return f"%{before + 1}?"
        if is_object:
            return None
        makes = name.rpartition("::")[2].encode() in self.wrappers
        if makes or (receiver and self.concerns(receiver)) or any(self.follows(value) for value in values):
            return self._result(call, dropped)
        return None

    def _for_each(self, node: Node, begin: Node, each: Node) -> bool:
        """``std::for_each(all.begin(), all.end(), [](T &one) { ... })`` is a loop over the elements. False if it is not understood."""
        function = begin.child_by_field_name("function") if begin.type == "call_expression" else None
        of_begin = function is not None and field_text(function, "field") in ("begin", "cbegin")
        elements = function.child_by_field_name("argument") if function is not None and of_begin else None
        head = each.child_by_field_name("declarator") if each.type == "lambda_expression" else None
        taken = head.child_by_field_name("parameters") if head is not None else None
        given = taken.named_children if taken is not None else []
        body = each.child_by_field_name("body")
        if elements is None or body is None or len(given) != 1 or b"return" in (body.text or b""):
            return False
        self.each_element(node, given[0].child_by_field_name("declarator"), elements, body)
        return True

    def each_element(self, node: Node, declarator: Node | None, elements: Node | None, body: Node | None) -> None:
        """A loop in which the declarator names one of the elements after the other."""
        value: Value = None
        if elements is not None and self.hot(elements):
            value = self.value(elements)
            if isinstance(value, str):
                self.emit(Escape(value, elements.start_byte, written=True))

        def act() -> None:
            if declarator is None or not self.hot(declarator):
                self.act(body)()
                return
            name, shape = declared(declarator)
            names = [each for each in bound_names(declarator) if self.concerns(each)] or [name]
            for each in names:
                self.emit(Assign(each, None, declarator.start_byte, declarator.end_byte))
                if isinstance(value, str) and elements is not None:
                    self.ranges.append(Range(each, value, elements.start_byte, node.end_byte))
            self.act(body)()
            for each in names if shape.startswith("&") else ():  # it stays where the reference points to
                self.emit(Escape(each, node.end_byte - 1, written=True))

        self.repeat(lambda inside, after: self.builder.branch(goes_on(node), inside, after), act)

    def _label_of_macro(self, name: str, given: Sequence[Node]) -> str:
        """The label that a macro goes to if what it is given has failed; empty if none is known. A macro of another file tells by its name
        that it does so, and its last argument is the label."""
        label, at = self.source.jumping_macros.get(name, ("", -1))
        if not label and _JUMPS.match(name):
            at = len(given) - 1
        if at >= 0:
            label = text_of(given[at]) if at < len(given) and given[at].type == "identifier" else ""
        pattern = rb"[;{}:\n]\s{0,80}%s\s{0,80}:(?!:)" % re.escape(label.encode())
        body = self.source.code[self.body.start_byte : self.body.end_byte] if label else b""
        return label if label and re.search(pattern, body) else ""

    def _jumps_if_failed(self, result: str, label: str, node: Node) -> None:
        """The function goes to the label unless the call that gave the result succeeds."""
        self.fork(lambda yes, no: self.test(node, yes, no, result, same=False), lambda: self.jump_to_label(label), None)

    def _is_owner(self, lvalue: str, name: str, at: int) -> bool:
        """Whether it is a local object of a class: what ``&`` gives is the address of a handle that it holds, and ends. From where the
        function of CUDA copies, it is the address of the object."""
        kind, found = self.locals.get(lvalue, ""), meaning(name)
        copied = found is not None and found.only_reads(at)
        return _CLASS.fullmatch(kind) is not None and not is_plain(kind) and not copied

    def _argument(self, node: Node) -> Value:
        """A block is the argument of a macro, which runs it."""
        block = node.type == "compound_statement"
        before = node.prev_sibling if block else None
        if block and before is not None and before.type in (",", "("):
            self.statement(node)
            return None
        if block:
            self.escape_names(node)
            return None
        return self.value(node)

    def _is_only_made(self, value: Value) -> bool:
        """Whether it is a local variable that the function never sets to what it got from elsewhere, nor another one to it."""
        own = isinstance(value, str) and "&" not in self.locals.get(value, "&")
        if not isinstance(value, str) or not own or any(value == each.name for each in self.parameters):
            return False
        text = self.source.code[self.node.start_byte : self.node.end_byte]
        return re.search(_ALSO_ELSEWHERE % ((value.encode(),) * 4), text) is None

    def _exchange(self, node: Node, *variables: Value) -> None:
        """Two local variables exchange what they hold."""
        if len(variables) == 2 and isinstance(one := variables[0], str) and isinstance(other := variables[1], str):
            held = self.temporary()
            for lvalue, value in ((held, one), (one, other), (other, held)):
                self.emit(Assign(lvalue, value, node.start_byte, node.end_byte))

    def _callee(self, function: Node) -> tuple[str, str]:
        """Name of the function, and the lvalue of the object that it is called on."""
        kind = function.type
        if kind == "identifier":
            return text_of(function), ""
        if kind == "field_expression":
            argument, name = function.child_by_field_name("argument"), function.child_by_field_name("field")
            if argument is None or name is None:
                return "", ""
            if argument.type == "this":
                return text_of(name), ""
            return text_of(name).split("<")[0], self.lvalue(argument)
        if kind == "template_function":
            return text_of(function.child_by_field_name("name") or function).split("<")[0], ""
        if kind == "qualified_identifier":
            name_text = re.sub(r"<.*>", "", text_of(function)).lstrip(":")
            return name_text, ""
        if kind == "parenthesized_expression":
            return text_of(function), ""
        self.value(function)
        return (_last_name(function), "") if kind == "call_expression" else ("", "")

    def _class_of(self, function: Node, receiver: str) -> str:
        """Of a call of that function, as ``Invoke.of`` has it."""
        argument = function.child_by_field_name("argument") if function.type == "field_expression" else None
        if argument is None or argument.type == "this":
            return f"::{self.of_class}"
        given = (each.type for each in self.parameters if each.name == receiver)
        return self.locals.get(receiver) or next(given, "")

    def _launch(self, node: Node, function: Node, launch: Node, given: list[Node]) -> Value:
        values = tuple(self.value(child) for child in given)
        configuration = without_comments(launch)
        stream: Value = self.value(configuration[3]) if len(configuration) > 3 else 0
        name, _ = self._callee(function)
        for at, value in enumerate(values):
            if self.follows(value) and keeps(self.source.code, name, at, len(given)):
                self.escape(value, node.start_byte)
        where = spans([*given, *configuration[3:4]])
        self.emit(Invoke(name, values, node.start_byte, node.end_byte, spans=where, launch=True, stream=stream))
        return None

    def _lambda(self, node: Node, _dropped: bool = False) -> None:
        """What it captures is known elsewhere, unless the lambda only uses elements, or runs on the device, which ends nothing."""
        body = node.child_by_field_name("body")
        start = body.start_byte if body is not None else node.end_byte
        head = self.source.text[node.start_byte : start]
        by_reference = b"&" in head.partition(b"]")[0]
        only_device = b"__device__" in head and b"__host__" not in head and not by_reference
        for word in () if only_device else dict.fromkeys(WORD.findall(node.text or b"")):
            if word in self.interest.names and not _only_elements(word, node, start):
                for lvalue in self.meant(word.decode()):
                    self.emit(Escape(lvalue, node.start_byte, written=True))
                    if by_reference:
                        self.by_lambda.add(lvalue)

    def view(self, kind: str, node: Node, given: Sequence[Value]) -> Value:
        """An object of a class that only refers to what it is made of."""
        return self._result(Invoke(kind.split("<")[0], tuple(given), node.start_byte, node.end_byte), dropped=False)

    def _take_all(self, given: list[Node]) -> None:
        """An object of a class is made of these values, and may keep them."""
        for each in given:
            self.escape(self.value(each), each.start_byte)


def _only_elements(word: bytes, node: Node, body: int) -> bool:
    """Whether a lambda, whose body begins at ``body``, uses only elements of what the word names, never its value."""
    text = node.text or b""
    for match in re.finditer(rb"(?<![\w.])%s\b" % word, text[max(body - node.start_byte, 0) :]):
        start = body + match.start()
        name = node.descendant_for_byte_range(start, start + len(word))
        element = name.parent if name is not None and name.type == "identifier" else None
        if element is None or element.type != "subscript_expression" or element.child_by_field_name("argument") != name:
            return False
        if not _keeps_no_element(element):
            return False
    return re.search(rb"=\s*[^,\]]*\b%s\b" % word, text[: max(body - node.start_byte, 0)]) is None


def _keeps_no_element(element: Node) -> bool:
    """Whether the element is written or computed with, so that nobody gets it, which may be a handle, or its address."""
    around = element.parent
    if around is None or around.type != "assignment_expression":
        return around is not None and around.type in ("update_expression", "binary_expression")
    return around.child_by_field_name("left") == element or field_text(around, "operator") != "="


def _last_name(call: Node) -> str:
    """Name of the function that a call calls, without what it belongs to."""
    function = call.child_by_field_name("function")
    names = IDENTIFIER.findall(re.sub(r"<.*>", "", text_of(function))) if function is not None else []
    return names[-1] if names else ""


Expressions.expressions = by_type(
    {
        "identifier field_identifier qualified_identifier this": Expressions._name,
        "number_literal char_literal": number_of,
        "null false": zero,
        "sizeof_expression alignof_expression": not_evaluated,
        "true": true,
        "parenthesized_expression": Expressions.inner,
        "cast_expression": Expressions.cast,
        "pointer_expression": Expressions._pointer,
        "subscript_expression": Expressions._subscript,
        "field_expression": Expressions._field,
        "assignment_expression": Expressions._assignment,
        "update_expression": Expressions._update,
        "binary_expression": Expressions.binary,
        "unary_expression": Expressions._unary,
        "conditional_expression": Expressions.conditional,
        "comma_expression": Expressions._comma,
        "lambda_expression": Expressions._lambda,
        "initializer_list": Expressions._list,
        "call_expression": Expressions._call,
        "new_expression": Expressions._new,
        "delete_expression": Expressions._delete,
    }
)
