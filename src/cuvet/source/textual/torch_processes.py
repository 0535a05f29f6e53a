"""Processes that a Python file forks after it has used a GPU through PyTorch, and that use one themselves."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding, Severity
from cuvet.rules.source.fork_after_use import SourceForkAfterUse
from cuvet.source.languages.python_names import Names
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, field_text, text_of
from cuvet.source.textual.python_text import (
    GPU,
    Place,
    call_at,
    called,
    comes_first,
    finding_at,
    may_be_meant,
    starts_anew,
    value_of,
)

_STARTS = re.compile(rb"\bProcess\s*\(")
_USES = re.compile(rb"[\"']cuda(?::\d+)?[\"']|\.cuda\s*\(\s*\)|\bsynchronize\s*\(")
_MODULES = ("multiprocessing", "torch.multiprocessing")
_MAKES = frozenset(
    f"torch.{name}"
    for name in "zeros ones empty full rand randn randint arange linspace eye tensor as_tensor zeros_like ones_like".split()
)
_NOT_SURE = frozenset(
    """
    if_statement else_clause elif_clause except_clause try_statement while_statement match_statement conditional_expression
    boolean_operator lambda function_definition class_definition generator_expression
    """.split()
)


def forks_with_torch(text: bytes) -> bool:
    """Whether a file may start processes, and use a GPU through PyTorch."""
    return b"torch" in text and _STARTS.search(text) is not None and _USES.search(text) is not None


def fork_findings(root: Node, source: Source) -> Iterator[Finding]:
    """The first use of a GPU in each forked process, if the function that forks it used one before."""
    names = Names(source.text)
    uses = [call for call in _uses(root, source.text, names) if not may_be_meant(call)]
    for match in _STARTS.finditer(source.text) if len(uses) > 1 else ():
        start = call_at(root, match.end() - 1)
        severity = _severity(start, names, root, source.text) if start is not None else None
        child = _child(start, root, source.text) if start is not None and severity is not None else None
        if start is None or severity is None or child is None:
            continue
        function = enclosing(start, "function_definition", "lambda", "class_definition") or root
        before = next(
            (use for use in uses if _is_in(use, function) and comes_first(function, use.start_byte, start)), None
        )
        inside = next((use for use in uses if _is_in(use, child) and _is_sure(use, child)), None)
        if before is not None and inside is not None:
            yield _finding(before, start, inside, severity, source)


def _finding(before: Node, start: Node, inside: Node, severity: Severity, source: Source) -> Finding:
    by_default = "" if severity == "error" else " (multiprocessing forks on Linux up to Python 3.13)"
    line = source.line(before.start_byte)
    message = f"a forked child uses the GPU, after its parent used it in line {line}{by_default}"
    path = (
        Place(before, "CUDA is used before the fork here"),
        Place(start, "the child is forked here"),
        Place(inside, "the child uses the GPU here"),
    )
    return finding_at(SourceForkAfterUse, inside, message, source, path, severity=severity)


def _severity(start: Node, names: Names, root: Node, text: bytes) -> Severity | None:
    """How sure it is that the call forks: an error where the file says so, a warning where it leaves it to Python; None if it does not."""
    if called(start, names) in {f"{module}.Process" for module in _MODULES}:
        return None if starts_anew(text) else "warning"
    owner, _, method = field_text(start, "function").rpartition(".")
    made = value_of(owner, start, root) if method == "Process" else None
    if (
        made is None
        or made.type != "call"
        or called(made, names) not in {f"{module}.get_context" for module in _MODULES}
    ):
        return None
    return "error" if [text_of(each).strip("\"'") for each in arguments_of(made)] == ["fork"] else None


def _child(start: Node, root: Node, text: bytes) -> Node | None:
    """The function of the file that the process runs."""
    target = next(
        (field_text(each, "value") for each in arguments_of(start) if field_text(each, "name") == "target"), ""
    )
    if not target.isidentifier():
        return None
    found = list(
        re.finditer(rb"(?<!\w)def[ \t]+%s[ \t]*\(|(?<![\w.])%s[ \t]*=(?!=)" % (target.encode(), target.encode()), text)
    )
    if len(found) != 1:
        return None
    at = found[0].start()
    return enclosing(root.descendant_for_byte_range(at, at + 3), "function_definition")


def _uses(root: Node, text: bytes, names: Names) -> Iterator[Node]:
    """The calls that are sure to use a GPU through PyTorch, in order."""
    for match in _USES.finditer(text):
        call = call_at(root, match.end() - 1)
        if call is not None and _is_use(call, names):
            yield call


def _is_use(call: Node, names: Names) -> bool:
    name, given = called(call, names), arguments_of(call)
    if name == "torch.cuda.synchronize":
        return True
    if name in _MAKES:
        return any(field_text(each, "name") == "device" and GPU.fullmatch(field_text(each, "value")) for each in given)
    method = field_text(call, "function").rpartition(".")[2]
    if name or method not in ("to", "cuda"):
        return False
    return not given if method == "cuda" else len(given) == 1 and GPU.fullmatch(text_of(given[0])) is not None


def _is_in(node: Node, around: Node) -> bool:
    return around.start_byte <= node.start_byte and node.end_byte <= around.end_byte


def _is_sure(use: Node, function: Node) -> bool:
    """Whether the function makes the call without a condition."""
    around = use.parent
    while around is not None and around != function:
        if around.type in _NOT_SURE:
            return False
        around = around.parent
    return True
