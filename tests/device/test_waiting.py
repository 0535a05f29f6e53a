"""When the device process stays awake for the next message."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby

import pytest

from cuvet.device.waiting import MESSAGES, REST, Waiting

MESSAGE = [(7, 1)]
TIMEOUT_S = 2.0


@dataclass
class Client:
    """Sends the next message ``gap_ns`` after the last; ``waits``: the part of the time that the process has no processor."""

    gap_ns: int
    waits: float = 0
    now_ns: int = 0
    due_ns: int = 0
    slept: int = 0
    timeouts: set[float] = field(default_factory=set)

    def clock(self) -> int:
        self.now_ns += 1000
        return self.now_ns

    def waited(self) -> int:
        return int(self.now_ns * self.waits)

    def poll(self, timeout: float) -> list[tuple[int, int]]:
        self.timeouts.add(timeout)
        if timeout == 0 and self.now_ns < self.due_ns:
            return []
        self.slept += timeout != 0
        self.now_ns = max(self.now_ns, self.due_ns)
        self.due_ns = self.now_ns + self.gap_ns
        return MESSAGE

    def take(self, waiting: Waiting, messages: int) -> int:
        """How many messages were slept for."""
        before = self.slept
        for _ in range(messages):
            assert waiting.events(TIMEOUT_S) == MESSAGE
        return self.slept - before


def waits(client: Client, processors: float = 2) -> Waiting:
    return Waiting(client.poll, processors, client.clock, client.waited)


def test_it_stays_awake_for_messages_in_a_row() -> None:
    client = Client(gap_ns=20_000)
    waiting = waits(client)
    assert client.take(waiting, MESSAGES) == MESSAGES
    assert client.take(waiting, 10 * MESSAGES) == 0
    assert waiting.awake


@pytest.mark.parametrize("processors", [1, 1.5])
def test_it_sleeps_where_there_is_no_processor_for_both(processors: float) -> None:
    client = Client(gap_ns=20_000)
    assert client.take(waits(client, processors), 5 * MESSAGES) == 5 * MESSAGES
    assert client.timeouts == {TIMEOUT_S}


@pytest.mark.parametrize(
    "client", [Client(gap_ns=2_000_000), Client(gap_ns=20_000, waits=0.5)], ids=["rare", "crowded"]
)
def test_it_sleeps_between_rare_messages_and_where_others_want_the_processor(client: Client) -> None:
    assert client.take(waits(client), 5 * MESSAGES) == 5 * MESSAGES


LATE, CROWDED = 300_000, 20_000


@pytest.mark.parametrize("client", [Client(LATE), Client(CROWDED, waits=0.1)], ids=["late", "crowded"])
def test_a_trial_that_fails_is_short_and_each_rest_after_it_longer(client: Client) -> None:
    waiting = waits(client)
    awake = [client.take(waiting, 1) == 0 or waiting.awake for _ in range(100 * MESSAGES)]
    turns = [(key, len(list(messages))) for key, messages in groupby(awake)]
    trials, rests = [[length for key, length in turns if key is kind] for kind in (True, False)]
    assert max(trials) <= MESSAGES
    assert [round(length / MESSAGES) - 1 for length in rests[:8]] == [0, 1, 2, 4, 8, REST, REST, REST]


def test_it_tries_again_at_once_when_others_want_the_processor_no_more() -> None:
    client = Client(CROWDED, waits=0.1)
    waiting = waits(client)
    for _ in range(10):
        client.take(waiting, MESSAGES)
    client.waits = 0
    client.take(waiting, 2 * MESSAGES)
    assert waiting.awake


def test_a_trial_that_succeeds_makes_the_next_rest_short() -> None:
    client = Client(CROWDED, waits=0.1)
    waiting = waits(client)
    client.take(waiting, 40 * MESSAGES)
    client.waits = 0
    client.take(waiting, 4 * MESSAGES)
    assert waiting.awake
