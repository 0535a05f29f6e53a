"""C, C++ and CUDA C++: from tree-sitter's tree to ``cuvet.source.program``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cuvet.source.languages.cpp_statements import Lowering
from cuvet.source.languages.cpp_text import declared, function_declarator, qualified
from cuvet.source.parsing import Source, text_of
from cuvet.source.program import Function

if TYPE_CHECKING:
    from tree_sitter import Node

HANDLE = re.compile(r"\*|^(?:const\s+)?(?:cuda\w+_t|CU(?!DA)\w+|cuda\w+Object_t)\b")
"""Types of variables that hold objects of CUDA: pointers and handles."""
MENTIONS_CUDA = re.compile(
    rb"\bcu[a-zA-Z]*[A-Z]\w+\s*\(|<<<|\b(?:nccl|nvrtc|nvJitLink)[A-Z]\w+\s*\(|\bcuda[A-Z]\w+_t\b|\bCU(?:stream|event|deviceptr)\b"
)
_WORD = re.compile(rb"[A-Za-z_]\w*")
_CONTAINERS = frozenset(
    {
        "translation_unit",
        "namespace_definition",
        "declaration_list",
        "linkage_specification",
        "template_declaration",
        "preproc_ifdef",
        "preproc_if",
        "preproc_else",
        "preproc_elif",
        "ERROR",
    }
)
_CLASSES = frozenset({"class_specifier", "struct_specifier", "union_specifier"})


@dataclass
class Definition:
    """A function's node and where it stands. ``owner``: name of its class; ``name`` is empty where the declarator tells it."""

    node: Node
    owner: str = ""
    name: str = ""


@dataclass
class Class:
    """A class as its definition shows it. ``members`` maps a data member to its type; ``declared`` are its functions' declarations."""

    name: str
    start: int
    end: int
    members: dict[str, str] = field(default_factory=dict)
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


def definitions(root: Node, text: bytes) -> Found:
    """All functions and classes that a file defines, without those inside functions."""
    found = Found()
    waiting: list[tuple[Node, str]] = [(root, "")]
    while waiting:
        node, owner = waiting.pop()
        for child in node.named_children:
            kind = child.type
            if kind == "function_definition":
                found.functions.append(Definition(child, owner))
            elif kind in _CLASSES:
                _class(child, found, waiting)
            elif kind in _CONTAINERS:
                waiting.append((child, owner))
            elif kind in ("declaration", "type_definition", "field_declaration"):
                specifier = child.child_by_field_name("type")
                if specifier is not None and specifier.type in _CLASSES:
                    alias = child.child_by_field_name("declarator") if kind == "type_definition" else None
                    _class(specifier, found, waiting, text_of(alias) if alias is not None else "")
    found.functions.sort(key=lambda definition: definition.node.start_byte)
    return found


def _class(node: Node, found: Found, waiting: list[tuple[Node, str]], alias: str = "") -> None:
    body = node.child_by_field_name("body")
    if body is None:
        return
    name_node = node.child_by_field_name("name")
    name = text_of(name_node).split("<")[0].split("::")[-1].strip() if name_node is not None else alias
    bases = tuple(text_of(child) for child in node.named_children if child.type == "base_class_clause")
    made = Class(name, node.start_byte, body.end_byte, bases=bases, broken=body.has_error)
    for child in body.named_children:
        if child.type == "field_declaration":
            type_node = child.child_by_field_name("type")
            if type_node is None or type_node.type in _CLASSES:
                continue
            static = any(each.type == "storage_class_specifier" for each in child.children)
            for declarator in child.children_by_field_name("declarator"):
                member, shape = declared(declarator)
                if shape != "()" and not static:
                    made.members[member] = text_of(type_node) + shape
                    if child.child_by_field_name("default_value") is not None:
                        made.initialised.append(member)
                elif shape == "()":
                    made.declared[text_of(declarator)] = text_of(child)
        elif child.type in ("declaration", "function_definition"):
            declarator_node = child.child_by_field_name("declarator")
            if declarator_node is not None:
                end = child.child_by_field_name("body")
                made.declared[text_of(declarator_node)] = (
                    text_of(child) if end is None else text_of(child)[: end.start_byte - child.start_byte]
                )
    found.classes.append(made)
    waiting.append((body, name))


def lower(
    definition: Definition,
    source: Source,
    wrappers: frozenset[bytes] = frozenset(),
    members: frozenset[bytes] = frozenset(),
) -> Function | None:
    """The function with its calls of CUDA and of the functions ``wrappers``, and what it does with these ``members`` of its class;
    None if there is nothing of that, or it runs on the device."""
    node = definition.node
    body = node.child_by_field_name("body")
    declarator = node.child_by_field_name("declarator")
    if (
        body is None
        or declarator is None
        or (
            not MENTIONS_CUDA.search(source.text, node.start_byte, node.end_byte)
            and (members | wrappers).isdisjoint(_WORD.findall(source.text, node.start_byte, node.end_byte))
        )
    ):
        return None
    head = source.text[node.start_byte : body.start_byte]
    if b"__global__" in head or (b"__device__" in head and b"__host__" not in head):
        return None
    lowering = Lowering(source, node, definition.owner, declarator, body, wrappers, members)
    return lowering.function() if lowering.concerned or members else None


def name_of(definition: Definition) -> tuple[str, str]:
    """Class and name of a function."""
    declarator = definition.node.child_by_field_name("declarator")
    if declarator is None:
        return definition.owner, definition.name
    name, owner = qualified(function_declarator(declarator), definition.owner)
    return owner, name
