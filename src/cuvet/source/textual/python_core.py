"""Streams of cuda.core that are used after they were closed."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules import rule_called
from cuvet.source.languages.python_names import Names
from cuvet.source.syntax.parsing import Node, Source, enclosing, field_text, text_of
from cuvet.source.textual.python_text import Place, call_at, called, finding_at, may_be_meant, only_value, uses_in

_CLOSED = re.compile(rb"(?<![\w.])([A-Za-z_]\w*)\.close[ \t]*\([ \t]*\)")
_DEVICES = frozenset({"cuda.core.Device", "cuda.core.experimental.Device"})
_SIMPLE = frozenset({"expression_statement", "return_statement", "assert_statement"})
"""Statements that are sure to do all that is written in them."""
_ONLY_NAMES = frozenset(
    {"delete_statement", "comparison_operator", "lambda", "conditional_expression", "boolean_operator"}
)


def closes_streams(text: bytes) -> bool:
    """Whether a file may make streams with cuda.core, and close them."""
    return b"cuda.core" in text and b".create_stream" in text and b".close" in text


def closed_findings(root: Node, source: Source) -> Iterator[Finding]:
    """The first use of each stream in the statements of the same block that follow its ``close``."""
    names = Names(source.text)
    for match in _CLOSED.finditer(source.text):
        name = match[1].decode()
        close = call_at(root, match.end() - 1)
        statement = close.parent if close is not None else None
        if close is None or statement is None or statement.type != "expression_statement" or may_be_meant(close):
            continue
        made = only_value(name, close, root)
        if made is None or not _is_stream(made, root, names):
            continue
        use = _used_after(statement, name, root)
        if use is not None and not may_be_meant(use):
            rule = rule_called("stream-use-after-destroy")
            assert rule is not None
            line = source.line(close.start_byte)
            message = f"stream `{name}` was closed in line {line}, before this call"
            path = (Place(made, f"`{name}` is made here"), Place(close, f"`{name}` is closed here"))
            yield finding_at(rule, use, message, source, path)


def _is_stream(made: Node, root: Node, names: Names) -> bool:
    """Whether it is ``device.create_stream(…)`` of a device of cuda.core."""
    function = made.child_by_field_name("function") if made.type == "call" else None
    device = function.child_by_field_name("object") if function is not None and function.type == "attribute" else None
    if function is None or device is None or field_text(function, "attribute") != "create_stream":
        return False
    if device.type == "identifier":
        device = only_value(text_of(device), made, root)
    return device is not None and device.type == "call" and called(device, names) in _DEVICES


def _used_after(statement: Node, name: str, root: Node) -> Node | None:
    """The call that uses the variable in the first statement behind that names it, if it is sure to be made."""
    following = statement.next_named_sibling
    while following is not None:
        uses = [each for each in uses_in(following, name, root) if each.type == "identifier"]
        if uses:
            call = enclosing(uses[0], "call")
            return call if following.type in _SIMPLE and _is_use(uses[0], call, name, following) else None
        if following.type in ("return_statement", "raise_statement", "continue_statement", "break_statement"):
            return None
        following = following.next_named_sibling
    return None


def _is_use(node: Node, call: Node | None, name: str, statement: Node) -> bool:
    """Whether CUDA is given the stream: it is a method's object or an argument, and nothing around it makes that depend on something."""
    if call is None or field_text(call, "function") == f"{name}.close" or call.start_byte < statement.start_byte:
        return False
    around = enclosing(node, *_ONLY_NAMES, statement.type)
    method = field_text(call, "function") in (f"{name}.sync", f"{name}.record", f"{name}.wait")
    launch = field_text(call, "function").rpartition(".")[2] == "launch"
    return around == statement and (method or launch)
