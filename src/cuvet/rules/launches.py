"""What was launched before a context was lost, in words. First come launches whose arguments point to memory that the kernel cannot use."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cuvet.catalog.roles import Kind
from cuvet.model import Allocation, Call, Context, HostMemory, Launch, ModelView, Object, Word
from cuvet.rules.lifecycle import ending, written
from cuvet.sizes import binary_size

MOST_SUSPECTS, MOST_OTHERS = 6, 4
_MOST_NAME = 120
_OF_ONE_DEVICE = frozenset({"linear", "pitched", "stream-ordered", "mapped"})
"""Variants of memory that a kernel on another device needs access to."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Why an argument cannot be used; ``object`` is what it points into, if CUDA knows that."""

    text: str
    object: Object | None = None


def told(context: Context, model: ModelView) -> tuple[tuple[str, ...], tuple[Object, ...]]:
    """What was launched in the context that was lost, one line for each sort of launch, and the objects that these are about."""
    launches = [each for each in _newest_first(context) if _may_run_in(each, context, model)]
    suspects: dict[str, tuple[Suspicion, ...]] = {}
    others: dict[str, int] = {}
    for launch in launches:
        found = tuple(_suspicions(launch, context, model))
        line = (
            f"{_name(launch, context)}: {'; '.join(each.text for each in found)}" if found else _name(launch, context)
        )
        if found:
            suspects.setdefault(line, found)
        else:
            others[line] = others.get(line, 0) + 1
    objects = (each.object for line in list(suspects)[:MOST_SUSPECTS] for each in suspects[line] if each.object)
    lines = [*list(suspects)[:MOST_SUSPECTS], *_others(others)]
    left = len(suspects) + len(others) - len(lines)
    if left:
        lines.append(f"{left} more sorts of launches were made before")
    return tuple(lines), tuple(dict.fromkeys(objects))


def _others(others: dict[str, int]) -> Iterator[str]:
    for line, count in list(others.items())[:MOST_OTHERS]:
        times = f", {count:,} times" if count > 1 else ""
        yield f"{line} was launched before{times}; its thread has synchronised neither context nor stream since"


def _newest_first(context: Context) -> Iterable[Launch]:
    return reversed(context.error.launches) if context.error is not None else ()


def _may_run_in(launch: Launch, context: Context, model: ModelView) -> bool:
    """False if its stream is known to belong to another context."""

    stream = model.find(Kind.STREAM, launch.stream) if launch.stream else None
    return stream is None or stream.context is None or stream.context is context


def _name(launch: Launch, context: Context) -> str:
    name = launch.kernel or "a kernel whose name is not known"
    if len(name) > _MOST_NAME:
        name = f"{name[:_MOST_NAME]}…"
    other = context.error is not None and launch.thread != context.error.thread
    return f"{name}{launch.where}" + (f" (thread {launch.thread})" if other else "")


def _suspicions(launch: Launch, context: Context, model: ModelView) -> Iterator[Suspicion]:
    ends = _ends(launch.words, model)
    for word in launch.words:
        found = _suspicion(word, launch, context, model) if word.value not in ends else None
        if found is not None:
            inside = "" if word.whole else f", byte {word.offset},"
            yield Suspicion(f"argument {word.parameter}{inside} = {word.value:#x} {found.text}", found.object)


def _ends(words: Sequence[Word], model: ModelView) -> set[int]:
    """Ends of memory that other arguments point into. Such an argument may be an end, not the start of the memory that follows."""
    found = (model.allocation_at(word.value) for word in words)
    return {memory.end for memory in found if memory is not None}


def _suspicion(word: Word, launch: Launch, context: Context, model: ModelView) -> Suspicion | None:
    if word.value == 0 and word.whole and word.parameter in launch.pointers:
        return Suspicion("is a null pointer")
    memory: Allocation | HostMemory | None = model.allocation_at(word.value) or model.host_memory_at(word.value)
    if memory is None:
        known = word.whole and word.on_host
        return Suspicion("points into memory of the host that CUDA does not know") if known else None
    if memory.alive:
        if isinstance(memory, HostMemory) or memory.variant not in _OF_ONE_DEVICE or model.reaches(context, memory):
            return None
        return Suspicion(
            f"points into {_described(memory)} of device {memory.device}, to which this context has no access", memory
        )
    freed = memory.destroyed_by
    if freed is None or not _was_before(freed, launch):
        return None
    return Suspicion(
        f"points into {_described(memory)}, which was {ending(freed)} before by {written(freed)}{freed.where()}", memory
    )


def _was_before(call: Call, launch: Launch) -> bool:
    """Whether the call is known to have been made before the launch."""
    return call.number < launch.number if call.thread == launch.thread else call.time_ns < launch.after_ns


def _described(memory: Allocation | HostMemory) -> str:
    """``allocation#3 (1 MiB by cudaMalloc at app.cu:10)``."""
    made = memory.created_by
    by = f" by {written(made)}{made.where()}" if made is not None else ""
    return f"{memory.name} ({binary_size(memory.size)}{by})"
