"""What a function does on the host with memory whose allocation it shows."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cuvet.findings import Finding
from cuvet.rules.source.device_memory_on_host import SourceDeviceMemoryOnHost
from cuvet.rules.source.device_pointer_unregistered import SourceDevicePointerUnregistered
from cuvet.source.calls import ASKING
from cuvet.source.languages.interest import WORD
from cuvet.source.syntax.parsing import Node, field_text, text_of
from cuvet.source.textual.written import Body, Written

_DEVICE = frozenset({"cudaMalloc", "cudaMallocAsync", "cudaMallocPitch", "cudaMallocFromPoolAsync"})
_PINNED = frozenset({"cudaMallocHost", "cudaHostAlloc", "cuMemHostAlloc", "cuMemAllocHost"})
_KIND = {**dict.fromkeys(_DEVICE, "device"), **dict.fromkeys(_PINNED, "pinned"), "cudaMallocManaged": "managed"}
"""Of memory, by the function that allocates it."""
_POINTER = re.compile(rb"&\s*([A-Za-z_]\w*)\s*\)?$")
_VARIABLE = re.compile(rb"(?:\([\w\s*]+\)\s*)?([A-Za-z_]\w*)")
"""A variable, or one that is cast."""
_MAPS = frozenset({"cudaHostGetDevicePointer", "cuMemHostGetDevicePointer"})
_RELEASES = frozenset(
    {"cudaHostUnregister", "cudaFree", "cudaFreeHost", "cuMemHostUnregister", "cuMemFree", "cuMemFreeHost"}
)
_TAKES_VALUES = re.compile(
    r"(?:std::)?(?:f|s|sn|w|fw)?printf|(?:std::)?(?:abs|fabsf?|sqrtf?|pow|is(?:nan|inf|finite))|assert|EXPECT_\w+|ASSERT_\w+"
)
"""Functions and macros that read what they are given."""
_OFFLOADS = re.compile(rb"#\s*pragma\s+(?:acc|omp\s+target)\b")
"""What follows runs on the device."""
_UNEVALUATED = frozenset(
    {
        "sizeof_expression",
        "decltype",
        "alignof_expression",
        "noexcept",
        "lambda_expression",
        "template_argument_list",
        "static_assert_declaration",
    }
)
_ON_HOST = {
    "memcpy": (0, 1), "std::memcpy": (0, 1), "memmove": (0, 1), "std::memmove": (0, 1), "memset": (0,), "std::memset": (0,),
    "memcmp": (0, 1), "std::memcmp": (0, 1), "std::copy_n": (0, 2), "std::fill_n": (0,), "std::fill": (0,), "std::copy": (0, 2),
    "std::sort": (0,), "std::accumulate": (0,), "std::iota": (0,), "std::generate": (0,),
}  # fmt: skip
"""Functions of the host that read or write memory, and the arguments that point to it."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """A pointer variable that the calls ``made`` of CUDA set. ``kind`` is ``device``, ``pinned``, ``managed`` or ``mapped``."""

    name: str
    kind: str
    made: tuple[Written, ...]


def allocated(body: Body) -> Iterator[Buffer]:
    """Pointers that calls of one kind allocate. Whether nothing else sets them, ``is_sound`` says."""
    made: dict[str, list[Written]] = {}
    for call in body.calls:
        if call.name in _KIND and call.arguments:
            match = _POINTER.search(call.arguments[0].text or b"")
            if match:
                made.setdefault(match[1].decode(), []).append(call)
    for name, calls in made.items():
        kinds = {_KIND[call.name] for call in calls}
        if len(kinds) == 1:
            yield Buffer(name, kinds.pop(), tuple(calls))


def is_sound(buffer: Buffer, body: Body) -> bool:
    """Whether the pointer is declared once in the function, and only its allocations set it."""
    declared, addresses = 0, 0
    for node, parent in body.identifiers(buffer.name):
        if parent.type == "pointer_declarator":
            outer = parent.parent
            if (
                outer is None
                or outer.type not in ("declaration", "init_declarator")
                or _sets(outer.child_by_field_name("value"))
            ):
                return False
            declared += 1
        elif parent.type.endswith("declarator") or parent.type in (
            "parameter_declaration",
            "for_range_loop",
            "declaration",
            "update_expression",
        ):
            return False
        elif parent.type == "assignment_expression" and parent.child_by_field_name("left") == node:
            if _sets(parent.child_by_field_name("right")):
                return False
        elif parent.type == "pointer_expression" and parent.children[0].type == "&":
            addresses += 1
    return declared == 1 and addresses == len(buffer.made)


def _sets(value: Node | None) -> bool:
    """Whether the value is more than NULL."""
    return value is not None and value.text not in (b"NULL", b"nullptr", b"0", b"{}", b"{nullptr}")


def device_pointers_unregistered(body: Body) -> Iterator[Finding]:
    """The device's pointers to host memory that are unregistered or freed."""
    for call in body.calls:
        target = (
            _POINTER.search(call.arguments[0].text or b"") if call.name in _MAPS and len(call.arguments) > 1 else None
        )
        if target is None or target[1] in WORD.findall(call.arguments[1].text or b""):
            continue
        name = target[1].decode()
        release = next((each for each in body.calls if each.start > call.end and _releases(each, name)), None)
        if release is None or not is_sound(Buffer(name, "mapped", (call,)), body):
            continue
        line = body.line(call.node)
        message = f"{release.name} is given `{name}`, the device's pointer to host memory ({call.name} in line {line})"
        path = (
            body.step(call.node, f"`{name}` is the device's pointer from here on"),
            body.step(release.node, f"{release.name} is called with it here"),
        )
        yield body.finding(SourceDevicePointerUnregistered, release.node, message, api=release.name, path=path)


def _releases(call: Written, name: str) -> bool:
    given = _VARIABLE.fullmatch(call.arguments[0].text or b"") if call.name in _RELEASES and call.arguments else None
    return given is not None and given[1] == name.encode()


def host_uses(body: Body) -> Iterator[Finding]:
    """Device memory that the host reads or writes."""
    for buffer in allocated(body):
        if buffer.kind != "device" or _asked_about(buffer, body) or _OFFLOADS.search(body.code):
            continue
        use = next(((node, how) for node, how in _uses(buffer, body) if not unevaluated(node)), None)
        if use is not None and is_sound(buffer, body):
            (node, how), made = use, buffer.made[0]
            message = (
                f"`{buffer.name}` is device memory ({made.name} in line {body.line(made.node)}), and the host {how}"
            )
            path = (
                body.step(made.node, f"`{buffer.name}` is allocated on the device here"),
                body.step(node, f"the host {how} here"),
            )
            yield body.finding(SourceDeviceMemoryOnHost, node, message, api=made.name, path=path)


def _asked_about(buffer: Buffer, body: Body) -> bool:
    """Whether the function asks what sort of memory it is, and may do something else with each."""
    name = buffer.name.encode()
    return any(call.name in ASKING and name in WORD.findall(text_of(call.node).encode()) for call in body.calls)


def _uses(buffer: Buffer, body: Body) -> Iterator[tuple[Node, str]]:
    for inner, parent in body.identifiers(buffer.name):
        if inner.start_byte < buffer.made[0].end:
            continue
        while parent.type == "parenthesized_expression" and parent.parent is not None:
            inner, parent = parent, parent.parent
        if parent.type == "argument_list" and parent.parent is not None:
            called = field_text(parent.parent, "function")
            given = [child.id for child in parent.named_children if child.type != "comment"]
            if called in _ON_HOST and inner.id in [given[at] for at in _ON_HOST[called] if at < len(given)]:
                yield parent.parent, f"gives it to {called}"
        elif dereferences(inner, parent) and not (
            address_taken(parent) or _is_object_of_call(parent) or _may_be_reference(parent)
        ):
            yield parent, "dereferences it"


def dereferences(inner: Node, parent: Node) -> bool:
    """Whether ``parent`` is ``inner[...]``, ``inner->...`` or ``*inner``."""
    if parent.type in ("subscript_expression", "field_expression"):
        arrow = parent.type == "subscript_expression" or any(child.type == "->" for child in parent.children)
        return parent.child_by_field_name("argument") == inner and arrow
    return parent.type == "pointer_expression" and parent.children[0].type == "*"


def _is_object_of_call(node: Node) -> bool:
    """Whether a function of the element is called, which may only ask where it is: ``p[1].init()``, ``p->init()``."""
    field = node if node.type == "field_expression" else node.parent
    call = field.parent if field is not None and field.type == "field_expression" else None
    return call is not None and call.type == "call_expression" and call.child_by_field_name("function") == field


def _may_be_reference(node: Node) -> bool:
    """Whether a function or a kernel is given the element, and may take it by reference: then only its address is computed."""
    call = node.parent.parent if node.parent is not None and node.parent.type == "argument_list" else None
    return call is not None and not _TAKES_VALUES.fullmatch(field_text(call, "function"))


def address_taken(node: Node) -> bool:
    """Whether only the address of what stands there is computed: ``&p[1].x``, ``auto &x = p[1]``."""
    while node.parent is not None and node.parent.type in (
        "field_expression",
        "subscript_expression",
        "parenthesized_expression",
    ):
        if node.parent.type == "subscript_expression" and node.parent.child_by_field_name("argument") != node:
            return False
        node = node.parent
    if node.parent is not None and node.parent.type == "init_declarator":
        return any(each.type == "reference_declarator" for each in node.parent.named_children)
    return node.parent is not None and node.parent.type == "pointer_expression" and node.parent.children[0].type == "&"


def unevaluated(node: Node) -> bool:
    around: Node | None = node
    while around is not None and around.type not in ("function_definition", "ERROR"):
        if around.type in _UNEVALUATED or around.type.startswith("preproc"):
            return True
        around = around.parent
    return around is not None and around.type == "ERROR"
