"""Contexts that a function of Python or C# pushes, pops at its end, and leaves on the stack of the thread on one way out before."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding, Step
from cuvet.rules.source.context_not_popped import SourceContextNotPopped
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.parsing import Node, Source, enclosing, field_text, text_of
from cuvet.source.textual.bounds import MOST, first
from cuvet.source.textual.context_stack import STACK

_PUSH = re.compile(rb"\.(?:push|PushContext)[ \t]*\([ \t]*\)|\bcuCtxPushCurrent(?:_v2)?[ \t]*\(")
_CALLS = ("call", "invocation_expression")
_FUNCTIONS = tuple(
    """
    function_definition lambda method_declaration constructor_declaration destructor_declaration local_function_statement lambda_expression
    anonymous_method_expression accessor_declaration
    """.split()
)
_SCOPES = (*_FUNCTIONS, "class_definition", "class_declaration", "module", "compilation_unit")
_LEAVES = frozenset({"return_statement", "raise_statement", "throw_statement"})
_BLOCKS = frozenset({"block", "module"})
_METHODS = {"push": frozenset({"pop", "detach"}), "PushContext": frozenset({"PopContext", "Dispose"})}
"""By the method of PyCUDA or ManagedCuda that pushes a context: those that take it from the stack."""
_CONTEXT = re.compile(r"(?:.*\.)?Context")


def pushes_contexts(text: bytes) -> bool:
    """Whether a file may push contexts, and pop them."""
    return _PUSH.search(text) is not None and (
        b"cuCtxPushCurrent" in text or b"pycuda" in text or b"ManagedCuda" in text
    )


def pushed_findings(root: Node, source: Source) -> Iterator[Finding]:
    """The first way out of each function that leaves its context on the stack."""
    for match in first(_PUSH.finditer(source.text)):
        push = enclosing(root.descendant_for_byte_range(match.end() - 1, match.end()), *_CALLS, *_BLOCKS)
        name = _name(push) if push is not None else ""
        function = enclosing(push, *_SCOPES)
        if (
            push is None
            or function is None
            or function.type not in _FUNCTIONS
            or not (name in STACK.begins or name in _METHODS)
        ):
            continue
        pops = [each for each in _within(function) if each.type in _CALLS and _pops(each, push, name)]
        if len(pops) > MOST:
            continue
        pop = next((each for each in pops if _is_way_out(each, push)), None)
        left = _left(function, push, pop, pops, source) if pop is not None else None
        if left is not None and pop is not None:
            yield _finding(push, left, pop, function, source)


def _finding(push: Node, left: Node, pop: Node, function: Node, source: Source) -> Finding:
    shown = source.function_name("", field_text(function, "name"))
    how = "returns" if left.type == "return_statement" else "raises" if left.type == "raise_statement" else "throws"
    message = f"the context pushed here stays current when the function {how} in line {source.line(left.start_byte)}"
    at, away, back = (frame(source, each.start_byte, each.end_byte, shown) for each in (push, left, pop))
    path = (
        Step(frame=away, text=f"the function {how} here"),
        Step(frame=back, text="on its other way it pops the context"),
    )
    return finding(SourceContextNotPopped, message, site(field_text(push, "function"), at), path=path, severity="note")


def _name(call: Node) -> str:
    return field_text(call, "function").rpartition(".")[2] if call.type in _CALLS else ""


def _pops(call: Node, push: Node, name: str) -> bool:
    """Whether the call takes from the stack what the push put there."""
    if name in STACK.begins:
        return _name(call) in STACK.ends
    owner, _, method = field_text(call, "function").rpartition(".")
    same = owner == field_text(push, "function").rpartition(".")[0] or _CONTEXT.fullmatch(owner) is not None
    return method in _METHODS[name] and same and text_of(call).endswith(f"{method}()")


def _within(function: Node) -> Iterator[Node]:
    """All nodes of the function, without those of functions in it."""
    waiting = [function]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [each for each in node.named_children if each.type not in _SCOPES]


def _statement(node: Node) -> Node:
    while node.parent is not None and node.parent.type not in _BLOCKS:
        node = node.parent
    return node


def _is_way_out(pop: Node, push: Node) -> bool:
    """Whether the pop follows the push in its block, or in the ``finally`` of a ``try`` that does."""
    block, statement = _statement(push).parent, _statement(pop)
    if pop.start_byte < push.end_byte:
        return False
    if statement.parent == block:
        return True
    clause = statement.parent.parent if statement.parent is not None else None
    return clause is not None and clause.type == "finally_clause" and _statement(clause).parent == block


def _left(function: Node, push: Node, pop: Node, pops: list[Node], source: Source) -> Node | None:
    """The first return or exception between them that leaves the context on the stack."""
    end = _statement(pop).start_byte
    after = enclosing(pop, "finally_clause")
    if after is not None and after.parent is not None and after.parent.start_byte > push.end_byte:
        end = after.parent.start_byte
    own, block = _statement(push), _statement(push).parent
    found = [each for each in _within(function) if each.type in _LEAVES and own.end_byte <= each.start_byte < end]
    for each in first(sorted(found, key=lambda node: node.start_byte)):
        if block is None or not block.start_byte <= each.start_byte < block.end_byte:
            return None
        between = source.text[own.end_byte : each.end_byte]
        follows = enclosing(each, "if_statement") == own.next_named_sibling
        if STACK.may_end.search(between):
            return None
        if not (follows and _is_of_status(own)) and not _is_caught(each, block) and not _is_popped(each, pops):
            return each
    return None


def _is_of_status(push: Node) -> bool:
    """Whether the statement keeps the status of the push, which the next one may ask for."""
    return "=" in text_of(push)


def _is_caught(left: Node, block: Node) -> bool:
    """Whether something between the block and the statement may pop on the way out: a ``try``, a ``with``, a ``using``."""
    around = left.parent
    while around is not None and around != block:
        if around.type in ("try_statement", "with_statement", "using_statement"):
            return True
        around = around.parent
    return False


def _is_popped(left: Node, pops: list[Node]) -> bool:
    """Whether a pop stands before it in a block around it."""
    for pop in pops:
        block = _statement(pop).parent
        if block is not None and pop.end_byte <= left.start_byte and block.end_byte >= left.end_byte:
            return True
    return False
