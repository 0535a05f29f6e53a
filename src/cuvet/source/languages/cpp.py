"""C, C++ and CUDA C++: the functions and classes of a file, and which of them are lowered."""

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from cuvet.source.languages.cpp_scopes import DECLARED
from cuvet.source.languages.cpp_statements import Lowering
from cuvet.source.languages.cpp_text import HANDLE, adds_nothing, declared, function_declarator, qualified
from cuvet.source.languages.interest import WORD
from cuvet.source.program import Function
from cuvet.source.syntax.parsing import Node, Source, not_parsed, storage, text_of

__all__ = ["HANDLE", "definitions", "lower", "mentions_cuda"]

_MENTIONS = (
    re.compile(rb"cu(?<!\wcu)[a-z]{0,16}[A-Z]\w{1,80}(?:\s{0,80}\(|(?<=_t)\b)"),
    re.compile(rb"nccl(?<!\wnccl)[A-Z]\w{1,80}\s{0,80}\("),
    re.compile(rb"nv(?<!\wnv)(?:rtc|JitLink)[A-Z]\w{1,80}\s{0,80}\("),
    re.compile(
        rb"CU(?<!\wCU)(?:stream|event|deviceptr|module|context|array|mipmappedArray|texObject|surfObject|linkState|graph|graphExec)\b"
    ),
    re.compile(rb"cufftHandle(?<!\wcufftHandle)\b"),
)
"""Each begins with a fixed text, for which the search is ten times as fast as for ``\\b`` and alternatives."""
_CONTAINERS = frozenset(
    """
    translation_unit namespace_definition declaration_list linkage_specification template_declaration preproc_ifdef
    preproc_if preproc_else preproc_elif ERROR
    """.split()
)
_NOT_DATA = frozenset({"compound_statement", "alias_declaration", "static_assert_declaration", "using_declaration"})
_CLASSES = frozenset({"class_specifier", "struct_specifier", "union_specifier"})
LAMBDA = "lambda_expression"
_LAMBDA = re.compile(
    rb"(?<![\w)\]\[])\[(?:[^\[\];{}]|\[[^\[\];{}]{0,80}\]|\{[^{}]{0,80}\}){0,200}\]\s{0,80}(?=[({<]|mutable\b|__)"
)
"""What may begin a lambda."""
_DEEPEST_LAMBDA, _MOST_OTHERS = 4, 64
"""How deep lambdas in lambdas are looked at; and how often what looks like one may be none, in one file."""
_NAME_OF_LAMBDA = "<lambda>"


@dataclass
class Definition:
    """A function's node, or that of a lambda, and where it stands. ``owner``: name of its class; ``name`` is empty where the declarator
    tells it; ``around``: names of variables of the function that a lambda stands in."""

    node: Node
    owner: str = ""
    name: str = ""
    around: frozenset[str] = frozenset()


@dataclass
class Class:
    """A class as its definition shows it. ``members`` and ``shared`` (static ones) map a data member to its type; ``declared`` are its
    functions' declarations."""

    name: str
    start: int
    end: int
    members: dict[str, str] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)
    declared: dict[str, str] = field(default_factory=dict)
    bases: tuple[str, ...] = ()
    initialised: list[str] = field(default_factory=list)
    """Members that are given a value where they are declared."""
    references: bool = False
    """Variables of it are references, so that no object is ever copied."""
    broken: bool = False


@dataclass
class Found:
    functions: list[Definition] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    variables: list[Node] = field(default_factory=list)
    """Declarations outside functions and classes; also those of functions."""
    synonyms: dict[str, str] = field(default_factory=dict)
    """Other names of types (``typedef struct tag {...} name;``, ``typedef layer other_layer;``, ``using A = B;``), and the types'."""


def definitions(root: Node, text: bytes) -> Found:
    """All functions and classes that a file defines, without those inside functions; and lambdas, which are functions of no class."""
    found = Found()
    waiting: list[tuple[Node, str]] = [(root, "")]
    while waiting:
        node, owner = waiting.pop()
        for child in node.named_children:
            kind = child.type
            body = _namespace_behind_macro(child, text) if kind == "function_definition" else None
            if body is not None:
                waiting.append((body, owner))
            elif kind == "function_definition":
                found.functions.append(Definition(child, owner))
            elif kind in _CLASSES:
                _class(child, found, waiting)
            elif kind in _CONTAINERS:
                waiting += [(part, owner) for part in _compiled(child)]
            elif kind in ("declaration", "type_definition", "field_declaration"):
                specifier = child.child_by_field_name("type")
                if specifier is not None and specifier.type in _CLASSES:
                    alias = child.child_by_field_name("declarator") if kind == "type_definition" else None
                    _class(specifier, found, waiting, declared(alias)[0] if alias is not None else "")
                elif kind == "declaration" and node.type not in ("template_declaration", "ERROR"):
                    found.variables.append(child)
                elif kind == "type_definition":
                    _synonym(child.child_by_field_name("declarator"), specifier, found)
            elif kind == "alias_declaration":
                described = child.child_by_field_name("type")
                named = described.child_by_field_name("type") if described is not None else None
                if described is not None and described.child_by_field_name("declarator") is None:
                    _synonym(child.child_by_field_name("name"), named, found)
    found.functions.sort(key=lambda definition: definition.node.start_byte)
    found.functions += list(_lambdas(root, text, found.functions))
    found.functions.sort(key=lambda definition: definition.node.start_byte)
    return found


def _lambdas(root: Node, text: bytes, functions: list[Definition]) -> Iterator[Definition]:
    """Those of the host that were parsed; of many in each other, the outer ones. ``functions`` are in the order of the text."""
    starts = [function.node.start_byte for function in functions]
    around: list[int] = []
    variables: dict[int, frozenset[str]] = {}
    others = 0
    for match in _LAMBDA.finditer(text):
        around = [end for end in around if end > match.start()]
        if len(around) >= _DEEPEST_LAMBDA or others >= _MOST_OTHERS:
            continue
        token = root.descendant_for_byte_range(match.start(), match.start() + 1)
        node = token.parent.parent if token is not None and token.type == "[" and token.parent is not None else None
        if node is None or node.type != LAMBDA or node.start_byte != match.start() or node.has_error:
            others += 1
            continue
        around.append(node.end_byte)
        at = bisect_right(starts, node.start_byte) - 1
        if at >= 0 and _is_in_kernel(node, functions[at].node, text):
            continue
        if at not in variables:
            variables[at] = _variables(functions[at].node, text) if at >= 0 else frozenset()
        yield Definition(node, name=_NAME_OF_LAMBDA, around=variables[at])


def _variables(function: Node, text: bytes) -> frozenset[str]:
    return frozenset(name.decode() for name in DECLARED.findall(text, function.start_byte, function.end_byte))


def _is_in_kernel(node: Node, function: Node, text: bytes) -> bool:
    """Whether the function, which begins before the node, is a kernel around it."""
    body = function.child_by_field_name("body")
    if body is None or function.end_byte < node.end_byte:
        return False
    return b"__global__" in text[function.start_byte : body.start_byte]


def _compiled(node: Node) -> list[Node]:
    """The node, without the first arm of ``#if 0``."""
    condition = node.child_by_field_name("condition") if node.type == "preproc_if" else None
    if condition is None or condition.text != b"0":
        return [node]
    otherwise = node.child_by_field_name("alternative")
    return [otherwise] if otherwise is not None else []


def _namespace_behind_macro(node: Node, text: bytes) -> Node | None:
    """The block of ``BEGIN namespace name { ... }``, which reads as a function without brackets."""
    body = node.child_by_field_name("body")
    head = text[node.start_byte : body.start_byte].split() if body is not None else []
    return body if b"namespace" in head and not any(b"(" in word for word in head) else None


def _class(node: Node, found: Found, waiting: list[tuple[Node, str]], alias: str = "") -> None:
    body = node.child_by_field_name("body")
    name_node = node.child_by_field_name("name")
    name = text_of(name_node).split("<")[0].split("::")[-1].strip() if name_node is not None else alias
    if alias and alias != name:
        found.synonyms[alias] = name
    if body is None:
        return
    bases = tuple(text_of(child) for child in node.named_children if child.type == "base_class_clause")
    made = Class(name, node.start_byte, body.end_byte, bases=bases, broken=_is_broken(body))
    for child in _declarations(body):
        if child.type == "field_declaration":
            _fields(child, made)
        elif child.type in ("declaration", "function_definition", "template_declaration"):
            inner = _declared_by_template(child) if child.type == "template_declaration" else child
            declarator_node = inner.child_by_field_name("declarator") if inner is not None else None
            if inner is not None and declarator_node is not None:
                end = inner.child_by_field_name("body")
                made.declared[text_of(declarator_node)] = (
                    text_of(inner) if end is None else text_of(inner)[: end.start_byte - inner.start_byte]
                )
    found.classes.append(made)
    waiting.append((body, name))


def _declarations(body: Node) -> Iterator[Node]:
    """What a class declares, also in the arms of #if."""
    waiting = body.named_children[::-1]
    while waiting:
        child = waiting.pop()
        if child.type.startswith("preproc_"):
            waiting += child.named_children[::-1]
        else:
            yield child


def _synonym(name: Node | None, kind: Node | None, found: Found) -> None:
    if kind is not None and kind.type == "template_type":
        kind = kind.child_by_field_name("name")
    if name is not None and kind is not None and (name.type, kind.type) == ("type_identifier", "type_identifier"):
        found.synonyms[text_of(name)] = text_of(kind)


def mentions_cuda(text: bytes, start: int = 0, end: int = sys.maxsize) -> bool:
    """Whether a stretch of a file has to do with CUDA."""
    return text.find(b"<<<", start, end) >= 0 or any(each.search(text, start, end) for each in _MENTIONS)


def _fields(node: Node, made: Class) -> None:
    type_node = node.child_by_field_name("type")
    if type_node is None or type_node.type in _CLASSES:
        return
    static = bool(storage(node))
    for declarator in node.children_by_field_name("declarator"):
        member, shape = declared(declarator)
        if shape == "()":
            made.declared[text_of(declarator)] = text_of(node)
        elif static:
            made.shared[member] = text_of(type_node) + shape
        else:
            made.members[member] = text_of(type_node) + shape
            if node.child_by_field_name("default_value") is not None:
                made.initialised.append(member)


def _declared_by_template(node: Node) -> Node | None:
    return next((child for child in node.named_children if child.type in ("declaration", "function_definition")), None)


def _is_broken(body: Node) -> bool:
    """Whether a class holds text that could not be parsed, other than in a function's body or in the name of a type."""
    return any(each.is_error or not adds_nothing(each, parent) for each, parent in not_parsed(body, besides=_NOT_DATA))


def lower(
    definition: Definition, source: Source, wrappers: frozenset[bytes], members: frozenset[bytes]
) -> Function | None:
    """See ``cuvet.source.languages.Language``."""
    node = definition.node
    body = node.child_by_field_name("body")
    declarator = node.child_by_field_name("declarator") or (node if node.type == LAMBDA else None)
    if (
        body is None
        or declarator is None
        or (
            not mentions_cuda(source.text, node.start_byte, node.end_byte)
            and not wrappers
            and (not members or members.isdisjoint(WORD.findall(source.text, node.start_byte, node.end_byte)))
        )
    ):
        return None
    if runs_on_device(node, body, source):
        return None
    around = definition.around
    lowering = Lowering(source, node, definition.owner, definition.name, declarator, body, wrappers, members, around)
    return lowering.function() if lowering.concerned or members else None


def runs_on_device(node: Node, body: Node, source: Source) -> bool:
    """Whether the function is a kernel, or only for the device."""
    head = source.text[node.start_byte : body.start_byte]
    return b"__global__" in head or (b"__device__" in head and b"__host__" not in head)


def name_of(definition: Definition) -> tuple[str, str]:
    """Class and name of a function."""
    declarator = definition.node.child_by_field_name("declarator")
    if definition.name or declarator is None:
        return definition.owner, definition.name
    name, owner = qualified(function_declarator(declarator), definition.owner)
    return owner, name
