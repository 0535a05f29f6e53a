"""What the model knows after each program of the rules, and of ``state_programs.txt``, as text: ``states.txt``.

``python -m tests.rules.states`` writes it. Predictions and rules follow from this state: a transition that is lost shows here even if no
rule asks for it yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from itertools import count
from pathlib import Path

from cuvet.catalog import Kind
from cuvet.model import Call, Model, Object, Prediction
from cuvet.model.objects import Capture, Stream
from cuvet.rules import model_rules
from cuvet.rules.examples import Example, invalid, read, runnable, valid
from cuvet.rules.rule import Rule

from . import measured
from .reports import NEEDS_A_DRIVER, NOUNS, OF_THIS_PROCESS
from .simulated import SimulatedDriver, run

FILE = Path(__file__).parent / "states.txt"
HEAD = """# What the model knows after each program of the rules, and after those of state_programs.txt. Written by `make generate`; a test
# asks that it is still so. An object has the fields that are not as they are at first; "call 7" is the seventh
# of the program and its setup.
"""
PROGRAMS = Path(__file__).parent / "state_programs.txt"
_SHOWN_ELSEWHERE = ("kind", "handle", "generation", "number", "children")
_OF_MODEL = (
    "live_captures lost_contexts primaries default_pools current_pools resets shutdown_by initialised_by not_initialised_by "
    "initialised_before_fork endangered freed_twice_in graphs_wait graphs_allocate"
).split()


def state(model: Model) -> Iterator[str]:
    """The objects, oldest first of each kind, then threads and what else the model holds."""
    captures: dict[int, Capture] = {}
    for kind in Kind:
        for it in model.objects(kind, alive=False):
            yield _object(model, it)
            if isinstance(it, Stream) and it.begun is not None:
                captures[id(it.begun)] = it.begun
    for stream in model.streams():
        if stream.builtin:
            yield _object(model, stream)
    yield from (f"capture: {_fields(each)}" for each in captures.values())
    yield from (f"thread {number}: {_fields(each)}" for number, each in model.threads.items() if _fields(each))
    held = {name: getattr(model, name) for name in _OF_MODEL}
    yield "model: " + ", ".join(f"{name} {_text(value)}" for name, value in held.items() if value)


def _object(model: Model, it: Object) -> str:
    ended = "" if it.alive else ", ended"
    pending = ", pending" if isinstance(it, Stream) and model.pending(it) is not None else ""
    named = f"{it.name} ({it.handle:#x}, generation {it.generation}){ended}{pending}"
    return f"{named}: {_fields(it)}" if _fields(it) else named


def _fields(it: object) -> str:
    """The fields that are not as they are at first."""
    found = []
    for each in fields(it):  # type: ignore[arg-type]
        default = each.default if each.default_factory is MISSING else each.default_factory()
        value = getattr(it, each.name)
        if each.name not in _SHOWN_ELSEWHERE and value != default:
            found.append(f"{each.name.strip('_')} {_text(value)}")
    return ", ".join(found)


def _text(value: object) -> str:
    if isinstance(value, Call):
        return f"call {value.number}"
    if isinstance(value, Object):
        return value.name
    if isinstance(value, Capture):
        return f"capture of {value.origin.name}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)}: {_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(_text, value))) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_text, value)) + "]"
    if is_dataclass(value) and not isinstance(value, type):
        return f"({_fields(value)})"
    return str(value)


class FollowedDriver(SimulatedDriver):
    """``cu`` whose answers are kept."""

    def __init__(self, file: str, devices: int, ends: measured.Ends | None, *, complete: bool = True) -> None:
        super().__init__(file, devices, ends)
        self.model = Model(devices, complete=complete)
        self.answers: list[str] = []
        self._fresh, self._addresses = count(0xC000_0000, 0x100), 0xA_0000_0000

    def _status(self, call: Call, prediction: Prediction) -> int:
        known = {call.entry_point.parameters[at].name: f"{word:#x}" for at, word in prediction.outputs.items()}
        parts = [" or ".join(map(str, prediction.statuses)), *(f"{name} {word}" for name, word in known.items())]
        parts += [each.message for each in prediction.violations]
        self.answers.append(f"call {call.number}, {call.name}: {', '.join(parts)}")
        return super()._status(call, prediction)


def _program(title: str, example: Example, ends: measured.Ends | None) -> Iterator[str]:
    cu = run(FollowedDriver(f"<{title}>", example.devices, ends), example)
    yield f"\n## {title}"
    yield from state(cu.model)


def _followed(example: Example) -> Iterator[str]:
    """Call by call; and what is another, of answers and state, in a recording without the calls that change no lifetime (``unseen``)."""
    all_seen, unseen = (
        run(FollowedDriver(f"<{example.name}>", example.devices, None, complete=complete), example)
        for complete in (True, False)
    )
    lines = [*all_seen.answers, *state(all_seen.model)]
    yield f"\n## {example.name}"
    yield from lines
    yield from (f"unseen: {line}" for line in (*unseen.answers, *state(unseen.model)) if line not in lines)


def _ends(rule: type[Rule], kind: str, example: Example) -> measured.Ends | None:
    return measured.read().get(measured.key(rule.name, kind, example))


def section(noun: str) -> str:
    """The states after the programs of the rules in a folder of ``src/cuvet/rules``."""
    lines = [
        line
        for rule in model_rules()
        if rule.__module__.split(".")[2] == noun and rule.name not in NEEDS_A_DRIVER
        for kind, examples in (("valid", valid(rule)), ("invalid", invalid(rule)))
        for example in runnable(examples)
        for line in _program(f"{rule.name}, {kind}: {example.name}", example, _ends(rule, kind, example))
    ]
    return f"\n# {noun}\n" + OF_THIS_PROCESS.sub("(changes)", "\n".join(lines)) + "\n"


def own_section() -> str:
    """The states after the programs of ``state_programs.txt``."""
    programs = read(PROGRAMS.read_text(encoding="utf-8"))
    lines = [line for example in programs for line in _followed(example)]
    return "\n# other programs\n" + "\n".join(lines) + "\n"


SECTIONS = (*NOUNS, "other programs")


def text_of(name: str) -> str:
    return own_section() if name == "other programs" else section(name)


if __name__ == "__main__":
    FILE.write_text(HEAD + "".join(map(text_of, SECTIONS)), encoding="utf-8")
