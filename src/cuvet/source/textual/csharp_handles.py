"""Safe handles of C# for memory, whose release frees another kind of memory."""

import re
from collections.abc import Iterator

from cuvet.catalog import Kind
from cuvet.findings import Finding, Step
from cuvet.rules.memory.free_wrong_function import MemoryFreeWrongFunction
from cuvet.source.calls import meaning
from cuvet.source.languages.csharp_names import arguments
from cuvet.source.ownership import WRONG_FUNCTION
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.parsing import Node, Source, enclosing, field_text, text_of
from cuvet.source.textual.deleters import freed

_CALL = re.compile(rb"\bcu(?:da)?[A-Z]\w{1,60}(?=\s{0,8}\()")
_OUT = re.compile(r"out\s+(?:\w+\s+)?(\w+)")
_OWN = re.compile(r"(?:this\.)?handle")


def wrong_releases(root: Node, source: Source) -> Iterator[Finding]:
    """Of each class that makes memory for its handle, and frees the handle: the call that frees, if it is for other memory."""
    text = source.text
    if b"SetHandle" not in text and b"ReleaseHandle" not in text:
        return
    classes: dict[int, list[Node]] = {}
    for match in _CALL.finditer(text):
        call = enclosing(root.descendant_for_byte_range(match.start(), match.end()), "invocation_expression", "block")
        owner = enclosing(call, "class_declaration")
        if call is not None and call.type == "invocation_expression" and owner is not None:
            classes.setdefault(owner.start_byte, []).append(call)
    for calls in classes.values():
        made = [(call, kind) for call in calls if (kind := _made(call)) is not None]
        ended = [(call, kind) for call in calls if (kind := _ended(call)) is not None]
        if len(made) == len(ended) == 1 and made[0][1] is not ended[0][1] and _is_for_handle(made[0][0]):
            yield _finding(made[0][0], made[0][1], ended[0][0], source)


def _finding(made: Node, kind: Kind, ended: Node, source: Source) -> Finding:
    what, counterpart = WRONG_FUNCTION[kind]
    message = f"the handle is {what}, which is for {counterpart}"
    shown = source.function_name("", field_text(enclosing(ended, "method_declaration") or ended, "name"))
    path = (Step(frame=frame(source, made.start_byte, made.end_byte, ""), text="the memory is allocated here"),)
    where = site(_name(ended), frame(source, ended.start_byte, ended.end_byte, shown))
    return finding(MemoryFreeWrongFunction, message, where, path=path, severity="note")


def _name(call: Node) -> str:
    return field_text(call, "function").rpartition(".")[2]


def _made(call: Node) -> Kind | None:
    """The kind of memory that the call allocates."""
    found = meaning(_name(call))
    kinds = {role.kind for _, role in found.made} if found is not None and "Register" not in _name(call) else set()
    return kinds.pop() if len(kinds) == 1 and kinds <= WRONG_FUNCTION.keys() else None


def _ended(call: Node) -> Kind | None:
    """The kind of memory that the call frees, if it is given the handle of the object."""
    given = arguments(call)
    kind = freed(_name(call))
    return kind if kind is not None and given and _OWN.fullmatch(text_of(given[0])) else None


def _is_for_handle(made: Node) -> bool:
    """Whether what the call allocates becomes the handle of the object, and nothing else does."""
    given, owner = arguments(made), enclosing(made, "class_declaration")
    out = _OUT.fullmatch(text_of(given[0])) if given else None
    if out is None or owner is None:
        return False
    if out[1] == "handle":
        return "SetHandle" not in text_of(owner)
    kept = rf"\bSetHandle\(\s*(?:\([\w]+\)\s*)?{out[1]}\s*\)|\bhandle\s*=\s*{out[1]}\s*;"
    return (
        len(re.findall(kept, text_of(owner)))
        == len(re.findall(r"\bSetHandle\(|\bhandle\s*=(?!=)", text_of(owner)))
        == 1
    )
