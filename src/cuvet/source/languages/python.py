"""Python: ``cuda.bindings``, ``cupy.cuda.runtime``, PyCUDA's driver, and the driver and the runtime with ctypes: the functions and
classes of a file.

What an object's attribute holds is named ``self.stream``; ``self`` is then a parameter whose type is the class. Of a call that returns
several values, ``result[0]``, ``result[1]`` are the lvalues of a variable that gets them all.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter

from cuvet.source.calls import meaning
from cuvet.source.languages.cpp import Class, Definition, Found
from cuvet.source.languages.interest import NOT_NAMES, WORD, find_interest, handles
from cuvet.source.languages.lowering import DEEPEST
from cuvet.source.languages.python_names import LOADS, Api, Names, PythonDefinition, shape
from cuvet.source.languages.python_statements import PythonLowering
from cuvet.source.program import Function
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, field_text, text_of
from cuvet.source.textual.arrays import copies_arrays
from cuvet.source.textual.graphs import captures_graphs
from cuvet.source.textual.python_blocks import launches_kernels
from cuvet.source.textual.python_callbacks import calls_back
from cuvet.source.textual.python_core import closes_streams
from cuvet.source.textual.python_devices import streams_of_devices
from cuvet.source.textual.python_kept import keeps_addresses
from cuvet.source.textual.ranks import sets_devices_by_rank
from cuvet.source.textual.tensors import copies_tensors
from cuvet.source.textual.timing import times_events
from cuvet.source.textual.torch_processes import forks_with_torch
from cuvet.source.textual.torch_streams import uses_streams

_MENTIONS = re.compile(
    rb"\bcuda\.bindings\b|\bfrom\s+cuda\s+import\b|\bcuda\.cudart\b|\bcuda\.cuda\b|\bpycuda\b|\bcuda\.(?:api\.)?runtime\b|\bcuda(?:\.api)?\s+import\s+runtime\b"
)
HANDLE = re.compile("")
"""Any member may be a handle: its type is not known."""
_CALL = re.compile(rb"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?=\s*\()")
_COPY = re.compile(
    rb"^[ \t]*([A-Za-z_][\w.\[\], ]{0,200}?)[ \t]?=(?!=)[ \t]*(?:\w+\()?([A-Za-z_][\w.\[\], ]{0,200})\)?[ \t]*(?:#.*)?$",
    re.MULTILINE,
)
_MEMBER = re.compile(rb"\bself\.(\w+)(?:[ \t]?,[^=\n]{0,200})?[ \t]?=(?!=)")
_LEAVES = frozenset({b"return", b"raise", b"break", b"continue", b"exit", b"_exit", b"quit", b"abort", b"yield"})
_CONTAINERS = frozenset(
    "module block if_statement else_clause elif_clause try_statement except_clause finally_clause with_statement decorated_definition "
    "for_statement while_statement match_statement case_clause".split()
)
_PASSES_ON = frozenset({"call", "argument_list", "parenthesized_expression", "subscript", "await", "tuple"})
_OF_LIBRARIES = (
    copies_tensors,
    uses_streams,
    copies_arrays,
    times_events,
    captures_graphs,
    launches_kernels,
    forks_with_torch,
    streams_of_devices,
    closes_streams,
    keeps_addresses,
    calls_back,
    sets_devices_by_rank,
)
MODULE = "<module>"


def mentions_cuda(text: bytes) -> bool:
    """Whether a file has to do with CUDA."""
    if b"cuda" in text and (
        _MENTIONS.search(text) is not None or (b"ctypes" in text and LOADS.search(text) is not None)
    ):
        return True
    return any(mentions(text) for mentions in _OF_LIBRARIES)


def definitions(root: Node, text: bytes) -> Found:
    """All functions and classes of the file, and its own statements as a function ``<module>``."""
    names = Names(text)
    calls = names.calls(text)
    found = Found()
    if not calls:
        return found
    nodes: list[tuple[Node, str]] = []
    classes: list[tuple[Node, Node]] = []
    waiting: list[tuple[Node, str, int]] = [(root, "", 0)]
    while waiting:
        node, owner, depth = waiting.pop()
        for child in node.named_children if depth < DEEPEST else ():
            body = child.child_by_field_name("body")
            if child.type == "function_definition" and body is not None:
                nodes.append((child, owner))
                waiting.append((body, "", depth + 1))
            elif child.type == "class_definition" and body is not None:
                classes.append((child, body))
                waiting.append((body, field_text(child, "name"), depth + 1))
            elif child.type in _CONTAINERS:
                waiting.append((child, owner, depth + 1))
    nodes.sort(key=lambda each: each[0].start_byte)
    functions = frozenset(field_text(node, "name") for node, _ in nodes)
    ranges = [(node.start_byte, node.end_byte) for node, _ in nodes]
    for at, (node, owner) in enumerate(nodes):
        inner = tuple(ranges[at + 1 : bisect_left(ranges, (node.end_byte,))])
        name = field_text(node, "name")
        found.functions.append(
            PythonDefinition(node, owner, name, names=names, calls=calls, functions=functions, inner=inner)
        )
    own = PythonDefinition(root, "", MODULE, names=names, calls=calls, functions=functions, inner=tuple(ranges))
    found.functions.append(own)
    handed = {word for at, api in calls for word in _names_of_call(root, at, api)} if classes else set()
    found.classes += [_class(node, body, handed) for node, body in classes]
    return found


def _class(node: Node, body: Node, handed: set[bytes]) -> Class:
    """Its members are the attributes of ``self`` that its functions assign to, as far as CUDA's calls take them (``handed``)."""
    bases = node.child_by_field_name("superclasses")
    made = Class(field_text(node, "name"), node.start_byte, node.end_byte, references=True)
    if bases is not None and text_of(bases) not in ("()", "(object)"):
        made.bases = (text_of(bases),)
    made.members = {word.decode(): "" for word in _MEMBER.findall(body.text or b"") if word in handed}
    for child in body.named_children:
        method = child.child_by_field_name("definition") if child.type == "decorated_definition" else child
        if method is not None and method.type == "function_definition":
            made.declared[f"{field_text(method, 'name')}()"] = "{}"
    return made


def lower(
    definition: Definition, source: Source, wrappers: frozenset[bytes], members: frozenset[bytes]
) -> Function | None:
    """See ``cuvet.source.languages.Language``."""
    assert isinstance(definition, PythonDefinition)
    text = source.text
    body = definition.node.child_by_field_name("body") or definition.node
    found = own_calls(definition, body)
    others = (members | wrappers) and (members | wrappers) & set(WORD.findall(text, body.start_byte, body.end_byte))
    if not found and (not others or definition.name == MODULE):
        return None
    names = set(members)
    for at, api in found:
        names |= _names_of_call(body, at, api)
    sites = [at for at, _ in found]
    for match in _CALL.finditer(text, body.start_byte, body.end_byte):
        name = match.group().decode()
        if name.startswith("self.") or name in definition.functions:
            sites.append(match.start())
            if name.encode() in wrappers:
                names |= _names_of_call(body, match.start(), None)
    interest = find_interest(text, body.start_byte, body.end_byte, names, _COPY, sites, _LEAVES | wrappers)
    return PythonLowering(source, definition, body, interest).lowered()


def own_calls(definition: PythonDefinition, body: Node) -> list[tuple[int, Api]]:
    """(offset, entry point) of the calls of CUDA in that part of the function, without the functions inside of it."""
    calls = definition.calls
    first, last = (bisect_left(calls, at, key=itemgetter(0)) for at in (body.start_byte, body.end_byte))
    return [(at, api) for at, api in calls[first:last] if not any(start <= at < end for start, end in definition.inner)]


def _names_of_call(body: Node, at: int, api: Api | None) -> set[bytes]:
    """Words in the arguments that are handles, and in what gets the results. ``api`` None: of any function."""
    node = enclosing(body.descendant_for_byte_range(at, at + 1), "call", "block", "module")
    if node is None or node.type != "call":
        return set()
    given = arguments_of(node)
    words: set[bytes] = set()
    if api is None:
        words.update(WORD.findall(b" ".join(child.text or b"" for child in given)))
        makes = True
    else:
        form, found = shape(api, len(given)), meaning(api.name)
        wanted = handles(api.name)
        makes = bool(found is not None and found.made)
        for child, position in zip(given, form.given if form is not None else (), strict=False):
            if position in wanted:
                words.update(WORD.findall(child.text or b""))
    if makes:
        words.update(_target_words(node, api is not None and api.style == "tuple"))
    return words - NOT_NAMES


def _target_words(node: Node, status_first: bool) -> Iterator[bytes]:
    """Words in what the value of the expression is assigned to. ``status_first``: the first of several targets gets a status."""
    while node.parent is not None and node.parent.type in _PASSES_ON:
        if node.parent.type in ("call", "subscript"):
            status_first = False
        node = node.parent
    if node.parent is None or node.parent.type not in ("assignment", "named_expression"):
        return
    left = node.parent.child_by_field_name("left") or node.parent.child_by_field_name("name")
    if left is None:
        return
    several = left.named_children if left.type in ("pattern_list", "tuple_pattern", "list_pattern") else [left]
    for target in several[1:] if status_first and len(several) > 1 else several:
        yield from WORD.findall(target.text or b"")
