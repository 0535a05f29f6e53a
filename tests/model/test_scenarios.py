"""The scenarios of order that PyTorch's CUDA sanitizer is tested with, played here with copies and sets.

They are the cases of ``TestEventHandler`` in ``test/test_cuda_sanitizer.py`` of pytorch/pytorch (commit 043e97bf). Where two of its works
share several tensors it tells one error for each, and cuvet one for each pair of calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

import pytest

from cuvet.model import Model
from cuvet.model.touches import Touches

from .driving import Drive

BYTES = 64
MANY = range(10)


class Scenario(NamedTuple):
    """``steps``: ``1 reads a``, ``1 writes a b``, ``1 records e``, ``1 waits e``, ``new e``, ``end e``. Of a step that ends with ``!`` and
    a number, that many races are told; of the others none."""

    title: str
    steps: str


def each(text: str) -> str:
    """Once for each of ``MANY``."""
    return "; ".join(text.replace("#", str(number)) for number in MANY)


SCENARIOS = (
    Scenario("work that touches nothing", "1 writes"),
    Scenario("two that read", "1 reads a; 2 reads a"),
    Scenario("one that reads, then one that writes", "1 reads a; 2 writes a !1"),
    Scenario("the second waits for an event", "1 reads a; 1 records e; 2 waits e; 2 writes a"),
    Scenario("the second reader did not wait", "1 writes a; 1 records e; 2 waits e; 2 reads a; 3 reads a !1"),
    Scenario(
        "two readers after a fork, then one of them writes",
        "1 writes a; 1 records e; 2 waits e; 3 waits e; 2 reads a; 3 reads a; 2 writes a !1",
    ),
    Scenario(
        "a chain of events",
        "S0 reads a; " + "; ".join(f"S{n} records e{n}; S{n + 1} waits e{n}" for n in MANY) + "; S10 writes a",
    ),
    Scenario("the event was recorded before", "1 reads a; 1 records e; 1 reads a; 2 waits e; 2 writes a !1"),
    Scenario("the event was made anew", "1 reads a; 1 records e; end e; new e; 2 waits e; 2 writes a !1"),
    Scenario("the event is not there any more", "1 reads a; 1 records e; end e; 2 waits e; 2 writes a !1"),
    Scenario("its handle names another event now", "1 reads a; 1 records e; new e; 2 waits e; 2 writes a !1"),
    Scenario(
        "one of many readers is not waited for",
        each("S# reads a; S# records e#") + "; X reads a; " + each("W waits e#") + "; W writes a !1",
    ),
    Scenario("all readers are waited for", each("S# reads a; S# records e#; W waits e#") + "; W writes a"),
    Scenario("as many mistakes as works that collide", each("1 writes a#") + "; 2 writes " + each("a#").replace(";", "") + " !10"),
    Scenario(
        "what a stream waited for is added to what it knew",
        "1 writes a; 2 writes b; 1 records e; 2 records f; 1 writes a; 2 writes b; 2 waits e; 1 waits f; "
        "2 records g; 1 waits g; 1 writes a b",
    ),
    Scenario("the event was recorded again elsewhere", "1 reads a; 2 reads b; 1 records e; 2 records e; 3 waits e; 3 writes a !1"),
    Scenario("several wait for one event", "1 writes a; 1 records e; 2 waits e; 3 waits e; 2 reads a; 3 reads a"),
)  # fmt: skip


class Play:
    """Streams, events and memory are made when they are named first."""

    def __init__(self) -> None:
        model = Model(complete=True)
        model.touches = Touches()
        self.cu = Drive(model).setup()
        self._handles: dict[str, int] = {}
        self._sinks = count(self.cu.cuMemAlloc(1 << 20), BYTES)

    def step(self, text: str) -> int:
        """Play it; how many races are told."""
        who, verb, *named = text.split()
        if who in ("new", "end"):
            self._event_of_handle(who, self._event(verb))
            return 0
        stream = self._named(who, lambda: self.cu.cuStreamCreate(1))
        if verb in ("records", "waits"):
            self._mark(verb, stream, self._event(named[0]))
            return 0
        memory = [self._named(name, lambda: self.cu.cuMemAlloc(BYTES)) for name in named]
        self._work(verb, stream, memory)
        return len(self._races())

    def _event(self, name: str) -> int:
        return self._named(name, lambda: self.cu.cuEventCreate(2))

    def _named(self, name: str, make: Callable[[], int]) -> int:
        if name not in self._handles:
            self._handles[name] = make()
        return self._handles[name]

    def _event_of_handle(self, what: str, event: int) -> None:
        if what == "end":
            self.cu.cuEventDestroy(event)
        else:
            self.cu.cuEventCreate(2, gives=event)

    def _mark(self, verb: str, stream: int, event: int) -> None:
        if verb == "records":
            self.cu.cuEventRecord(event, stream)
        else:
            self.cu.cuStreamWaitEvent(stream, event, 0)

    def _work(self, verb: str, stream: int, memory: list[int]) -> None:
        """One call, which reads or writes all of these."""
        private = [next(self._sinks) for _ in memory]
        sources, targets = (memory, private) if verb == "reads" else (private, memory)
        in_order = (1).to_bytes(24, "little")
        self.cu.cuMemcpyBatchAsync(
            _words(targets), _words(sources), _words([BYTES] * len(memory)), len(memory), in_order, _words([0]), 1, stream
        )  # fmt: skip

    def _races(self) -> list[str]:
        assert self.cu.prediction is not None
        return [each.rule.name for each in self.cu.prediction.violations if each.rule.name == "race-between-streams"]


def _words(numbers: list[int]) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in numbers)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[each.title for each in SCENARIOS])
def test_each_step_tells_the_races_that_it_makes(scenario: Scenario) -> None:
    play = Play()
    for step in scenario.steps.split("; "):
        marked = re.fullmatch(r"(.*?)(?: !(\d+))?", step)
        assert marked is not None
        assert (step, play.step(marked[1])) == (step, int(marked[2] or 0))
