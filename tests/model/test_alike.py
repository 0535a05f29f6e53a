"""What is remembered of calls that are alike (``cuvet.model.alike``) is what would be found out of each of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from msgspec.structs import replace

from cuvet.catalog import driver
from cuvet.catalog.kinds import FUNCTIONS
from cuvet.catalog.roles import Verb
from cuvet.conformance.compare import call_of, new_model
from cuvet.model import Arguments, Call, Model, Outcome
from cuvet.model.alike import MOST, Alike
from cuvet.model.touches import Touches
from cuvet.rules import model_rules
from cuvet.rules.examples import invalid, runnable, valid
from cuvet.rules.occasions import UNUSUAL, is_usual

from ..conformance.recordings import FILES, sessions
from ..rules import measured
from ..rules.simulated import simulate
from ..rules.test_model import needs_a_driver
from . import situations
from .driving import Drive

LAST = 3
SOME = [file for file in FILES if "threads" in file.name]


def like(call: Call) -> Hashable:
    """All of it but for number, time, and the arguments of a kernel."""
    given = call.entry_point.index.get("kernelParams")
    inputs = tuple((index, data) for index, data in call.inputs.items() if index != given)
    return call.entry_point, call.args, inputs, tuple(call.seen.items()), call.thread, call.context, call.per_thread


class Compared:
    """After each call, what is said of the last few launches if they were made again and succeeded, with and without what is remembered."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.remembered = 0
        self._observe = Model.observe
        self._last: WeakKeyDictionary[Model, deque[Call]] = WeakKeyDictionary()
        patch.setattr(Model, "observe", lambda model, call, outcome: self.observe(model, call, outcome))

    def observe(self, model: Model, call: Call, outcome: Outcome) -> None:
        self._observe(model, call, outcome)
        last = self._last.setdefault(model, deque(maxlen=LAST))
        if call.entry_point.does(Verb.LAUNCHES, to=FUNCTIONS):
            last.append(call)
        for each in last:
            again = replace(each, position=None)
            expected = said(model, again)
            again.like = like(again)
            self.remembered += again.like in model._alike.silent
            assert said(model, again) == expected, again


def said(model: Model, call: Call) -> tuple[Any, ...]:
    """A default stream of a dead context is made for each who asks."""
    broken = [
        (each.rule, each.message, [it.name for it in each.objects]) for each in model.violations(call, succeeded=True)
    ]
    stream = model.stream_on(call)
    return broken, stream and (stream.name, stream.context, stream.alive), model.launched(call)


@pytest.mark.parametrize("file", SOME, ids=lambda file: file.name)
def test_in_programs_that_were_recorded(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = Compared(monkeypatch)
    header, found = sessions(file)
    for session in found:
        model = new_model(header)
        for number, row in enumerate(session.rows):
            model.observe(call_of(row, number), Outcome(row.status, row.outputs, row.signal))
    assert compared.remembered > 20


def test_in_programs_of_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = Compared(monkeypatch)
    for rule in model_rules():
        for kind, examples in (("valid", valid(rule)), ("invalid", invalid(rule))):
            for example in runnable(examples):
                if not needs_a_driver(rule, example):
                    simulate(example, f"{rule.name}.py", measured.read().get(measured.key(rule.name, kind, example)))
    assert compared.remembered > 20


class Launches:
    """Launches one function, as calls that are alike but for their words."""

    def __init__(self) -> None:
        self.cu = Drive(Model(complete=True)).setup()
        self.cu.model.touches = Touches()
        self.stream, self.other = self.cu.cuStreamCreate(1), self.cu.cuStreamCreate(1)
        self.module = self.cu.cuModuleLoadData(b"")
        self.function = self.cu.cuModuleGetFunction(self.module, b"kernel\0")

    def launch(self, word: int, stream: int | None = None, **how: Any) -> list[str]:
        """The rules that a launch breaks that succeeds."""
        on = self.stream if stream is None else stream
        arguments = Arguments(word.to_bytes(8, "little"), ((0, 8),))
        how |= {"arguments": arguments, "pointers": (word,), "like": (on, how.get("context"))}
        self.cu.cuLaunchKernel(self.function, 1, 1, 1, 1, 1, 1, 0, on, 0, 0, status=0, **how)
        assert self.cu.call is not None
        return [each.rule.name for each in self.cu.model.violations(self.cu.call, succeeded=True)]


@pytest.fixture
def launches() -> Launches:
    made = Launches()
    assert made.launch(0) == made.launch(0, made.other) == []
    return made


def test_a_launch_with_another_address_races(launches: Launches) -> None:
    memory = launches.cu.cuMemAlloc(4096)
    launches.cu.cuMemsetD8Async(memory, 0, 4096, launches.other)
    assert launches.launch(memory) == ["race-between-streams"]


def test_a_launch_with_another_address_does_not_wait_for_its_allocation(launches: Launches) -> None:
    assert launches.launch(launches.cu.cuMemAllocAsync(4096, launches.other)) == ["memory-use-unordered"]


def test_a_launch_is_given_memory_that_was_freed_since_one_like_it(launches: Launches) -> None:
    memory = launches.cu.cuMemAlloc(4096)
    assert launches.launch(memory) == []
    launches.cu.cuMemFree(memory)
    assert launches.launch(memory) == ["memory-freed-in-kernel"]


def test_a_launch_after_its_module_is_gone(launches: Launches) -> None:
    launches.cu.cuModuleUnload(launches.module)
    assert launches.launch(0) == ["function-use-after-unload"]


def test_a_launch_after_its_stream_is_gone(launches: Launches) -> None:
    launches.cu.cuStreamDestroy(launches.stream)
    assert launches.launch(0) == ["stream-use-after-destroy"]


def test_a_launch_on_the_default_stream_of_the_context_that_is_current(launches: Launches) -> None:
    cu = launches.cu
    assert launches.launch(0, 0) == []
    first = cu.model.threads[cu.thread].current
    cu.cuCtxCreate(0, 0)
    launches.launch(0, 0)
    assert cu.call is not None
    stream = cu.model.stream_on(cu.call)
    assert stream is not None and stream.context is not first


def test_a_launch_in_a_context_that_only_the_driver_shows(launches: Launches) -> None:
    cu = launches.cu
    assert launches.launch(0, 0) == []
    cu.cuStreamQuery(launches.stream, status=0, context=0x77770000)
    launches.launch(0, 0)
    assert cu.call is not None
    stream = cu.model.stream_on(cu.call)
    assert stream is not None and stream.context is not None and stream.context.handle == 0x77770000


def test_a_launch_in_a_capture_that_was_invalidated(launches: Launches) -> None:
    launches.cu.cuStreamBeginCapture(launches.stream, 0)
    assert launches.launch(0) == []
    launches.cu.cuStreamQuery(launches.stream, status=900)
    assert launches.launch(0) == ["capture-invalidated"]


def test_what_is_remembered_does_not_grow_for_ever() -> None:
    alike = Alike()
    for number in range(MOST + 2):
        alike.keep(alike.streams, Call(driver()["cuLaunchKernel"], (), like=number), None)
    assert len(alike.streams) <= MOST


@pytest.mark.parametrize("situation", [None, *situations.SITUATIONS])
def test_a_call_is_usual_where_no_unusual_occasion_holds(situation: situations.Situation | None) -> None:
    model, handles = situations.start(situation)
    for entry_point in driver().entry_points:
        call = situations.call_of(entry_point, handles)
        assert is_usual(call, model) == (not any(occasion(call, model) for occasion in UNUSUAL)), entry_point


class Calm:
    """Before each call, what is predicted of it with and without what is remembered of its thread."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.remembered = 0
        self._observe = Model.observe
        patch.setattr(Model, "observe", lambda model, call, outcome: self.observe(model, call, outcome))

    def observe(self, model: Model, call: Call, outcome: Outcome) -> None:
        again = replace(call, position=None)
        self.remembered += again.thread in model._alike.calm
        found = answered(model, again), model.current_context(again)
        model._alike.calm.clear()
        assert found == (answered(model, again), model.current_context(again)), again
        self._observe(model, call, outcome)


def answered(model: Model, call: Call) -> tuple[Any, ...]:
    found = model.predict(call)
    return found.statuses, found.undefined, found.outputs, [(each.rule, each.message) for each in found.violations]


def without_context(call: Call) -> Call:
    """As the emulated device makes it: the model alone knows which context is current."""
    return replace(call, context=None)


@pytest.mark.parametrize("file", SOME, ids=lambda file: file.name)
def test_calm_threads_of_programs_that_were_recorded(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calm = Calm(monkeypatch)
    header, found = sessions(file)
    for session in found:
        model = new_model(header)
        for number, row in enumerate(session.rows):
            model.observe(without_context(call_of(row, number)), Outcome(row.status, row.outputs, row.signal))
    assert calm.remembered > 20


@pytest.mark.parametrize("situation", situations.SITUATIONS)
def test_a_thread_is_calm_no_longer_than_nothing_is_unusual(situation: situations.Situation) -> None:
    """It was calm before the situation came about."""

    def calm_before(cu: Drive, handles: situations.Handles) -> None:
        assert cu.call is not None
        cu.model.predict(replace(cu.call, position=None))
        assert cu.model._alike.calm
        situation(cu, handles)

    model, handles = situations.start(calm_before)
    remembered = dict(model._alike.calm)
    for entry_point in driver().entry_points:
        call = situations.call_of(entry_point, handles)
        model._alike.calm = dict(remembered)
        found = answered(model, call)
        model._alike.calm.clear()
        assert found == answered(model, call), entry_point
