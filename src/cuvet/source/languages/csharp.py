"""C#: P/Invoke declarations, classes that gather them (ManagedCuda, CUDA.NET) and wrappers: the methods and classes of a file.

Fields of the method's own class are named ``this.stream``. ``Dispose`` and the finalizer are destructors.
"""

import re
from collections import Counter

from cuvet.source.languages.cpp import Class, Definition, Found
from cuvet.source.languages.csharp_names import HANDLE, CSharpDefinition, arguments, positions
from cuvet.source.languages.csharp_statements import CSharpLowering
from cuvet.source.languages.csharp_wrappers import CONTEXTS, DECLARED, DISPOSED, KERNEL, USES, WRAPPERS, wrapper_named
from cuvet.source.languages.interest import WORD, find_interest, handles
from cuvet.source.languages.lowering import DEEPEST
from cuvet.source.methods import called
from cuvet.source.program import Function
from cuvet.source.syntax.parsing import Node, Source, enclosing, field_text, text_of

__all__ = ["HANDLE", "definitions", "lower", "mentions_cuda"]

_MENTIONS = re.compile(
    rb"\bcu(?:da|blas|dnn|fft|rand|sparse|solver)?[A-Z]\w{1,80}\s{0,80}\(|EntryPoint\s{0,80}=\s{0,80}\"cu"
)
_IMPORTED = re.compile(
    rb'(?:DllImport|LibraryImport)\s*\([^\])]{0,300}?EntryPoint\s*=\s*"(cu\w+)"[^\]]{0,300}\](?:\s*\[[^\]]{0,300}\]){0,9}[^;{}(]{0,300}?\b(\w+)\s*\('
)
_CALL = re.compile(rb"\b([A-Za-z_]\w*)\s*\(")
_NOT_CALLED = re.compile(rb"\b([A-Za-z_]\w*)\b(?!\s*\()")
_INTERFACE = re.compile(r"(?:\w+\.)*I[A-Z]")
_REPLACED = frozenset({b"static", b"virtual", b"override", b"abstract", b"async", b"partial"})
_COPY = re.compile(
    rb"(?<![\w.\]])([A-Za-z_][\w.\[\]]*)\s?=(?!=)\s?(?:\([\w\s*.]{1,100}\))?\s?(?:new\s+\w+\s*\()?([A-Za-z_][\w.\[\]]*)\)?\s?[;,)]"
)
_LEAVES = frozenset({b"return", b"throw", b"break", b"continue", b"goto", b"Exit", b"FailFast"})
_TYPES = frozenset({"class_declaration", "struct_declaration", "record_declaration", "record_struct_declaration"})
_CONTAINERS = frozenset(
    "namespace_declaration file_scoped_namespace_declaration declaration_list preproc_if preproc_elif preproc_else preproc_region ERROR "
    "property_declaration indexer_declaration accessor_list event_declaration block global_statement".split()
)
_METHODS = frozenset(
    "method_declaration constructor_declaration destructor_declaration operator_declaration conversion_operator_declaration "
    "local_function_statement accessor_declaration".split()
)
_COMPUTED = re.compile(rb"=>|\b(?:get|set|init)\s*\{")
"""In a property that runs code."""
MAIN = "Main"


def mentions_cuda(text: bytes) -> bool:
    """Whether a file has to do with CUDA."""
    return (b"cu" in text and _MENTIONS.search(text) is not None) or USES.search(text) is not None


def definitions(root: Node, text: bytes) -> Found:
    """All methods and classes of the file. Static methods belong to no class; statements outside of any are a function ``Main``."""
    imported = {match[2].decode(): match[1].decode() for match in _IMPORTED.finditer(text)}
    found = Found()
    nodes: list[tuple[Node, str]] = []
    properties: list[tuple[Node, str]] = []
    waiting: list[tuple[Node, str, int]] = [(root, "", 0)]
    while waiting:
        node, owner, depth = waiting.pop()
        for child in node.named_children if depth < DEEPEST else ():
            body = child.child_by_field_name("body")
            if child.type in _TYPES and body is not None:
                found.classes.append(_class(child, body))
                waiting.append((body, field_text(child, "name"), depth + 1))
            elif child.type in _METHODS and body is not None:
                nodes.append((child, owner))
                waiting.append((body, owner, depth + 1))
            elif child.type in _CONTAINERS:
                if child.type == "property_declaration":
                    properties.append((child, owner))
                waiting.append((child, owner, depth + 1))
    if any(child.type == "global_statement" for child in root.named_children):
        nodes.append((root, ""))
    functions = frozenset(field_text(node, "name") for node, _ in nodes)
    members = {each.name: each.members for each in found.classes}
    methods = _sure_methods(nodes, found.classes, text)
    wrappers = frozenset({*WRAPPERS, KERNEL} - members.keys()) if USES.search(text) else frozenset[str]()
    computed = _computed(properties, text) if wrappers else {}
    for node, owner in sorted(nodes, key=lambda each: each[0].start_byte):
        static = any(child.type == "modifier" and child.text == b"static" for child in node.children)
        name = MAIN if node is root else _function_name(node)
        owner = "" if static or node.type == "local_function_statement" else owner
        own = members.get(owner, {})
        fields = frozenset(own) - computed.get(owner, set()) if wrappers else frozenset[str]()
        ends = any(kind.rpartition(".")[2].rstrip("?") in CONTEXTS for kind in own.values())
        found.functions.append(
            CSharpDefinition(
                node,
                owner,
                name,
                imported=imported,
                functions=functions,
                methods=methods,
                types=own,
                static=static,
                wrappers=wrappers,
                fields=fields,
                shares_end=ends,
            )
        )
    return found


def _computed(properties: list[tuple[Node, str]], text: bytes) -> dict[str, set[str]]:
    """By class: properties that run code; and the fields that they name, if what the property gives is disposed of somewhere."""
    disposed = {match[1] for match in DISPOSED.finditer(text)}
    found: dict[str, set[str]] = {}
    for node, owner in properties:
        name, written = field_text(node, "name").encode(), node.text or b""
        if _COMPUTED.search(written):
            words = WORD.findall(written) if name in disposed else [name]
            found.setdefault(owner, set()).update(word.decode() for word in words)
    return found


def _sure_methods(nodes: list[tuple[Node, str]], classes: list[Class], text: bytes) -> frozenset[tuple[str, str]]:
    """(class, name) of the methods that a call on an object of the class reaches, and that do what they say at once: no others of the name,
    none that a derived class may replace. A body with a lambda, or that names a method without calling it, does something later. A class
    whose properties run code may change without a call, as may one that has a base elsewhere."""
    names = Counter(each.name for each in classes)
    changing = {
        owner for node, owner in nodes if node.type == "accessor_declaration" and node.children[0].text != b"get"
    }
    plain = {
        each.name
        for each in classes
        if names[each.name] == 1 and each.name not in changing and all(map(_INTERFACE.match, each.bases))
    }
    named = {field_text(node, "name").encode() for node, _ in nodes if node.type == "method_declaration"}
    bodies = [(owner, node) for node, owner in nodes if node.type in ("method_declaration", "destructor_declaration")]
    written = Counter((owner, called(_function_name(node))) for owner, node in bodies)
    return frozenset(
        (owner, name)
        for owner, node in bodies
        if owner in plain
        and written[owner, name := called(_function_name(node))] == 1
        and node.type == "method_declaration"
        and _REPLACED.isdisjoint(child.text for child in node.children if child.type == "modifier")
        and (body := node.child_by_field_name("body")) is not None
        and not _does_later(text[body.start_byte + 2 : body.end_byte], named)
    )


def _does_later(body: bytes, methods: set[bytes]) -> bool:
    """Whether a method hands out code: a lambda, or one of the ``methods`` by its name; or is run piece by piece."""
    given = (match[1] for match in _NOT_CALLED.finditer(body))
    return b"=>" in body or any(word in methods or word in (b"delegate", b"yield") for word in given)


def _function_name(node: Node) -> str:
    if node.type == "destructor_declaration" or (
        node.type == "method_declaration" and field_text(node, "name") == "Dispose"
    ):
        return "__del__"
    return "__init__" if node.type == "constructor_declaration" else field_text(node, "name")


def _class(node: Node, body: Node) -> Class:
    """Its members are its fields and properties that are not static."""
    bases = next((text_of(child) for child in node.named_children if child.type == "base_list"), "")
    made = Class(
        field_text(node, "name"),
        node.start_byte,
        node.end_byte,
        references=node.type in ("class_declaration", "record_declaration"),
    )
    made.bases = tuple(base for base in re.findall(r"[\w.<>]+", bases) if base != "IDisposable")
    for child in body.named_children:
        if {b"static", b"const"} & {each.text for each in child.children if each.type == "modifier"}:
            continue
        if child.type == "field_declaration":
            for variables in child.named_children:
                kind = variables.child_by_field_name("type")
                for variable in variables.named_children:
                    if variable.type == "variable_declarator" and kind is not None:
                        made.members[field_text(variable, "name")] = text_of(kind)
                        if len(variable.named_children) > 1:
                            made.initialised.append(field_text(variable, "name"))
        elif child.type == "property_declaration":
            made.members[field_text(child, "name")] = field_text(child, "type")
        elif child.type in _METHODS:
            name = _function_name(child)
            made.declared["~()" if name == "__del__" else f"{made.name if name == '__init__' else name}()"] = "{}"
    return made


def lower(
    definition: Definition, source: Source, wrappers: frozenset[bytes], members: frozenset[bytes]
) -> Function | None:
    """See ``cuvet.source.languages.Language``."""
    assert isinstance(definition, CSharpDefinition)
    text = source.text
    body = definition.node.child_by_field_name("body") or definition.node
    start, end = body.start_byte, body.end_byte
    calls = [(match.start(1), match[1].decode()) for match in _CALL.finditer(text, start, end)]
    found = [(at, api) for at, name in calls if (api := definition.entry_point(name))]
    others = (members | wrappers) and (members | wrappers) & set(WORD.findall(text, start, end))
    wrapped = _wrapped(definition, text, end)
    if not found and not others and not wrapped & set(WORD.findall(text, start, end)):
        return None
    names = {*members, *wrapped}
    for at, api in found:
        names |= _names_of_call(body, at, api)
    sites = [at for at, _ in found]
    for at, name in calls:
        if name in definition.functions:
            sites.append(at)
            if name.encode() in wrappers:
                names |= _names_of_call(body, at, None)
    interest = find_interest(text, start, end, names, _COPY, sites, _LEAVES | wrappers)
    return CSharpLowering(source, definition, body, interest).lowered()


def _wrapped(definition: CSharpDefinition, text: bytes, end: int) -> set[bytes]:
    """Variables and fields whose classes are wrappers."""
    if not definition.wrappers:
        return set()
    matches = DECLARED.finditer(text, definition.node.start_byte, end)
    return {match[1] or match[2] for match in matches} | {
        name.encode() for name in definition.fields if wrapper_named(definition.types[name]) in definition.wrappers
    }


def _names_of_call(body: Node, at: int, api: str | None) -> set[bytes]:
    """Words in the arguments that are handles. ``api`` None: of any function, and what it is assigned to."""
    node = enclosing(body.descendant_for_byte_range(at, at + 1), "invocation_expression", "block")
    if node is None or node.type != "invocation_expression":
        return set()
    given = arguments(node)
    if api is None:
        target = (
            node.parent.child_by_field_name("left") or node.parent.child_by_field_name("name")
            if node.parent is not None
            else None
        )
        function = node.child_by_field_name("function")
        object_ = function.child_by_field_name("expression") if function is not None else None
        return {
            word
            for child in (*given, target, object_ if object_ is not None and object_.type == "identifier" else None)
            if child is not None
            for word in WORD.findall(child.text or b"")
        }
    wanted, form = handles(api), positions(api, len(given))
    return {
        word
        for child, position in zip(given, form or (), strict=False)
        if position in wanted
        for word in WORD.findall(child.text or b"")
    }
