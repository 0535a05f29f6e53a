"""What the device process answers without judging it anew."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests.model import effects, situations

from cuvet.catalog import EntryPoint, Kind, driver
from cuvet.device.answer import answer
from cuvet.device.arena import RANGE_BYTES
from cuvet.device.foreknown import follow, is_certain, leaves_contexts, request_of
from cuvet.device.link import Link
from cuvet.device.process import Machine, Thread
from cuvet.device.protocol import FORESEEN, UNANSWERED, Answer, Command, Hello, Op, Request, Steps
from cuvet.model import Call, Outcome

POINTER = 0x7000
CONTEXT = driver()["cuCtxGetCurrent"]
QUESTION = Request(False, CONTEXT.id, (POINTER,))


def call(thread: Thread, name: str, *words: int, reserved: int = 0) -> tuple[int, bytes]:
    """The status of the call, and what the shim wrote last. ``reserved``: the address that it answers."""
    steps, written = answer(thread, Request(False, driver()[name].id, words)), b""
    given: Answer | None = None
    while True:
        try:
            command = next(steps) if given is None else steps.send(given)
        except StopIteration as done:
            return done.value, written
        written = command.data if command.op is Op.WRITE else written
        given = Answer(0, reserved.to_bytes(8, "little"))


def new_thread(machine: Machine | None = None, number: int = 1) -> Thread:
    thread = (machine or Machine(1)).thread(Hello(0, os.getpid(), number, 99))
    call(thread, "cuInit", 0)
    _, handle = call(thread, "cuDevicePrimaryCtxRetain", POINTER, 0)
    call(thread, "cuCtxSetCurrent", int.from_bytes(handle, "little"))
    return thread


def told(thread: Thread) -> tuple[Command, ...] | None:
    return thread.process.told.answer(thread, QUESTION)


def test_a_question_about_contexts_is_judged_once() -> None:
    thread = new_thread()
    assert told(thread) is None
    _, context = call(thread, "cuCtxGetCurrent", POINTER)
    assert told(thread) == (Command(Op.WRITE, (POINTER,), context),)
    call(thread, "cuStreamCreate", POINTER, 0)
    call(thread, "cuCtxSynchronize", 0)
    assert told(thread) == (Command(Op.WRITE, (POINTER,), context),)
    assert thread.process.told.answer(thread, Request(False, CONTEXT.id, (0,))) is None, "a NULL pointer"


def test_it_is_judged_again_after_what_could_change_the_answer() -> None:
    for name, words in (
        ("cuCtxSetCurrent", (0,)),
        ("cuDevicePrimaryCtxReset", (0,)),
        ("cuCtxPopCurrent", (POINTER,)),
        ("cuMemFree", (0x123,)),
    ):
        thread = new_thread()
        call(thread, "cuCtxGetCurrent", POINTER)
        assert told(thread)
        call(thread, name, *words)
        assert told(thread) is None, name


def test_each_thread_has_its_own_answer() -> None:
    machine = Machine(1)
    first = new_thread(machine)
    call(first, "cuCtxGetCurrent", POINTER)
    second = machine.thread(Hello(0, os.getpid(), 2, 99))
    assert told(first)
    assert told(second) is None


ASK = Command(Op.CALL_DRIVER, (CONTEXT.id, POINTER))


def asking_thread() -> Thread:
    """It has asked for its context, and what is written in answer can be written."""
    thread = new_thread()
    _, context = call(thread, "cuCtxGetCurrent", POINTER)
    follow(thread, Command(Op.WRITE, (POINTER,), context))
    return thread


def test_a_question_that_is_repeated_is_sent_in_the_bytes_of_its_commands() -> None:
    thread = asking_thread()
    found, writes = thread.process.told.repeated(thread, ASK.operands), told(thread)
    assert found is not None
    assert writes is not None
    number = 2**31 + 70_000
    sent = ASK.encode(300, FORESEEN) + writes[0].encode(number, UNANSWERED) + Command(Op.RETURN, (0, 1)).encode(number)
    assert found.encode(300, number) == sent
    assert thread.process.told.repeated(thread, ASK.operands) is found


def test_a_question_is_not_repeated_where_its_answer_may_be_another_or_cannot_be_written() -> None:
    thread = new_thread()
    assert thread.process.told.repeated(thread, ASK.operands) is None, "it was not asked before"
    thread = asking_thread()
    assert thread.process.told.repeated(thread, ASK.operands)
    thread.process.touched.forget(POINTER & ~0xFFF, 0x1000)
    assert thread.process.told.repeated(thread, ASK.operands) is None, "the page was released"
    thread = asking_thread()
    assert thread.process.told.repeated(thread, ASK.operands)
    call(thread, "cuCtxSetCurrent", 0)
    assert thread.process.told.repeated(thread, ASK.operands) is None, "another context is current"


def test_what_a_repeated_question_writes_is_in_scratch_memory() -> None:
    thread = asking_thread()
    thread.scratch.begin(POINTER, 64)
    found = thread.process.told.repeated(thread, ASK.operands)
    assert found is not None
    assert thread.scratch.read(POINTER, 8) == found.writes[0][1]


def linked_thread() -> tuple[Thread, Link]:
    thread, link = new_thread(), Link()
    thread.link = link
    return thread, link


def test_a_call_returns_before_the_model_is_told() -> None:
    thread, link = linked_thread()
    model = thread.process.model
    status, written = call(thread, "cuStreamCreate", POINTER, 0)
    handle = int.from_bytes(written, "little")
    assert (status, model.find(Kind.STREAM, handle)) == (0, None)
    link.finish()
    assert model.find(Kind.STREAM, handle) is not None


def test_a_call_that_fails_or_ends_many_objects_returns_last() -> None:
    thread, link = linked_thread()
    for name, words in (("cuStreamCreate", (0, 0)), ("cuDevicePrimaryCtxReset", (0,))):
        call(thread, name, *words)
        assert link.unfinished is None, name


@pytest.mark.parametrize(("own", "failures"), [(True, 0), (False, 1)], ids=["the shim's", "the program's"])
def test_a_question_of_the_shim_that_fails_is_no_failure_of_the_program(own: bool, failures: int) -> None:
    thread = Machine(1).thread(Hello(0, os.getpid(), 1, 99))
    not_initialised = run_to_end(answer(thread, Request(False, CONTEXT.id, (POINTER,), own_question=own)))
    assert not_initialised == 3
    assert (thread.process.model.last_failure(thread.number) is not None) == failures


def run_to_end(steps: Steps[int]) -> int:
    try:
        while True:
            next(steps)
    except StopIteration as done:
        return int(done.value)


def test_words_are_foreseen_as_the_wrapper_passes_them_on() -> None:
    thread = new_thread()
    set_bytes = driver()["cuMemsetD8"].id
    foreseen = request_of(thread, (set_bytes, -1, 0x1FF, 1 << 33))
    assert foreseen == Request(False, set_bytes, (2**64 - 1, 0xFF, 1 << 33))
    assert request_of(thread, (set_bytes, 0x7000, 1)) is None, "too few words"


def test_what_only_makes_or_ends_an_object_is_foreseen() -> None:
    thread = new_thread()
    foreseen = {
        each.name
        for each in driver().entry_points
        if not each.hot and request_of(thread, (each.id, *(POINTER for _ in each.parameters))) is not None
    }
    assert foreseen == {
        *("cuEventCreate", "cuEventCreateFromEGLSync", "cuEventDestroy"),
        *("cuStreamCreate", "cuStreamCreateWithPriority", "cuStreamDestroy"),
        *("cuMemAlloc", "cuMemAllocAsync", "cuMemAllocPitch"),
    }


def test_memory_for_the_device_alone_can_be_set_and_copied() -> None:
    thread = new_thread()
    device, managed, host = 0x200000, 0x600000, 0x7000
    call(thread, "cuMemAlloc", POINTER, 4096, reserved=device)
    call(thread, "cuMemAllocManaged", POINTER, 4096, 1, reserved=managed)

    def copied(to: int, source: int) -> Command:
        return Command(Op.COPY, (to, source, 4096, 1, 0, 0))

    assert is_certain(thread, Command(Op.SET, (device, 1, 1, 4096, 1, 0)))
    assert is_certain(thread, copied(device, device + 4096))
    assert not is_certain(thread, Command(Op.WRITE, (device,), b"1")), "the host does not reach it"
    assert not is_certain(thread, Command(Op.SET, (device, 1, 1, RANGE_BYTES + 1, 1, 0))), (
        "it is longer than what is there"
    )
    assert not is_certain(thread, Command(Op.SET, (managed, 1, 1, 4096, 1, 0))), "the program can unmap it"
    assert not is_certain(thread, copied(device, host))
    follow(thread, copied(device, host))
    assert is_certain(thread, copied(device, host))


def test_the_end_of_memory_is_foreseen_if_the_host_does_not_reach_it() -> None:
    thread = new_thread()
    device, managed = 0x200000, 0x600000
    call(thread, "cuMemAlloc", POINTER, 512, reserved=device)
    call(thread, "cuMemAllocManaged", POINTER, 512, 1, reserved=managed)

    def foreseen(address: int) -> bool:
        return request_of(thread, (driver()["cuMemFree"].id, address)) is not None

    assert foreseen(device)
    assert foreseen(0)
    assert not foreseen(managed)
    call(thread, "cuMemFree", device)
    assert not foreseen(device), "it was freed"


def test_what_leaves_contexts_leaves_the_answer_about_them() -> None:
    wrong = [
        f"{entry_point.name}, {situation.__name__ if situation else 'ordinarily'}"
        for entry_point in driver().entry_points
        if leaves_contexts(entry_point)
        for situation in (
            None,
            situations.no_context,
            situations.green_context,
            situations.another_device,
            situations.launched,
        )
        if len(set(answers(entry_point, situation))) != 1
    ]
    assert wrong == []
    assert sum(map(leaves_contexts, driver().entry_points)) > 300


def answers(entry_point: EntryPoint, situation: situations.Situation | None) -> Iterator[tuple[object, ...]]:
    """What the model answers to the question before and after a call of the entry point that succeeds."""
    model, handles = situations.start(situation)
    made = situations.call_of(entry_point, handles)
    threads = list(model.threads)
    for outcome in (None, Outcome(0, effects.written(model, made))):
        if outcome is not None:
            model.observe(made, outcome)
        asked = [model.predict(Call(CONTEXT, (POINTER,), thread=thread)) for thread in threads]
        yield tuple((each.statuses, tuple(each.outputs.items())) for each in asked)
