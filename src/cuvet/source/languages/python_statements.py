"""Statements of Python: the flow of control of a function."""

import re
from collections.abc import Iterator, Sequence

from cuvet.source.languages.lowering import case
from cuvet.source.languages.operations import by_type
from cuvet.source.languages.python_values import Expressions
from cuvet.source.program import Function, Parameter
from cuvet.source.syntax.parsing import Node, field_text, part, text_of

_EXPECTS_FAILURE = re.compile(r"(?i)raises|suppress|assertwarns")
_DEFINITIONS = frozenset({"function_definition", "class_definition", "decorated_definition"})


class PythonLowering(Expressions):
    """Of one function."""

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
                self.escape_names(node)
        elif node.type in ("global_statement", "nonlocal_statement"):
            self.globals.update(text_of(child) for child in node.named_children)
        elif self.hot(node):
            handler = self.statements.get(node.type)
            if handler is not None:
                handler(self, node)
            else:
                for child in node.named_children:
                    self.value(child)

    def if_(self, node: Node) -> None:
        self._arms(node, node.children_by_field_name("alternative"))

    def _arms(self, node: Node, others: Sequence[Node]) -> None:
        then = self.act(node.child_by_field_name("consequence"))
        self.fork(self.asks(part(node, "condition")), then, lambda: self._otherwise(others) if others else None)

    def _otherwise(self, others: Sequence[Node]) -> None:
        first = others[0]
        if first.type == "elif_clause":
            self._arms(first, others[1:])
        else:
            self.block(first.child_by_field_name("body"))

    def while_(self, node: Node) -> None:
        self.repeat(self.asks(part(node, "condition")), self.act(node.child_by_field_name("body")))
        self._after_loop(node)

    def for_(self, node: Node) -> None:
        left = part(node, "left")

        def body() -> None:
            for lvalue in self.targets(left):
                self.assign(lvalue, None, left)
            self.block(node.child_by_field_name("body"))

        self.each_of(left, part(node, "right"), body)
        self._after_loop(node)

    def _after_loop(self, node: Node) -> None:
        otherwise = node.child_by_field_name("alternative")
        if otherwise is not None and self.hot(otherwise):
            self.perhaps("the loop was not left early", otherwise, self.act(otherwise.child_by_field_name("body")))

    def try_(self, node: Node) -> None:
        body = part(node, "body")
        clauses = {child.type: child for child in node.named_children}
        last = clauses.get("finally_clause")
        handlers = [
            (child, self.act(child.named_children[-1]))
            for child in node.named_children
            if child.type in ("except_clause", "except_group_clause")
        ]
        otherwise = clauses.get("else_clause")

        def act() -> None:
            self.block(body)
            if otherwise is not None:
                self.block(otherwise.child_by_field_name("body"))

        self.guarded(body, act, handlers, last.named_children[-1] if last is not None else None)

    def with_(self, node: Node) -> None:
        for item in node.named_children[0].named_children:
            context = item.child_by_field_name("value")
            if context is None:
                continue
            if context.type == "as_pattern":
                self.escape(self.one(context.named_children[0]), context.start_byte)
                for lvalue in self.targets(context.named_children[-1]):
                    self.assign(lvalue, None, context)
            elif context.type == "call" and _EXPECTS_FAILURE.search(text_of(context.named_children[0])):
                self.escape_names(node)
                return
            else:
                self.escape(self.one(context), context.start_byte)
        self.block(node.child_by_field_name("body"))

    def match(self, node: Node) -> None:
        body = node.child_by_field_name("body")
        cases = []
        for clause in body.named_children if body is not None else ():
            if clause.type == "case_clause":
                label = text_of(clause.named_children[0])
                test = case(clause, field_text(node, "subject"), None if label == "_" else label)
                cases.append((test, self.act(clause.child_by_field_name("consequence"))))
        self.cases(cases, breaks=False)

    def return_(self, node: Node) -> None:
        values = [self.one(child) for child in node.named_children if child.type != "comment"]
        for child in node.named_children:
            if child.type in ("expression_list", "tuple", "list", "call", "conditional_expression", "dictionary"):
                self.escape_names(child)
        self.leave(node, "return", values[0] if values else None)

    def assert_(self, node: Node) -> None:
        before = self.temporaries
        self.value(node.named_children[0])
        self.builder.check(before)

    def delete(self, node: Node) -> None:
        for lvalue in self.targets(node.named_children[0]):
            self.escape(lvalue, node.start_byte)
            self.assign(lvalue, None, node)


PythonLowering.statements = by_type(
    {
        "block": PythonLowering.block,
        "if_statement": PythonLowering.if_,
        "while_statement": PythonLowering.while_,
        "for_statement": PythonLowering.for_,
        "try_statement": PythonLowering.try_,
        "with_statement": PythonLowering.with_,
        "match_statement": PythonLowering.match,
        "return_statement": PythonLowering.return_,
        "raise_statement": PythonLowering.throw,
        "assert_statement": PythonLowering.assert_,
        "break_statement": PythonLowering.break_,
        "continue_statement": PythonLowering.continue_,
        "delete_statement": PythonLowering.delete,
    }
)
