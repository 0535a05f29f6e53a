"""Statements and conditions of C#: the flow of control of a method."""

from collections.abc import Iterable, Iterator
from functools import partial

from cuvet.source.languages.csharp_values import Expressions, type_made, type_of
from cuvet.source.languages.csharp_wrappers import WRAPPERS
from cuvet.source.languages.flow import Act, Region
from cuvet.source.languages.lowering import case
from cuvet.source.languages.operations import by_type
from cuvet.source.program import Function, Parameter, Value
from cuvet.source.syntax.parsing import Node, field_text, part, text_of, without_comments

_DECLARES = frozenset({"local_declaration_statement", "using_statement", "variable_declaration"})


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

    def run(self, nodes: Iterable[Node]) -> None:
        """What is declared with ``using`` is disposed of after the statements that follow."""
        waiting = iter(nodes)
        for node in waiting:
            self.statement(node)
            using = node.type == "local_declaration_statement" and any(child.type == "using" for child in node.children)
            owned = self._owned(node) if using else []
            if owned:
                self._until_disposed(owned, node, lambda: self.run(waiting))

    def _owned(self, node: Node) -> list[str]:
        """The variables of the declaration that are wrappers."""
        declared = next((each for each in node.named_children if each.type == "variable_declaration"), None)
        names = [field_text(each, "name") for each in declared.named_children] if declared is not None else []
        return [name for name in names if name and self.wrapper(name) in WRAPPERS]

    def _until_disposed(self, owned: list[str], node: Node, act: Act) -> None:
        def ending() -> None:
            for at, name in enumerate(reversed(owned)):
                self.dispose(name, node.end_byte - 1 - at, node.end_byte)

        self.regions.append(Region(ending=ending))
        act()
        self.regions.pop()
        if self.builder.current >= 0:
            ending()

    def using(self, node: Node) -> None:
        given, body = node.named_children[0], self.act(node.child_by_field_name("body"))
        owned: list[str] = []
        if given.type == "variable_declaration":
            self.variables(given)
            owned = self._owned(node)
        else:
            value = self.value(given)
            if isinstance(value, str) and self.wrapper(value) in WRAPPERS:
                owned = [value]
            else:
                self.escape(value, node.start_byte)
        if owned:
            self._until_disposed(owned, node, body)
        else:
            body()

    def statement(self, node: Node) -> None:
        if node.type == "local_function_statement":
            if self.hot(node):
                self.escape_names(node)
        elif self.hot(node) or node.type in _DECLARES:
            handler = self.statements.get(node.type)
            if handler is not None:
                handler(self, node)
            else:
                for child in node.named_children:
                    if child.type in ("block", "variable_declaration") or child.type.endswith("statement"):
                        self.statement(child)
                    else:
                        self.value(child)

    def declaration(self, node: Node) -> None:
        for child in node.named_children:
            if child.type == "variable_declaration":
                self.variables(child)

    def variables(self, node: Node) -> None:
        for child in node.named_children:
            if child.type != "variable_declarator":
                continue
            name = field_text(child, "name")
            self.locals[name] = type_of(node) or type_made(child)
            if self.wrapper(name):
                self.declared(name, child)
                if len(child.named_children) > 1 and self.make(name, child.named_children[-1]):
                    continue
            if self.hot(child) or name.encode() in self.interest.names:
                value = self.value(child.named_children[-1]) if len(child.named_children) > 1 else None
                self.assign(name, value, child, declared=True)

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
                default = any(child.type == "default" for child in section.children)
                label = text_of(labels[0]) if labels and not default else None
                test = case(section, field_text(node, "value"), label)
                statements = [child for child in without_comments(section) if child not in labels]
                cases.append((test, partial(self.run, statements)))
        self.cases(sorted(cases, key=lambda each: each[0] is None), breaks=True)

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

    def yield_(self, node: Node) -> None:
        """Whoever runs through the values has this one."""
        for child in node.named_children:
            self.escape(self.value(child), node.start_byte)

    def goto(self, node: Node) -> None:
        """``goto case`` is not followed."""
        if node.named_children and node.named_children[0].type == "identifier":
            self.jump_to_label(text_of(node.named_children[0]))
        self.builder.stop()

    def preprocessor(self, node: Node) -> None:
        """#if: taken as a branch."""
        self.perhaps(text_of(node).split("\n")[0].strip(), node, lambda: self._arm(node))

    def _arm(self, node: Node) -> None:
        children = node.named_children
        self.run(child for child in children if child.type in self.statements or child.type.endswith("_statement"))

    # Conditions.

    def truth(self, node: Node, yes: int, no: int) -> None:
        """Also ``x is null``, ``x is not CUResult.Success``."""
        subject, pattern = node.child_by_field_name("expression"), node.child_by_field_name("pattern")
        same = pattern is None or pattern.type != "negated_pattern"
        if pattern is not None and not same:
            pattern = pattern.named_children[0]
        if node.type != "is_pattern_expression":
            super().truth(node, yes, no)
        elif subject is not None and pattern is not None and pattern.type == "constant_pattern":
            self.compare(node, subject, pattern.named_children[0], same, yes, no)
        else:
            self.test(node, yes, no)


CSharpLowering.statements = by_type(
    {
        "block": CSharpLowering.block,
        "local_declaration_statement": CSharpLowering.declaration,
        "variable_declaration": CSharpLowering.variables,
        "if_statement": CSharpLowering.if_,
        "while_statement do_statement for_statement": CSharpLowering.loop,
        "using_statement": CSharpLowering.using,
        "foreach_statement": CSharpLowering.foreach,
        "switch_statement": CSharpLowering.switch,
        "try_statement": CSharpLowering.try_,
        "return_statement arrow_expression_clause": CSharpLowering.return_,
        "yield_statement": CSharpLowering.yield_,
        "throw_statement": CSharpLowering.throw,
        "break_statement": CSharpLowering.break_,
        "continue_statement": CSharpLowering.continue_,
        "goto_statement": CSharpLowering.goto,
        "labeled_statement": CSharpLowering.labeled,
        "preproc_if preproc_elif preproc_else": CSharpLowering.preprocessor,
    }
)
