"""Classes of a file that own one handle of CUDA, and what functions do with objects of them."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from cuvet.catalog import Kind
from cuvet.findings import Finding, Severity
from cuvet.rules import rule_called
from cuvet.rules.event.timing_disabled import EventTimingDisabled
from cuvet.rules.source.copied_owner import SourceCopiedOwner
from cuvet.source.calls import meaning
from cuvet.source.syntax.lexing import block_end
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, field_text, storage, text_of
from cuvet.source.textual.bounds import first
from cuvet.source.textual.declared import only_declaration
from cuvet.source.textual.written import Body, Written, block_of

_CLASS = rb"\b(?:class|struct)\s+(?:alignas\([^()]*\)\s*)?%s\b[^;{}()]*\{"
_ENDED = re.compile(rb"\b(cu\w+)\s*\(\s*(?:this\s*->\s*)?([A-Za-z_]\w*)\s*\)")
_MADE = rb"\bcu(?:da)?EventCreate(?:WithFlags)?\s*\(\s*&\s*(?:this\s*->\s*)?%s\s*,\s*([^();]*)\)"
_SHOWS = rb"\b(\w+)\s*\(\s*\)\s*(?:const\b\s*)?(?:noexcept\b\s*)?\{\s*return\s+(?:this\s*->\s*)?%s\s*;\s*\}"
_INTO = re.compile(rb"(?<![\w.>])(?:this\s*->\s*)?([A-Za-z_]\w*)\s*\.\s*push_back\s*\(\s*([A-Za-z_]\w*)\s*\)")
_NOT_COPIED = re.compile(
    rb"unique_ptr|shared_ptr|atomic|mutex|thread|future|promise|[ou]?f?stream\b|\bcount\w*|\brefs?\w*|\bowns?\w*"
)
_LEAVES = re.compile(rb"\b(?:return|throw|goto|break|continue|exit|abort|co_\w+)\b")
_HANDLE = re.compile(r"([A-Za-z_]\w*)\s*\.\s*([A-Za-z_]\w*)\s*(?:\(\s*\))?")
_FLAGS = re.compile(r"[\w\s|:()]+")
_WITHOUT_TIMING = re.compile(r"\b(?:cudaEventDisableTiming|CU_EVENT_DISABLE_TIMING)\b")
_USES_AFTER_END = {Kind.STREAM: "stream-use-after-destroy", Kind.EVENT: "event-use-after-destroy"}


class Owner(NamedTuple):
    """A class whose destructor ends the one handle that it has. ``shows``: the member, and the functions that return it."""

    name: str
    inside: bytes
    member: str
    kind: Kind
    shows: frozenset[str]


@lru_cache(maxsize=64)
def _owner(name: str, source: Source) -> Owner | None:
    code, word = source.code, re.escape(name.encode())
    classes = list(re.finditer(_CLASS % word, code))
    destructors = list(re.finditer(rb"~\s*%s\s*\(\s*(?:void)?\s*\)[\w\s]*\{" % word, code))
    if len(classes) != 1 or len(destructors) != 1:
        return None
    inside = code[classes[0].end() : block_end(code, classes[0].end())]
    ending = code[destructors[0].end() : block_end(code, destructors[0].end())]
    ended = [
        (found, match[2]) for match in _ENDED.finditer(ending) if (found := meaning(match[1].decode())) and found.ended
    ]
    if len(ended) != 1:
        return None
    member, kind = ended[0][1], ended[0][0].ended[0][1].kind
    if not _asked(ending) <= {member, b"this", b"nullptr", b"NULL", b"0"}:
        return None
    shows = {match[1].decode() for match in re.finditer(_SHOWS % member, inside)}
    return Owner(name, inside, member.decode(), kind, frozenset({*shows, member.decode()}))


def _asked(ending: bytes) -> set[bytes]:
    """The words of all conditions in a destructor, and what else may decide what it does."""
    asked = {
        word
        for match in re.finditer(rb"\bif\s*(?:constexpr\s*)?\(([^{};]*?)\)\s*[\w{:]", ending)
        for word in re.findall(rb"\w+", match[1])
    }
    return asked | set(re.findall(rb"\b(?:else|for|while|switch|return|goto|try)\b|[?#]", ending))


def outlived(body: Body) -> Iterator[Finding]:
    """Handles that are taken from an object of an inner block, and used after that block."""
    if b"~" not in body.source.code:
        return
    for match in re.finditer(
        rb"(?<![\w.>])([A-Za-z_]\w*)\s*=\s*([A-Za-z_]\w*)\s*\.\s*([A-Za-z_]\w*)\s*(?:\(\s*\))?\s*;", body.code
    ):
        target, variable, shown = (each.decode() for each in match.groups())
        at = body.at(body.body.start_byte + match.start(2))
        owner = _owner_of(variable, body)
        taken = enclosing(at, "assignment_expression")
        block = _scope(variable, body)
        if owner is None or taken is None or block is None or block == body.body or shown not in owner.shows:
            continue
        if owner.kind not in _USES_AFTER_END or not block.start_byte <= taken.start_byte < block.end_byte:
            continue
        if not all(_only_shows(node, parent, owner) for node, parent in body.identifiers(variable)):
            continue
        use = _used_after(target, taken, block, body)
        if use is not None:
            line = body.line(taken)
            message = f"`{target}` holds the {owner.kind.noun} of `{variable}`, which ~{owner.name} destroyed at the end of the block"
            path = (
                body.step(taken, f"`{target}` is set to what `{variable}` owns"),
                body.step(use.node, f"`{variable}` of line {line} is gone here"),
            )
            rule = rule_called(_USES_AFTER_END[owner.kind])
            assert rule is not None
            yield body.finding(rule, use.node, message, api=use.name, path=path)
            return


def _owner_of(variable: str, body: Body) -> Owner | None:
    """The class of a local object that the function declares once, as such."""
    declared = only_declaration(variable, body)
    if declared is None or declared.declarator in ("pointer_declarator", "reference_declarator", "array_declarator"):
        return None
    around = enclosing(declared.node, "declaration")
    if around is None or storage(around) or not declared.kind.isidentifier():
        return None
    return _owner(declared.kind, body.source)


def _only_shows(node: Node, parent: Node, owner: Owner) -> bool:
    """Whether the name of the object stands in its declaration, or where its handle is taken: what else is done may move it on."""
    around = enclosing(node, "declaration", "compound_statement")
    if around is not None and around.type == "declaration" and _declares(around, node):
        return True
    return parent.type == "field_expression" and text_of(parent).partition(".")[2].strip() in owner.shows


def _declares(declaration: Node, name: Node) -> bool:
    return any(
        each == name or (each.type == "init_declarator" and each.child_by_field_name("declarator") == name)
        for each in declaration.children_by_field_name("declarator")
    )


def _scope(variable: str, body: Body) -> Node | None:
    """The block that the variable is declared in."""
    declared = only_declaration(variable, body)
    around = enclosing(declared.node, "declaration") if declared is not None else None
    return (
        around.parent
        if around is not None and around.parent is not None and around.parent.type == "compound_statement"
        else None
    )


def _used_after(target: str, taken: Node, block: Node, body: Body) -> Written | None:
    """The first call of CUDA after the block that is sure to be reached from it, and is given the variable as it was set in it."""
    declared = only_declaration(target, body)
    if declared is None or block.start_byte <= declared.node.start_byte < block.end_byte or "*" in declared.kind:
        return None
    if declared.declarator in ("pointer_declarator", "reference_declarator"):
        return None
    if _LEAVES.search(body.source.code, taken.end_byte, block.end_byte) or not _is_plain(taken):
        return None
    places = [node.start_byte for node, _ in body.identifiers(target) if node.start_byte >= taken.end_byte]
    around = _blocks_around(block)
    for call in body.calls:
        if places and call.start <= places[0] < call.end:
            found = meaning(call.name)
            given = any(text_of(each).strip() == target for each in call.arguments)
            sure = call.start >= block.end_byte and block_of(call.node) in around
            return call if given and sure and found is not None and not found.made else None
    return None


def _is_plain(taken: Node) -> bool:
    return taken.parent is not None and taken.parent.type == "expression_statement"


def _blocks_around(block: Node) -> set[int]:
    """The blocks that the statement of the block stands in, without those of loops and lambdas further out."""
    found: set[int] = set()
    around = block.parent
    while around is not None and around.type not in ("function_definition", "lambda_expression"):
        if around.type == "compound_statement":
            found.add(around.id)
        around = around.parent
    return found


def copied(body: Body) -> Iterator[Finding]:
    """Local objects that are copied into a container, though the compiler writes the copies of their class."""
    for match in _INTO.finditer(body.code) if b"~" in body.source.code else ():
        container, variable = match[1].decode(), match[2].decode()
        owner = _owner_of(variable, body)
        if owner is None or not _is_copied_by_compiler(owner, body.source.code):
            continue
        node = enclosing(body.at(body.body.start_byte + match.start(2)), "call_expression")
        held = rb"<\s*%s\s*>\s*%s\b" % (re.escape(owner.name.encode()), re.escape(container.encode()))
        if node is None or re.search(held, body.source.code) is None or _is_set(owner, variable, body):
            continue
        message = f"`{variable}` is copied here, and the destructors of both objects end the same {owner.member}"
        yield body.finding(SourceCopiedOwner, node, message, api=text_of(node).partition("(")[0], severity="warning")
        return


def given_to_kernels(body: Body) -> Iterator[Finding]:
    """Objects that a launch copies, though the compiler writes the copies of their class: the copy ends with the launch."""
    for launch in first(body.launches) if b"~" in body.source.code else ():
        for at, given in enumerate(arguments_of(launch)):
            owner = _given_owner(given, body)
            if owner is None or not _is_copied_by_compiler(owner, body.source.code):
                continue
            kernel = field_text(launch, "function").partition("<")[0].strip()
            severity = _taken(kernel, at, owner, body.source.code)
            if severity is not None:
                message = f"the launch copies `{text_of(given)}`, and the destructors of both objects end the same {owner.member}"
                yield body.finding(SourceCopiedOwner, given, message, api=kernel, severity=severity)
                return


def _given_owner(given: Node, body: Body) -> Owner | None:
    """The class of an object of the function, or of the object whose function it is."""
    text = text_of(given).strip()
    if text.replace(" ", "") == "*this":
        return _owner(body.owner, body.source) if body.owner.isidentifier() else None
    declared = only_declaration(text, body) if text.isidentifier() and text.encode() not in body.bound else None
    if declared is None or declared.declarator in ("pointer_declarator", "array_declarator"):
        return None
    kind = declared.kind.partition("<")[0]
    return _owner(kind, body.source) if kind.isidentifier() else None


def _taken(kernel: str, at: int, owner: Owner, code: bytes) -> Severity | None:
    """How sure it is that the kernel takes the object itself, not what is made of it; None if it does not. A kernel out of sight may."""
    found = re.search(rb"__global__[^;{}()]*\b%s\s*\(([^(){};]*)\)\s*[{;]" % re.escape(kernel.encode()), code)
    if found is None:
        return "note" if b"operator" not in owner.inside and kernel.isidentifier() else None
    parameters = re.split(rb",(?![^<]*>)", found[1])
    taken = parameters[at] if at < len(parameters) else b""
    itself = rb"\s*(?:const\s+)?(?:\w+::)*%s(?:\s*<[^<>]*>)?(?:\s+const)?\s+\w+\s*" % owner.name.encode()
    return "warning" if re.fullmatch(itself, taken) else None


def _is_copied_by_compiler(owner: Owner, code: bytes) -> bool:
    """Whether the class has no copies and moves of its own, nothing that cannot be copied, no base, and makes what it owns."""
    name = re.escape(owner.name.encode())
    head = re.search(_CLASS % name, code)
    copies = rb"\b%s\s*\([^()]*\b(?:%s|[Ss]elf\w*)\b[^(),]*&|\boperator\s*=" % (name, name)
    own = re.search(copies, owner.inside) or re.search(rb"\b%s\s*\([^()]*&&" % name, owner.inside)
    by_macro = re.search(rb"(?m)^\s*[A-Z][A-Z0-9_]{3,}\((?!\s*cu)", owner.inside)
    makes = re.search(
        rb"\bcu\w+\s*\(\s*(?:\([^()]*\)\s*)?&\s*(?:this\s*->\s*)?%s\b" % owner.member.encode(), owner.inside
    )
    return (
        head is not None
        and re.search(rb"(?<!:):(?!:)", head[0]) is None
        and own is None
        and by_macro is None
        and makes is not None
        and _NOT_COPIED.search(owner.inside) is None
    )


def _is_set(owner: Owner, variable: str, body: Body) -> bool:
    """Whether the function itself sets the member of the object, or calls what may let go of it."""
    changes = rb"\b%s\s*\.\s*(?:%s\s*=(?!=)|\w*(?:release|detach|reset|swap|take|move|disown|forget)\w*\s*\()"
    return re.search(changes % (variable.encode(), owner.member.encode()), body.code) is not None


def elapsed_without_timing(body: Body) -> Iterator[Finding]:
    """Elapsed times of events that objects own which were made with a flag against it."""
    for call in body.calls:
        for given in call.arguments[1:3] if call.name in ("cudaEventElapsedTime", "cuEventElapsedTime") else ():
            match = _HANDLE.fullmatch(text_of(given))
            owner = _owner_of(match[1], body) if match is not None else None
            if match is None or owner is None or match[2] not in owner.shows or owner.kind is not Kind.EVENT:
                continue
            declared = only_declaration(match[1], body)
            made = enclosing(declared.node, "declaration") if declared is not None else None
            if made is not None and declared is not None and _WITHOUT_TIMING.search(_flags(owner, declared.node, made)):
                message = f"`{match[1]}` was made with a flag that disables timing"
                path = (body.step(made, f"`{match[1]}` is made here"),)
                yield body.finding(EventTimingDisabled, given, message, api=call.name, path=path)
                return


def _flags(owner: Owner, name: Node, made: Node) -> str:
    """What the constructor makes the event with, as it is written there or passed to it; empty if that is not sure."""
    word = owner.name.encode()
    heads = re.finditer(
        rb"(?<![~\w])(?:explicit\s+)?%s\s*\(([^()]*)\)\s*(?:noexcept\s*)?[^;{}=]*\{" % re.escape(word), owner.inside
    )
    bodies = [(head[1].decode(), owner.inside[head.end() : block_end(owner.inside, head.end())]) for head in heads]
    making = [(given, found) for given, text in bodies for found in re.finditer(_MADE % owner.member.encode(), text)]
    plain = [given for given, _ in bodies if not re.search(rf"\b{owner.name}\s*(?:const\s*)?&", given)]
    if len(making) != 1 or len(plain) != 1:
        return ""
    flags = making[0][1][1].decode().strip()
    if _WITHOUT_TIMING.search(flags):
        return flags if _FLAGS.fullmatch(flags) else ""
    parameters = making[0][0].split(",")
    names = [re.split(r"\W+", each.partition("=")[0].strip())[-1] for each in parameters]
    if flags not in names:
        return ""
    at, given = names.index(flags), _given(name, made)
    passed = given[at] if at < len(given) else parameters[at].partition("=")[2]
    return passed if _FLAGS.fullmatch(passed) else ""


def _given(name: Node, made: Node) -> Sequence[str]:
    """What the constructor of the object is given: ``Event a(flags)``, ``Event a{flags}``, ``Event a = Event(flags)``."""
    inner = name.parent
    value = inner.child_by_field_name("value") if inner is not None and inner.type == "init_declarator" else None
    if value is not None and value.type in ("argument_list", "initializer_list"):
        return [text_of(each) for each in value.named_children]
    if value is not None and value.type == "call_expression":
        return [text_of(each) for each in arguments_of(value)]
    inside = re.fullmatch(r"[^({]*[({](.*)[)}]\s*;", text_of(made), re.S)
    return inside[1].split(",") if inside else ()
