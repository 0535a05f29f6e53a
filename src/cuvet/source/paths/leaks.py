"""What a function leaves behind: which of the rules about lost objects it breaks, if any."""

import re

import msgspec

from cuvet.catalog import Kind
from cuvet.catalog.kinds import ALLOCATIONS, LIBRARY_OBJECTS
from cuvet.findings import Finding
from cuvet.model import Allocation, HostMemory
from cuvet.rules import rules_that_are
from cuvet.rules.exit.leak import LeakedAtExit
from cuvet.rules.library_handle.never_created import LibraryHandleNeverCreated
from cuvet.rules.lifecycle import NeverCreated
from cuvet.rules.memory.free_never_allocated import MemoryFreeNeverAllocated
from cuvet.rules.rule import Rule
from cuvet.rules.source.leak import SourceLeak
from cuvet.rules.source.leak_on_failure import SourceLeakOnFailure
from cuvet.rules.source.leak_on_return import SourceLeakOnReturn
from cuvet.rules.source.overwritten import SourceOverwritten
from cuvet.source.calls import LOST, resets_device
from cuvet.source.paths.arms import Arms
from cuvet.source.paths.handles import root
from cuvet.source.paths.trace import Left
from cuvet.source.program import Function, Invoke, Return

_ELEMENT = re.compile(r"\[\d+\]")


def rule_broken(left: Left, function: Function, arms: Arms) -> type[Rule] | None:
    """The rule that leaving the object behind breaks; None if it may be in order."""
    if left.lvalue.startswith("%"):
        return None  # what has no name, as `v.at(0)`, is somebody else's too
    if left.object.kind not in LOST and left.object.kind is not Kind.CONTEXT:
        return None
    if isinstance(left.object, Allocation) and left.object.variant in ("graph", "global"):
        return None
    if left.freed and any(isinstance(each, Invoke) and resets_device(each.name) for each in function.operations):
        return None
    if any(map(arms.may_end, _unknown_elements(left.lvalue))):
        return None  # in a loop over the array, which a path cannot follow
    released = arms.ends(left.lvalue)
    if left.object.kind is Kind.CONTEXT and not released:
        return None  # it is current for as long as the thread lives, perhaps on purpose
    if left.failed and not left.freed and (left.overwritten or not released):
        return None
    if function.name in ("main", "Main"):
        return None if released or left.overwritten else LeakedAtExit
    if left.overwritten:
        again = left.by.written.start == left.end.start
        return None if again and arms.ends(left.lvalue, within=left.guards) else SourceOverwritten
    if left.failed:
        return SourceLeakOnFailure
    return SourceLeakOnReturn if released else SourceLeak


def rule_of_unset(kind: Kind) -> type[Rule] | None:
    """The rule that is broken where an object of the kind is ended through a variable without a value."""
    if kind in ALLOCATIONS:
        return MemoryFreeNeverAllocated
    if kind in LIBRARY_OBJECTS:
        return LibraryHandleNeverCreated
    return next((rule for rule in rules_that_are(NeverCreated) if rule.kind is kind), None)


def _unknown_elements(lvalue: str) -> list[str]:
    """``a[*]`` for ``a[0]``: what an element is called where nobody knows which it is."""
    return [f"{lvalue[: at.start()]}[*]{lvalue[at.end() :]}" for at in _ELEMENT.finditer(lvalue)]


def message(left: Left, line: int) -> str:
    """What is said of it, in one line. ``line``: where it is lost."""
    noun = "allocated" if isinstance(left.object, Allocation | HostMemory) else "made"
    what = f"{left.object.kind.noun} `{left.lvalue}`"
    if isinstance(left.end, Return):
        how = {"throw": "throws", "end": "ends", "return": "returns"}[left.end.how]
        return f"{what} {noun} here is lost when the function {how} in line {line}"
    if left.freed:
        return f"{what} {noun} here is lost when `{root(left.lvalue)}` is freed in line {line}"
    return f"{what} {noun} here is lost when `{left.lvalue}` gets another value in line {line}"


def also(first: Finding, second: Finding) -> Finding:
    """One finding about what is lost on the same way out, or is ended without a value."""
    objects = first.objects + second.objects
    word = next(each for each in (" allocated here", " made here", " is given no value") if each in first.message)
    begin, _, end = first.message.partition(word)
    names = begin.split(" (and ")[0]
    more = ", ".join(f"`{each.name}`" for each in objects[1:4]) + (
        f" and {len(objects) - 4} more" if len(objects) > 4 else ""
    )
    return msgspec.structs.replace(first, objects=objects, message=f"{names} (and {more}){word}{end}")
