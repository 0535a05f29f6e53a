"""What rules about Python have in common that look at its text, and follow no path."""

import re
from typing import NamedTuple

from cuvet.findings import Finding, Frame, Severity, Step
from cuvet.rules.rule import Rule
from cuvet.source.languages.python_names import Names
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.parsing import Node, Source, enclosing, field_text, text_of

GPU = re.compile(r"[\"']cuda(?::\d+)?[\"']")
"""A GPU, as PyTorch's functions take it."""
STARTS_ANEW = re.compile(rb"""set_start_method|get_context|["'](?:spawn|forkserver)["']|\bexec[lv]""")
_EXPECTS = re.compile(r"(?i)raises|suppress|error(?!_mode)|fail")
_NAME = re.compile(r"[A-Za-z_]\w*")
_DOTTED = re.compile(r"\w+(?:\.\w+)*")
_MEMBER = re.compile(r"self\.[A-Za-z_]\w*")
_PARAMETERS = frozenset(
    """
    parameters lambda_parameters typed_parameter default_parameter typed_default_parameter as_pattern_target global_statement
    nonlocal_statement delete_statement
    """.split()
)
_SETS = frozenset({"assignment", "augmented_assignment", "for_statement", "named_expression", "for_in_clause"})


class Place(NamedTuple):
    """What happened at a node, for people."""

    node: Node
    text: str


def may_be_meant(call: Node) -> bool:
    """Whether the code around the call expects that it fails, or is for machines without a GPU."""
    if _is_without_gpu(call):
        return True
    around = enclosing(call, "try_statement")
    while around is not None:
        if any(each.type.startswith("except") for each in around.named_children):
            return True
        around = enclosing(around.parent, "try_statement")
    around = enclosing(call, "with_statement")
    while around is not None:
        if any(each.type == "with_clause" and _EXPECTS.search(text_of(each)) for each in around.named_children):
            return True
        around = enclosing(around.parent, "with_statement")
    return False


def _is_without_gpu(call: Node) -> bool:
    """Whether the call is made only where ``torch.cuda.is_available()`` or its like is false."""
    around = enclosing(call, "if_statement")
    while around is not None:
        condition = field_text(around, "condition")
        others = around.children_by_field_name("alternative")
        is_other = any(other.start_byte <= call.start_byte < other.end_byte for other in others)
        if "is_available()" in condition and is_other != condition.startswith("not "):
            return True
        around = enclosing(around.parent, "if_statement")
    return False


def called(call: Node, names: Names) -> str:
    """What the call calls, with its module: ``torch.cuda.Event``; ``""`` if it was not imported."""
    function = re.sub(r"\s+", "", field_text(call, "function"))
    return names.full(function) if _DOTTED.fullmatch(function) else ""


def call_at(root: Node, at: int) -> Node | None:
    """The innermost call around the place, within its block."""
    node = enclosing(root.descendant_for_byte_range(at, at + 1), "call", "block")
    return node if node is not None and node.type == "call" else None


def finding_at(
    rule: type[Rule],
    call: Node,
    message: str,
    source: Source,
    path: tuple[Place, ...],
    severity: Severity | None = None,
    api: str = "",
) -> Finding:
    """Of the call, or of another node that the finding says is ``api``."""
    steps = tuple(Step(frame=_frame(each.node, source), text=each.text) for each in path)
    at = site(api or field_text(call, "function"), _frame(call, source))
    return finding(rule, message, at, path=steps, severity=severity)


def _frame(node: Node, source: Source) -> Frame:
    around = enclosing(node, "function_definition", "module")
    name = field_text(around, "name") if around is not None and around.type == "function_definition" else "<module>"
    return frame(source, node.start_byte, node.end_byte, source.function_name("", name))


def only_value(name: str, use: Node, root: Node) -> Node | None:
    """What the variable, or the member of ``self``, is set to by the only place that sets it, in the function or the class."""
    if _NAME.fullmatch(name):
        scope = enclosing(use, "function_definition", "lambda", "class_definition") or root
    elif _MEMBER.fullmatch(name) and enclosing(use, "class_definition") is not None:
        scope = root
    else:
        return None
    if scope.type == "lambda":
        return None
    found = value_in(scope, name, root)
    same_class = "." not in name or (
        found is not None and enclosing(found, "class_definition") == enclosing(use, "class_definition")
    )
    return found if same_class else None


def value_in(scope: Node, name: str, root: Node) -> Node | None:
    """What the only place in the scope that sets the name sets it to."""
    found, number = [], 0
    for node in uses_in(scope, name.rpartition(".")[2], root):
        setting = _setting(node)
        if setting is None or ("." in name and _is_local(node)):
            continue
        number += 1
        left, right = setting.child_by_field_name("left"), setting.child_by_field_name("right")
        if setting.type == "assignment" and left is not None and right is not None and text_of(left) == name:
            found.append(right)
    return found[0] if number == 1 and found else None


def _is_local(node: Node) -> bool:
    """Whether the name is that of a variable or parameter of a function, and not of a member."""
    around = node.parent
    if around is not None and around.type == "attribute" and around.child_by_field_name("attribute") == node:
        return False
    return enclosing(around, "function_definition", "lambda") is not None


def uses_in(scope: Node, word: str, root: Node) -> list[Node]:
    """The nodes in the scope at which the word stands, also in texts and comments."""
    pattern = re.compile(rb"(?<!\w)%s(?!\w)" % word.encode())
    start = scope.start_byte
    found = (
        root.descendant_for_byte_range(start + match.start(), start + match.end())
        for match in pattern.finditer(scope.text or b"")
    )
    return [node for node in found if node is not None]


def _setting(node: Node | None) -> Node | None:
    """What sets the name that the node is: an assignment, a loop, a parameter; None if it only uses it."""
    inner, around = node, node.parent if node is not None else None
    while inner is not None and around is not None:
        if around.type in _PARAMETERS:
            return around
        if around.type in _SETS:
            target = around.child_by_field_name("name" if around.type == "named_expression" else "left")
            return around if target == inner else None
        if around.type not in ("attribute", "pattern_list", "tuple_pattern", "list_pattern", "expression_list"):
            return None
        inner, around = around, around.parent
    return None


def value_of(name: str, use: Node, root: Node) -> Node | None:
    """Like ``only_value``; of a variable that the function does not set, what the module sets it to, if nothing else sets the name."""
    found = only_value(name, use, root)
    if found is None and _NAME.fullmatch(name):
        found = value_in(root, name, root)
        if enclosing(found, "function_definition", "class_definition", "lambda") is not None:
            return None
    return found


def starts_anew(text: bytes) -> bool:
    """Whether a file may start its processes in another way than by a fork."""
    return STARTS_ANEW.search(text) is not None


def comes_first(function: Node, at: int, fork: Node) -> bool:
    """Whether the call at that offset is always made before the fork."""
    block = enclosing(function.descendant_for_byte_range(at, at + 1), "block", "module")
    around = fork.parent
    while around is not None and around != block:
        around = around.parent
    return at < fork.start_byte and around is not None
