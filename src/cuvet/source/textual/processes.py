"""Processes that a Python file forks after it has called CUDA, and that call CUDA themselves."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cuvet.findings import Finding, Frame, Severity, Step
from cuvet.rules.source.fork_after_use import SourceForkAfterUse
from cuvet.source.calls import meaning
from cuvet.source.languages.python import own_calls
from cuvet.source.languages.python_names import PythonDefinition
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.parsing import Node, Source, enclosing, field_text, text_of
from cuvet.source.textual.python_text import STARTS_ANEW, comes_first, starts_anew

_FORKS = {"os.fork": "os.fork", "multiprocessing.Process": "Process", "multiprocessing.Pool": "Pool"}
_WORK = frozenset({"map", "imap", "imap_unordered", "starmap", "map_async", "starmap_async", "apply", "apply_async"})
"""Methods of a pool that take the function which its processes run."""
_CALL = re.compile(rb"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?=\s*\()")


@dataclass(frozen=True, slots=True)
class _Fork:
    """A process is started at ``node``; ``child`` is what it runs: a block of the function, or a function of the file."""

    node: Node
    child: Node | PythonDefinition
    severity: Severity


def forked(definitions: Sequence[PythonDefinition], source: Source) -> Iterator[Finding]:
    """The first call of each forked process that makes something, if the function that forks it made something before."""
    if b"fork" not in source.text and b"multiprocessing" not in source.text:
        return
    by_name = {definition.name: definition for definition in definitions}
    for definition in definitions:
        made = _making(definition, definition.node)
        for fork in _forks(definition, by_name, source) if made else ():
            before = [call for call in made if comes_first(definition.node, call[0], fork.node)]
            child = fork.child
            inside = _making(child, child.node) if isinstance(child, PythonDefinition) else _making(definition, child)
            if before and inside:
                yield _finding(definition, before[0], fork, inside[0], source)


def _making(definition: PythonDefinition, node: Node) -> list[tuple[int, str]]:
    """(offset, entry point) of the function's calls within the node that make something, for which CUDA must be initialised."""
    return [
        (at, api.name)
        for at, api in own_calls(definition, node)
        if (found := meaning(api.name)) is not None and (found.made or api.name == "cuInit")
    ]


def _forks(definition: PythonDefinition, by_name: dict[str, PythonDefinition], source: Source) -> Iterator[_Fork]:
    node = definition.node
    anew = starts_anew(source.text)
    pools = False
    for match in _CALL.finditer(source.text, node.start_byte, node.end_byte):
        written = match.group().decode()
        kind = _FORKS.get(definition.names.full(written), "")
        pools = pools or kind == "Pool"
        if not kind and not (pools and written.rpartition(".")[2] in _WORK):
            continue
        call = _call_at(node, match.start())
        if call is None or any(start <= match.start() < end for start, end in definition.inner):
            continue
        if kind == "os.fork":
            block = _block_of_child(call)
            if block is not None and not STARTS_ANEW.search(block.text or b""):
                yield _Fork(call, block, "error")
        elif not anew and (target := _target(call, kind)) in by_name:
            yield _Fork(call, by_name[target], "warning")


def _call_at(node: Node, at: int) -> Node | None:
    found = enclosing(node.descendant_for_byte_range(at, at + 1), "call", "block")
    return found if found is not None and found.type == "call" else None


def _target(call: Node, kind: str) -> str:
    """The function that a process or a pool runs."""
    listed = call.child_by_field_name("arguments")
    for index, child in enumerate(listed.named_children if listed is not None else ()):
        if child.type == "keyword_argument" and text_of(child.named_children[0]) in ("target", "func", "initializer"):
            return text_of(child.named_children[-1])
        if child.type == "identifier" and index == 0 and not kind:
            return text_of(child)
    return ""


def _block_of_child(call: Node) -> Node | None:
    """What follows ``if pid == 0:`` after ``pid = os.fork()``, or ``if os.fork() == 0:``."""
    parent = call.parent
    if parent is not None and parent.type == "assignment" and parent.parent is not None:
        name, following = text_of(parent.named_children[0]), parent.parent.next_named_sibling
    else:
        name, following = re.sub(r"\s+", "", text_of(call)), parent
        while following is not None and following.type.endswith(("operator", "parenthesized_expression")):
            following = following.parent
    if following is None or following.type != "if_statement":
        return None
    asked = re.sub(r"\s+", "", field_text(following, "condition"))
    is_child = asked in (f"{name}==0", f"0=={name}", f"not{name}")
    return following.child_by_field_name("consequence") if is_child else None


def _finding(
    definition: PythonDefinition, used: tuple[int, str], fork: _Fork, inside: tuple[int, str], source: Source
) -> Finding:
    at, api = inside
    where = fork.child if isinstance(fork.child, PythonDefinition) else definition
    in_child = _frame(source, where, at, api)
    steps = (
        Step(frame=_frame(source, definition, *used), text="CUDA is used before the fork here"),
        Step(
            frame=_frame(source, definition, fork.node.start_byte, text_of(fork.node)), text="the child is forked here"
        ),
        Step(frame=in_child, text=f"{api} is called in the child here"),
    )
    by_default = "" if fork.severity == "error" else " (multiprocessing forks on Linux up to Python 3.13)"
    parent = f"{used[1]} in line {source.line(used[0])} was called in its parent"
    message = f"{api} is called in a forked child, after {parent}{by_default}"
    return finding(SourceForkAfterUse, message, site(api, in_child), path=steps, severity=fork.severity)


def _frame(source: Source, definition: PythonDefinition, at: int, written: str) -> Frame:
    return frame(source, at, at + len(written.encode()), source.function_name(definition.owner, definition.name))
