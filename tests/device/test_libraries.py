"""What the emulated libraries answer: the shim's end of the conversation is played here, so that no library is needed."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from cuvet.catalog import Kind, driver, libraries
from cuvet.device.answer import answer
from cuvet.device.process import Machine, Thread
from cuvet.device.protocol import Answer, Command, Hello, Op, Request, Steps

SCRATCH = 0x10000
MEMORY = bytearray(1 << 17)
"""The program's memory: its addresses are indexes."""


class Died(Exception):
    """The signal that the device had raised."""


class Program:
    """A program with one thread. ``calls`` are the driver calls that came of its calls."""

    def __init__(self, machine: Machine, parent: int = 0) -> None:
        self.machine = machine
        self.pid = parent + 1
        self.thread: Thread = machine.thread(Hello(parent, self.pid, self.pid, 7))
        self.calls: list[str] = []
        MEMORY[:] = bytes(len(MEMORY))

    def __call__(self, name: str, *words: int) -> int:
        """The status of a library's call."""
        entry_point = next(catalog[name] for catalog in libraries().values() if name in catalog)
        given = tuple(word & (1 << 64) - 1 for word in words)
        given += (0,) * (len(entry_point.parameters) - len(given))
        return self._obey(answer(self.thread, Request(False, entry_point.id, given, library=True)))

    def driver(self, name: str, *words: int) -> int:
        """The status of a driver call."""
        self.calls.append(name)
        return self._obey(answer(self.thread, Request(False, driver()[name].id, words)))

    def made(self, name: str, *words: int) -> int:
        """The handle that a call writes through its first parameter."""
        assert self(name, 64, *words) == 0
        return word(64)

    def _obey(self, steps: Steps[int]) -> int:
        reply = None
        while True:
            try:
                command = next(steps) if reply is None else steps.send(reply)
            except StopIteration as finished:
                return int(finished.value)
            reply = self._do(command)

    def _do(self, command: Command) -> Answer:
        operands = command.operands
        if command.op is Op.CALL_DRIVER:
            status = self.driver(driver().entry_points[operands[0]].name, *operands[1:])
            return Answer(0, status.to_bytes(8, "little"))
        if command.op is Op.WRITE:
            MEMORY[operands[0] : operands[0] + len(command.data)] = command.data
            return Answer(0)
        if command.op is Op.READ:
            return Answer(0, bytes(MEMORY[operands[0] : operands[0] + operands[1]]))
        if command.op is Op.SCRATCH:
            return Answer(0, SCRATCH.to_bytes(8, "little"))
        if command.op is Op.RETURN:  # what follows is for the model alone
            return Answer(0)
        assert command.op is Op.RAISE, command
        raise Died(operands[0])


def word(address: int, size: int = 8) -> int:
    return int.from_bytes(MEMORY[address : address + size], "little")


@pytest.fixture
def program() -> Iterator[Program]:
    return Program(Machine(1))


def test_making_a_handle_starts_cuda(program: Program) -> None:
    handle = program.made("cudnnCreate")
    assert handle and {"cuInit", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent"} <= set(program.calls)
    found = program.thread.process.model.find(Kind.CUDNN_HANDLE, handle)
    assert found is not None and found.device == 0 and found.context is not None


def test_handles_of_one_library_differ_also_from_those_that_have_ended(program: Program) -> None:
    first, second = program.made("cublasCreate"), program.made("cublasCreate")
    assert first != second
    assert program("cublasDestroy", first) == 0
    assert program.made("cublasCreate") not in (first, second)


def test_a_handle_tells_the_stream_that_it_was_given(program: Program) -> None:
    handle = program.made("cudnnCreate")
    assert program.driver("cuStreamCreate", 128, 0) == 0
    stream = word(128)
    assert program("cudnnGetStream", handle, 192) == 0 and word(192) == 0
    assert program("cudnnSetStream", handle, stream) == 0
    assert program("cudnnGetStream", handle, 192) == 0 and word(192) == stream


def test_sizes_are_zero(program: Program) -> None:
    handle = program.made("cudnnCreate")
    MEMORY[256:264] = b"\xff" * 8
    assert program("cudnnGetConvolutionForwardWorkspaceSize", handle, 0, 0, 0, 0, 0, 256) == 0
    assert word(256) == 0


def test_cudnn_answers_as_it_was_measured(program: Program) -> None:
    """Facts cudnn_null_handle_use and cudnn_destroy_then_use."""
    bad_param = 2000
    assert [program("cudnnSetStream"), program("cudnnGetStream", 0, 64), program("cudnnDestroy")] == [bad_param] * 2 + [
        0
    ]
    handle = program.made("cudnnCreate")
    assert program("cudnnDestroy", handle) == 0
    assert program("cudnnSetStream", handle, 0) == 0


@pytest.mark.parametrize(
    ("library", "statuses"), [("cublasLt", [0, 0]), ("cusparse", [0, 3]), ("cusolverDn", [0, 1]), ("cublas", [0, 1])]
)
def test_a_handle_destroyed_twice_is_refused_as_measured_or_else_with_an_error(
    program: Program, library: str, statuses: list[int]
) -> None:
    """Facts cublaslt_destroy_twice and cusparse_destroy_twice; the others die."""
    handle = program.made(f"{library}Create")
    assert [program(f"{library}Destroy", handle) for _ in range(2)] == statuses


def test_a_handle_whose_stream_was_destroyed_computes_nothing(program: Program) -> None:
    """Fact cublas_stream_destroyed."""
    handle = program.made("cublasCreate")
    assert program.driver("cuStreamCreate", 128, 0) == 0
    stream = word(128)
    assert program("cublasSetStream", handle, stream) == 0
    assert program.driver("cuStreamDestroy", stream) == 0
    assert program("cublasSscal", handle, 16, 192, 256, 1) == 13


def test_a_handle_destroyed_twice_aborts_where_crashes_are_wanted(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fact cudnn_destroy_twice."""
    handle = program.made("cudnnCreate")
    assert [program("cudnnDestroy", handle), program("cudnnDestroy", handle)] == [0, 1001]
    monkeypatch.setenv("CUVET_EMULATE_CRASHES", "1")
    other = program.made("cudnnCreate")
    assert program("cudnnDestroy", other) == 0
    with pytest.raises(Died, match=str(int(signal.SIGABRT))):
        program("cudnnDestroy", other)


@pytest.mark.parametrize(
    ("name", "status"), [("cudnnCreate", 1001), ("cublasCreate", 1), ("curandCreateGenerator", 203)]
)
def test_no_handle_without_a_device(name: str, status: int) -> None:
    """Fact cudnn_no_visible_device, and the documents of the others."""
    assert Program(Machine(0))(name, 64) == status
    assert word(64) == 0


def test_no_handle_in_a_child_of_a_process_that_had_cuda() -> None:
    machine = Machine(1)
    parent = Program(machine)
    parent.made("cudnnCreate")
    child = Program(machine, parent=parent.pid)
    assert child("cudnnCreate", 64) == 1001 and word(64) == 0


def test_an_array_of_communicators_is_filled(program: Program) -> None:
    assert program("ncclCommInitAll", 64, 3) == 0
    handles = [word(64 + 8 * number) for number in range(3)]
    assert len(set(handles)) == 3 and 0 not in handles
