"""Objects that outlive ``main``, and whose destructors call CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cuvet.findings import Finding, Site, Step
from cuvet.rules.source.static_owner import SourceStaticOwner
from cuvet.source.parsing import Source
from cuvet.source.statuses import returns_status
from cuvet.source.written import Body, Written, frame

if TYPE_CHECKING:
    from tree_sitter import Node

_OWNER = rb"(?:std::(?:unique_ptr|shared_ptr|vector|optional|array)\s*<\s*)?(?:\w+::)*(%s)(?:\s*<[\w:,\s]*>)?(?:\s*,\s*\w+)?(?:\s*>)?"
_OBJECT = rb"^([ \t]*)((?:static\s+|inline\s+|const\s+)*)%s\s+(\w+(?:::\w+)*)\s*(?:\[\w*\]\s*)?[;={(]"
_HARMLESS = re.compile(r"cu(?:da)?(?:DriverGetVersion|GetError\w+)")


def static_owners(root: Node, source: Source, bodies: Sequence[Body]) -> Iterator[Finding]:
    """Global and static objects of the classes whose destructors, in the same file, call CUDA."""
    ends = {
        body.owner: call
        for body in bodies
        if body.name == "__del__" and body.owner and (call := _first_call(body)) is not None
    }
    if not ends:
        return
    names = b"|".join(re.escape(owner.encode()) for owner in sorted(ends))
    for match in re.finditer(_OBJECT % (_OWNER % names), source.text, re.M):
        _, qualifiers, owner, name = match.groups()
        node = root.descendant_for_byte_range(match.start(4), match.end(4))
        if node is None or not _outlives_main(node, b"static" in qualifiers.split()):
            continue
        yield _finding(source, match.start(4), match.end(4), name.decode(), owner.decode(), ends[owner.decode()])


def _first_call(body: Body) -> Written | None:
    """The first call that is not one of several cases."""
    calls = (call for call in body.calls if returns_status(call.name) and not _HARMLESS.fullmatch(call.name))
    return next((call for call in calls if not _in_case(call.node)), None)


def _in_case(node: Node) -> bool:
    around = node.parent
    while around is not None and around.type != "function_definition":
        if around.type == "case_statement":
            return True
        around = around.parent
    return False


def _outlives_main(node: Node, static: bool) -> bool:
    """Whether it is the name of a variable of the program: at the file's top, or static in a function. Members are not."""
    around = node.parent
    if around is None or around.type not in ("declaration", "init_declarator", "array_declarator"):
        return False
    while around is not None:
        if around.type in ("compound_statement", "function_definition"):
            return static
        if around.type in (
            "field_declaration_list",
            "parameter_list",
            "template_declaration",
            "ERROR",
        ) or around.type.startswith("preproc"):
            return False
        around = around.parent
    return True


def _finding(source: Source, start: int, end: int, name: str, owner: str, call: Written) -> Finding:
    rule = SourceStaticOwner
    at = frame(source, start, end, "")
    return Finding(
        rule=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=f"`{name}` outlives main, and ~{owner} calls {call.name}",
        api=call.name,
        site=Site(api=call.name, call=at.line or 0, process=0, thread=0, time_ns=0, frames=(at,)),
        path=(
            Step(
                frame=frame(source, call.start, call.end, f"{owner}::~{owner}"),
                text=f"{call.name} is called here, after main",
            ),
        ),
        help=rule.help,
        evidence=rule.evidence,
    )
