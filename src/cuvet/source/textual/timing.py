"""Events of PyTorch, CuPy and Numba that are asked for a time although they have none."""

import re
from collections.abc import Iterator

from cuvet.findings import Finding
from cuvet.rules.event.never_recorded import EventNeverRecorded
from cuvet.rules.event.timing_disabled import EventTimingDisabled
from cuvet.rules.source.elapsed_not_awaited import SourceElapsedNotAwaited
from cuvet.source.languages.python_names import Names
from cuvet.source.syntax.parsing import Node, Source, arguments_of, enclosing, field_text, text_of
from cuvet.source.textual.python_text import (
    Place,
    call_at,
    called,
    finding_at,
    may_be_meant,
    only_value,
    uses_in,
)

_MENTIONS = re.compile(rb"\b(?:get_|event_)?elapsed_time\s*\(")
_LIBRARIES = (b"torch", b"cupy", b"numba")
_ASKS = frozenset({"cupy.cuda.get_elapsed_time", "numba.cuda.event_elapsed_time"})
_MAKES = frozenset({"torch.cuda.Event", "cupy.cuda.Event", "numba.cuda.event"})
_RECORDS_NOTHING = frozenset({"elapsed_time", "synchronize", "query", "wait", "done"})
"""Members of an event."""
_RECORD = re.compile(r"([\w.]+)\.record\([^\n]*\)")
_OPENS = re.compile(
    rb"(?:return\s+|[\w.]+\s*(?::\s*\w+\s*)?\+?=\s*)?(?:print\(|float\(|[\w.]+\.append\(|\(|\s)*"
    rb"(?:f?(?:\"[^\"{}\n]*\"|'[^'{}\n]*')\s*,\s*)*(?:f(?:\"[^\"{}\n]*|'[^'{}\n]*)\{\s*)?"
)
"""What may stand before the call in its statement."""
_NOT_ALWAYS = frozenset(
    "conditional_expression boolean_operator lambda list_comprehension generator_expression dictionary_comprehension".split()
)


def times_events(text: bytes) -> bool:
    """Whether a file may ask events of these libraries for a time."""
    return any(library in text for library in _LIBRARIES) and _MENTIONS.search(text) is not None


def timing_findings(root: Node, source: Source) -> Iterator[Finding]:
    """Each call that asks for a time, the first of its events that has none."""
    names = Names(source.text)
    for match in _MENTIONS.finditer(source.text):
        call = call_at(root, match.start())
        if call is None or may_be_meant(call):
            continue
        yield from _not_awaited(call, names, source)
        yield from _of_call(call, names, root, source)


def _of_call(call: Node, names: Names, root: Node, source: Source) -> Iterator[Finding]:
    for name in _asked(call, names):
        made = only_value(name, call, root)
        if made is None or made.type != "call" or called(made, names) not in _MAKES:
            continue
        asked = Place(call, "the time is asked for here")
        if _has_no_time(made, called(made, names)):
            message = f"event `{name}` was created without timing, and has no time"
            path = (Place(made, f"`{name}` is created without timing here"), asked)
            yield finding_at(EventTimingDisabled, call, message, source, path)
            return
        if _is_never_recorded(name, call, names, root):
            message = f"event `{name}` was never recorded"
            path = (Place(made, f"`{name}` is created here, and nothing records it"), asked)
            yield finding_at(EventNeverRecorded, call, message, source, path)
            return


def _asked(call: Node, names: Names) -> list[str]:
    """The events between which the call asks for the time: ``start.elapsed_time(end)``, ``cupy.cuda.get_elapsed_time(start, end)``."""
    function, given = call.child_by_field_name("function"), [text_of(each) for each in arguments_of(call)]
    if called(call, names) in _ASKS:
        return given
    if function is not None and function.type == "attribute" and field_text(function, "attribute") == "elapsed_time":
        return [field_text(function, "object"), *given]
    return []


def _not_awaited(call: Node, names: Names, source: Source) -> Iterator[Finding]:
    """If the second event is recorded before in the block, and nothing between the two can wait."""
    events = _asked(call, names)
    name, statement = events[-1] if events else "", call
    while statement.parent is not None and statement.parent.type not in ("block", "module"):
        if statement.type in _NOT_ALWAYS:
            return
        statement = statement.parent
    inside = source.text[statement.start_byte : call.start_byte]
    record = statement.prev_named_sibling
    while record is not None and _records(record, events) not in ("", name):
        record = record.prev_named_sibling
    if record is None or not name or _records(record, events) != name or not _OPENS.fullmatch(inside):
        return
    message = f"the time up to event `{name}` is asked for, and nothing has waited for it"
    path = (Place(record, f"`{name}` is recorded here"), Place(call, "the time is asked for here"))
    before = record.prev_named_sibling
    idle = before is not None and "synchronize" in text_of(before)
    yield finding_at(SourceElapsedNotAwaited, call, message, source, path, "note" if idle else "warning")


def _records(statement: Node, events: list[str]) -> str:
    """Which of the events the statement records; ``#`` for a comment, empty for everything else."""
    match = _RECORD.fullmatch(text_of(statement))
    return "#" if statement.type == "comment" else match[1] if match is not None and match[1] in events else ""


def _has_no_time(made: Node, maker: str) -> bool:
    """Whether the call creates an event that is sure to keep no time."""
    given = arguments_of(made)
    if maker == "numba.cuda.event" and [text_of(each) for each in given] == ["False"]:
        return True
    if any(each.type != "keyword_argument" for each in given):
        return False
    named = {field_text(each, "name"): field_text(each, "value") for each in given}
    if maker == "torch.cuda.Event":
        return named.get("enable_timing", "False") == "False"
    return named.get("disable_timing") == "True" if maker == "cupy.cuda.Event" else named.get("timing") == "False"


def _is_never_recorded(name: str, call: Node, names: Names, root: Node) -> bool:
    """Whether the event is a variable of one function, which only asks it for times and waits for it, and gives it to nobody."""
    function = enclosing(call, "function_definition", "lambda", "class_definition")
    if function is None or function.type != "function_definition" or "." in name:
        return False
    return all(_records_nothing(node, names) for node in uses_in(function, name, root))


def _records_nothing(use: Node, names: Names) -> bool:
    parent = use.parent
    if use.type == "comment":
        return True
    if use.type != "identifier" or parent is None:
        return False
    if parent.type == "assignment":
        return parent.child_by_field_name("left") == use
    if parent.type == "attribute":
        return parent.child_by_field_name("object") == use and field_text(parent, "attribute") in _RECORDS_NOTHING
    around = parent.parent
    return parent.type == "argument_list" and around is not None and _is_asked(around, use, names)


def _is_asked(call: Node, use: Node, names: Names) -> bool:
    """Whether the call asks the event for a time."""
    return call.type == "call" and text_of(use) in _asked(call, names)
