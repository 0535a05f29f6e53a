"""Statements of C++: the flow of control of a function."""

import re
from functools import partial

from cuvet.source.calls import meaning, symbols
from cuvet.source.languages.cpp_conditions import Conditions
from cuvet.source.languages.cpp_text import (
    HANDLE,
    adds_nothing,
    bound_names,
    constant,
    declared,
    is_plain,
    qualified,
)
from cuvet.source.languages.flow import Act
from cuvet.source.languages.interest import IDENTIFIER
from cuvet.source.languages.operations import by_type
from cuvet.source.ownership import holds_no_handle, is_view, leaves_function, runs_later
from cuvet.source.program import (
    OF_BUILD,
    THROWN,
    Assign,
    Condition,
    Escape,
    Function,
    Invoke,
    Operation,
    Return,
    Value,
)
from cuvet.source.quiet import CHECKED, ON_HOST, PLAIN, called_in
from cuvet.source.syntax.parsing import Node, enclosing, field_text, not_parsed, storage, text_of, without_comments

_DEFINED = re.compile(r"(!?)\s*defined\s*\(?\s*(\w+)\s*\)?")
_CAUGHT = "an exception is caught"
"""What the text of the condition begins with whether a handler takes it; the handler's offset follows."""
_SOME_FAILURE = 998
"""A status that no call returns."""
_THROWS = re.compile(rb"\b(?:throw|new|co_await)\b|\[\s*[&=]")
"""What throws, and lambdas, whose calls stand elsewhere."""
_ASKS_IF_FAILED = re.compile(rb"!=\s*(?:cudaSuccess|CUDA_SUCCESS|ncclSuccess|CU\w+_SUCCESS)\b")
_FOR_EACH = re.compile(r"(?i)(?:\w+_)?for_?each\w*\s*\(")
"""A macro that is a loop."""
_RETURNS = re.compile(rb"\breturn\b")
_NEVER_THROWS = (
    PLAIN
    | ON_HOST
    | frozenset(
        """
        if while for switch return free sprintf fputs putchar fflush fclose memcmp strlen delete abort exit assert floor ceil round pow
        exp log now duration_cast count size empty data c_str begin end get clear reset bool char short unsigned long uint32_t uint64_t
        int64_t setw setprecision MPI_Finalize MPI_Barrier MPI_Comm_free
        """.split()
    )
)
"""What stands before a bracket and throws nothing, as far as one may assume."""
_MOST_UNREAD = 80
"""Bytes of text that could not be parsed, in one piece, of which the rest of the function does not depend."""

_COMPOSED = frozenset(
    (
        "initializer_list",
        "compound_literal_expression",
        "call_expression",
        "conditional_expression",
        "co_await_expression",
    )
)
"""Expressions whose value may hold what they are made of."""


class Lowering(Conditions):
    """Of one function: from its node to a ``Function``."""

    def function(self) -> Function:
        node = self.node
        for parameter in self.parameters:
            if not parameter.reference:
                self.locals[parameter.name] = parameter.type
        self._initializers(node)
        self.statement(self.body)
        name, owner = qualified(self.function_declarator, self.owner)
        static = b"static" in self.text[node.start_byte : self.body.start_byte].split()
        return self.finished(
            self.name or name, owner, self.body.end_byte, node.has_error and self._is_broken(node), static
        )

    def _is_broken(self, node: Node) -> bool:
        """Whether text that could not be parsed matters: words of interest or braces in it, or something else missing than ``;``."""
        for each, parent in not_parsed(node):
            text = self.text[each.start_byte : each.end_byte]
            if each.is_missing:
                if not adds_nothing(each, parent):
                    return True
            elif text[:1] != b"#" and (self.hot(each) or len(text) > _MOST_UNREAD or b"{" in text or b"}" in text):
                return True
        return False

    def _initializers(self, node: Node) -> None:
        """``: member(value)`` of a constructor."""
        for child in node.named_children:
            if child.type != "field_initializer_list":
                continue
            for each in child.named_children:
                if each.type == "field_initializer" and self.hot(each):
                    name, *values = each.named_children
                    given = [self.value(value) for value in values[0].named_children] if values else []
                    lvalue = text_of(name)
                    value = given[0] if len(given) == 1 else 0 if not given else None
                    if given and self._is_number(values[0].named_children[0]):
                        value = 0  # of elements, none of which is anything yet
                    if self.concerns(lvalue):
                        self.emit(Assign(lvalue, value, each.start_byte, each.end_byte))

    def _is_number(self, node: Node) -> bool:
        name = text_of(node)
        return node.type == "number_literal" or any(
            each.name == name and holds_no_handle(each.type) for each in self.parameters
        )

    def statement(self, node: Node) -> None:
        if not self.hot(node):
            return
        handler = self.statements.get(node.type)
        if handler is not None:
            handler(self, node)
        elif node.is_named:
            self.effects(node)

    def effects(self, node: Node) -> None:
        """An expression whose value nobody takes."""
        for child in node.named_children if node.type == "expression_statement" else (node,):
            if child.type in ("identifier", "type_identifier") and leaves_function(text_of(child)):
                self.emit(Return(child.start_byte, child.end_byte, how="exit"))
                self.builder.stop()
            else:
                self.read(child, True)

    def declaration(self, node: Node) -> None:
        kind = field_text(node, "type")
        static = not storage(node).isdisjoint((b"static", b"extern", b"thread_local"))
        for declarator in node.children_by_field_name("declarator"):
            initial = (declarator if declarator.type == "init_declarator" else node).child_by_field_name("value")
            self._declarator(declarator, kind, static, initial)

    def _declarator(self, node: Node, kind: str, static: bool, initial: Node | None) -> None:
        name, shape = declared(node)
        if shape.endswith("()") and initial is None:
            self._made_of_argument(node, name, kind)
            return
        local = not static and not shape.startswith("&")
        if local:
            self.locals[name] = kind + shape
        value = self._initial_value(initial, name, kind, shape) if initial is not None else None
        if static:
            self.escape(value, node.start_byte)
            value = None
        if shape.startswith("&"):
            if isinstance(value, str):
                self.emit(Escape(value, node.start_byte, written=True))
            value = None
        if self.concerns(name) or isinstance(value, str):
            unset = local and initial is None and _holds_nothing(kind, shape)
            self.emit(Assign(name, value, node.start_byte, node.end_byte, local, kind + shape, unset))
        for each in filter(self.concerns, bound_names(node)):
            self.emit(Assign(each, None, node.start_byte, node.end_byte, declared=local, kind=kind))

    def _made_of_argument(self, node: Node, name: str, kind: str) -> None:
        """``T name(argument)`` reads as a function; it is a variable when the argument is one of ours."""
        for inner in node.named_children:
            if inner.type != "parameter_list" or not self.hot(inner):
                continue
            if is_view(kind):
                self.locals[name] = kind
                result = self.view(kind, node, [text_of(each) for each in inner.named_children])
                self.emit(Assign(name, result, node.start_byte, node.end_byte, declared=True, kind=kind))
            else:
                self.escape_names(inner)

    def _initial_value(self, node: Node, name: str, kind: str, shape: str) -> Value:
        if node.type not in ("argument_list", "initializer_list"):
            value = self.set_to(name, node)
            if node.type == "identifier" and isinstance(value, str) and not (is_plain(kind) or shape):
                self.emit(Escape(value, node.start_byte))  # an object of a class is made of it, perhaps its owner
            return value
        given = node.named_children
        if len(given) == 1 and (is_plain(kind) or shape.startswith("*")):
            return self.value(given[0])
        if not given:
            return 0
        if is_view(kind):
            return self.view(kind, node, [self.value(each) for each in given])
        self._take_all(given)
        return None

    def block_of_macro(self, node: Node) -> None:
        """``NAME(...) { ... }``: it runs here. With a ``;`` behind it the macro makes an object of it, which runs it elsewhere. A try
        has nothing to do with the macro."""
        own = [child for child in node.named_children if child.type == "try_statement"]
        if own:
            self.run(own)
            return
        if _FOR_EACH.match(text_of(node)) and _RETURNS.search(self.source.code, node.start_byte, node.end_byte):
            self.perhaps("the loop has a turn", node, self.act(node.child_by_field_name("body")))
            return
        behind = self.text[node.end_byte : self.source.line_end(node.end_byte)].lstrip()
        if behind[:1] == b";" or runs_later(text_of(node).partition("(")[0].strip()):
            self.escape_names(node)
        else:
            self.effects(node)

    def _children(self, node: Node) -> None:
        self.run(node.named_children)

    def range_loop(self, node: Node) -> None:
        initializer, elements = node.child_by_field_name("initializer"), node.child_by_field_name("right")
        declarator = node.child_by_field_name("declarator")
        if initializer is not None:
            self.statement(initializer)
        self.each_element(node, declarator, elements, node.child_by_field_name("body"))

    def switch(self, node: Node) -> None:
        """Cases fall through. The last one of a switch without ``default`` is taken for what is left."""
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        if body is None:
            return
        cases = [case for case in body.named_children if case.type == "case_statement"]
        labels = [text_of(each) for case in cases if (each := case.child_by_field_name("value")) is not None]
        of_status = any(_means_success(label) for label in labels)
        lvalue = self._subject(condition) if condition is not None and (of_status or self.hot(condition)) else ""
        found: list[tuple[Condition | None, Act]] = []
        for case in cases:
            default = case.child_by_field_name("value") is None
            is_left = default or (case == cases[-1] and len(cases) == len(labels) > 1 and not _leaves(case))
            asked = _is_case(case, field_text(node, "condition"), lvalue if of_status else None)
            found.append((None if is_left else asked, partial(self._case, case)))
        self.cases(found, breaks=True, falls=True)

    def _case(self, node: Node) -> None:
        label = node.child_by_field_name("value")
        self.run(child for child in node.named_children if label is None or child.start_byte != label.start_byte)

    def _subject(self, node: Node) -> str:
        """The lvalue that holds what a switch asks for."""
        inner = node.named_children[-1]
        if inner.type == "declaration":
            self.declaration(inner)
            return declared(inner.child_by_field_name("declarator") or inner)[0]
        value = self.value(inner)
        return value if isinstance(value, str) else ""

    def return_(self, node: Node) -> None:
        value: Value = None
        for child in node.named_children:
            value = self.value(child)
            if child.type in _COMPOSED:
                self._escape_returned(child)
        if self.returns_template:  # std::optional, a smart pointer: an object that has it
            self.escape(value, node.start_byte)
            value = None
        self.emit(Return(node.start_byte, node.end_byte, value=value))
        self.builder.stop()

    def _escape_returned(self, node: Node) -> None:
        """What is returned may hold what it is made of. What CUDA returns is a status, and what is known of other functions is known."""
        function = node.child_by_field_name("function") if node.type == "call_expression" else None
        if function is None:
            self.escape_names(node)
            return
        name = text_of(function).rpartition("::")[2]
        if name in symbols() or name.encode() in self.wrappers:
            return
        self.escape_names(function)
        arguments = node.child_by_field_name("arguments")
        for each in arguments.named_children if arguments is not None else ():
            self._escape_returned(each)

    def throw(self, node: Node) -> None:
        """Without an operand and outside of a handler it ends the program, unless the function is called by one."""
        for child in node.named_children:
            self.value(child)
        if self.catching:
            self.builder.jump(self.catching[-1], "jump")
        elif node.named_children or enclosing(node, "catch_clause") is not None:
            self.emit(Return(node.start_byte, node.end_byte, how="throw"))
        self.builder.stop()

    def goto(self, node: Node) -> None:
        self.jump_to_label(text_of(node.named_children[0]))

    def try_(self, node: Node) -> None:
        """A throw in the block leads to the handlers; so may any call, as if the block had ended there: before what cannot throw, the last
        call of CUDA, and the releases that end it, because one that throws has failed."""
        builder = self.builder
        body = node.child_by_field_name("body")
        handlers = [child for child in node.named_children if child.type == "catch_clause"]
        caught, after = builder.new(), builder.new()
        hot = any(self.hot(handler) for handler in handlers)
        throws, then = _apart([] if body is None else without_comments(body), hot, self.source.code)
        self.catching.append(caught)
        self.run(throws)
        self.catching.pop()
        if not hot:
            builder.jump(caught)
            builder.start(caught)
            builder.jump(after)
            builder.start(after)
            return
        test = Condition(f"{THROWN} {node.start_byte}", (), node.start_byte, node.start_byte + 3)
        if builder.current >= 0 and throws:
            rest = builder.split(_before_last_calls(throws, builder.blocks[builder.current].operations))
            builder.branch(test, caught, rest)
            builder.start(rest)
        decided = builder.last_decision
        self.catching.append(caught)
        self.run(then)
        self.catching.pop()
        builder.jump(after)
        builder.enter(caught, decided, 0)
        self._one_handles(handlers, after)
        builder.leave()
        builder.start(after)

    def _one_handles(self, handlers: list[Node], after: int) -> None:
        builder = self.builder
        for at, handler in enumerate(handlers):
            following = -1
            if at + 1 < len(handlers):
                inside, following = builder.new(), builder.new()
                builder.branch(_catches(handler), inside, following)
                builder.enter(inside, builder.last_decision, 0)
            self.act(handler.child_by_field_name("body"))()
            builder.jump(after)
            if following >= 0:
                builder.leave()
                builder.start(following)

    def preprocessor(self, node: Node) -> None:
        """The arms of #if are taken as branches."""
        otherwise = node.child_by_field_name("alternative")
        skipped = {node.child_by_field_name("name"), node.child_by_field_name("condition"), otherwise}
        name = text_of(node.named_children[0]) if node.named_children else ""
        if name == "0":
            if otherwise is not None:
                self.statement(otherwise)
            return
        name, defined = _macro(name, node)
        test = Condition(f"{OF_BUILD}{name}", (), node.start_byte, self.source.line_end(node.start_byte))
        labels = len(self.builder.labels_set)

        def first() -> None:
            self.run(child for child in without_comments(node) if child not in skipped)

        def other() -> None:
            if otherwise is not None and self.hot(otherwise):
                self.builder.forget_labels(labels)
                self.statement(otherwise)

        self.fork(lambda yes, no: self.builder.branch(test, yes, no, defined), first, other)


def _holds_nothing(kind: str, shape: str) -> bool:
    """Whether a variable that is declared without a value is a pointer, or a handle of CUDA, of which the value is not determined."""
    return shape.strip("*") == "" and HANDLE.search(kind + shape) is not None


def _apart(statements: list[Node], hot: bool, code: bytes) -> tuple[list[Node], list[Node]]:
    """Those of a try up to the last that may throw, and the others; all are the former if nothing ``hot`` is done in a handler, or the
    function returns from the block: of that no exception is believed."""
    while len(statements) == 1 and statements[0].type == "compound_statement":
        statements = without_comments(statements[0])
    count = len(statements)
    if not hot or (statements and statements[-1].type == "return_statement"):
        return statements, []
    while count and (
        _throws_if_failed(statements, count - 1, code) or not _may_throw(_code_of(statements[count - 1], code))
    ):
        count -= 1
    return statements[:count], statements[count:]


def _code_of(statement: Node, code: bytes) -> bytes:
    return code[statement.start_byte : statement.end_byte]


def _throws_if_failed(statements: list[Node], at: int, code: bytes) -> bool:
    """Whether the statement asks if the release before it, or in its condition, has failed, and does nothing else."""
    statement = statements[at]
    condition = statement.child_by_field_name("condition") if statement.type == "if_statement" else None
    if condition is None or statement.child_by_field_name("alternative") is not None:
        return False
    asked = _code_of(condition, code)
    called = [
        *called_in((_code_of(statements[at - 1], code) if at else b"").decode("utf-8", "replace")),
        *called_in(asked.decode("utf-8", "replace")),
    ]
    ends = [found for name in called if (found := meaning(name)) is not None and found.ended]
    return (
        _ASKS_IF_FAILED.search(asked) is not None and bool(ends) and all(meaning(name) is not None for name in called)
    )


def _may_throw(statement: bytes) -> bool:
    """Whether it does more than call functions of C and of CUDA, as far as its code tells. A check of a release throws if that fails."""
    code = CHECKED.sub(_without_check, statement)
    called = {re.split(r"\W+", name)[-1] for name in called_in(code.decode("utf-8", "replace"))}
    unknown = {name for name in called - _NEVER_THROWS - symbols() if not name.startswith("make_")}
    return _THROWS.search(code) is not None or bool(unknown)


def _without_check(match: re.Match[bytes]) -> bytes:
    found = meaning(match[2].decode())
    return match[2] + b"(" if found is not None and found.ended else match[0]


def _before_last_calls(statements: list[Node], operations: list[Operation]) -> int:
    """Where the operations begin of the last statement that calls something, if that is CUDA, and of the releases right before it."""
    at = len(operations)
    for statement in reversed(statements):
        begin = at
        while begin and operations[begin - 1].start >= statement.start_byte:
            begin -= 1
        is_last = all(isinstance(each, Assign) for each in operations[at:])
        if begin == at or not all(_is_of_cuda(each, any_call=is_last) for each in operations[begin:at]):
            break
        at = begin
    return at


def _is_of_cuda(operation: Operation, any_call: bool) -> bool:
    """Whether it sets a variable, or is a release of CUDA; with ``any_call`` any call of CUDA."""
    found = meaning(operation.name) if isinstance(operation, Invoke) and not operation.launch else None
    return isinstance(operation, Assign) or (found is not None and (any_call or bool(found.ended)))


def _catches(handler: Node) -> Condition:
    """Whether the exception is this handler's and none of one before it."""
    body = handler.child_by_field_name("body")
    end = handler.end_byte if body is None else body.start_byte
    return Condition(f"{_CAUGHT} {handler.start_byte}", (), handler.start_byte, end)


def _is_case(case: Node, subject: str, status: str | None) -> Condition:
    """Whether a switch takes the case. ``status``: the lvalue of the status that it asks for; None if it asks for none."""
    label, value = field_text(case, "value") or "default", case.child_by_field_name("value")
    end = case.start_byte + 4 if value is None else value.end_byte
    text, names = f"{subject}=={label}", tuple(IDENTIFIER.findall(subject))
    return Condition(text, names, case.start_byte, end, status or "", True, _status(label), status is not None)


def _leaves(case: Node) -> bool:
    """Whether a case ends with a statement that leaves the function, or jumps."""
    last = case.named_children[-1]
    while last.type == "compound_statement" and last.named_children:
        last = last.named_children[-1]
    return last.type in ("return_statement", "throw_statement", "goto_statement")


def _means_success(label: str) -> bool:
    return "success" in label.rpartition("::")[2].lower()


def _status(label: str) -> Value:
    """A label of a switch, as the status that it names if it asks for one."""
    known = constant(label)
    return known if isinstance(known, int) else 0 if _means_success(label) else _SOME_FAILURE


def _macro(name: str, node: Node) -> tuple[str, bool]:
    """What #if, #ifdef or #ifndef asks for, and whether its first arm is taken if that is so."""
    defined = _DEFINED.fullmatch(name)
    if defined is not None:
        return defined[2], not defined[1]
    return name, node.children[0].type != "#ifndef"


Lowering.statements = by_type(
    {
        "compound_statement declaration_list preproc_else": Lowering.block,
        "declaration": Lowering.declaration,
        "if_statement": Lowering.if_,
        "while_statement for_statement do_statement": Lowering.loop,
        "for_range_loop": Lowering.range_loop,
        "switch_statement": Lowering.switch,
        "return_statement co_return_statement": Lowering.return_,
        "throw_statement": Lowering.throw,
        "break_statement": Lowering.break_,
        "continue_statement": Lowering.continue_,
        "goto_statement": Lowering.goto,
        "labeled_statement": Lowering.labeled,
        "attributed_statement": Lowering._children,
        "try_statement": Lowering.try_,
        "function_definition": Lowering.block_of_macro,
        "preproc_if preproc_ifdef preproc_elif": Lowering.preprocessor,
        "else_clause init_statement ERROR": Lowering._children,
    }
)
