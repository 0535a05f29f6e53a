"""Events of PyTorch and CuPy that are asked for a time although they were created without one."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding, Step
from cuvet.rules.event.timing_disabled import EventTimingDisabled
from cuvet.source.sites import finding, frame, site
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, field_text, text_of

_MENTIONS = re.compile(rb"\b(?:get_)?elapsed_time\s*\(")
_IMPORTED = re.compile(rb"^[ \t]*import[ \t]+(torch|cupy)(?:[ \t]+as[ \t]+(\w+))?[ \t]*(?:#.*)?\r?$", re.M)
_PARAMETERS = frozenset(
    """
    parameters lambda_parameters typed_parameter default_parameter typed_default_parameter as_pattern_target global_statement
    nonlocal_statement delete_statement
    """.split()
)
_SETS = frozenset({"assignment", "augmented_assignment", "for_statement", "named_expression", "for_in_clause"})
_EXPECTS = re.compile(r"(?i)raises|suppress|error|fail")
_NAME = re.compile(r"[A-Za-z_]\w*")
_MEMBER = re.compile(r"self\.[A-Za-z_]\w*")


def times_events(text: bytes) -> bool:
    """Whether a file may ask events of PyTorch or CuPy for a time."""
    return (b"torch" in text or b"cupy" in text) and _MENTIONS.search(text) is not None


def timing_findings(root: Node, source: Source) -> Iterator[Finding]:
    """Each call that asks for a time, the first of its events that has none."""
    packages = {(match[2] or match[1]).decode(): match[1].decode() for match in _IMPORTED.finditer(source.text)}
    if not packages:
        return
    for match in _MENTIONS.finditer(source.text):
        call = enclosing(root.descendant_for_byte_range(match.start(), match.start() + 1), "call", "block")
        if call is None or call.type != "call" or _may_be_meant(call):
            continue
        for name in _asked(call, packages):
            made = _creation(name, call, root)
            if made is not None and _has_no_time(made, packages):
                yield _finding(name, made, call, source)
                break


def _may_be_meant(call: Node) -> bool:
    """Whether the code around the call expects that it fails."""
    if enclosing(call, "try_statement") is not None:
        return True
    around = enclosing(call, "with_statement")
    while around is not None:
        body = around.child_by_field_name("body")
        header = text_of(around)[: body.start_byte - around.start_byte] if body is not None else ""
        if _EXPECTS.search(header):
            return True
        around = enclosing(around.parent, "with_statement")
    return False


def _asked(call: Node, packages: dict[str, str]) -> list[str]:
    """The events between which the call asks for the time: ``start.elapsed_time(end)``, ``cupy.cuda.get_elapsed_time(start, end)``."""
    function, given = call.child_by_field_name("function"), [text_of(each) for each in arguments_of(call)]
    called = text_of(function) if function is not None else ""
    package, _, path = called.partition(".")
    if path == "cuda.get_elapsed_time":
        return given if packages.get(package) == "cupy" else []
    if function is not None and function.type == "attribute" and field_text(function, "attribute") == "elapsed_time":
        return [field_text(function, "object"), *given]
    return []


def _creation(name: str, call: Node, root: Node) -> Node | None:
    """The call that the variable, or the member of ``self``, is set to: the only place that sets it, in the function or the class."""
    if _NAME.fullmatch(name):
        scope = enclosing(call, "function_definition", "lambda", "class_definition") or root
    elif _MEMBER.fullmatch(name) and enclosing(call, "class_definition") is not None:
        scope = root
    else:
        return None
    if scope.type == "lambda":
        return None
    word, found, number = name.rpartition(".")[2], [], 0
    pattern = re.compile(rb"(?<!\w)%s(?!\w)" % word.encode())
    for match in pattern.finditer(scope.text or b""):
        node = root.descendant_for_byte_range(scope.start_byte + match.start(), scope.start_byte + match.end())
        setting = _setting(node)
        if setting is None:
            continue
        number += 1
        left, right = setting.child_by_field_name("left"), setting.child_by_field_name("right")
        if setting.type == "assignment" and left is not None and right is not None and text_of(left) == name:
            found.append(right)
    if number != 1 or not found or found[0].type != "call":
        return None
    same_class = "." not in name or enclosing(found[0], "class_definition") == enclosing(call, "class_definition")
    return found[0] if same_class else None


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


def _has_no_time(made: Node, packages: dict[str, str]) -> bool:
    """Whether the call creates an event that is sure to keep no time."""
    package, _, path = field_text(made, "function").partition(".")
    given = arguments_of(made)
    if path != "cuda.Event" or package not in packages:
        return False
    if any(each.type != "keyword_argument" for each in given):
        return False
    named = {field_text(each, "name"): field_text(each, "value") for each in given}
    if packages[package] == "torch":
        return named.get("enable_timing", "False") == "False"
    return named.get("disable_timing") == "True"


def _finding(name: str, made: Node, call: Node, source: Source) -> Finding:
    around = enclosing(call, "function_definition", "module")
    function = field_text(around, "name") if around is not None and around.type == "function_definition" else "<module>"
    shown = source.function_name("", function)
    creation, here = (frame(source, each.start_byte, each.end_byte, shown) for each in (made, call))
    path = (
        Step(frame=creation, text=f"`{name}` is created without timing here"),
        Step(frame=here, text="the time is asked for here"),
    )
    message = f"event `{name}` was created without timing, and has no time"
    return finding(EventTimingDisabled, message, site(field_text(call, "function"), here), path=path)
