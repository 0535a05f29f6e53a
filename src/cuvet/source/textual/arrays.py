"""Arrays in pinned memory that the host reads while Numba or CuPy may still be copying to them."""

import re
from collections.abc import Iterator
from itertools import islice

from cuvet.findings import Finding
from cuvet.rules.source.copy_not_awaited import SourceCopyNotAwaited
from cuvet.source.languages.python_names import Names
from cuvet.source.syntax.parsing import Node, Source, arguments_of, field_text, text_of
from cuvet.source.textual.python_text import Place, call_at, called, finding_at, only_value
from cuvet.source.textual.tensors import LEAVES, MOST_NODES, Copy, following, may_wait, sets

_STARTS = re.compile(rb"\bcopy_to_host\s*\(|\bblocking\s*=\s*False\b")
_PINNED = frozenset(
    """
    numba.cuda.pinned_array numba.cuda.pinned_array_like cupyx.empty_pinned cupyx.zeros_pinned cupyx.empty_like_pinned
    cupyx.zeros_like_pinned
    """.split()
)
_METHODS = frozenset(
    "tobytes tofile tolist copy item sum mean max min std any all argmax argmin dot astype flatten".split()
)
_FUNCTIONS = frozenset(
    f"numpy.{name}"
    for name in """
    maximum minimum add subtract multiply divide sqrt abs exp log sum mean max min std any all argmax argmin dot matmul array copy stack
    concatenate vstack hstack allclose array_equal linalg.norm save
    """.split()
)
"""They read the arrays that they are given."""
_BUILT_IN = frozenset({"float", "int", "list", "sum", "max", "min", "print"})
_OPERATIONS = frozenset({"binary_operator", "comparison_operator"})


def copies_arrays(text: bytes) -> bool:
    """Whether a file may start such copies."""
    return (b"numba" in text or b"cupy" in text) and _STARTS.search(text) is not None


def array_findings(root: Node, source: Source) -> Iterator[Finding]:
    """The first use of each array that comes too early."""
    names = Names(source.text)
    told: set[int] = set()
    for match in _STARTS.finditer(source.text):
        call = call_at(root, match.end() - 1)
        name = _target(call, names, root) if call is not None else ""
        use = _early(call, name, names, root) if call is not None and name else None
        if call is None or use is None or use.start_byte in told:
            continue
        told.add(use.start_byte)
        did = f"{field_text(call, 'function').rpartition('.')[2]} in line {source.line(call.start_byte)}"
        message = f"the host reads `{name}` while {did} may still be at work on it"
        path = (Place(call, "the copy starts here"), Place(use, f"the host reads `{name}` here"))
        yield finding_at(SourceCopyNotAwaited, use, message, source, path)


def _target(call: Node, names: Names, root: Node) -> str:
    """The variable that holds the array, if the copy to it is surely not waited for."""
    given = arguments_of(call)
    if any(each.type in ("list_splat", "dictionary_splat") for each in given):
        return ""
    named = {field_text(each, "name"): field_text(each, "value") for each in given if each.type == "keyword_argument"}
    plain = [text_of(each) for each in given if each.type != "keyword_argument"]
    method = field_text(call, "function").rpartition(".")[2]
    if method == "copy_to_host":
        target, stream = named.get("ary", plain[0] if plain else ""), named.get("stream", "".join(plain[1:2]))
        if _maker(stream, call, names, root) != "numba.cuda.stream":
            return ""
    elif named.get("blocking") == "False" and (method == "get" or called(call, names) == "cupy.asnumpy"):
        target = named.get("out", "")
    else:
        return ""
    return target if target.isidentifier() and _maker(target, call, names, root) in _PINNED else ""


def _maker(name: str, use: Node, names: Names, root: Node) -> str:
    """What makes the value that the variable is set to."""
    made = only_value(name, use, root) if name else None
    return called(made, names) if made is not None and made.type == "call" else ""


def _early(call: Node, name: str, names: Names, root: Node) -> Node | None:
    """The call or the operation that reads the array, before the first call that may wait."""
    copy = Copy(call, name, "to the CPU", {})
    for node in islice(following(call), MOST_NODES):
        if _reads(node, name, names):
            return node
        if node.type in LEAVES or _waits(node, copy, names, root) or sets(node, name):
            return None
    return None


def _waits(node: Node, copy: Copy, names: Names, root: Node) -> bool:
    """See ``may_wait``; a stream of CuPy is entered and left without a wait."""
    if node.type == "with_statement":
        clause = next((each for each in node.named_children if each.type == "with_clause"), None)
        if clause is not None and _maker(text_of(clause), node, names, root) == "cupy.cuda.Stream":
            return False
    return may_wait(node, copy)


def _reads(node: Node, name: str, names: Names) -> bool:
    if node.type in _OPERATIONS:
        return any(text_of(each) == name for each in node.named_children)
    if node.type != "call":
        return False
    owner, _, method = field_text(node, "function").rpartition(".")
    if owner == name:
        return method in _METHODS
    given = arguments_of(node)
    if called(node, names) in _FUNCTIONS:
        return any(text_of(each) == name for each in given)
    element = re.compile(rf"{name}(?:\[\d+\])?")
    return not owner and method in _BUILT_IN and bool(given) and element.fullmatch(text_of(given[0])) is not None
