"""Calls whose commands are sent at once, with the answers that are known, do what they do command by command."""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from tests.rules.states import state

from cuvet.catalog import driver, runtime
from cuvet.device.answer import answer
from cuvet.device.foreknown import follow
from cuvet.device.link import Link, post
from cuvet.device.process import Machine, Thread
from cuvet.device.protocol import FORESEEN, UNANSWERED, Answer, Command, Hello, Op, Request, Steps

BUFFER, OUTPUT = 0x10_0000, 0x20_0000
DEVICE = 0x7000_0000_0000
LENGTH, HEADER = struct.Struct("<I"), struct.Struct("<BBHI")
SLOTS = 3


@dataclass
class Shim:
    """Obeys as the shim does, as far as these calls need it. ``sent``: the commands that were obeyed."""

    thread: Thread
    memory: dict[int, bytes] = field(default_factory=dict)
    reserved: int = DEVICE
    sent: list[Op] = field(default_factory=list)

    def call(self, request: Request) -> int:
        """The status, when the model has been told."""
        status = self.run(answer(self.thread, request))
        if self.thread.link is not None:
            self.thread.link.finish()
            self.take(self.thread.link)
        return status

    def run(self, steps: Steps[int]) -> int:
        given: Answer | None = None
        while True:
            try:
                command = steps.send(given)  # type: ignore[arg-type]  # None begins it
            except StopIteration as done:
                return int(done.value)
            given = post(self.thread, command)
            if given is None:
                if self.thread.link is not None:
                    self.take(self.thread.link)
                given = self.obey(command)
                follow(self.thread, command)

    def take(self, link: Link) -> None:
        """What was sent and is not answered. A call that was foreseen has been answered: what follows says so."""
        sent = bytes(link.outgoing)
        link.outgoing.clear()
        while sent:
            end = 4 + LENGTH.unpack_from(sent)[0]
            op, count, flags, _ = HEADER.unpack_from(sent, 4)
            operands = struct.unpack_from(f"<{count}Q", sent, 12)
            assert op == Op.RETURN or flags & (FORESEEN if op == Op.CALL_DRIVER else UNANSWERED)
            self.obey(Command(Op(op), operands, sent[12 + 8 * count : end]), foreseen=True)
            sent = sent[end:]

    def obey(self, command: Command, foreseen: bool = False) -> Answer:
        self.sent.append(command.op)
        if command.op is Op.WRITE:
            self.memory[command.operands[0]] = command.data
        if command.op is Op.READ:
            return Answer(0, self.memory.get(command.operands[0], b"").ljust(command.operands[1], b"\0"))
        if command.op is Op.RESERVE:
            self.reserved += command.operands[1]
            return Answer(0, (self.reserved - command.operands[1]).to_bytes(8, "little"))
        if command.op is Op.SCRATCH:
            return Answer(0, BUFFER.to_bytes(8, "little"))
        if command.op is Op.CALL_DRIVER and not foreseen:
            words = tuple(word & (1 << 64) - 1 for word in command.operands[1:])
            return Answer(0, self.call(Request(False, command.operands[0], words)).to_bytes(8, "little"))
        return Answer(0, bytes(8))

    def word(self, slot: int) -> int:
        """What a call wrote there last."""
        return int.from_bytes(self.memory.get(OUTPUT + 8 * slot, b"")[:8], "little")


def made(linked: bool) -> Shim:
    thread = Machine(2).thread(Hello(0, os.getpid(), 1, 99))
    thread.link = Link() if linked else None
    return Shim(thread)


def request(name: str, *words: int) -> Request:
    entry_point = runtime()[name]
    number = next(at for at, each in enumerate(entry_point.signatures) if len(each.parameters) == len(words))
    return Request(True, entry_point.id, words, False, number, 13)


Line = tuple[str, int, int, int]
slots = st.integers(0, SLOTS - 1)
LINES: st.SearchStrategy[Line] = st.tuples(
    st.sampled_from(
        """
        cudaMalloc cudaFree cudaMemset in out between cudaDeviceSynchronize cudaStreamCreate cudaStreamDestroy cudaStreamSynchronize
        cudaStreamQuery cudaEventCreate cudaEventDestroy cudaEventRecord cudaSetDevice cudaGetDevice cudaDeviceReset cudaMallocAsync
        cudaFreeAsync
        """.split()
    ),
    slots,
    slots,
    st.sampled_from([0, 8, 4096, 1 << 22]),
)


def made_of(line: Line, shim: Shim) -> Request:
    """The slots have what calls made before, of whatever kind."""
    name, one, other, size = line
    to, first, second = OUTPUT + 8 * one, shim.word(one), shim.word(other)
    words: dict[str, tuple[int, ...]] = {
        "cudaMalloc": (to, size),
        "cudaMallocAsync": (to, size, second),
        "cudaMemset": (first, 7, size),
        "cudaEventRecord": (first, second),
        "cudaFreeAsync": (first, second),
        "cudaSetDevice": (one,),
        "cudaGetDevice": (BUFFER + 64,),
        "cudaDeviceSynchronize": (),
        "cudaDeviceReset": (),
        "cudaStreamCreate": (to,),
        "cudaEventCreate": (to,),
        "in": (first, BUFFER, size, 1),
        "out": (BUFFER, first, size, 2),
        "between": (first, second, size, 3),
    }
    return request("cudaMemcpy" if name in ("in", "out", "between") else name, *words.get(name, (first,)))


def known(shim: Shim) -> list[str]:
    """What the model knows; questions that are repeated are not counted."""
    return [re.sub(r"call \d+", "call", line) for line in state(shim.thread.process.model)]


@given(st.lists(LINES, max_size=30))
def test_what_is_sent_at_once_does_what_one_command_after_the_other_does(lines: list[Line]) -> None:
    linked, plain = made(linked=True), made(linked=False)
    for line in lines:
        assert linked.call(made_of(line, linked)) == plain.call(made_of(line, plain)), line
    written = {address: data for address, data in plain.memory.items() if address >= OUTPUT}
    assert {address: data for address, data in linked.memory.items() if address >= OUTPUT} == written
    assert known(linked) == known(plain)
    waits = [op for op in plain.sent if op is not Op.DRAIN]  # nothing to wait for: known without asking
    assert [op for op in linked.sent if op not in (Op.RETURN, Op.DRAIN)] == waits


def test_a_turn_of_a_loop_needs_no_answer() -> None:
    shim = made(linked=True)
    turn: list[Line] = [("cudaMalloc", 0, 0, 4096), ("cudaMemset", 0, 0, 4096), ("in", 0, 0, 4096)]
    turn += [("out", 0, 0, 4096), ("cudaDeviceSynchronize", 0, 0, 0), ("cudaFree", 0, 0, 0)]
    for line in turn * 2:
        assert shim.call(made_of(line, shim)) == 0
    for line in turn:
        steps = answer(shim.thread, made_of(line, shim))
        assert list(steps) == [], line
        assert shim.thread.link is not None
        shim.thread.link.finish()
        shim.take(shim.thread.link)


def test_the_model_is_told_of_a_call_before_the_next_one_is_judged() -> None:
    shim = made(linked=True)
    assert shim.call(request("cudaDeviceSynchronize")) == 0
    link, told = shim.thread.link, []
    assert link is not None
    for go_on in (
        lambda: link.begin((driver()["cuCtxSynchronize"].id,)),
        lambda: link.repeat(shim.thread, (driver()["cuCtxGetCurrent"].id, BUFFER)),
    ):
        link.unfinished = lambda: told.append(link.number)
        number = link.number
        go_on()
        assert told.pop() == number
        assert link.unfinished is None


def test_a_defect_in_what_the_model_is_told_is_reported_and_ends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    link = Link()
    link.unfinished = lambda: [][0]
    link.finish()
    assert "a defect of the emulated device" in capsys.readouterr().err
    assert link.unfinished is None


@pytest.mark.parametrize("linked", [True, False])
def test_a_runtime_call_may_make_more_driver_calls_than_scratch_memory_has_words(linked: bool) -> None:
    shim, slices = made(linked), 300
    assert shim.call(request("cudaMalloc", OUTPUT, 8 * slices)) == 0
    pitched = struct.pack("<4Q", shim.word(0), 8, 8, 1)
    call = structs.replace(request("cudaMemset3D", 0, 7, 0), structs={0: pitched, 2: struct.pack("<3Q", 8, 1, slices)})
    for _ in range(2):
        shim.sent.clear()
        assert shim.call(call) == 0
        assert shim.sent.count(Op.SET) == slices
