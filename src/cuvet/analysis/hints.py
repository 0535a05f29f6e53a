"""Hints: what the user can do to learn more."""

from collections import Counter
from collections.abc import Iterator, Mapping

from cuvet.analysis.calls import RecordedCall
from cuvet.catalog import Kind
from cuvet.model import Model
from cuvet.recording.generated_code import GeneratedCode, advice
from cuvet.recording.layout import End
from cuvet.recording.reader import Recording
from cuvet.recording.records import LeftOutCalls
from cuvet.rules.left import left
from cuvet.sizes import counted, plural

MOST_THREADS = 8
"""Whose numbers are listed."""
MANY_LEFT = 100
"""Objects of a kind that one place made and nobody ended."""


def hints(
    recording: Recording,
    generated: GeneratedCode,
    model: Model | None,
    *,
    nameless: bool,
    leaks: bool,
    failed: bool,
    by_itself: bool,
) -> Iterator[str]:
    """What would give names and lines to the frames that have none (``nameless``), and what ``--leaks`` would tell. ``by_itself``: if it
    failed, nobody else ended it."""
    yield from filter(None, (advice(recording.modules) if nameless else None, generated.hint()))
    if recording.is_guarded and failed and by_itself:
        yield "--guard makes system calls on memory that work in flight uses fail with EFAULT: see whether the program fails without it"
    if left_out := {thread: each for thread, each in recording.left_out_so_far().items() if each.calls}:
        yield _left_out(recording, left_out)
    ended = int(recording.header["end"]) == End.EXITED
    if model is not None and not leaks and not failed and ended and (kinds := _left(model)):
        yield f"{kinds} were never ended: --leaks says where they were made"


def _left_out(recording: Recording, left_out: Mapping[int, LeftOutCalls]) -> str:
    """How many calls are not in the recording any more, from when to when, and of which threads."""
    calls = counted(sum(each.calls for each in left_out.values()), "call")
    first, last = (
        recording.clock.ns(ticks) / 1e9
        for ticks in (min(each.first for each in left_out.values()), max(each.last for each in left_out.values()))
    )
    threads = ", ".join(map(str, sorted(left_out)[:MOST_THREADS]))
    others = f" and {len(left_out) - MOST_THREADS:,} others" if len(left_out) > MOST_THREADS else ""
    return (
        f"{calls} of process {recording.pid} from {first:.3f} s to {last:.3f} s after its first call (threads {threads}{others}) "
        "were judged and left out of its recording, which would be too large: --bound off keeps them"
    )


def _left(model: Model) -> str:
    """The kinds of objects that are left at the end in number, by single places in the program: ``500 streams, 500 events``.
    What a program holds for good it makes in small numbers, or a library holds it in a pool. A lost context keeps all."""
    if model.lost_contexts:
        return ""
    places: Counter[tuple[Kind, int]] = Counter()
    makers: dict[int, RecordedCall] = {}
    for found, count in left(model):
        call = found.created_by
        if isinstance(call, RecordedCall) and call.stack:
            places[found.kind, call.stack] += count
            makers.setdefault(call.stack, call)
    many: Counter[Kind] = Counter()
    for (kind, stack), count in places.items():
        many[kind] += count if count >= MANY_LEFT and not makers[stack].is_of_library() else 0
    return ", ".join(f"{count:,} {plural(kind.counted)}" for kind, count in many.items() if count)
