"""Objects of ManagedCuda's classes: the calls of the driver that their constructors and methods make."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import reduce
from operator import or_

from cuvet.source.languages.csharp_names import CSharpDefinition, arguments
from cuvet.source.languages.csharp_wrappers import (
    ARRAY,
    CONTEXTS,
    CONVERTED,
    DISPOSED,
    FLAGS,
    KERNEL,
    LAST,
    LAUNCHES,
    NEW_CONTEXT,
    NOTHING,
    NULL,
    NUMBER,
    NUMBERS,
    OBJECT,
    STATIC,
    WRAPPERS,
    Form,
    wrapper_named,
)
from cuvet.source.languages.lowering import Lowering
from cuvet.source.program import Address, Assign, Condition, Escape, Invoke, Value
from cuvet.source.syntax.parsing import Node, field_text, text_of

_COUNTS = frozenset({"Length", "LongLength", "Count", "Size", "SizeInBytes"})
_COUNTING = frozenset({"Math", "Marshal"})
_NEW = frozenset({"object_creation_expression", "implicit_object_creation_expression"})


class Wrapped(Lowering):
    """Of one method."""

    definition: CSharpDefinition
    body: Node

    @abstractmethod
    def lvalue(self, node: Node) -> str:
        """What the expression names."""

    @abstractmethod
    def argument(self, node: Node) -> Value:
        """What an argument passes."""

    def wrapper(self, lvalue: str) -> str:
        """The class of the object that the lvalue refers to; ``""`` if it is none that is followed."""
        name = wrapper_named(self.type_named(lvalue)) if self.definition.wrappers and lvalue else ""
        return name if name in self.definition.wrappers else ""

    def type_named(self, lvalue: str) -> str:
        """The type of a variable, or of a field of the own object, as it is declared."""
        field = lvalue.removeprefix("this.")
        if field != lvalue:
            return self.definition.types[field] if field in self.definition.fields else ""
        if lvalue in self.locals:
            return self.locals[lvalue]
        return next((each.type for each in self.parameters if each.name == lvalue), "")

    def is_handle(self, lvalue: str, name: str) -> bool:
        """Whether the property ``name`` of the object is the handle of what it owns."""
        kind = self.wrapper(lvalue)
        return kind in WRAPPERS and WRAPPERS[kind].handle == name

    # Objects that are made.

    def make(self, lvalue: str, value: Node) -> bool:
        """Whether the lvalue gets an object of its own from the expression, which is then told."""
        kind = self.wrapper(lvalue)
        if kind not in WRAPPERS:
            return False
        if value.type in _NEW:
            form = self._constructor(kind, value)
        else:
            form = CONVERTED.get((kind, self._sort(value)))
        if form is None:
            return False
        given = arguments(value)
        values = [self._passed(each) for each in given]
        self.emit(self._told(form, Address(lvalue), values, given, value))
        if self._ends_with_context():
            self.emit(Escape(lvalue, value.start_byte))
        return True

    def _ends_with_context(self) -> bool:
        """Whether what is made here may end with a context that the method or the object has."""
        start, end = self.body.start_byte, self.body.end_byte
        disposed = (match[1].decode() for match in DISPOSED.finditer(self.text, start, end))
        return (
            self.definition.shares_end
            or NEW_CONTEXT.search(self.text, start, end) is not None
            or any(self.type_named(name).rpartition(".")[2].rstrip("?") in CONTEXTS for name in disposed)
        )

    def _constructor(self, kind: str, value: Node) -> Form | None:
        named = field_text(value, "type")
        if (named and wrapper_named(named) != kind) or value.child_by_field_name("initializer") is not None:
            return None
        return WRAPPERS[kind].made.get(tuple(self._sort(each.named_children[-1]) for each in arguments(value)))

    def _sort(self, node: Node) -> str:
        """What an argument is, as far as constructors tell by it what they do."""
        if node.type in ("parenthesized_expression", "checked_expression"):
            return self._sort(node.named_children[-1])
        if node.type == "cast_expression":
            kind = field_text(node, "type")
            return NUMBER if kind in NUMBERS else kind if kind in FLAGS else ""
        if node.type == "array_creation_expression" or node.type == "implicit_array_creation_expression":
            return ARRAY
        if node.type == "binary_expression":
            sorts = {self._sort(node.named_children[0]), self._sort(node.named_children[-1])}
            return sorts.pop() if len(sorts) == 1 else ""
        if node.type in ("integer_literal", "sizeof_expression"):
            return NUMBER
        if node.type == "invocation_expression":
            function = node.child_by_field_name("function")
            return NUMBER if function is not None and text_of(function).partition(".")[0] in _COUNTING else ""
        return self._sort_of_name(node)

    def _sort_of_name(self, node: Node) -> str:
        outer, _, last = text_of(node).rpartition(".")
        if outer.rpartition(".")[2] in FLAGS:
            return outer.rpartition(".")[2]
        lvalue = self.lvalue(node)
        if kind := self.wrapper(lvalue):
            return kind
        kind = self.type_named(lvalue).rstrip("?")
        if kind in NUMBERS or (last in _COUNTS and outer):
            return NUMBER
        return ARRAY if kind.endswith("[]") else kind if kind in FLAGS else ""

    # Objects that are used and ended.

    def wrapped_call(self, node: Node, function: Node, path: str, given: Sequence[Node]) -> bool:
        """Whether it is a method of a wrapper, which is then told."""
        if not self.definition.wrappers:
            return False
        names = path.split(".")
        static = (
            STATIC.get((names[-2], names[-1])) if len(names) > 1 and names[-2] in self.definition.wrappers else None
        )
        if static is not None:
            self.emit(self._told(static, None, [self._passed(each) for each in given], given, node))
            return True
        if function.type == "conditional_access_expression":
            return self._perhaps_call(node, function, given)
        base = function.child_by_field_name("expression") if function.type == "member_access_expression" else None
        if base is None:
            return False
        lvalue = self.lvalue(base)
        if not lvalue and base.type == "parenthesized_expression":
            self._escape_cast(base.named_children[-1])
        return self._wrapped_method(node, lvalue, field_text(function, "name"), given)

    def _escape_cast(self, node: Node) -> None:
        """``((IDisposable)stream).Dispose()``."""
        value = node.child_by_field_name("value") if node.type == "cast_expression" else None
        if value is not None and (lvalue := self.lvalue(value)):
            self.escape(lvalue, node.start_byte)

    def _perhaps_call(self, node: Node, function: Node, given: Sequence[Node]) -> bool:
        """``stream?.Dispose()``: if there is one."""
        base, member = function.named_children[0], function.named_children[-1]
        lvalue = self.lvalue(base)
        if not self.wrapper(lvalue) or member.type != "member_binding_expression":
            return False
        name, names = field_text(member, "name"), tuple(lvalue.split("."))
        asked = Condition(f"{lvalue} != null", names, base.start_byte, base.end_byte, lvalue, False, 0, True)

        def call() -> None:
            if not self._wrapped_method(node, lvalue, name, given):
                self.emit(Escape(lvalue, node.start_byte, written=True))

        self.fork(lambda yes, no: self.builder.branch(asked, yes, no), call, None)
        return True

    def _wrapped_method(self, node: Node, lvalue: str, name: str, given: Sequence[Node]) -> bool:
        kind = self.wrapper(lvalue)
        if kind == KERNEL:
            return self._launched(node, lvalue, name, given)
        if kind not in WRAPPERS:
            return False
        if name == "Dispose" and not given:
            self.dispose(lvalue, node.start_byte, node.end_byte)
            return True
        first = self._sort(given[0].named_children[-1]) if given else "()"
        methods = WRAPPERS[kind].methods
        form = methods.get((name, first)) or methods.get((name, ""))
        if form is None:
            return False
        values = [self._passed(each) for each in given]
        self.emit(self._told(form, lvalue, values, given, node))
        return True

    def dispose(self, lvalue: str, start: int, end: int) -> None:
        """What the wrapper owns is ended, unless it was before."""
        api = WRAPPERS[self.wrapper(lvalue)].ended.api
        self.emit(Invoke(api, (lvalue,), start, end, spans=((start, end),), checked=True, once=True))

    def _launched(self, node: Node, lvalue: str, name: str, given: Sequence[Node]) -> bool:
        at = LAUNCHES.get(name)
        if at is None or (at == 0 and not given):
            return False
        values = [self._passed(each) for each in given]
        stream: Value = 0 if at == NOTHING else values.pop(0)
        where = tuple((each.start_byte, each.end_byte) for each in (*given[len(given) - len(values) :], *given[:1]))
        call = Invoke(lvalue.removeprefix("this."), tuple(values), node.start_byte, node.end_byte, spans=where)
        call.launch, call.stream = True, stream
        self.emit(call)
        return True

    def _passed(self, node: Node) -> Value:
        """What an argument passes, flags as numbers."""
        parts = [each.strip().rpartition(".") for each in text_of(node).split("|")]
        known = [FLAGS.get(outer.rpartition(".")[2], {}).get(last) for outer, _, last in parts]
        numbers = [each for each in known if each is not None]
        return reduce(or_, numbers) if len(numbers) == len(known) else self.argument(node)

    def _told(self, form: Form, own: Value, values: Sequence[Value], given: Sequence[Node], node: Node) -> Invoke:
        whole = (node.start_byte, node.end_byte)
        passed: list[Value] = []
        where: list[tuple[int, int]] = []
        for each in form.given:
            at = len(given) - 1 if each == LAST else each
            other = 0 if each == NULL else None
            passed.append(own if each == OBJECT else values[at] if 0 <= at < len(values) else other)
            where.append((given[at].start_byte, given[at].end_byte) if 0 <= at < len(given) else whole)
        return Invoke(form.api, tuple(passed), *whole, spans=tuple(where), checked=True)

    def declared(self, lvalue: str, node: Node) -> None:
        """A new variable, before it gets an object."""
        self.emit(Assign(lvalue, None, node.start_byte, node.end_byte, True, self.locals.get(lvalue, "")))
