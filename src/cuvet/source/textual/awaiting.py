"""Memory that the host uses while an asynchronous copy or a kernel may still be at work on it."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from cuvet.findings import Finding, Severity
from cuvet.rules.source.copy_not_awaited import SourceCopyNotAwaited
from cuvet.source import kernels
from cuvet.source.languages.cpp_text import is_launch
from cuvet.source.syntax.parsing import Node, arguments_of, enclosing, field_text, storage, text_of
from cuvet.source.textual.following import Following, in_a_branch, statement_of
from cuvet.source.textual.pointers import Buffer, address_taken, allocated, dereferences, is_sound, unevaluated
from cuvet.source.textual.written import Body, Written

_COPY = re.compile(r"cudaMemcpy(?:2D|Peer)?Async|cuMemcpy(?:DtoH|HtoD)Async")
_BETWEEN = re.compile(rb"cudaMemcpy(?:DeviceToHost|HostToDevice)")
_VARIABLE = re.compile(rb"(?:^|[)&])([A-Za-z_]\w*)(?:\[0\]|\.data\(\))?$")
_ADDRESS = re.compile(rb"(?:\([\w:\s*]+\)|\w+_cast<[\w:\s*]+>\()?\s*&\s*([A-Za-z_]\w*)\)?")
_POINTER = re.compile(rb"(?:\([\w:\s]+\*\s*\)\s*)?((?:this->)?[A-Za-z_]\w*(?:(?:\.|->)\w+)*)(?:\.get\(\))?")
_FIRST = re.compile(r"^&\s*([A-Za-z_]\w*)\s*\[\s*0\s*\]$")
"""The first element of an array is where the pointer to it points."""
_CONTENT = re.compile(rb"((?:this->)?[A-Za-z_]\w*(?:(?:\.|->)\w+)*)\.data\(\)")
_ON_DEVICE = re.compile(rb"(?i)device|gpu|cuda|uvector|tensor|thrust|view|span|ref|ptr")
"""A class whose ``data()`` may be memory of the device, or of somebody else."""
_ALLOCATES_PINNED = (
    rb"cuda(?:MallocHost|HostAlloc)\s*\((?:\s*\([\w\s*]*\)|\s*\w+_cast<[\w\s*]*>\s*\()?\s*&\s*(?:this->)?%s\b"
)
_TO_HOST = frozenset({b"cudaMemcpyDeviceToHost", b"cudaMemcpyDefault"})
_PAGEABLE = re.compile(
    rb"(?:const\s+)?(?:float|double|int|unsigned|char|bool|long|short|size_t|\w+_t|std::(?:vector|array|string)\b|T$|real$)"
)
_SIZES = {
    "cudaMallocHost": 1,
    "cudaHostAlloc": 1,
    "cuMemHostAlloc": 1,
    "cuMemAllocHost": 1,
    "cudaMemcpyAsync": 2,
    "cuMemcpyDtoHAsync": 2,
    "cuMemcpyHtoDAsync": 2,
}
"""The argument that is the size."""
_READ_BY = {
    "memcpy": (1,), "memmove": (1,), "memcmp": (0, 1), "strlen": (0,), "fwrite": (0,), "write": (1,), "send": (1,), "copy": (0,),
    "copy_n": (0,), "sort": (0,), "accumulate": (0,), "max_element": (0,), "min_element": (0,), "MPI_Send": (0,), "MPI_Ssend": (0,),
    "MPI_Isend": (0,), "MPI_Bcast": (0,), "MPI_Sendrecv": (0,), "MPI_Allreduce": (0,), "MPI_Reduce": (0,), "MPI_Allgather": (0,),
    "MPI_Allgatherv": (0,), "MPI_Gather": (0,), "MPI_Gatherv": (0,), "MPI_Alltoall": (0,), "MPI_Alltoallv": (0,), "MPI_Put": (0,),
    "MPI_File_write": (1,), "MPI_File_write_at": (2,), "H5Dwrite": (5,),
}  # fmt: skip
"""Functions that read memory of the host, and the arguments that point to it, with or without ``std::``."""
_WRITTEN_BY = {
    "memcpy": (0,), "memmove": (0,), "memset": (0,), "fill": (0,), "fill_n": (0,), "iota": (0,), "copy": (2,), "copy_n": (2,),
    "fread": (0,), "read": (1,), "recv": (1,), "MPI_Recv": (0,), "MPI_Irecv": (0,), "MPI_Get": (0,), "MPI_File_read": (1,),
    "H5Dread": (5,),
}  # fmt: skip
_MPI = b"MPI_"
_SENT_BY = {name: at for name, at in _READ_BY.items() if name.startswith("MPI_")}
_CASTS = frozenset({"cast_expression", "parenthesized_expression"})
_MOST_STATEMENTS = 100
"""That are looked at behind a work."""


def used_too_early(body: Body) -> Iterator[Finding]:
    """The first use of each buffer between a copy and anything that may wait for it."""
    copies = [call for call in body.calls if _COPY.fullmatch(call.name) and len(call.arguments) > 2]
    copies = [copy for copy in copies if not is_captured(copy, body)]
    if copies:
        yield from _pinned(copies, body)
        yield from _pageable(copies, body)
    if body.launches:
        yield from _managed(body)
    if _MPI in body.text:
        yield from _sent(body)


def is_captured(work: Written, body: Body) -> bool:
    """Whether the work may stand in a capture, in which nothing runs."""
    starts = [call.end for call in body.calls if "BeginCapture" in call.name]
    return (
        bool(starts)
        and starts[0] < work.start
        and work.start
        < max((call.start for call in body.calls if call.name.endswith("EndCapture")), default=body.body.end_byte)
    )


def _pinned(copies: list[Written], body: Body) -> Iterator[Finding]:
    buffers = {buffer.name: buffer for buffer in allocated(body) if buffer.kind == "pinned" and is_sound(buffer, body)}
    looks = _Looks(body, frozenset(buffers))
    told: set[str] = set()
    for copy in copies:
        kinds = _BETWEEN.search(copy.node.text or b"") if copy.name.startswith("cuda") else True
        source = copy.arguments[2 if "2D" in copy.name else 1]
        for argument, to_host in ((copy.arguments[0], True), (source, False)):
            buffer = buffers.get(text_of(argument)) if argument.type == "identifier" and kinds else None
            if buffer is None or buffer.name in told:
                continue
            counts = _is_used if to_host else _is_overwritten
            whole = _is_whole(copy, buffer)
            use = looks.first(buffer.name, copy, counts, whole) or looks.first(
                buffer.name, copy, counts, whole, again=True
            )
            if use is not None:
                told.add(buffer.name)
                yield _finding(buffer, copy, use, "reads or writes" if to_host else "writes", body)


def _is_whole(copy: Written, buffer: Buffer) -> bool:
    """Whether the size of the copy is written as that of the buffer."""
    sizes = {
        b"".join((call.arguments[at].text or b"").split()) if at < len(call.arguments) else b"?"
        for call in (copy, *buffer.made)
        for at in [_SIZES.get(call.name, len(call.arguments))]
    }
    return len(sizes) == 1 and b"?" not in sizes


def _managed(body: Body) -> Iterator[Finding]:
    """Managed memory that a kernel of the file writes, or reads."""
    buffers = {buffer.name: buffer for buffer in allocated(body) if buffer.kind == "managed" and is_sound(buffer, body)}
    looks = _Looks(body, frozenset())
    told: set[str] = set()
    for launch in body.launches if buffers else ():
        given = [_FIRST.sub(r"\1", text_of(each)) for each in arguments_of(launch)]
        name = text_of(launch.named_children[0])
        kernel = Written(f"kernel {name}", launch, (), "dropped")
        for at, each in enumerate(given):
            if each not in buffers or each in told:
                continue
            how = kernels.how(body.source.code, name, at, len(given))
            use = looks.first(each, kernel, _is_used if how == "writes" else _is_overwritten) if how else None
            if use is not None and not is_captured(kernel, body):
                told.add(each)
                yield _finding(buffers[each], kernel, use, "reads or writes" if how == "writes" else "writes", body)


def _sent(body: Body) -> Iterator[Finding]:
    """Memory that MPI is given while a kernel of the file, a copy within the device or a memset may still write it."""
    looks = _Looks(body, frozenset())
    told: set[str] = set()
    for work, name in _written(body):
        use = looks.first(name, work, _is_sent) if name not in told and not is_captured(work, body) else None
        if use is not None:
            told.add(name)
            message = f"MPI is given `{name}` while {work.name} in line {body.line(work.node)} may still write it"
            path = (body.step(work.node, "the work starts here"), body.step(use, f"MPI is given `{name}` here"))
            yield body.finding(SourceCopyNotAwaited, use, message, api=work.name, path=path)


def _written(body: Body) -> Iterator[tuple[Written, str]]:
    """The works that do not wait, with the variables that point to what they write."""
    for launch in body.launches:
        given = [text_of(each) for each in arguments_of(launch)]
        name = text_of(launch.named_children[0])
        for at, each in enumerate(given):
            if each.isidentifier() and kernels.how(body.source.code, name, at, len(given)) == "writes":
                yield Written(f"kernel {name}", launch, (), "dropped"), each
    for call in body.calls:
        within = b"cudaMemcpyDeviceToDevice" in (call.node.text or b"")
        if call.name == "cudaMemsetAsync" or (call.name in ("cudaMemcpy", "cudaMemcpyAsync") and within):
            target = text_of(call.arguments[0]) if call.arguments else ""
            if target.isidentifier():
                yield call, target


def _is_sent(node: Node, parent: Node) -> bool:
    return _is_given(node, parent, _SENT_BY)


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
    """Variables, arrays and vectors of the function itself, vectors of the object, and what other pointers point to."""
    told = {buffer.name for buffer in allocated(body)}
    looks, trusting = _Looks(body, frozenset()), _Looks(body, frozenset(), trusting=True)
    for copy in copies:
        kind = copy.arguments[3].text if len(copy.arguments) > 3 and copy.name == "cudaMemcpyAsync" else b""
        target = _target(copy, body) if kind in _TO_HOST else None
        if target is None or target.path in told or (kind == b"cudaMemcpyDefault" and target.counts is not _is_field):
            continue
        sure = looks.first(target.path, copy, target.counts, whole=target.whole)
        use = sure or trusting.first(target.path, copy, target.counts, whole=target.whole)
        if use is not None and not _is_set_between(target.path, copy, use, body):
            told.add(target.path)
            line = body.line(copy.node)
            message = (
                f"the host reads `{target.path}`, {target.what}, before anything waits for {copy.name} in line {line}"
            )
            path = (
                body.step(copy.node, "the copy starts here"),
                body.step(use, f"the host reads `{target.path}` here"),
            )
            severity: Severity = "warning" if sure is not None and _is_pinned(target.path, body) else "note"
            yield body.finding(SourceCopyNotAwaited, use, message, api=copy.name, severity=severity, path=path)


def _is_set_between(path: str, copy: Written, use: Node, body: Body) -> bool:
    """Whether the pointer or the object is another one where it is used."""
    for node, parent in body.paths(path):
        left = parent.type == "assignment_expression" and parent.child_by_field_name("left") == node
        if copy.end <= node.start_byte < use.start_byte and (left or parent.type == "update_expression"):
            return True
    return False


def _is_pinned(path: str, body: Body) -> bool:
    """Whether the file allocates what the member points to, as pinned memory, in another function."""
    name = re.split(r"\W+", path)[-1].encode()
    found = re.search(_ALLOCATES_PINNED % name, body.source.code)
    return found is not None and not body.body.start_byte <= found.start() < body.body.end_byte


class _Target(NamedTuple):
    """Memory of the host that is no pointer: a variable or a member, what counts as a use of it, and what it is, for people."""

    path: str
    counts: Callable[[Node, Node], bool]
    what: str
    whole: bool = True
    """The copy is of all of it, as far as one can tell."""


def _target(copy: Written, body: Body) -> _Target | None:
    written = copy.arguments[0].text or b""
    address = _ADDRESS.fullmatch(written)
    if address is not None and (kind := _declared_as(name := address[1].decode(), copy, body)):
        plain = _PAGEABLE.match(kind) is not None
        return _Target(name, _is_read if plain else _is_field, "which is pageable")
    match = _VARIABLE.search(written)
    if match is not None and _PAGEABLE.match(_declared_as(name := match[1].decode(), copy, body)):
        return _Target(name, _is_read, "which is pageable")
    pointer = _POINTER.fullmatch(written)
    if pointer is not None and copy.arguments[3].text == b"cudaMemcpyDeviceToHost":
        return _Target(pointer[1].decode(), _is_used, "memory of the host", whole=False)
    content = _CONTENT.fullmatch(written)
    if content is None or _ON_DEVICE.search(content[1]):
        return None
    path = content[1].decode()
    if path.isidentifier():
        kind = _declared_as(path, copy, body)
        if kind and not _ON_DEVICE.search(kind):
            return _Target(path, _is_read, "an object of the host")
        return None
    return _Target(path, _is_element, "memory of the host")


def _declared_as(name: str, copy: Written, body: Body) -> bytes:
    """The type that it is declared with around the copy, once, as a value, an array or a vector; ``std::vector<int> name(n)`` reads as a
    function. Empty if it is not."""
    found = b""
    for node, parent in body.identifiers(name):
        block = enclosing(node, "compound_statement", "for_statement")
        if block is None or not block.start_byte <= copy.start < block.end_byte:
            continue
        if parent.type in ("pointer_declarator", "reference_declarator", "parameter_declaration"):
            return b""
        if (
            parent.type in ("array_declarator", "init_declarator", "declaration", "function_declarator")
            and parent.child_by_field_name("declarator") == node
        ):
            around = parent if parent.type == "declaration" else parent.parent
            kind = around.child_by_field_name("type") if around is not None else None
            if found or around is None or kind is None or b"static" in storage(around):
                return b""
            found = kind.text or b""
    return found


class _Looks:
    """At what one function does after its works. ``pinned``: the pointers to pinned memory; ``trusting``: see ``Following``."""

    def __init__(self, body: Body, pinned: frozenset[str], trusting: bool = False) -> None:
        self._following = Following(body.source.code, pinned, trusting)
        self._body = body
        self._uses: dict[str, list[tuple[Node, Node]]] = {}
        self._unused: dict[tuple[object, ...], int] = {}
        """How far a look went that found nothing, by block and what was looked for: one that begins later in it finds nothing either."""

    def first(
        self, name: str, work: Written, counts: Callable[[Node, Node], bool], whole: bool = False, again: bool = False
    ) -> Node | None:
        """The first use of the buffer after the work, before the first call that may wait; with ``again`` in the next turn of the loop
        around the work. ``counts`` is asked about its name and the parent; ``whole``: the work is done on all of the buffer, else perhaps
        only on its beginning."""
        block = statement_of(work.node).parent
        sought = (block and block.id, name, counts, whole)
        if not again and work.start < self._unused.get(sought, 0):
            return None
        follow = self._following.next_turn if again else self._following.after
        for statement in islice(follow(work.node), _MOST_STATEMENTS):
            waits = self._following.first_wait(statement)
            for node, parent in self._within(name, statement.start_byte, min(statement.end_byte, waits)):
                if counts(node, parent) and _is_done(node, parent, statement) and (whole or _is_first(node, parent)):
                    polls = self._following.polls(statement, name)
                    return None if polls else parent if dereferences(node, parent) else node
            if not again:
                self._unused[sought] = statement.end_byte
            if self._following.ends(statement, name):
                return None
        return None

    def _within(self, name: str, start: int, end: int) -> list[tuple[Node, Node]]:
        if name not in self._uses:
            self._uses[name] = list(self._body.paths(name))
        uses = self._uses[name]
        return uses[bisect_left(uses, start, key=_begin) : bisect_left(uses, end, key=_begin)]


def _begin(use: tuple[Node, Node]) -> int:
    return use[0].start_byte


def _is_done(node: Node, parent: Node, statement: Node) -> bool:
    """Whether the use is sure to be made where the statement is done, and not only computes an address or a type."""
    return not (
        unevaluated(node) or in_a_branch(node, statement) or (dereferences(node, parent) and address_taken(parent))
    )


def _is_first(node: Node, parent: Node) -> bool:
    """Whether the use is of the first element: ``*p``, ``p->x``, ``p[0]``, ``p[i]`` in a loop that begins with 0."""
    index = parent.child_by_field_name("indices") if parent.type == "subscript_expression" else None
    if index is None:
        return True
    written = text_of(index).strip("[] ")
    return written == "0" or (written.isidentifier() and _counts_from_zero(written, node))


def _counts_from_zero(name: str, node: Node) -> bool:
    """Whether the innermost loop around the node that counts the variable begins with 0."""
    begins = re.compile(rb"\b" + name.encode() + rb"\s*=\s*(\w+)")
    around = enclosing(node, "for_statement")
    while around is not None:
        first = around.child_by_field_name("initializer")
        match = begins.search(first.text or b"") if first is not None else None
        if match is not None:
            return match[1] == b"0"
        around = enclosing(around.parent, "for_statement")
    return False


def _is_used(node: Node, parent: Node) -> bool:
    return dereferences(node, parent) or _is_given(node, parent, _READ_BY) or _is_given(node, parent, _WRITTEN_BY)


def _is_overwritten(node: Node, parent: Node) -> bool:
    return _is_written(node, parent) or _is_given(node, parent, _WRITTEN_BY)


def _is_given(node: Node, parent: Node, to: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether the pointer is given to one of the functions, as one of these arguments."""
    while parent.type in _CASTS and parent.parent is not None:
        node, parent = parent, parent.parent
    call = parent.parent if parent.type == "argument_list" else None
    if call is None or call.type != "call_expression":
        return False
    at = to.get(field_text(call, "function").removeprefix("std::").removeprefix("::"), ())
    given = arguments_of(call)
    return any(each < len(given) and given[each] == node for each in at)


def _is_written(node: Node, parent: Node) -> bool:
    outer = parent.parent
    assigned = (
        outer is not None and outer.type == "assignment_expression" and outer.child_by_field_name("left") == parent
    )
    return assigned and dereferences(node, parent)


def _is_field(node: Node, parent: Node) -> bool:
    """Whether a data member of the object is read, or all of it is returned."""
    if parent.type == "return_statement":
        return True
    if parent.type != "field_expression" or parent.child_by_field_name("argument") != node:
        return False
    outer = parent.parent
    while outer is not None and outer.type == "field_expression":
        parent, outer = outer, outer.parent
    if outer is None or (outer.type == "call_expression" and outer.child_by_field_name("function") == parent):
        return False
    return (
        _is_read(node, outer) if outer.type != "assignment_expression" else outer.child_by_field_name("left") != parent
    )


def _is_element(node: Node, parent: Node) -> bool:
    """Whether an element of what the path leads to is read."""
    return (
        parent.type == "subscript_expression"
        and parent.child_by_field_name("argument") == node
        and not address_taken(parent)
        and not _is_written(node, parent)
    )


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
    if parent.type == "pointer_expression":
        return parent.parent is not None and _is_given(parent, parent.parent, _READ_BY)
    return parent.type != "field_expression"
