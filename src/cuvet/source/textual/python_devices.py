"""Streams of CuPy that are entered while another device is current than the one that they were made on."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.stream.other_context import StreamOtherContext
from cuvet.source.languages.python_names import Names
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, text_of
from cuvet.source.textual.python_text import Place, call_at, called, finding_at, may_be_meant, only_value

_STREAM = re.compile(rb"\bStream\s*\(")
_SETS_DEVICE = re.compile(rb"\bsetDevice\s*\(|\.use\s*\(")
_WITH = re.compile(rb"\bwith[ \t]+([A-Za-z_]\w*)[ \t]*:")


def streams_of_devices(text: bytes) -> bool:
    """Whether a file may make streams on several devices, and sets the current one with blocks alone."""
    return (
        b"cupy" in text
        and b"Device(" in text
        and _STREAM.search(text) is not None
        and _SETS_DEVICE.search(text) is None
    )


def device_findings(root: Node, source: Source) -> Iterator[Finding]:
    """The ``with`` of a stream in the block of a device, if the stream was made in that of another one."""
    names = Names(source.text)
    for match in _WITH.finditer(source.text):
        name = match[1].decode()
        node = root.descendant_for_byte_range(match.start(1), match.end(1))
        made = only_value(name, node, root) if node is not None and node.type == "identifier" else None
        if node is None or made is None or made.type != "call" or called(made, names) != "cupy.cuda.Stream":
            continue
        block = enclosing(node, "with_statement")
        own = _device(made, names)
        current = _device(block.parent, names) if block is not None else ""
        if block is None or not own or not current or own == current or may_be_meant(block):
            continue
        call = call_at(root, made.end_byte - 1) or made
        message = f"stream `{name}` of device {own} is made current while device {current} is"
        path = (Place(call, f"`{name}` is made on device {own} here"),)
        yield finding_at(StreamOtherContext, node, message, source, path, api=name)


def _device(node: Node | None, names: Names) -> str:
    """The number of the device that is current there by the innermost ``with`` of a device; ``""`` if it is not known."""
    around = enclosing(node, "with_statement", "function_definition", "lambda")
    while around is not None and around.type == "with_statement":
        for item in _items(around):
            if item.type != "call" or called(item, names) != "cupy.cuda.Device":
                if item.type == "identifier":
                    continue
                return ""
            given = arguments_of(item)
            return text_of(given[0]) if len(given) == 1 and given[0].type == "integer" else ""
        around = enclosing(around.parent, "with_statement", "function_definition", "lambda")
    return ""


def _items(block: Node) -> list[Node]:
    """What the ``with`` enters, the last first."""
    clauses = [each for each in block.named_children if each.type == "with_clause"]
    found = [item.child_by_field_name("value") or item for clause in clauses for item in clause.named_children]
    return [item.named_children[0] if item.type == "as_pattern" else item for item in reversed(found)]
