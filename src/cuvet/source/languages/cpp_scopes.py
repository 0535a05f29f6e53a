"""Names that stand for several variables of a function in C++: one is declared again in a block within the other's."""

import re
from bisect import bisect_left
from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator

from cuvet.source.languages.cpp_text import HANDLE, bound_names, declared
from cuvet.source.languages.interest import WORD
from cuvet.source.syntax.parsing import Node, field_text

DECLARED = re.compile(rb"[\w>*&]\s{0,80}[\s*&]\s{0,80}([A-Za-z_]\w*)\s{0,80}(?=[;=,:)\[({])")
"""What may declare a name: a look that costs little, before the exact one."""
_BINDING = re.compile(rb"\bauto\s{0,80}&{0,2}\s{0,80}\[([\w\s,]{1,400})\]")
_STATUS = re.compile(r"^(?:const\s+)?(?:cudaError_t|CUresult)$")
_SCOPES = frozenset(
    """
    compound_statement for_statement for_range_loop if_statement while_statement switch_statement catch_clause
    """.split()
)
_DECLARATIONS = ("declaration", "parameter_declaration", "for_range_loop")


def hidden(body: Node, text: bytes, start: int, parameters: Iterable[tuple[str, str]], names: set[bytes]) -> set[bytes]:
    """Those of the names of which a variable that may hold an object is hidden by another one, or a member by a variable. ``parameters``:
    name and type of those of the function, which begins at ``start``."""
    end = body.end_byte
    counted = Counter(DECLARED.findall(text, start, end))
    counted.update(name for match in _BINDING.finditer(text, start, end) for name in set(WORD.findall(match[1])))
    wanted = {name for name, times in counted.items() if times > 1 and name in names}
    found = _hidden(body, text, dict(parameters), wanted) if wanted else set()
    return found | _hiding_others(body, text, names - found - {name.encode() for name, _ in parameters})


def _hiding_others(body: Node, text: bytes, names: set[bytes]) -> set[bytes]:
    """Names that are only declared in inner blocks, and used outside of these, where they stand for something of the class or the file."""
    blocks: dict[bytes, list[Node]] = {}
    for match in DECLARED.finditer(text, body.start_byte, body.end_byte):
        block = _block_of(match.start(1), match[1].decode("utf-8", "replace"), body) if match[1] in names else None
        if block is not None:
            blocks.setdefault(match[1], []).append(block)
    inner = {name: around for name, around in blocks.items() if all(each != body for each in around)}
    return {name for name, around in inner.items() if _is_used_outside(name, around, body, text)}


def _block_of(offset: int, name: str, body: Node) -> Node | None:
    """The block of the variable that is declared there; None if none is."""
    node = body.descendant_for_byte_range(offset, offset + 1)
    while node is not None and node.type not in (*_DECLARATIONS, *_SCOPES):
        node = node.parent
    if node is None or all(each != name for each, _ in _declared_by(node)):
        return None
    while node is not None and node.type not in _SCOPES:
        node = node.parent
    return node


def _is_used_outside(name: bytes, blocks: Iterable[Node], body: Node, text: bytes) -> bool:
    """Whether an identifier of that name, not a word of a comment or a string, stands where no such variable is known."""
    for match in re.finditer(rb"(?<![\w.>:])%s\b" % name, text[body.start_byte : body.end_byte]):
        at = body.start_byte + match.start()
        node = body.descendant_for_byte_range(at, at + 1)
        if (
            node is not None
            and node.type == "identifier"
            and not any(each.start_byte <= at < each.end_byte for each in blocks)
        ):
            return True
    return False


def _hidden(body: Node, text: bytes, parameters: dict[str, str], wanted: set[bytes]) -> set[bytes]:
    sites = [match.start() for match in WORD.finditer(text, body.start_byte, body.end_byte) if match[0] in wanted]
    found = set()
    waiting = [(body, ChainMap(parameters))]
    while waiting:
        node, scope = waiting.pop()
        if node.type in _SCOPES:
            scope = scope.new_child()
        for name, kind in _declared_by(node):
            outer = scope.parents.get(name, "")
            if name.encode() in wanted and HANDLE.search(outer) and not _STATUS.match(outer):
                found.add(name.encode())
            scope[name] = kind
        for child in reversed(node.named_children):
            at = bisect_left(sites, child.start_byte)
            if at < len(sites) and sites[at] < child.end_byte and child.type != "lambda_expression":
                waiting.append((child, scope))
    return found


def _declared_by(node: Node) -> Iterator[tuple[str, str]]:
    """Name and type of the variables that a declaration, or a loop over elements, declares."""
    if node.type not in _DECLARATIONS:
        return
    kind = field_text(node, "type")
    for declarator in node.children_by_field_name("declarator"):
        name, shape = declared(declarator)
        if bound := bound_names(declarator):
            yield from ((each, "auto") for each in bound)
        else:
            yield name, kind + shape
