"""Memory of the host's heap that a function gives to the functions that free CUDA's."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.frees import ENTRY_POINTS
from cuvet.rules.memory.free_never_allocated import MemoryFreeNeverAllocated
from cuvet.source.calls import meaning, symbols
from cuvet.source.ownership import ON_HEAP
from cuvet.source.quiet import ON_HOST, PLAIN
from cuvet.source.syntax.parsing import Node, enclosing, field_text, text_of
from cuvet.source.textual.declared import only_declaration
from cuvet.source.textual.written import Body, Written

_ALLOCATES = rf"(?:{'|'.join(sorted(ON_HEAP))})"
_ON_HEAP = re.compile(
    rf"(?:\([\w\s*:]+\)\s*)?(?:(?:static|reinterpret)_cast\s*<[^<>()]*>\s*\(\s*)?{_ALLOCATES}\s*\([^;?]*\)"
    r"|new\s+(?:unsigned\s+)?(?:char|short|int|long|float|double|bool|size_t|u?int\d+_t)\s*\[[^;?]*\]"
)
"""A class may have its own ``new``."""
_SET = re.compile(rb"\b(\w+)\s*=[^;=]{0,80}?\b(?:" + _ALLOCATES.encode() + rb"\s*\(|new\b)")
_NOTHING = frozenset({"", "0", "NULL", "nullptr", "{}", "{nullptr}"})
_READS = PLAIN | ON_HOST | frozenset({"free"})
_OWN = re.compile(rb"#[ \t]*define[ \t]+" + _ALLOCATES.encode() + rb"\b")


def freed_by_cuda(body: Body) -> Iterator[Finding]:
    """Where a variable of the function holds nothing but memory of the heap: the first free of each."""
    frees = [call for call in body.calls if call.arguments and _frees(call.name)]
    waiting = {match[1].decode() for match in _SET.finditer(body.code)} if frees else set()
    for call in frees:
        name = text_of(call.arguments[0])
        if name not in waiting:
            continue
        before = [node for node in _made(name, body) if node.start_byte < call.start]
        if before and not _OWN.search(body.source.code):
            waiting.remove(name)
            yield _finding(call, name, before[-1], body)


def _frees(name: str) -> bool:
    found = meaning(name)
    return found is not None and found.told.name in ENTRY_POINTS


def _finding(call: Written, name: str, made: Node, body: Body) -> Finding:
    message = f"`{name}` is memory of the host's heap (line {body.line(made)}), which CUDA did not allocate"
    path = (
        body.step(made, f"`{name}` is allocated on the heap here"),
        body.step(call.node, f"{call.name} is called with it here"),
    )
    return body.finding(MemoryFreeNeverAllocated, call.node, message, api=call.name, path=path)


def _made(name: str, body: Body) -> list[Node]:
    """Where the variable gets memory of the heap; none if it may hold something else."""
    declared = only_declaration(name, body)
    declaration = enclosing(declared.node, "declaration", "parameter_declaration") if declared is not None else None
    if declared is None or declaration is None or declaration.type != "declaration":
        return []
    made: list[Node] = []
    for node, parent in body.identifiers(name):
        if _may_be_set(parent, body):
            return []
        value = _value(node, parent)
        if value in _NOTHING:
            continue
        if not _ON_HEAP.fullmatch(value):
            return []
        made.append(node)
    return made


def _value(node: Node, parent: Node) -> str:
    """What the variable is set to where its name stands; nothing if it is only used."""
    if parent.type == "assignment_expression":
        return field_text(parent, "right") if parent.child_by_field_name("left") == node else ""
    around = enclosing(parent, "init_declarator", "declaration") if parent.type.endswith("declarator") else None
    return field_text(around, "value") if around is not None and around.type == "init_declarator" else ""


def _may_be_set(parent: Node, body: Body) -> bool:
    """By another name, or by a function that is given the variable."""
    if parent.type in ("update_expression", "for_range_loop", "lambda_capture_specifier", "reference_declarator"):
        return True
    if parent.type == "pointer_expression":
        return parent.children[0].type == "&"
    call = parent.parent if parent.type == "argument_list" else None
    if call is None or call.type != "call_expression":
        return False
    name = field_text(call, "function").rpartition("::")[2]
    return name not in symbols() and name not in _READS and _takes_references(name, body)


def _takes_references(name: str, body: Body) -> bool:
    """Whether a function has parameters that are references, or is not declared in the file."""
    declared = re.compile(rb"[\w>*&][\s*&]+%s\s*\(([^()]*)\)\s*(?:noexcept\s*)?[{;]" % re.escape(name.encode()))
    parameters = [match[1] for match in declared.finditer(body.source.code)]
    return not parameters or any(b"&" in each for each in parameters)
