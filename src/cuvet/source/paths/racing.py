"""Races between streams that a path shows, where all that can order the two works is known."""

from cuvet.model import Object
from cuvet.rules.memory.free_unordered import MemoryFreeUnordered
from cuvet.rules.race.between_streams import RaceBetweenStreams
from cuvet.rules.rule import Violation
from cuvet.source.calls import meaning
from cuvet.source.kernels import touches
from cuvet.source.paths.between import nothing_waits
from cuvet.source.paths.trace import SourceCall
from cuvet.source.paths.walk import Path
from cuvet.source.syntax.parsing import Source


def is_race(violation: Violation) -> bool:
    """Whether it is about two works, or work and a free, on different streams."""
    return violation.rule in (RaceBetweenStreams, MemoryFreeUnordered)


def is_certain(violation: Violation, call: SourceCall, path: Path, source: Source) -> bool:
    """Whether what stands between the two works is either told to the model or known to order nothing, no branch leads past something,
    and both are sure to touch the same bytes."""
    first, memory = violation.earlier[0][1], violation.objects[0]
    if not isinstance(first, SourceCall) or first.again or call.again or path.effects.failing:
        return False
    free = (taken for taken in path.between(first.step, call.step) if taken.free)
    if any((taken.block, 1 - taken.arm) not in path.arms.leaving for taken in free):
        return False
    launches = [each for each in (first, call) if each.written.launch]
    if launches and not all(each.written.launch or _is_whole(each, memory, source) for each in (first, call)):
        return False
    return all(_touches(each, memory, source) for each in launches) and nothing_waits(first, call, source)


def _touches(launch: SourceCall, memory: Object, source: Source) -> bool:
    """Whether the file shows that the kernel uses the memory. Of Python and C# it is not known."""
    given = launch.pointers
    at = given.index(memory.handle) if memory.handle in given else len(given)
    return source.is_cpp and touches(source.code, launch.written.name, at, len(given))


def _is_whole(call: SourceCall, memory: Object, source: Source) -> bool:
    """Whether it frees the memory, or the size that the call is given is written as that of the memory: then a kernel touches some of these
    bytes, wherever in the memory it begins."""
    found = meaning(call.written.name)
    if found is not None and found.ended:
        return True
    made = memory.created_by
    sizes = {_size(each, source) for each in (made, call) if isinstance(each, SourceCall)}
    return isinstance(made, SourceCall) and len(sizes) == 1 and b"" not in sizes


def _size(call: SourceCall, source: Source) -> bytes:
    """What is written as the size of the memory, without spaces; empty if that is not known."""
    found, spans = meaning(call.written.name), call.written.spans
    places = {found.entry_point.index[role.size] for role in found.entry_point.roles if role.size} if found else set()
    at = places.pop() if len(places) == 1 else len(spans)
    return b"".join(source.text[slice(*spans[at])].split()) if at < len(spans) else b""
