"""Arrays and vectors of a function whose elements are made and never ended."""

import re
from collections.abc import Iterator

from cuvet.catalog import Kind
from cuvet.findings import Finding
from cuvet.rules.exit.leak import LeakedAtExit
from cuvet.rules.source.leak import SourceLeak
from cuvet.source.calls import LOST, meaning
from cuvet.source.ownership import takes_over
from cuvet.source.syntax.parsing import Node, enclosing, field_text, storage, text_of
from cuvet.source.textual.declared import only_declaration
from cuvet.source.textual.written import Body, Declared, Written

_CAST = re.compile(r"^\((?:[\w:\s]|<[\w:\s,]*>)+\*+\)|^(?:reinterpret|static)_cast<[\w\s:*]+>")
_ELEMENT = re.compile(r"&\(?([A-Za-z_]\w*)((?:\[[^\[\]]+\]|\.at\([^()]*\))+)((?:\.\w+)*)\)?")
_WITH_NUMBER = re.compile(r"\(?([A-Za-z_]\w*)\+\w+\)?")
_VARIABLE = re.compile(r"&\(?([A-Za-z_]\w*)((?:\.\w+)*)\)?")
"""`&array[i].member`, `array + i`, and `&each.member` in a loop over the array."""
_CONTAINER = re.compile(r"(?:std::)?(?:vector|array|deque)<.*>", re.S)
_ON_HEAP = re.compile(r"\b(?:malloc|calloc)\s*\(|\bnew\b")
_OF_ELEMENT = frozenset({"at", "front", "back"})
_OF_ARRAY = frozenset({"size", "empty", "resize", "reserve", "capacity", "length", "max_size"})
"""Methods of containers that return an element; and those that nothing becomes known through."""
_NULL = frozenset({"0", "NULL", "nullptr", "{}"})
_PARTS = (
    "field_expression",
    "subscript_expression",
    "parenthesized_expression",
    "cast_expression",
    "binary_expression",
)
"""What is made of an element, and names what it holds, or less."""
_LOOKED_AT = (
    "if_statement while_statement for_statement do_statement condition_clause unary_expression "
    "expression_statement kernel_call_syntax sizeof_expression update_expression delete_expression"
).split()
_FREES = frozenset({"free", "std::free"})
_DEEPEST = 3
"""Variables that an element is copied to, one from the other."""


def never_ended(body: Body) -> Iterator[Finding]:
    """Of each array, the first call that makes an element, or a member of it, that is never ended."""
    if any(_ends_all(call.name) for call in body.calls):
        return
    told: set[tuple[str, str]] = set()
    for call in body.calls:
        target = _target(call, body)
        if target is None or target[:2] in told or target[0] in body.source.released_by_macros:
            continue
        told.add(target[:2])
        name, member, kind = target
        if (
            _is_array(name, call, body)
            and not (member and _has_destructor(name, body))
            and all(_stays(*each, member, body) for each in _mentions(name, body))
        ):
            yield _finding(body, call, f"{name}[…]{member}", kind)


def _ends_all(name: str) -> bool:
    """Whether the function resets the device or ends a context, and with it what was made there."""
    found = meaning(name)
    return found is not None and (found.resets or any(role.kind is Kind.CONTEXT for _, role in found.ended))


def _finding(body: Body, call: Written, shown: str, kind: Kind) -> Finding:
    noun = "allocated" if kind in (Kind.MEMORY, Kind.HOST_MEMORY) else "made"
    line = body.source.line(body.body.end_byte - 1)
    message = f"{kind.noun} `{shown}` {noun} here is lost when the function ends in line {line}"
    rule = LeakedAtExit if body.name == "main" else SourceLeak
    return body.finding(rule, call.node, message, api=call.name)


def _target(call: Written, body: Body) -> tuple[str, str, Kind] | None:
    """The array, the member of its element, and the kind of the object that the call makes there."""
    found = meaning(call.name)
    if found is None or len(found.made) != 1:
        return None
    at, role = found.made[0]
    if role.kind not in LOST or at >= len(call.arguments):
        return None
    text = "".join(text_of(call.arguments[at]).split())
    while match := _CAST.match(text):
        text = text[match.end() :]
    text = text.removeprefix("(") if text.endswith("))") else text
    if element := _ELEMENT.fullmatch(text):
        return element[1], element[3], role.kind
    if element := _WITH_NUMBER.fullmatch(text):
        return element[1], "", role.kind
    variable = _VARIABLE.fullmatch(text)
    array = _looped_over(variable[1], body) if variable else ""
    return (array, variable[2], role.kind) if variable and array else None


def _looped_over(name: str, body: Body) -> str:
    """The variable with the array of which a loop makes the name an element; empty if it is no such name."""
    for node, _ in body.identifiers(name) if name.encode() in body.bound else ():
        loop = enclosing(node, "for_range_loop", "compound_statement")
        if loop is not None and loop.type == "for_range_loop":
            array = loop.child_by_field_name("right")
            declarator = loop.child_by_field_name("declarator")
            if declarator is None or declarator.type != "reference_declarator":
                continue
            if _lies_in(node, declarator):
                return text_of(array) if array is not None and array.type == "identifier" else ""
    return ""


def _mentions(name: str, body: Body) -> Iterator[tuple[Node, Node]]:
    """Where the name stands, each with its parent; in ``Owner own(array[i]);`` the parser takes it for a type."""
    for offset in body.words(name):
        node = body.at(offset)
        if node is not None and node.parent is not None and node.type in ("identifier", "type_identifier"):
            yield node, node.parent


def _own(name: str, body: Body) -> Declared | None:
    """The one declaration of a variable that ends with the function: no parameter, not static, and no other name for something else."""
    declared = only_declaration(name, body)
    declaration = enclosing(declared.node, "declaration", "parameter_declaration") if declared is not None else None
    if declared is None or declaration is None or declaration.type != "declaration" or storage(declaration):
        return None
    return None if declared.declarator == "reference_declarator" else declared


def _is_array(name: str, call: Written, body: Body) -> bool:
    """Whether the function declares the name in a block around the call, as an array of its own."""
    declared = _own(name, body)
    block = enclosing(declared.node, "compound_statement") if declared is not None else None
    if declared is None or block is None or not _lies_in(block, body.body) or not _lies_in(call.node, block):
        return False
    if declared.declarator == "array_declarator" or _CONTAINER.fullmatch(declared.kind):
        return True
    made = enclosing(declared.node, "init_declarator", "declaration")
    if made is not None and made.type == "init_declarator":
        return _is_allocated(field_text(made, "value"))
    set_later = rf"(?<![\w.>]){name}\s*=[^;=?]*?(?:{_ON_HEAP.pattern})"
    return re.search(set_later, body.code.decode("latin-1")) is not None


def _has_destructor(name: str, body: Body) -> bool:
    """Whether the file shows one of the class of the array's elements."""
    declared = _own(name, body)
    kinds = re.findall(r"[A-Za-z_]\w*", declared.kind) if declared is not None else []
    return any(re.search(rb"~\s*%s\s*\(" % kind.encode(), body.source.code) for kind in kinds)


def _is_allocated(value: str) -> bool:
    """Whether the value is new memory of the host, whatever holds."""
    return _ON_HEAP.search(value) is not None and "?" not in value


def _stays(node: Node, parent: Node, member: str, body: Body, depth: int = 0) -> bool:
    """Whether what the array holds is neither ended nor known elsewhere by this mention of the array, or of a variable with an element."""
    if node.type == "type_identifier":
        return False
    if parent.type.endswith("declarator") or parent.type == "declaration":
        return parent.child_by_field_name("value") != node  # not `auto& other = array`
    if parent.type == "for_range_loop" and parent.child_by_field_name("right") == node:
        return _variable_stays(parent.child_by_field_name("declarator"), member, body, depth, within=parent)
    element = node if depth else _element(node, parent)
    if element is None:
        return _is_only_looked_at(node, parent)
    path = ""
    while element.parent is not None and element.parent.type in _PARTS:
        if element.parent.type == "field_expression":
            path += f".{field_text(element.parent, 'field')}"
        element = element.parent
    if member and path and not path.startswith(member):
        return True  # another member
    return _value_stays(element, member, body, depth)


def _element(node: Node, parent: Node) -> Node | None:
    """``array[i]`` or ``array.at(i)``, if the array is mentioned so."""
    if parent.type == "subscript_expression" and parent.child_by_field_name("argument") == node:
        return parent
    if parent.type == "field_expression" and field_text(parent, "field") in _OF_ELEMENT:
        call = parent.parent
        return call if call is not None and call.type == "call_expression" else None
    return None


def _is_only_looked_at(node: Node, parent: Node) -> bool:
    """Of the array as a whole."""
    if parent.type == "field_expression":
        return field_text(parent, "field") in _OF_ARRAY
    if parent.type in ("sizeof_expression", "delete_expression"):
        return True
    while parent.type in _PARTS and parent.parent is not None:
        node, parent = parent, parent.parent
    if parent.type == "assignment_expression":  # of memory that is allocated: `array = new cudaStream_t[n]`
        return parent.child_by_field_name("left") == node and _is_allocated(field_text(parent, "right"))
    name = _called(parent)
    return name is not None and (name in _FREES or meaning(name) is not None)


def _called(arguments: Node) -> str | None:
    """The function that is given these arguments; empty for a launch."""
    call = arguments.parent if arguments.type == "argument_list" else None
    if call is None or call.type != "call_expression":
        return None
    if any(child.type == "kernel_call_syntax" for child in call.children):
        return ""
    return re.split(r"\.|->", field_text(call, "function"))[-1]


def _value_stays(value: Node, member: str, body: Body, depth: int) -> bool:
    """The same, of an expression that is an element, or part of it."""
    parent = value.parent
    address = parent is not None and parent.type == "pointer_expression" and parent.children[0].type == "&"
    while parent is not None and (parent.type in ("parenthesized_expression", "cast_expression", "pointer_expression")):
        value, parent = parent, parent.parent
    if parent is None:
        return False
    if parent.type in _LOOKED_AT or parent.type.startswith("preproc"):
        return True
    if parent.type == "assignment_expression":
        left, right = parent.child_by_field_name("left"), field_text(parent, "right")
        if left == value:
            return right in _NULL
        own = left is not None and left.type == "identifier" and _own(text_of(left), body) is not None
        return own and _variable_stays(left, member, body, depth)
    if parent.type == "init_declarator":
        return _variable_stays(parent.child_by_field_name("declarator"), member, body, depth)
    name = _called(parent)
    if name is None:
        return False
    found = meaning(name) if name else None
    if found is not None:
        return not found.ended
    return not name or not (address or takes_over(name) or _names_an_end(parent) or _is_seen(name, body))


def _variable_stays(declarator: Node | None, member: str, body: Body, depth: int, within: Node | None = None) -> bool:
    """Of a variable that holds an element from here on, ``within`` a loop or as long as the function runs."""
    while declarator is not None and declarator.type != "identifier":
        inner = declarator.child_by_field_name("declarator")
        declarator = inner if inner is not None else next(iter(declarator.named_children), None)
    name = text_of(declarator) if declarator is not None else ""
    if not name or depth >= _DEEPEST:
        return False
    whole = within or body.body
    declared = [each for each in body.declarations(name) if _lies_in(each.node, whole)]
    if len(declared) > 1 or (within is None and only_declaration(name, body) is None):
        return False
    found = ((node, parent) for node, parent in _mentions(name, body) if node != declarator and _lies_in(node, whole))
    return all(_stays(node, parent, member, body, depth + 1) for node, parent in found)


def _lies_in(node: Node, whole: Node) -> bool:
    return whole.start_byte <= node.start_byte < whole.end_byte


def _names_an_end(arguments: Node) -> bool:
    """Whether a function that ends objects is among the arguments: ``CALL(cudaFree, array[i])``."""
    found = (meaning(text_of(each)) for each in arguments.named_children if each.type == "identifier")
    return any(each is not None and each.ended for each in found)


def _is_seen(name: str, body: Body) -> bool:
    """Whether the file defines a function of that name, which may end what it is given."""
    own = re.escape(name.rpartition("::")[2].partition("<")[0].encode())
    return re.search(rb"\b%s\s*\([^;{}]*\)[^;{}]*\{" % own, body.source.code) is not None
