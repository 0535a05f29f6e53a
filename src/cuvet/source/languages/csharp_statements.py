"""Statements and conditions of C#: the flow of control of a method."""

from collections.abc import Callable, Iterator

from cuvet.source.languages.csharp_values import Expressions, type_made, type_of
from cuvet.source.languages.flow import Act, compared
from cuvet.source.program import Function, Parameter, Value
from cuvet.source.syntax.parsing import Node, field_text, part, text_of


class CSharpLowering(Expressions):
    """Of one method."""

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
            reference = any(each.type == "modifier" and each.text in (b"ref", b"out") for each in child.children)
            parameter = Parameter(field_text(child, "name"), field_text(child, "type"), reference)
            if not reference:
                self.locals[parameter.name] = parameter.type
            yield parameter

    # Statements.

    def statement(self, node: Node) -> None:
        if node.type == "local_function_statement":
            if self.hot(node):
                self.escape_names(node)
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

    def act(self, node: Node | None) -> Act:
        return lambda: self.statement(node) if node is not None else None

    def declaration(self, node: Node) -> None:
        for child in node.named_children:
            if child.type == "variable_declaration":
                self._variables(child)

    def _variables(self, node: Node) -> None:
        for child in node.named_children:
            if child.type != "variable_declarator":
                continue
            name = field_text(child, "name")
            self.locals[name] = type_of(node) or type_made(child)
            if self.hot(child) or name.encode() in self.interest.names:
                value = self.value(child.named_children[-1]) if len(child.named_children) > 1 else None
                self.assign(name, value, child, declared=True)

    def if_(self, node: Node) -> None:
        then, otherwise = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        self.fork(self.asks(part(node, "condition")), self.act(then), self.act(otherwise))

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
        self.repeat(test, self.act(body), step, first=node.type == "do_statement")

    def foreach(self, node: Node) -> None:
        left = part(node, "left")
        name, kind = text_of(left), field_text(node, "type")

        def body() -> None:
            self.locals[name] = kind
            self.assign(name, None, left)
            self.act(node.child_by_field_name("body"))()

        self.each_of(left, part(node, "right"), body)

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
        self.cases(field_text(node, "value"), cases, breaks=True)

    def _section(self, section: Node, labels: list[Node]) -> Act:
        statements = [child for child in section.named_children if child not in labels and child.type != "comment"]

        def act() -> None:
            for child in statements:
                self.statement(child)

        return act

    def try_(self, node: Node) -> None:
        body = part(node, "body")
        handlers = [
            (child, self.act(child.child_by_field_name("body")))
            for child in node.named_children
            if child.type == "catch_clause"
        ]
        last = next((child.named_children[-1] for child in node.named_children if child.type == "finally_clause"), None)
        self.guarded(body, self.act(body), handlers, last)

    def return_(self, node: Node) -> None:
        value: Value = None
        for child in node.named_children:
            value = self.value(child)
            if child.type not in ("identifier", "member_access_expression") and value not in self.understood:
                self.escape_names(child)
        self.leave(node, "return", value)

    def goto(self, node: Node) -> None:
        """``goto case`` is not followed."""
        if node.named_children and node.named_children[0].type == "identifier":
            self.jump_to_label(text_of(node.named_children[0]))
        self.builder.stop()

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
        symbol = field_text(node, "operator")
        if kind == "parenthesized_expression":
            self.condition(node.named_children[-1], yes, no)
        elif kind == "prefix_unary_expression" and node.children[0].type == "!":
            self.condition(node.named_children[-1], no, yes)
        elif kind == "binary_expression" and symbol in ("&&", "||"):
            self.connected(node.named_children[0], node.named_children[-1], symbol == "&&", yes, no)
        elif kind == "binary_expression" and symbol in ("==", "!="):
            self._compare(node, node.named_children[0], node.named_children[-1], symbol == "==", yes, no)
        elif kind == "is_pattern_expression":
            self._pattern(node, yes, no)
        else:
            self.truth(node, self.value(node), yes, no)

    def _compare(self, node: Node, left: Node, right: Node, same: bool, yes: int, no: int) -> None:
        lvalue, other = compared(self.value(left), self.value(right))
        self.test(node, lvalue, same, other, yes, no)

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
