"""What a successful call of each entry point of the driver changes in the model, in several situations, as text: ``effects.txt``.

``python -m tests.model.effects`` writes it. The call is that of ``situations.py``; what it writes is made up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.rules.states import state

from cuvet.catalog import EntryPoint, driver
from cuvet.catalog.roles import Kind, Verb
from cuvet.model import Call, Model, Outcome
from cuvet.model.transitions import plan

from . import situations as s

FILE = Path(__file__).parent / "effects.txt"
HEAD = """# What a successful call of each entry point of the driver changes: the objects after it that are not as they were, ordinarily,
# and in each situation in which that is something else. The call has the number 1000. Entry points that change the same stand together.
# Written by `make generate`; a test asks that it is still so.
"""
SITUATIONS = (
    s.unknown,
    s.null,
    s.no_context,
    s.all_ended,
    s.launched,
    s.capturing,
    s.capturing_relaxed,
    s.default_stream,
    s.numbers_of_one,
)
MADE = (Verb.CREATES, Verb.RETURNS, Verb.ALLOCATES)


def written(model: Model, call: Call) -> dict[int, int]:
    """What the model knows, and new handles."""
    known = model.predict(call).outputs
    entry_point = call.entry_point
    made = {
        role.parameter: role.kind for role in entry_point.roles if role.verb in MADE and not (role.field or role.count)
    }
    found = {}
    for index, parameter in enumerate(entry_point.parameters):
        if parameter.out and (index in known or parameter.name in made):
            in_memory = made.get(parameter.name) in (Kind.MEMORY, Kind.HOST_MEMORY)
            found[index] = known.get(index, 0xB_0000_0000 if in_memory else 0x88000000 + 0x100 * index)
    return found


def _effect(entry_point: EntryPoint, situation: s.Situation | None) -> str:
    model, handles = s.start(situation)
    call = s.call_of(entry_point, handles)
    outputs = written(model, call)
    before = set(state(model))
    model.observe(call, Outcome(0, outputs))
    return "\n".join(f"    {line}" for line in state(model) if line not in before)


def entry_points() -> tuple[EntryPoint, ...]:
    return tuple(each for each in driver().entry_points if any(plan(each)))


def blocks(entry_points: Iterable[EntryPoint]) -> Iterator[tuple[str, str]]:
    """The name of each, and what is said of it."""
    for entry_point in entry_points:
        usual = _effect(entry_point, None)
        effects: dict[str, list[str]] = {usual: ["ordinarily"]}
        for situation in SITUATIONS:
            effect = _effect(entry_point, situation)
            if effect != usual:
                effects.setdefault(effect, []).append(situation.__name__.replace("_", " "))
        lines = (f"  {', '.join(names)}:\n{effect or '    nothing'}" for effect, names in effects.items())
        yield entry_point.name, "\n".join(lines)


if __name__ == "__main__":
    FILE.write_text(s.together(HEAD, blocks(entry_points())), encoding="utf-8")
