"""Tensors of PyTorch that are made on one stream and used on another."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.source.tensor_freed_in_use import SourceTensorFreedInUse
from cuvet.rules.source.tensor_not_awaited import SourceTensorNotAwaited
from cuvet.source.syntax.lexing import LEXERS
from cuvet.source.syntax.parsing import Node, Source, enclosing, field_text, text_of
from cuvet.source.textual.python_text import Place, finding_at, uses_in

_BLOCK = re.compile(rb"\bwith[ \t]+torch\.cuda\.stream\([ \t]*((?:self\.)?[A-Za-z_]\w*)[ \t]*\)[ \t]*:")
_ORDERED = rb"(?<![\w.])%s\.wait_(?:stream|event)\("
"""The stream waits for work of others, also for what still uses the memory that is free for it."""
_WAITS_FOR = rb"current_stream\([^()]*\)\.wait_stream\(\s*%s\s*\)"
_WAITED_FOR = re.compile(rb"\bsynchronize\(")
_MAKES = re.compile(r"\.cuda\(|\.to\(|to_(?:device|cuda|gpu)\(|\btorch\.(?!cuda\b)\w+\(.*\bdevice\b", re.S)
"""What makes a tensor of the GPU, where the current stream is."""
_MAY_WAIT = re.compile(
    r"(?i)wait|sync|join|query|\.item\(|\.cpu\(|\.tolist\(|\bprint\(|record|event|handle|async|yield|await"
)
_MAY_WAIT_LATER = re.compile(r"(?i)wait|sync|query|\.item\(|\.cpu\(|\.tolist\(|event")
_MEMBER = re.compile(r"self\.[A-Za-z_]\w*")
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_ASSIGNED = re.compile(r"((?:self\.)?[A-Za-z_]\w*)(?:\[.*\])?", re.S)
_REUSED = "`{}` is made on stream `{}`, and the allocator does not know that the current stream uses it"
_SCOPES = ("function_definition", "lambda")
_OPERATORS = frozenset({"binary_operator", "unary_operator", "comparison_operator", "augmented_assignment"})


def uses_streams(text: bytes) -> bool:
    """Whether a file may make tensors on streams of its own."""
    return b"torch.cuda.stream(" in text


def stream_findings(root: Node, source: Source) -> Iterator[Finding]:
    for match in _BLOCK.finditer(source.text):
        block = enclosing(root.descendant_for_byte_range(match.start(1), match.end(1)), "with_statement")
        function = enclosing(block, *_SCOPES) if block is not None else None
        if block is None or function is None or function.type == "lambda":
            continue
        stream = match[1].decode()
        made = list(_made(block))
        yield from _freed(made, block, stream, function, root, source)
        yield from _not_awaited(made, block, stream, function, root, source)
        if made and stream.startswith("self."):
            yield from _never_awaited(made, block, stream, function, root, source)


def _made(block: Node) -> Iterator[tuple[str, Node]]:
    """The variables and members that the block sets to new tensors, each with the assignment."""
    waiting = [each for each in block.named_children if each.type == "block"]
    while waiting:
        node = waiting.pop()
        if node.type == "assignment":
            target = _ASSIGNED.fullmatch(field_text(node, "left"))
            if target is not None and _MAKES.search(field_text(node, "right")):
                yield target[1], node
        elif node.type not in ("with_statement", *_SCOPES):
            waiting += node.named_children[::-1]


def _freed(
    made: list[tuple[str, Node]], block: Node, stream: str, function: Node, root: Node, source: Source
) -> Iterator[Finding]:
    """The first use, behind the wait of the current stream, of each tensor whose memory the stream may take for others meanwhile."""
    scope = enclosing(function, "class_definition") if stream.startswith("self.") else function
    text = (scope.text or b"") if scope is not None else b""
    name = re.escape(stream.encode())
    if scope is None or b"record_stream" in source.text or _WAITED_FOR.search(text) or re.search(_ORDERED % name, text):
        return
    if scope is function and enclosing(block, "for_statement", "while_statement", *_SCOPES) == function:
        return
    for wait in re.finditer(_WAITS_FOR % name, text):
        call = root.descendant_for_byte_range(scope.start_byte + wait.start(), scope.start_byte + wait.end())
        around = enclosing(call, *_SCOPES) if call is not None else None
        if call is None or around is None:
            continue
        for variable, assignment in made:
            use = next((each for each in _reads(around, variable, root) if each.start_byte >= call.end_byte), None)
            if use is not None and (around == function or variable.startswith("self.")):
                path = (
                    Place(assignment, f"`{variable}` is made on `{stream}` here"),
                    Place(call, f"the current stream waits for `{stream}` here"),
                    Place(use, f"the current stream uses `{variable}` from here on"),
                )
                yield finding_at(
                    SourceTensorFreedInUse, use, _REUSED.format(variable, stream), source, path, api=variable
                )
                return


def _not_awaited(
    made: list[tuple[str, Node]], block: Node, stream: str, function: Node, root: Node, source: Source
) -> Iterator[Finding]:
    """The first operation on each tensor outside of the block that made it, if nothing between them may wait."""
    for variable, assignment in dict(made).items():
        use = next((each for each in _reads(function, variable, root) if each.start_byte >= block.end_byte), None)
        statement = _statement(use) if use is not None else None
        if use is None or statement is None or not variable.isidentifier() or not _is_operation(use):
            continue
        between = source.text[block.end_byte : statement.end_byte].decode("utf-8", "replace")
        if not _is_after(statement, block) or _MAY_WAIT.search(between):
            continue
        message = (
            f"`{variable}` is used on another stream, which does not wait for `{stream}`, the stream that makes it"
        )
        path = (
            Place(assignment, f"`{variable}` is made on `{stream}` here"),
            Place(use, f"`{variable}` is used on another stream here"),
        )
        yield finding_at(SourceTensorNotAwaited, use, message, source, path, api=variable)


def _never_awaited(
    made: list[tuple[str, Node]], block: Node, stream: str, function: Node, root: Node, source: Source
) -> Iterator[Finding]:
    """The first read, in another method, of a member that the block sets, if the class makes the stream and nothing in it may wait."""
    owner = enclosing(function, "class_definition")
    if owner is None or not _waits_nowhere(owner, stream, source.text):
        return
    for member, assignment in _members_set(block, {name for name, _ in made}):
        for each in uses_in(owner, member, root):
            method = enclosing(each, *_SCOPES)
            if method is None or method == function or field_text(method, "name") == "__init__":
                continue
            use = next(_reads(method, f"self.{member}", root), None)
            if use is None or _is_on_stream(use):
                return
            message = f"`self.{member}` is given to other streams, and none of them ever waits for `{stream}`, the stream that makes it"
            path = (
                Place(assignment, f"`self.{member}` is made on `{stream}` here"),
                Place(use, f"`self.{member}` is used outside of the stream here"),
            )
            yield finding_at(SourceTensorNotAwaited, use, message, source, path, api=f"self.{member}", severity="note")
            return


def _is_on_stream(use: Node) -> bool:
    """Whether some stream is made current around the use."""
    around = enclosing(use, "with_statement")
    while around is not None and "stream" not in text_of(around).partition(":")[0]:
        around = enclosing(around.parent, "with_statement")
    return around is not None


def _members_set(block: Node, made: set[str]) -> Iterator[tuple[str, Node]]:
    """The members that the block sets to new tensors, or to what has such tensors in it, each with the assignment."""
    waiting = [each for each in block.named_children if each.type == "block"]
    while waiting:
        node = waiting.pop()
        if node.type == "assignment":
            left, value = field_text(node, "left"), field_text(node, "right")
            if _MEMBER.fullmatch(left) and (left in made or not made.isdisjoint(_WORD.findall(value))):
                yield left.removeprefix("self."), node
        elif node.type not in ("with_statement", *_SCOPES):
            waiting += node.named_children[::-1]


def _waits_nowhere(owner: Node, stream: str, text: bytes) -> bool:
    """Whether the class makes the stream, uses it for such blocks alone, and none of its methods but the constructor may wait."""
    name = re.escape(stream.removeprefix("self.").encode())
    made = re.search(rb"self\.%s\s*=\s*torch\.cuda\.Stream\(" % name, owner.text or b"")
    body = owner.child_by_field_name("body")
    if made is None or body is None or field_text(owner, "superclasses"):
        return False
    known = rb"self\.%s\s*=\s*torch\.cuda\.Stream\(|\bwith[ \t]+torch\.cuda\.stream\([ \t]*self\.%s[ \t]*\)" % (
        name,
        name,
    )
    if len(re.findall(known, text)) != len(re.findall(rb"(?<!\w)%s(?!\w)" % name, text)):
        return False
    methods = (each.child_by_field_name("definition") or each for each in body.named_children)
    codes = (LEXERS["python"].sub(" ", text_of(each)) for each in methods if field_text(each, "name") != "__init__")
    return not any(_MAY_WAIT_LATER.search(code) for code in codes)


def _reads(function: Node, variable: str, root: Node) -> Iterator[Node]:
    """Where the value of the variable, or of the member, is used, up to where it is set anew."""
    for node in uses_in(function, variable.rpartition(".")[2], root):
        whole = node.parent if variable.startswith("self.") else node
        if node.type != "identifier" or whole is None or text_of(whole) != variable or whole.parent is None:
            continue
        set_here = whole.parent.type == "assignment" and whole.parent.child_by_field_name("left") == whole
        if set_here or whole.parent.type in ("parameters", "delete_statement"):
            continue
        if enclosing(whole, *_SCOPES) == function:
            yield whole


def _is_operation(use: Node) -> bool:
    """Whether the GPU works with the tensor there: in an operator, as an argument of a function of PyTorch, by one of its own methods."""
    parent = use.parent
    if parent is None:
        return False
    if parent.type in _OPERATORS:
        return " is " not in text_of(parent)
    return parent.type == "argument_list" and parent.parent is not None and text_of(parent.parent).startswith("torch.")


def _statement(node: Node) -> Node:
    while node.parent is not None and node.parent.type not in ("block", "module"):
        node = node.parent
    return node


def _is_after(statement: Node, block: Node) -> bool:
    """Whether the statement is sure to be done after the block: it stands behind it, in its own block or in one around it."""
    around: Node | None = block
    while around is not None and around.type not in _SCOPES:
        if around.parent == statement.parent:
            return True
        around = around.parent
    return False
