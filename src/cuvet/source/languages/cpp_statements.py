"""Statements of C++: the flow of control of a function."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING

from cuvet.source.calls import symbols
from cuvet.source.languages.cpp_text import adds_nothing, asked, declared, goes_on, is_plain, qualified
from cuvet.source.languages.cpp_values import IDENTIFIER, TRANSPARENT, Expressions
from cuvet.source.ownership import is_view
from cuvet.source.parsing import not_parsed, text_of
from cuvet.source.program import Assign, Condition, Escape, Function, Return, Value

if TYPE_CHECKING:
    from tree_sitter import Node

_ASSIGNS = re.compile(
    rb"\b([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*(?:(?:[-+*/|&^%]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)|[(,]\s*&([A-Za-z_]\w*)"
)
"""A variable gets another value, as far as the text shows."""
_DEFINED = re.compile(r"(!?)\s*defined\s*\(?\s*(\w+)\s*\)?")
_MOST_UNREAD = 80
"""Bytes of text that could not be parsed, in one piece, of which the rest of the function does not depend."""

_COMPOSED = frozenset(("initializer_list", "compound_literal_expression", "call_expression", "conditional_expression"))
"""Expressions whose value may hold what they are made of."""


class Lowering(Expressions):
    """Of one function: from its node to a ``Function``."""

    assigned: dict[str, list[int]] | None = None
    """By variable: where the text assigns to it."""

    def function(self) -> Function:
        node = self.node
        for parameter in self.parameters:
            if not parameter.reference:
                self.locals[parameter.name] = parameter.type
        self._initializers(node)
        self.statement(self.body)
        self.builder.add(Return(self.body.end_byte - 1, self.body.end_byte, how="end"))
        self.builder.stop()
        name, owner = qualified(self.function_declarator, self.owner)
        return Function(
            name=name,
            owner=owner,
            parameters=self.parameters,
            blocks=self.builder.finish(),
            start=node.start_byte,
            end=node.end_byte,
            locals=self.locals,
            broken=node.has_error and self._is_broken(node),
            static=b"static" in self.text[node.start_byte : self.body.start_byte].split(),
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
                    place = text_of(name)
                    if self.concerns(place):
                        self.emit(
                            Assign(
                                place,
                                given[0] if len(given) == 1 else 0 if not given else None,
                                each.start_byte,
                                each.end_byte,
                            )
                        )

    def statement(self, node: Node) -> None:
        if not self.hot(node):
            self._declare_only(node)
            return
        handler = _STATEMENTS.get(node.type)
        if handler is not None:
            handler(self, node)
        elif node.is_named:
            self.effects(node)

    def _declare_only(self, node: Node) -> None:
        """Nothing of interest happens; a local variable's name may still hide a member's or a global's."""

    def block(self, node: Node) -> None:
        for child in node.named_children:
            if child.type != "comment":
                self.statement(child)

    def effects(self, node: Node) -> None:
        """An expression whose value nobody takes."""
        for child in node.named_children if node.type in ("expression_statement",) else (node,):
            value = self.value(child, dropped=True)
            del value

    def declaration(self, node: Node) -> None:
        type_node = node.child_by_field_name("type")
        kind = text_of(type_node) if type_node is not None else ""
        static = any(
            each.type == "storage_class_specifier" and each.text in (b"static", b"extern", b"thread_local")
            for each in node.children
        )
        for declarator in node.children_by_field_name("declarator"):
            self._declarator(declarator, kind, static)

    def _declarator(self, node: Node, kind: str, static: bool) -> None:
        name, shape = declared(node)
        value_node = node.child_by_field_name("value") if node.type == "init_declarator" else None
        if shape.endswith("()") and value_node is None:
            # `T name(argument)` reads as a function; it is a variable when the argument is one of ours.
            for inner in node.named_children:
                if inner.type == "parameter_list" and self.hot(inner):
                    if is_view(kind):
                        self.locals[name] = kind
                        result = self.view(kind, node, [text_of(each) for each in inner.named_children])
                        self.emit(Assign(name, result, node.start_byte, node.end_byte, declared=True, kind=kind))
                    else:
                        self._escape_words(inner)
            return
        local = not static and not shape.startswith("&")
        if local:
            self.locals[name] = kind + shape
        value: Value = None
        if value_node is not None:
            if value_node.type in ("argument_list", "initializer_list"):
                given = value_node.named_children
                if len(given) == 1 and (is_plain(kind) or shape.startswith("*")):
                    value = self.value(given[0])
                elif not given:
                    value = 0
                elif is_view(kind):
                    value = self.view(kind, value_node, [self.value(each) for each in given])
                else:
                    self._take_all(given)
            else:
                value = self.value(value_node)
        if static:
            self._escape(value, node.start_byte)
            value = None
        if shape.startswith("&"):
            if isinstance(value, str):
                self.emit(Escape(value, node.start_byte, written=True))
            value = None
        if self.concerns(name) or isinstance(value, str):
            self.emit(Assign(name, value, node.start_byte, node.end_byte, declared=local, kind=kind + shape))

    def if_(self, node: Node) -> None:
        condition = node.child_by_field_name("condition")
        then = node.child_by_field_name("consequence")
        otherwise = node.child_by_field_name("alternative")
        if condition is None or then is None:
            self._children(node)
            return
        if node.children[1].type == "constexpr":
            condition = node.child_by_field_name("condition") or condition
        builder = self.builder
        yes, no, join = builder.new(), builder.new(), builder.new()
        self.condition(condition, yes, no)
        decided = builder.last_decision
        builder.enter(yes, decided, 0)
        self.statement(then)
        builder.jump(join)
        builder.leave()
        builder.enter(no, decided, 1)
        if otherwise is not None:
            for child in otherwise.named_children:
                self.statement(child)
        builder.jump(join)
        builder.leave()
        builder.start(join)

    def _children(self, node: Node) -> None:
        for child in node.named_children:
            self.statement(child)

    def loop(self, node: Node) -> None:
        """while, for and range-for; ``do`` tests at the end."""
        builder = self.builder
        body = node.child_by_field_name("body") or node.named_children[-1]
        initializer = node.child_by_field_name("initializer")
        if initializer is not None:
            self.statement(initializer)
        ranged = node.child_by_field_name("right") if node.type == "for_range_loop" else None
        if ranged is not None and self.hot(ranged):
            value = self.value(ranged)
            if isinstance(value, str):
                self.emit(Escape(value, ranged.start_byte, written=True))
        head, inside, after, again = builder.new(), builder.new(), builder.new(), builder.new()
        builder.jump(inside if node.type == "do_statement" else head)
        condition = node.child_by_field_name("condition")
        builder.start(head)
        if condition is not None:
            self.condition(condition, inside, after)
        else:
            builder.branch(None if node.type == "for_statement" else goes_on(node), inside, after)
        builder.leave_last(after)
        decided = builder.last_decision
        builder.loops.append((after, again))
        builder.enter(inside, decided, 0)
        if node.type == "for_range_loop":
            declarator = node.child_by_field_name("declarator")
            if declarator is not None and self.hot(declarator):
                name, _ = declared(declarator)
                self.emit(Assign(name, None, declarator.start_byte, declarator.end_byte))
        self.statement(body)
        builder.jump(again)
        builder.start(again)
        update = node.child_by_field_name("update")
        if update is not None and self.hot(update):
            self.value(update)
        builder.jump(head, "back")
        builder.leave()
        builder.loops.pop()
        builder.start(after)

    def switch(self, node: Node) -> None:
        builder = self.builder
        condition = node.child_by_field_name("condition")
        body = node.child_by_field_name("body")
        if body is None:
            return
        if condition is not None and self.hot(condition):
            self.value(condition)
        subject = text_of(condition) if condition is not None else ""
        after = builder.new()
        builder.loops.append((after, builder.loops[-1][1] if builder.loops else -1))
        default = False
        falls = -1
        for case in body.named_children:
            if case.type != "case_statement":
                continue
            value = case.child_by_field_name("value")
            default = default or value is None
            inside, following = builder.new(), builder.new()
            label = text_of(value) if value is not None else "default"
            test = Condition(
                f"{subject}=={label}", tuple(IDENTIFIER.findall(subject)), case.start_byte, case.start_byte + 4
            )
            builder.branch(test if value is not None else None, inside, following)
            if falls >= 0:
                builder.edge(falls, inside)
            builder.enter(inside, builder.last_decision, 0)
            for child in case.named_children:
                if value is None or child.start_byte != value.start_byte:
                    self.statement(child)
            falls = builder.current
            builder.leave()
            builder.start(following)
        if falls >= 0:
            builder.edge(falls, after)
        builder.jump(after)
        builder.loops.pop()
        builder.start(after)

    def return_(self, node: Node) -> None:
        value: Value = None
        for child in node.named_children:
            value = self.value(child)
            if child.type in _COMPOSED:
                self._escape_returned(child)
        self.emit(Return(node.start_byte, node.end_byte, value=value))
        self.builder.stop()

    def _escape_returned(self, node: Node) -> None:
        """What is returned may hold what it is made of. What CUDA returns is a status, and what is known of other functions is known."""
        function = node.child_by_field_name("function") if node.type == "call_expression" else None
        if function is None:
            self._escape_words(node)
            return
        name = text_of(function).rpartition("::")[2]
        if name in symbols() or name.encode() in self.wrappers:
            return
        self._escape_words(function)
        arguments = node.child_by_field_name("arguments")
        for each in arguments.named_children if arguments is not None else ():
            self._escape_returned(each)

    def throw(self, node: Node) -> None:
        for child in node.named_children:
            self.value(child)
        if self.catching:
            self.builder.jump(self.catching[-1], "jump")
        else:
            self.emit(Return(node.start_byte, node.end_byte, how="throw"))
        self.builder.stop()

    def break_(self, node: Node) -> None:
        if self.builder.loops:
            self.builder.jump(self.builder.loops[-1][0], "jump")
        self.builder.stop()

    def continue_(self, node: Node) -> None:
        if self.builder.loops and self.builder.loops[-1][1] >= 0:
            self.builder.jump(self.builder.loops[-1][1], "jump")
        self.builder.stop()

    def goto(self, node: Node) -> None:
        self.builder.jump(self.builder.label(text_of(node.named_children[0])), "jump")
        self.builder.stop()

    def labeled(self, node: Node) -> None:
        label = self.builder.label(text_of(node.named_children[0]))
        self.builder.jump(label)
        self.builder.start(label)
        for child in node.named_children[1:]:
            self.statement(child)

    def try_(self, node: Node) -> None:
        """A throw in the block leads to the handlers; so may any call, as if the block had ended there."""
        builder = self.builder
        body = node.child_by_field_name("body")
        handlers = [child for child in node.named_children if child.type == "catch_clause"]
        caught, after = builder.new(), builder.new()
        self.catching.append(caught)
        if body is not None:
            self.statement(body)
        self.catching.pop()
        if not any(self.hot(handler) for handler in handlers):
            builder.jump(caught)
            builder.start(caught)
            builder.jump(after)
            builder.start(after)
            return
        test = Condition("an exception is thrown", (), node.start_byte, node.start_byte + 3)
        if builder.current >= 0:
            builder.branch(test, caught, after)
        decided = builder.last_decision
        for handler in handlers:
            builder.enter(caught, decided, 0)
            inside = handler.child_by_field_name("body")
            if inside is not None:
                self.statement(inside)
            builder.jump(after)
            builder.leave()
        builder.start(after)

    def preprocessor(self, node: Node) -> None:
        """The arms of #if are taken as branches."""
        builder = self.builder
        otherwise = node.child_by_field_name("alternative")
        skipped = {node.child_by_field_name("name"), node.child_by_field_name("condition"), otherwise}
        name = text_of(node.named_children[0]) if node.named_children else ""
        if node.type == "preproc_else":
            self.block(node)
            return
        if name in ("0",):
            if otherwise is not None:
                self.preprocessor(otherwise)
            return
        inside, other, after = builder.new(), builder.new(), builder.new()
        name, defined = _macro(name, node)
        test = Condition(f"#if {name}", (), node.start_byte, self.source.line_end(node.start_byte))
        builder.branch(test, inside, other, defined)
        decided = builder.last_decision
        builder.enter(inside, decided, 0)
        for child in node.named_children:
            if child not in skipped and child.type != "comment":
                self.statement(child)
        builder.jump(after)
        builder.leave()
        builder.enter(other, decided, 1)
        if otherwise is not None and self.hot(otherwise):
            self.preprocessor(otherwise)
        builder.jump(after)
        builder.leave()
        builder.start(after)

    def condition(self, node: Node, yes: int, no: int) -> None:
        """Go to ``yes`` or ``no``. ``&&``, ``||`` and ``!`` become branches of their own."""
        kind = node.type
        operator = node.child_by_field_name("operator")
        symbol = text_of(operator) if operator is not None else ""
        if kind in ("condition_clause", "parenthesized_expression"):
            self._in_brackets(node, yes, no)
        elif kind in ("declaration", "init_declarator"):
            if kind == "declaration":
                self.declaration(node)
            name, _ = declared(node.child_by_field_name("declarator") or node)
            self._branch(node, yes, no, place=name, same=True)
        elif kind == "unary_expression" and symbol in ("!", "not"):
            self.condition(node.child_by_field_name("argument") or node.named_children[-1], no, yes)
        elif kind == "binary_expression" and symbol in ("&&", "||", "and", "or"):
            middle = self.builder.new()
            both = symbol in ("&&", "and")
            self.condition(node.named_children[0], middle if both else yes, no if both else middle)
            self.builder.start(middle)
            self.condition(node.named_children[-1], yes, no)
        elif kind == "binary_expression" and symbol in ("==", "!="):
            self._comparison(node, symbol == "==", yes, no)
        elif kind == "call_expression" and text_of(node.named_children[0]) in TRANSPARENT:
            arguments = node.child_by_field_name("arguments")
            given = arguments.named_children if arguments is not None else []
            self.condition(given[0] if given else node, yes, no)
        else:
            self._truth(node, yes, no)

    def _in_brackets(self, node: Node, yes: int, no: int) -> None:
        """``(condition)``, or ``(statement; condition)``."""
        inner = [child for child in node.named_children if child.type != "comment"]
        for child in inner[:-1]:
            self.statement(child)
        if inner:
            self.condition(inner[-1], yes, no)
        else:
            self.builder.branch(None, yes, no)

    def _comparison(self, node: Node, same: bool, yes: int, no: int) -> None:
        first, second = self.value(node.named_children[0]), self.value(node.named_children[-1])
        place, other = (first, second) if isinstance(first, str) else (second, first)
        named = place if isinstance(place, str) else ""
        self._branch(node, yes, no, place=named, same=same, value=other, compares=True)

    def _truth(self, node: Node, yes: int, no: int) -> None:
        value = self.value(node)
        if isinstance(value, int):
            self.builder.branch(None, yes if value else no, yes if value else no)
        else:
            self._branch(node, yes, no, place=value if isinstance(value, str) else asked(node))

    def _branch(
        self,
        node: Node,
        yes: int,
        no: int,
        *,
        place: str = "",
        same: bool = False,
        value: Value = 0,
        compares: bool = False,
    ) -> None:
        text = re.sub(r"\s+", "", text_of(node))
        names = tuple(dict.fromkeys(IDENTIFIER.findall(text[:400])))
        test = Condition(
            f"{text[:200]} {self._changes(names, node.start_byte)}",
            names,
            node.start_byte,
            node.end_byte,
            place=place,
            same=same,
            value=value,
            compares=compares,
        )
        self.builder.branch(test, yes, no)

    def _changes(self, names: tuple[str, ...], before: int) -> str:
        """How often the text above assigned to each of the variables: where it is the same, the variable is."""
        if self.assigned is None:
            self.assigned = {}
            for match in _ASSIGNS.finditer(self.text, self.body.start_byte, self.body.end_byte):
                name = (match[1] or match[2] or match[3]).decode()
                self.assigned.setdefault(name, []).append(match.start())
        return ".".join(str(bisect_left(self.assigned.get(name, ()), before)) for name in names)


def _macro(name: str, node: Node) -> tuple[str, bool]:
    """What #if, #ifdef or #ifndef asks for, and whether its first arm is taken if that is so."""
    defined = _DEFINED.fullmatch(name)
    if defined is not None:
        return defined[2], not defined[1]
    return name, node.children[0].type != "#ifndef"


_STATEMENTS: dict[str, Callable[[Lowering, Node], None]] = {
    "compound_statement": Lowering.block,
    "declaration_list": Lowering.block,
    "declaration": Lowering.declaration,
    "if_statement": Lowering.if_,
    "while_statement": Lowering.loop,
    "for_statement": Lowering.loop,
    "for_range_loop": Lowering.loop,
    "do_statement": Lowering.loop,
    "switch_statement": Lowering.switch,
    "return_statement": Lowering.return_,
    "co_return_statement": Lowering.return_,
    "throw_statement": Lowering.throw,
    "break_statement": Lowering.break_,
    "continue_statement": Lowering.continue_,
    "goto_statement": Lowering.goto,
    "labeled_statement": Lowering.labeled,
    "try_statement": Lowering.try_,
    "preproc_if": Lowering.preprocessor,
    "preproc_ifdef": Lowering.preprocessor,
    "preproc_elif": Lowering.preprocessor,
    "preproc_else": Lowering.preprocessor,
    "else_clause": Lowering._children,
    "ERROR": Lowering._children,
}
