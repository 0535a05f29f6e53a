"""What the model says a call of each entry point returns, in each situation, as text: ``situations.txt``.

``python -m tests.model.situations`` writes it. The objects that a call names are alive, and all else in it is zero.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from cuvet.catalog import EntryPoint, recorded
from cuvet.catalog.roles import INTRODUCES, Kind
from cuvet.model import Call, Model
from cuvet.model.naming import POINTED_AT
from cuvet.model.objects import CLASSES, Object

from .driving import Drive

FILE = Path(__file__).parent / "situations.txt"
HEAD = """# What the model says a call of each entry point returns: ordinarily, with the values that it writes and the rules that it breaks;
# then in each situation in which that is another. All objects that a call names are alive; all else in it is zero. A process that
# exits is answered 4, one that is not initialised 3, unless something else is said.
# Written by `make generate`; a test asks that it is still so.
"""
STREAM, EVENT, MEMORY, PINNED = Kind.STREAM, Kind.EVENT, Kind.MEMORY, Kind.HOST_MEMORY
Handles = dict[Kind, int]
Situation = Callable[[Drive, Handles], None]


def lost(cu: Drive, handles: Handles) -> None:
    cu.cuCtxSynchronize(status=700)


def destroyed(cu: Drive, handles: Handles) -> None:
    other = cu.cuCtxCreate(0, 0)
    with cu.in_thread(2):
        cu.cuCtxDestroy(other)


def another_context(cu: Drive, handles: Handles) -> None:
    cu.cuCtxCreate(0, 0)


def no_context(cu: Drive, handles: Handles) -> None:
    cu.cuCtxPopCurrent()


def capturing(cu: Drive, handles: Handles) -> None:
    cu.cuStreamBeginCapture(handles[STREAM], 0)


def capturing_relaxed(cu: Drive, handles: Handles) -> None:
    cu.cuStreamBeginCapture(handles[STREAM], 2)


def another_is_capturing(cu: Drive, handles: Handles) -> None:
    cu.cuStreamBeginCapture(cu.cuStreamCreate(0), 0)


def capture_is_broken(cu: Drive, handles: Handles) -> None:
    capturing(cu, handles)
    cu.cuMemAlloc(16)


def another_thread_is_capturing(cu: Drive, handles: Handles) -> None:
    with cu.in_thread(2):
        cu.cuCtxSetCurrent(cu.model.primary_context(0).handle)  # type: ignore[union-attr]
        cu.cuStreamBeginCapture(cu.cuStreamCreate(1), 0)


def launched(cu: Drive, handles: Handles) -> None:
    cu.cuLaunchKernel(handles[Kind.FUNCTION], 1, 1, 1, 1, 1, 1, 0, handles[STREAM])
    cu.cuEventRecord(handles[EVENT], handles[STREAM])


def freed_under_work(cu: Drive, handles: Handles) -> None:
    memory = cu.cuMemAlloc(4096)
    cu.cuMemsetD8Async(memory, 0, 16, handles[STREAM])
    cu.cuMemFree(memory)


def freed_twice(cu: Drive, handles: Handles) -> None:
    memory = cu.cuMemAllocAsync(4096, handles[STREAM])
    cu.cuMemFreeAsync(memory, handles[STREAM])
    cu.cuMemFree(memory, status=0)


def graph_memory(cu: Drive, handles: Handles) -> None:
    cu.cuStreamBeginCapture(handles[STREAM], 2)
    handles[MEMORY] = cu.cuMemAllocAsync(4096, handles[STREAM])
    cu.cuStreamEndCapture(handles[STREAM])


def green_context(cu: Drive, handles: Handles) -> None:
    cu.cuCtxSetCurrent(cu.cuCtxFromGreenCtx(cu.cuGreenCtxCreate(0, 0, 1)))


def another_device(cu: Drive, handles: Handles) -> None:
    cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(1))


def context_of_call(cu: Drive, handles: Handles) -> None:
    """The driver says that another context is current."""
    handles[Kind.NONE] = cu.cuCtxCreate(0, 0)
    cu.cuCtxPopCurrent()


def null(cu: Drive, handles: Handles) -> None:
    handles.update(dict.fromkeys(handles, 0))


def unknown(cu: Drive, handles: Handles) -> None:
    handles.update(dict.fromkeys(handles, 0x12345000))


def default_stream(cu: Drive, handles: Handles) -> None:
    launched(cu, handles)
    handles[STREAM] = 0


def default_stream_of_thread(cu: Drive, handles: Handles) -> None:
    handles[STREAM] = 2


def numbers_of_one(cu: Drive, handles: Handles) -> None:
    """Of what is no handle."""
    handles[Kind.DEVICE] = 1


def huge_numbers(cu: Drive, handles: Handles) -> None:
    handles[Kind.DEVICE] = 1 << 40


def not_all_recorded(cu: Drive, handles: Handles) -> None:
    """Calls that change no lifetime may be missing."""
    launched(cu, handles)
    cu.model.complete = cu.model.all_work = False


def capturing_not_all_recorded(cu: Drive, handles: Handles) -> None:
    capturing(cu, handles)
    cu.model.complete = cu.model.all_work = False


def event_of_capture(cu: Drive, handles: Handles) -> None:
    cu.cuStreamBeginCapture(handles[STREAM], 2)
    cu.cuEventRecord(handles[EVENT], handles[STREAM])
    handles[STREAM] = cu.cuStreamCreate(1)


def event_was_captured(cu: Drive, handles: Handles) -> None:
    cu.cuStreamBeginCapture(handles[STREAM], 2)
    cu.cuEventRecord(handles[EVENT], handles[STREAM])
    cu.cuStreamEndCapture(handles[STREAM])


def waited(cu: Drive, handles: Handles) -> None:
    launched(cu, handles)
    cu.cuStreamSynchronize(handles[STREAM])


def relaxed_thread(cu: Drive, handles: Handles) -> None:
    another_is_capturing(cu, handles)
    cu.model.threads[1].capture_mode = 2


def all_ended(cu: Drive, handles: Handles) -> None:
    call = cu.call
    assert call is not None
    for kind in handles:
        for each in cu.model.objects(kind):
            if kind is not Kind.CONTEXT:
                cu.model.end(each, call)


def exiting(cu: Drive, handles: Handles) -> None:
    cu.model.shutdown()


SITUATIONS: tuple[Situation, ...] = (
    no_context, another_context, context_of_call, green_context, another_device, destroyed, lost, launched, freed_under_work, freed_twice,
    graph_memory, capturing, capturing_relaxed, another_is_capturing, capture_is_broken, another_thread_is_capturing, default_stream,
    default_stream_of_thread, not_all_recorded, capturing_not_all_recorded, event_of_capture, event_was_captured, waited, relaxed_thread,
    numbers_of_one, huge_numbers, null, unknown, all_ended, exiting,
)  # fmt: skip


OF_ALL = {"exiting": "4", "not initialised": "3"}
"""What nearly all entry points return."""


def start(situation: Situation | None) -> tuple[Model, Handles]:
    """A model in the situation, with a living object of each kind."""
    cu = Drive(Model(devices=2, complete=True, memory=1 << 30)).setup()
    handles: Handles = {STREAM: cu.cuStreamCreate(1), EVENT: cu.cuEventCreate(0)}
    handles |= {MEMORY: cu.cuMemAlloc(4096), PINNED: cu.cuMemHostAlloc(4096, 0)}
    context = cu.model.primary_context(0)
    assert context is not None
    handles[Kind.CONTEXT] = context.handle
    for kind in Kind:
        if kind not in handles and kind not in (Kind.NONE, Kind.DEVICE):
            handles[kind] = 0x77000000 + 0x100 * kind
            made = cu.model.table.add(CLASSES.get(kind, Object), kind, handles[kind], 0)
            made.created_by = cu.call
    if situation is not None:
        situation(cu, handles)
    return cu.model, handles


def call_of(entry_point: EntryPoint, handles: Handles) -> Call:
    """Names the objects, and nothing else."""
    number = handles.get(Kind.DEVICE, 0)
    words, inputs = [0 if each.out else number for each in entry_point.parameters], {}
    for role in entry_point.roles:
        index = entry_point.index.get(role.parameter)
        known = role.kind in handles and role.kind is not Kind.DEVICE
        if index is None or role.verb in INTRODUCES or not known or role.field not in ("", POINTED_AT):
            continue
        words[index] = handles[role.kind]
        if role.count or role.field:
            inputs[index] = handles[role.kind].to_bytes(8, "little")
        if role.count in entry_point.index:
            words[entry_point.index[role.count]] = 1
    return Call(entry_point, tuple(words), thread=1, number=1000, inputs=inputs, context=handles.get(Kind.NONE))


def _answer(model: Model, call: Call) -> str:
    said = model.predict(call)
    words = [f"{call.entry_point.parameters[index].name} {word:#x}" for index, word in said.outputs.items()]
    rules = dict.fromkeys(each.rule.name for each in said.violations)
    return ", ".join((" or ".join(map(str, said.statuses)) + ("!" if said.undefined else ""), *words, *rules))


def together(head: str, blocks: Iterable[tuple[str, str]]) -> str:
    """The text of a file: names of entry points of which the same is said stand together."""
    alike: dict[str, list[str]] = {}
    for name, block in blocks:
        alike.setdefault(block, []).append(name)
    written = (f"\n{textwrap.fill(' '.join(names), 138)}\n{block}\n" for block, names in alike.items())
    return head + "".join(written)


def apart(text: str) -> dict[str, str]:
    """What such a text says, by name of the entry point."""
    found = {}
    for block in text.rstrip("\n").split("\n\n")[1:]:
        names, _, _ = block.partition("\n  ")
        found.update(dict.fromkeys(names.split(), block[len(names) + 1 :]))
    return found


def by_noun(entry_points: Iterable[EntryPoint]) -> dict[str, list[EntryPoint]]:
    """Those of the driver by the first word of their names, others by library."""
    found: dict[str, list[EntryPoint]] = {}
    for each in entry_points:
        noun = re.match("cu[A-Z]+[a-z]*", each.name) if each.api == "driver" else None
        found.setdefault(noun[0] if noun else each.api, []).append(each)
    return found


def entry_points() -> tuple[EntryPoint, ...]:
    return tuple(each for each in recorded() if each.api == "driver" or each.roles)


def blocks(entry_points: Iterable[EntryPoint]) -> Iterator[tuple[str, str]]:
    """The name of each, and what is said of it."""
    ordinary = start(None)
    others = {situation.__name__.replace("_", " "): start(situation) for situation in SITUATIONS}
    others["not initialised"] = (Model(complete=True), ordinary[1])
    for entry_point in entry_points:
        usual = _answer(ordinary[0], call_of(entry_point, ordinary[1]))
        answers: dict[str, list[str]] = {}
        for name, (model, handles) in others.items():
            answer = _answer(model, call_of(entry_point, handles))
            if answer != usual and answer.partition(",")[0] != OF_ALL.get(name):
                answers.setdefault(answer, []).append(name)
        lines = (f"  ordinarily: {usual}", *(f"  {', '.join(names)}: {each}" for each, names in answers.items()))
        yield entry_point.name, "\n".join(lines)


if __name__ == "__main__":
    FILE.write_text(together(HEAD, blocks(entry_points())), encoding="utf-8")
