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
_WITH = re.compile(rb"\bwith[ \t]+(?:[^:\n]{1,200},[ \t]*)?((?:self\.)?[A-Za-z_]\w*)[ \t]*:")


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
        made = only_value(name, node, root) if node is not None and node.type in ("identifier", "attribute") else None
        if node is None or made is None or made.type != "call" or called(made, names) != "cupy.cuda.Stream":
            continue
        block = enclosing(node, "with_statement")
        if block is None or may_be_meant(block):
            continue
        current, own = _device(block, names, name), _device(made, names)
        call = call_at(root, made.end_byte - 1) or made
        if own.isdigit() and current.isdigit() and own != current:
            message = f"stream `{name}` of device {own} is made current while device {current} is"
            path = (Place(call, f"`{name}` is made on device {own} here"),)
            yield finding_at(StreamOtherContext, node, message, source, path, api=name)
        elif current and not current[0].isdigit() and _is_before(made, block):
            message = (
                f"stream `{name}`, of the device that was current before, is made current while device `{current}` is"
            )
            path = (Place(call, f"`{name}` is made on whatever device is current here"),)
            yield finding_at(StreamOtherContext, node, message, source, path, severity="note", api=name)


def _is_before(made: Node, block: Node) -> bool:
    """Whether the value is made in the same function, in no ``with``, and before the block."""
    around = enclosing(made, "with_statement", "function_definition")
    same = enclosing(block, "function_definition")
    return around is not None and around == same and made.end_byte < block.start_byte


def _device(node: Node | None, names: Names, stream: str = "") -> str:
    """The device that is current there by the innermost ``with`` of a device: its number, or a variable; ``""`` if it is not known."""
    around = enclosing(node, "with_statement", "function_definition", "lambda")
    while around is not None and around.type == "with_statement":
        for item in _items(around):
            if item.type != "call" or called(item, names) != "cupy.cuda.Device":
                if text_of(item) == stream:
                    continue
                return ""
            given = arguments_of(item)
            known = len(given) == 1 and given[0].type in ("integer", "identifier", "attribute")
            return text_of(given[0]) if known else ""
        around = enclosing(around.parent, "with_statement", "function_definition", "lambda")
    return ""


def _items(block: Node) -> list[Node]:
    """What the ``with`` enters, the last first."""
    clauses = [each for each in block.named_children if each.type == "with_clause"]
    found = [item.child_by_field_name("value") or item for clause in clauses for item in clause.named_children]
    return [item.named_children[0] if item.type == "as_pattern" else item for item in reversed(found)]
