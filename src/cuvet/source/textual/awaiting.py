"""Memory that the host uses while an asynchronous copy or a kernel may still be at work on it."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from cuvet.findings import Finding
from cuvet.rules.source.copy_not_awaited import SourceCopyNotAwaited
from cuvet.source.languages.cpp_text import is_launch
from cuvet.source.syntax.parsing import Node, arguments_of, field_text, text_of
from cuvet.source.textual.pointers import Buffer, allocated, dereferences, is_sound
from cuvet.source.textual.written import Body, Written

_COPY = re.compile(r"cudaMemcpy(?:2D|Peer)?Async|cuMemcpy(?:DtoH|HtoD)Async")
_QUIET = re.compile(
    r"cuda\w+Async|cu(?:Memcpy(?:DtoH|HtoD|DtoD)|Memset\w+)Async|cu(?:da)?EventRecord\w*|cu(?:da)?StreamWaitEvent|"
    r"cu(?:da)?LaunchKernel\w*|cudaSetDevice|cudaGetDevice|cudaGetLastError|cudaPeekAtLastError|cudaGetErrorString|"
    r"cu(?:da)?(?:Stream|Event)Create\w*|f?printf|puts|fabs|abs|sqrt|(?:std::)?(?:min|max|abs|fabs|sqrt)|"
    r"dim3|(?:static|reinterpret|const)_cast|gettimeofday|clock|rand|srand"
)
"""Functions that wait for nothing."""
_TO_HOST = re.compile(rb"\bcudaMemcpy(?:DeviceToHost|Default)\b|^cuMemcpyDtoH")
"""In a copy that waits if it goes to pageable memory."""
_VARIABLE = re.compile(rb"(?:^|[)&])([A-Za-z_]\w*)(?:\[0\]|\.data\(\))?$")
_PAGEABLE = re.compile(
    rb"(?:const\s+)?(?:float|double|int|unsigned|char|bool|long|short|size_t|\w+_t|std::(?:vector|array|string)\b|T$|real$)"
)
_KERNEL = re.compile(rb"__global__[\w\s]{1,100}?\b(\w+)\s{0,80}\(([^(){};]{0,4000})\)\s{0,80}\{")
_WORD = re.compile(rb"\w+")
_LOOPS = frozenset({"for_statement", "while_statement", "do_statement"})
_LEAVES = frozenset({"return_statement", "break_statement", "continue_statement", "goto_statement", "throw_statement"})


def used_too_early(body: Body) -> Iterator[Finding]:
    """The first use of each buffer between a copy and anything that may wait for it."""
    copies = [call for call in body.calls if _COPY.fullmatch(call.name) and len(call.arguments) > 2]
    if copies:
        yield from _pinned(copies, body)
        yield from _pageable(copies, body)
    if body.launches:
        yield from _managed(body)


def _pinned(copies: list[Written], body: Body) -> Iterator[Finding]:
    buffers = [buffer for buffer in allocated(body) if buffer.kind == "pinned"]
    pinned = frozenset(buffer.name for buffer in buffers)
    for buffer in buffers:
        for copy in copies:
            to_host = _is(copy.arguments[0], buffer)
            source = copy.arguments[2 if "2D" in copy.name else 1]
            if not (to_host or _is(source, buffer)):
                continue
            counts = dereferences if to_host else _is_written
            use = _early(buffer.name, copy, body, counts, pinned) or _early(
                buffer.name, copy, body, counts, pinned, again=True
            )
            if use is not None and is_sound(buffer, body):
                yield _finding(buffer, copy, use, "reads or writes" if to_host else "writes", body)
                break


def _managed(body: Body) -> Iterator[Finding]:
    """Managed memory that a kernel of the file writes, or reads."""
    for buffer in allocated(body):
        if buffer.kind != "managed":
            continue
        for launch in body.launches:
            how = _in_kernel(launch, buffer, body)
            kernel = Written(f"kernel {text_of(launch.named_children[0])}", launch, (), "dropped")
            use = how and _early(buffer.name, kernel, body, dereferences if how == "writes" else _is_written)
            if use and is_sound(buffer, body):
                yield _finding(buffer, kernel, use, "reads or writes" if how == "writes" else "writes", body)
                break


def _in_kernel(launch: Node, buffer: Buffer, body: Body) -> str:
    """Whether the kernel ``writes`` or ``reads`` what the buffer points to, as its definition in the file shows; else nothing."""
    given = arguments_of(launch)
    at = next((at for at, each in enumerate(given) if _is(each, buffer)), -1)
    name = text_of(launch.named_children[0]).split("<")[0].encode()
    defined = _kernels(body.source.code).get(name, ()) if at >= 0 else ()
    if len(defined) != 1:
        return ""
    ((parameters, inside),) = defined
    words = [_WORD.findall(each) for each in parameters.split(b",")]
    if len(words) != len(given) or not words[at]:
        return ""
    element = rb"\b" + words[at][-1] + rb"\s*\[[^\[\]]*\]\s*"
    if re.search(element + rb"(?:[-+*/%|&^]|<<|>>)?=(?!=)", inside):
        return "writes"
    return "reads" if re.search(element, inside) else ""


@lru_cache(maxsize=1)
def _kernels(code: bytes) -> dict[bytes, list[tuple[bytes, bytes]]]:
    """The kernels that a file defines, by name: their parameters, and what stands in them."""
    found: dict[bytes, list[tuple[bytes, bytes]]] = {}
    for match in _KERNEL.finditer(code):
        end = code.find(b"\n}", match.end())
        found.setdefault(match[1], []).append((match[2], code[match.end() : max(end, match.end())]))
    return found


def _finding(buffer: Buffer, copy: Written, use: Node, did: str, body: Body) -> Finding:
    message = (
        f"the host {did} `{buffer.name}` while {copy.name} in line {body.line(copy.node)} may still be at work on it"
    )
    path = (
        body.step(copy.node, "the work starts here"),
        body.step(use, f"the host {did} `{buffer.name}` here"),
    )
    return body.finding(SourceCopyNotAwaited, use, message, api=copy.name, path=path)


def _pageable(copies: list[Written], body: Body) -> Iterator[Finding]:
    """Variables, arrays and vectors of the function itself."""
    told: set[str] = set()
    for copy in copies:
        match = _VARIABLE.search(copy.arguments[0].text or b"")
        name = match[1].decode() if match else ""
        kind = copy.arguments[3].text if len(copy.arguments) > 3 and copy.name == "cudaMemcpyAsync" else b""
        if kind != b"cudaMemcpyDeviceToHost" or name in told or not _is_own(name, body):
            continue
        use = _early(name, copy, body, _is_read)
        if use is not None:
            told.add(name)
            line = body.line(copy.node)
            message = (
                f"the host reads `{name}`, which is pageable, before anything waits for {copy.name} in line {line}"
            )
            path = (body.step(copy.node, "the copy starts here"), body.step(use, f"the host reads `{name}` here"))
            yield body.finding(SourceCopyNotAwaited, use, message, api=copy.name, severity="note", path=path)


def _is_own(name: str, body: Body) -> bool:
    """Whether it is declared in the function, once, as a value, an array or a vector; ``std::vector<int> name(n)`` reads as a function."""
    declared = 0
    for node, parent in body.identifiers(name):
        if parent.type in ("pointer_declarator", "reference_declarator", "parameter_declaration"):
            return False
        if (
            parent.type in ("array_declarator", "init_declarator", "declaration", "function_declarator")
            and parent.child_by_field_name("declarator") == node
        ):
            declared += 1
            around = parent if parent.type == "declaration" else parent.parent
            kind = around.child_by_field_name("type") if around is not None else None
            if kind is None or not _PAGEABLE.match(kind.text or b""):
                return False
    return declared == 1


def _is(argument: Node, buffer: Buffer) -> bool:
    return argument.type == "identifier" and text_of(argument) == buffer.name


def _early(
    name: str,
    copy: Written,
    body: Body,
    counts: Callable[[Node, Node], bool],
    pinned: frozenset[str] = frozenset(),
    again: bool = False,
) -> Node | None:
    """The use of the buffer before the first call, after the copy, that may wait; with ``again`` in the next turn of the loop around the
    copy. ``counts`` is asked about its name and the parent. Copies to the host are known not to wait where they go to ``pinned`` memory."""
    if _waits_in_statement(copy, body):
        return None
    uses = list(body.identifiers(name))
    for statement in _turn(copy.node) if again else _following(copy.node):
        waits = _first_wait(statement, pinned)
        for node, parent in uses:
            if statement.start_byte <= node.start_byte < min(statement.end_byte, waits) and counts(node, parent):
                return parent if dereferences(node, parent) else node
        if waits < statement.end_byte or statement.type in _LEAVES or statement.type.startswith("preproc"):
            return None
    return None


def _turn(node: Node) -> Iterator[Node]:
    """The statements from the one that holds the node to the end of the loop around it, and those of the next turn before it; none if the
    statement is not one of the loop's own."""
    while node.parent is not None and node.parent.type not in ("compound_statement", "function_definition"):
        node = node.parent
    block = node.parent
    if block is None or block.parent is None or block.parent.type not in _LOOPS or node.type in _LOOPS:
        return
    at = next(at for at, each in enumerate(block.named_children) if each == node)
    yield from block.named_children[at + 1 :]
    for part in ("update", "condition"):
        if (each := block.parent.child_by_field_name(part)) is not None:
            yield each
    yield from block.named_children[:at]


def _waits_in_statement(copy: Written, body: Body) -> bool:
    """Whether the statement that makes the copy goes on with a call that may wait: ``if (copy() || wait())``."""
    node: Node = copy.node
    while node.parent is not None and node.parent.type not in ("compound_statement", "function_definition"):
        node = node.parent
    return any(copy.end <= call.start < node.end_byte and not _QUIET.fullmatch(call.name) for call in body.calls)


def _is_written(node: Node, parent: Node) -> bool:
    outer = parent.parent
    assigned = (
        outer is not None and outer.type == "assignment_expression" and outer.child_by_field_name("left") == parent
    )
    return assigned and dereferences(node, parent)


def _is_read(node: Node, parent: Node) -> bool:
    """Whether its value is used, rather than its address or its members' functions, or another value given to it."""
    if parent.type == "assignment_expression" and parent.child_by_field_name("left") == node:
        return False
    around: Node | None = parent
    while around is not None and not around.type.endswith("statement"):
        if around.type == "call_expression" and (is_launch(around) or (around.text or b"").startswith(b"cuda")):
            return False
        if around.type in ("sizeof_expression", "lambda_expression"):
            return False
        around = around.parent
    return parent.type not in ("pointer_expression", "field_expression")


def _following(node: Node) -> Iterator[Node]:
    """The statements that come after the one that holds the node, outwards to the end of the function."""
    while node.parent is not None and node.type not in ("function_definition", "lambda_expression"):
        if node.parent.type == "compound_statement":
            after = node.next_named_sibling
            while after is not None:
                yield after
                after = after.next_named_sibling
        elif node.type == "case_statement" or node.parent.type.startswith("preproc"):
            return
        node = node.parent


def _first_wait(statement: Node, pinned: frozenset[str]) -> int:
    """Where the first call that may wait ends; past the end of the statement if there is none."""
    waits = statement.end_byte + 1
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        if node.start_byte >= waits:
            continue
        if node.type == "call_expression":
            name = field_text(node, "function")
            quiet = (
                is_launch(node) or (_QUIET.fullmatch(name) and not _fills_pageable(node, pinned)) or _checks_quiet(node)
            )
            if not quiet:
                waits = min(waits, node.end_byte)
                waiting += node.children
                continue
        elif node.type in ("lambda_expression", "ERROR", "co_await_expression"):
            waits = min(waits, node.start_byte)
            continue
        waiting += node.children
    return waits


def _fills_pageable(call: Node, pinned: frozenset[str]) -> bool:
    """Whether it is a copy to memory of the host that may be pageable: then it returns when the copy is done, and all before it."""
    given = arguments_of(call)
    return bool(given) and _TO_HOST.search(call.text or b"") is not None and text_of(given[0]) not in pinned


def _checks_quiet(call: Node) -> bool:
    """Whether it is a check around a call that waits for nothing."""
    listed = call.child_by_field_name("arguments")
    inner = listed.named_children[0] if listed is not None and listed.named_children else None
    function = field_text(inner, "function") if inner is not None and inner.type == "call_expression" else ""
    return function.startswith("cuda") and _QUIET.fullmatch(function) is not None
