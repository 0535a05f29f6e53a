"""Members that hold what was got from an object of the class, and that keep it when a function of the class replaces that object."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from cuvet.catalog import Kind, Verb
from cuvet.findings import Finding
from cuvet.rules.source.kept_of_ended import SourceKeptOfEnded
from cuvet.source.calls import meaning, symbols
from cuvet.source.languages.cpp import Class, Found, name_of
from cuvet.source.syntax.parsing import Node, Source, field_text, text_of
from cuvet.source.textual.bounds import first
from cuvet.source.textual.reached import called_here
from cuvet.source.textual.written import Body, Written, positions

_HOLDS = b"GetFunction GetKernel TextureObject SurfaceObject TexObject SurfObject".split()
_ENDS = b"Unload FreeArray ArrayDestroy FreeMipmappedArray".split()
"""Words in the names of calls that make what belongs to another object, and of those that end that one."""
_MOST = 32
_PARENTS = frozenset({Kind.MODULE, Kind.CULIBRARY})
_OBJECTS = frozenset({Kind.TEXTURE_OBJECT, Kind.SURFACE_OBJECT})
_MEMBER = re.compile(r"(?:this\s*->\s*)?([A-Za-z_]\w*)")
_TARGET = re.compile(_MEMBER.pattern + r"(?:\s*\[[^\[\]]*\])?")
_FROM = re.compile(
    rb"\.\s*res\s*\.\s*\w+\s*\.\s*(?:array|hArray|mipmap|hMipmappedArray)\s*=\s*(?:this\s*->\s*)?([A-Za-z_]\w*)\s*;"
)
"""The array that a resource is described by."""
_STORED = (
    rb"(?<![\w.>])(?:this\s*->\s*)?([A-Za-z_]\w*)\s*"
    rb"(?:\[([^\[\];]{0,200})\]\s*=\s*[\w:]{0,80}\s*[{(]?\s*\b%s\s*[;,})]|\.\s*(?:emplace|insert|push_back)\s*\(([^;]{0,200})\b%s\s*[)}])"
)
_REFERS = rb"&\s*%s\s*=\s*(?:this\s*->\s*)?([A-Za-z_]\w*)\s*\[([^\[\];]{0,200})\]\s*;"
"""The local variable is put into a container, or refers to an element of one; each with the key."""
_LOOKED_UP = rb"\b%s\s*\.\s*(?:find|count|contains|empty)\s*\("
_RENEWED = rb"(?<![\w.>])(?:this\s*->\s*)?%s\s*=(?!=)\s*(?!\s*(?:0|NULL|nullptr|\{\s*\})\s*;)|&\s*(?:this\s*->\s*)?%s\b"
_IS_NULL = r"!%s|%s==(?:0|NULL|nullptr)|(?:0|NULL|nullptr)==%s"


class _Link(NamedTuple):
    """The member ``child`` holds what the ``call`` got from the member ``parent``, and wrote to the variable ``written``."""

    child: str
    written: str
    parent: str
    call: Written
    body: Body


def kept_of_ended(found: Sequence[Body], defined: Found, source: Source) -> Iterator[Finding]:
    """Functions that end such an object, and put another in its place, and do not mention the member."""
    code = source.code
    if not (any(word in code for word in _ENDS) and any(word in code for word in _HOLDS)):
        return
    by_owner: dict[str, list[Body]] = {}
    for body in found:
        by_owner.setdefault(body.owner, []).append(body)
    functions, named = _functions(defined), Counter(each.name for each in defined.classes)
    sound = (each for each in defined.classes if each.name in by_owner and named[each.name] == 1)
    for each in first(each for each in sound if not (each.broken or each.bases)):
        yield from _of_class(each, by_owner[each.name], functions.get(each.name, {}), code)


def _functions(defined: Found) -> dict[str, dict[str, list[Node]]]:
    """The functions that the file defines, by class and name."""
    found: dict[str, dict[str, list[Node]]] = {}
    for definition in defined.functions:
        owner, name = name_of(definition)
        found.setdefault(owner, {}).setdefault(name, []).append(definition.node)
    return found


def _of_class(
    each: Class, bodies: Sequence[Body], functions: Mapping[str, list[Node]], code: bytes
) -> Iterator[Finding]:
    told: set[str] = set()
    for link in islice((link for body in bodies for link in _links(body, each)), _MOST):
        if link.child in told or not _is_kept(link, functions) or _reached(link.child, code):
            continue
        replaced = ((body, end) for body in bodies if (end := _replaced(link.parent, body, functions)) is not None)
        for body, end in islice(replaced, _MOST):
            if _leaves(link, body, each, functions):
                told.add(link.child)
                yield _finding(link, end, body)
                break


def _links(body: Body, each: Class) -> Iterator[_Link]:
    for call in body.calls:
        known = meaning(call.name)
        if known is None or len(known.made) != 1 or not call.arguments:
            continue
        at, role = known.made[0]
        parent = _parent_of(call, role.kind, body)
        target = text_of(call.arguments[at]).removeprefix("&").strip() if at < len(call.arguments) else ""
        written = _TARGET.fullmatch(target)
        if parent in each.members and written is not None and not body.declarations(parent):
            name = written[1] if not body.declarations(written[1]) else _stored(written[1], parent, body)
            if name in each.members and name != parent:
                yield _Link(name, written[1], parent, call, body)


def _parent_of(call: Written, kind: Kind, body: Body) -> str:
    """The variable of which the call makes something; empty if it is not one."""
    known = meaning(call.name)
    parents = [at for at, role in known.named if role.kind in _PARENTS and role.verb is Verb.USES] if known else []
    if len(parents) == 1 and parents[0] < len(call.arguments):
        named = _MEMBER.fullmatch(text_of(call.arguments[parents[0]]).strip())
        return named[1] if named is not None else ""
    arrays = {match[1] for match in _FROM.finditer(body.code)} if kind in _OBJECTS else set()
    return arrays.pop().decode() if len(arrays) == 1 else ""


def _stored(name: str, parent: str, body: Body) -> str:
    """The container into which the local variable is put, by a key that does not name its origin; empty if there is none, or several."""
    word = re.escape(name.encode())
    patterns = (_STORED % (word, word), _REFERS % word)
    found = [match.groups() for each in patterns for match in re.finditer(each, body.code)]
    if len(found) != 1 or any(parent.encode() in key for key in found[0][1:] if key is not None):
        return ""
    container = found[0][0].decode()
    return container if not body.declarations(container) else ""


def _is_kept(link: _Link, functions: Mapping[str, list[Node]]) -> bool:
    """Whether the member is asked for before it is made, or made once: by the constructor."""
    word = link.child.encode()
    texts = {name: b"".join(node.text or b"" for node in nodes) for name, nodes in functions.items()}
    used = any(
        next(positions(text, word), -1) >= 0 for name, text in texts.items() if name not in ("__init__", "__del__")
    )
    looked_up = any(re.search(_LOOKED_UP % word, text) for text in texts.values())
    made_once = link.body.name == "__init__" or _where_null(link.written, link.call.node)
    return used and (looked_up or made_once)


def _reached(member: str, code: bytes) -> bool:
    """Whether the file reaches the member of another object than this one, or from outside the class."""
    return re.search(rb"(?:\.|(?<!this)\s*->)\s*%s\b" % member.encode(), code) is not None


def _where_null(name: str, node: Node) -> bool:
    """Whether the node stands in the arm of an ``if`` in which the member is NULL, or in its condition."""
    empty = re.compile(_IS_NULL.replace("%s", re.escape(name)))
    while node.parent is not None and node.type != "function_definition":
        around = node.parent
        if around.type == "if_statement" and around.child_by_field_name("alternative") != node:
            condition = "".join(field_text(around, "condition").split()).removeprefix("(").removesuffix(")")
            if empty.fullmatch(condition):
                return True
        node = around
    return False


def _replaced(parent: str, body: Body, functions: Mapping[str, list[Node]]) -> Written | None:
    """Where the function ends the object, before it, or a function that it calls, puts another in its place."""
    if body.name in ("__init__", "__del__") or body.declarations(parent):
        return None
    word = re.escape(parent.encode())
    for call in body.calls:
        known = meaning(call.name)
        ends = known is not None and any(
            at < len(call.arguments) and _names(call.arguments[at], parent) for at, _ in known.ended
        )
        if not ends:
            continue
        rest = body.code[call.end - body.body.start_byte :]
        called = (node for name in _called(rest) for node in functions.get(name, ()))
        if any(re.search(_RENEWED % (word, word), text) for text in (rest, *(node.text or b"" for node in called))):
            return call
    return None


def _names(argument: Node, member: str) -> bool:
    named = _MEMBER.fullmatch(text_of(argument).strip())
    return named is not None and named[1] == member


def _called(code: bytes) -> set[str]:
    """What is called of this object, or of none."""
    return {name.decode() for name in called_here(code)} - symbols()


def _leaves(link: _Link, body: Body, each: Class, functions: Mapping[str, list[Node]]) -> bool:
    """Whether neither the function, nor those that call it or that it calls, have anything to do with the member, unless it is NULL."""
    calls, word = re.compile(rb"\b%s\s*\(" % re.escape(body.name.encode())), link.child.encode()
    texts = (node.text or b"" for nodes in functions.values() for node in nodes)
    callers = any(word in text and calls.search(text) for text in texts)
    if callers or body.words(link.child) or b"this" in re.sub(rb"this\s*->", b"", body.code):
        return False
    for name in _called(body.code):
        nodes = functions.get(name, [])
        if not nodes and any(re.search(rf"(?<!\w){re.escape(name)}\s*\(", declared) for declared in each.declared):
            return False
        if not all(_only_where_null(link.child, node) for node in nodes):
            return False
    return True


def _only_where_null(child: str, node: Node) -> bool:
    text = node.text or b""
    inner = (
        node.descendant_for_byte_range(node.start_byte + at, node.start_byte + at + 1)
        for at in positions(text, child.encode())
    )
    return all(each is not None and _where_null(child, each) for each in inner)


def _finding(link: _Link, end: Written, body: Body) -> Finding:
    line = link.body.line(link.call.node)
    message = f"`{link.child}` keeps what {link.call.name} got from `{link.parent}` (line {line}), which is ended here and replaced"
    path = (
        link.body.step(link.call.node, f"`{link.child}` gets what belongs to `{link.parent}` here"),
        body.step(end.node, f"`{link.parent}` is ended here, and `{link.child}` keeps its value"),
    )
    return body.finding(SourceKeptOfEnded, end.node, message, api=end.name, path=path)
