"""Expressions of Python: what they name and give, after the operations that they take."""

import re
from collections.abc import Iterable, Sequence

from cuvet.source.constants import enumerator
from cuvet.source.languages.interest import Interest
from cuvet.source.languages.lowering import Lowering
from cuvet.source.languages.operations import by_type, number, number_of, spans, true, zero
from cuvet.source.languages.python_names import Api, PythonDefinition, Shape, shape
from cuvet.source.program import Address, Escape, Invoke, Value
from cuvet.source.syntax.parsing import Node, Source, field_text, text_of, without_comments

_ENDS_PROCESS = frozenset({"exit", "quit", "sys.exit", "os._exit", "os.abort"})
_BY_REFERENCE = re.compile(r"(?:ctypes\.)?(?:byref|pointer)")
_SAME = frozenset({"int", "ctypes.c_void_p", "c_void_p", "np.uint64", "np.intp", "numpy.uint64", "numpy.intp"})
"""What keeps the value that it is given."""
_HANDLE_TYPE = re.compile(r"^(?:cuda\w+_t|CU[a-z]\w+|cudaGraphicsResource)$")

Several = tuple[Value, ...]
"""The values of a call that returns a tuple."""


class Expressions(Lowering):
    """Of one function."""

    def __init__(self, source: Source, definition: PythonDefinition, body: Node, interest: Interest) -> None:
        super().__init__(source, definition.node, definition.owner, definition.name, interest)
        self.names = definition.names
        self.functions = definition.functions
        self.body = body
        self.is_module = definition.node.type == "module"
        self.globals: set[str] = set()
        self.freed_by_itself: set[str] = set()
        """Lvalues of PyCUDA's allocations."""

    def meant(self, word: str) -> Iterable[str]:
        return (word, f"self.{word}") if self.owner else (word,)

    # Lvalues.

    def lvalue(self, node: Node) -> str:
        """What the expression names; ``""`` if it names nothing that can be followed."""
        kind = node.type
        if kind == "identifier":
            return text_of(node)
        if kind == "attribute":
            base, name = node.child_by_field_name("object"), node.child_by_field_name("attribute")
            if base is None or name is None or self.names.is_module(text_of(base)):
                return ""
            outer = self.lvalue(base)
            return outer if text_of(name) == "value" else f"{outer}.{text_of(name)}" if outer else ""
        if kind == "subscript":
            base, index = node.child_by_field_name("value"), node.child_by_field_name("subscript")
            outer = self.lvalue(base) if base is not None else ""
            number = text_of(index) if index is not None and index.type == "integer" else "*"
            return f"{outer}[{number}]" if outer else ""
        if kind in ("parenthesized_expression", "as_pattern_target") and node.named_children:
            return self.lvalue(node.named_children[0])
        return ""

    def targets(self, node: Node) -> list[str]:
        """The lvalues that an assignment to the expression changes; variables among them are new."""
        if node.type in ("pattern_list", "tuple_pattern", "list_pattern", "expression_list", "tuple", "list"):
            return [lvalue for child in node.named_children for lvalue in self.targets(child)]
        lvalue = self.lvalue(node)
        if node.type == "identifier" and lvalue not in self.globals and not self.is_module:
            self.locals.setdefault(lvalue, "")
        return [lvalue]

    # Expressions.

    def value(self, node: Node) -> Value:
        found: Value | Several = self.read(node)
        return found if not isinstance(found, tuple) else found[0] if found else None

    def one(self, node: Node) -> Value:
        """The value; of a tuple that a call returned, that it is nothing which can be followed."""
        found = self.read(node)
        return found if not isinstance(found, tuple) else found[0] if len(found) == 1 else None

    def _name(self, node: Node, into: Sequence[str] = ()) -> Value:
        text = text_of(node)
        last = text.rpartition(".")[2]
        number = enumerator(last)
        return number if number is not None else self.lvalue(node) or None

    def _string(self, node: Node, into: Sequence[str] = ()) -> Value:
        return None

    def _subscript(self, node: Node, into: Sequence[str] = ()) -> Value | Several:
        """``call(…)[1]`` is one of the values that the call returns."""
        base, index = node.child_by_field_name("value"), node.child_by_field_name("subscript")
        if base is None or base.type not in ("call", "await") or index is None:
            if index is not None and self.hot(index):
                self.escape(self.one(index), index.start_byte)
            return self.lvalue(node) or None
        position = number(text_of(index)) if index.type == "integer" else None
        wanted = [""] * position + (list(into[:1]) or ["_"]) if position else ()
        found = self.read(base, wanted)
        if isinstance(found, tuple):
            return found[position] if position is not None and position < len(found) else None
        return found if position == 0 else None

    def _assignment(self, node: Node, into: Sequence[str] = ()) -> Value | Several:
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
        lvalues = self.targets(left)
        found = self.read(right, lvalues if several or lvalues[0] else ())
        if not several:
            self._store(lvalues[0], found, node)
            return lvalues[0] or None
        values = found if isinstance(found, tuple) else (None,)
        if not isinstance(found, tuple):
            self.escape(found, node.start_byte)
        if len(values) != len(lvalues):
            values = (*values, *([None] * len(lvalues)))
        for lvalue, value in zip(lvalues, values, strict=False):
            if lvalue != "_":
                self.assign(lvalue, value, node)
        return None

    def _one_by_one(self, left: Node, right: Node, node: Node) -> None:
        """``a, b = c, d``. Where one of the targets is a value too (a swap), which is which is not followed."""
        values = [self.one(child) for child in right.named_children]
        lvalues = self.targets(left)
        mixed = any(lvalue and lvalue in values[at + 1 :] for at, lvalue in enumerate(lvalues)) or len(lvalues) != len(
            values
        )
        for value in values if mixed else ():
            self.escape(value, node.start_byte)
        for at, lvalue in enumerate(lvalues):
            self.assign(lvalue, values[at] if at < len(values) and not mixed else None, node)

    def _store(self, lvalue: str, found: Value | Several, node: Node) -> None:
        if not isinstance(found, tuple):
            self.assign(lvalue, found, node)
            return
        if lvalue in self.locals:
            self.locals[lvalue] = "[]"
        self.assign(lvalue, found[0] if len(found) == 1 else None, node)
        for index, value in enumerate(found):
            self.assign(f"{lvalue}[{index}]" if lvalue else "", value, node)

    def _augmented(self, node: Node, into: Sequence[str] = ()) -> Value:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if right is not None:
            self.escape(self.one(right), node.start_byte)
        if left is not None:
            self.assign(self.lvalue(left), None, node)
        return None

    def _either(self, node: Node, into: Sequence[str] = ()) -> Value:
        one, test, other = (child for child in node.named_children if child.type != "comment")
        return self.either(test, one, other)

    def _compare(self, node: Node, into: Sequence[str] = ()) -> Value:
        """A comparison whose outcome nobody branches on."""
        before = self.temporaries
        for child in node.named_children:
            self.one(child)
        self.builder.check(before)
        return None

    # Calls.

    def _call(self, node: Node, into: Sequence[str] = ()) -> Value | Several:
        function, listed = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None or listed is None:
            return None
        name = re.sub(r"\s+", "", text_of(function)) if function.type in ("identifier", "attribute") else ""
        given = without_comments(listed) if listed.type == "argument_list" else [listed]
        if name in _ENDS_PROCESS:
            self.leave(node, "exit")
            return None
        api = self.names.api(name)
        if api is not None:
            return self._cuda(node, api, given, into)
        if (name in _SAME or _HANDLE_TYPE.match(name.rpartition(".")[2])) and len(given) <= 1:
            return self.read(given[0], into) if given else 0
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
                self.escape(self.one(child), child.start_byte)
            return None
        arguments = self._arguments(api, form, given)
        status_first = api.returns_status and (not wrapped or len(into) == len(form.outputs) + 1 > 1)
        outputs = self._outputs(len(form.outputs), into[1:] if status_first else into)
        for position, output in zip(form.outputs, outputs, strict=True):
            arguments[position] = (Address(output), (node.start_byte, node.end_byte))
        dropped = (
            not api.returns_status
            or not (wrapped or (node.parent is not None and node.parent.type != "expression_statement"))
            or (not wrapped and list(into[:1]) in ([""], ["_"]))
        )
        result = "" if dropped else self.temporary()
        ordered = [arguments.get(position, (None, (node.start_byte, node.end_byte))) for position in range(form.count)]
        call = Invoke(api.name, tuple(value for value, _ in ordered), node.start_byte, node.end_byte, result=result)
        call.spans = tuple(span for _, span in ordered)
        call.checked = wrapped or not api.returns_status
        self.emit(call)
        for output in outputs:
            if output[0] == "%":
                self.emit(Escape(output, node.start_byte))
            else:
                self.share(output, node.start_byte)
        if api.style == "pycuda":
            self.freed_by_itself.update(outputs)
            for output in outputs:
                self.emit(Escape(output, node.start_byte))
        if api.returns_status and (not wrapped or status_first):
            return (result or None, *outputs)
        return outputs[0] if len(outputs) == 1 else tuple(outputs) if outputs else None

    def _outputs(self, count: int, into: Sequence[str]) -> list[str]:
        """Where the values go that the call returns: to the lvalues ``into``, as far as these are followed."""
        targets = [*into[:count], *[""] * (count - len(into))]
        return [each if each not in ("", "_") and self.concerns(each) else self.temporary() for each in targets]

    def _arguments(self, api: Api, form: Shape, given: Sequence[Node]) -> dict[int, tuple[Value, tuple[int, int]]]:
        """By parameter: the argument's value, and where it stands."""
        found: dict[int, tuple[Value, tuple[int, int]]] = {}
        for index, child in enumerate(given):
            position = form.given[index] if index < len(form.given) else -1
            if child.type == "keyword_argument":
                keyword, child = child.named_children[0], child.named_children[-1]
                position = form.names.get(text_of(keyword), position)
            value = self._by_reference(child) if api.style == "ctypes" else self.one(child)
            if position >= 0:
                found[position] = (value, (child.start_byte, child.end_byte))
        return found

    def _by_reference(self, node: Node) -> Value:
        """An argument of a function that ctypes calls: ``byref(x)`` is the address of the variable, and ``x.value`` what it holds."""
        given = without_comments(node.child_by_field_name("arguments")) if node.type == "call" else []
        if len(given) == 1 and _BY_REFERENCE.fullmatch(field_text(node, "function")):
            lvalue = self.lvalue(given[0])
            return Address(lvalue) if lvalue else self.one(node)
        return self.one(
            given[0] if given and _HANDLE_TYPE.match(field_text(node, "function").rpartition(".")[2]) else node
        )

    def _checked(self, argument: Node, into: Sequence[str]) -> Value | Several:
        """``check(cudaMalloc(n))``: a function is handed all that a call returns, looks at the status and returns the rest; or None."""
        if argument.type == "list_splat":
            argument = argument.named_children[0]
        if argument.type != "call":
            return None
        function, listed = argument.child_by_field_name("function"), argument.child_by_field_name("arguments")
        if function is None or listed is None or listed.type != "argument_list":
            return None
        api = self.names.api(re.sub(r"\s+", "", text_of(function)))
        if api is None or not api.returns_status:
            return None
        found = self._cuda(argument, api, without_comments(listed), into, wrapped=True)
        return () if found is None else found

    def _other(self, node: Node, function: Node, name: str, given: Sequence[Node]) -> Value:
        """A function that is not CUDA's, or a method."""
        before = self.temporaries
        receiver = ""
        if function.type == "attribute":
            base = function.child_by_field_name("object")
            receiver = self.lvalue(base) if base is not None else ""
            if base is not None and base.type == "call":
                self.escape(self.one(base), base.start_byte)
        values = tuple(
            self.one(child.named_children[-1] if child.type == "keyword_argument" else child) for child in given
        )
        if any(self.names.api(text_of(child)) for child in given if child.type == "attribute"):
            for value in values:  # it calls a function of CUDA with them, now or later
                self.escape(value, node.start_byte)
        last = name.rpartition(".")[2]
        if last == "free" and not given and receiver in self.freed_by_itself:
            self.emit(
                Invoke("cuMemFree", (receiver,), node.start_byte, node.end_byte, checked=True, spans=spans([function]))
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
                lvalue = word.decode()
                if lvalue not in self.locals:
                    self.emit(Escape(lvalue, node.start_byte, written=True))


Expressions.expressions = by_type(
    {
        "identifier attribute": Expressions._name,
        "integer": number_of,
        "none false": zero,
        "true": true,
        "string concatenated_string": Expressions._string,
        "parenthesized_expression await": Expressions.inner,
        "subscript": Expressions._subscript,
        "assignment named_expression": Expressions._assignment,
        "augmented_assignment": Expressions._augmented,
        "binary_operator": Expressions.binary,
        "comparison_operator": Expressions._compare,
        "conditional_expression": Expressions._either,
        "lambda list_comprehension set_comprehension dictionary_comprehension generator_expression": Expressions.out_of_sight,
        "call": Expressions._call,
    }
)
