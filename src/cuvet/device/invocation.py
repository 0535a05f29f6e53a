"""A driver call on its way through the emulated driver, and what its handler may do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from cuvet.catalog import EntryPoint, Kind, driver
from cuvet.catalog import results as status
from cuvet.device.link import post
from cuvet.device.protocol import Command, Op, Steps, Text
from cuvet.model import Call

if TYPE_CHECKING:
    from cuvet.device.process import ClientProcess, Thread
    from cuvet.model import Model

MOST_STRING = 4096
MOST_ARRAY = 1 << 20
_LEGACY, _PER_THREAD = 1, 2
_Thing = TypeVar("_Thing")


class Refused(Exception):
    """The call returns ``status``."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Dies(Exception):
    """Hardware was measured to die of SIGSEGV in the call; where that is not emulated it returns ``status``."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def require(condition: object, otherwise: int = status.INVALID_VALUE) -> None:
    """Refused with the status ``otherwise`` if the condition does not hold."""
    if not condition:
        raise Refused(otherwise)


class BadAddress(Exception):
    """The program passed a pointer to memory that it does not have."""


def read(address: int, size: int) -> Steps[bytes]:
    """``size`` bytes of the program's memory. BadAddress if they are not all there."""
    pieces = []
    for start in range(0, size, MOST_ARRAY):
        answer = yield Command(Op.READ, (address + start, min(MOST_ARRAY, size - start)))
        if answer.error:
            raise BadAddress(hex(address))
        pieces.append(answer.data)
    return b"".join(pieces)


def read_string(address: int, most: int = MOST_STRING) -> Steps[bytes]:
    """The string at the address, without its NUL; its first ``most`` bytes if it has none there."""
    answer = yield Command(Op.READ_STRING, (address, most))
    if answer.error:
        raise BadAddress(hex(address))
    return answer.data


def write(address: int, data: bytes) -> Steps[None]:
    answer = yield Command(Op.WRITE, (address,), data)
    if answer.error:
        raise BadAddress(hex(address))


def write_word(address: int, value: int, size: int = 8) -> Steps[None]:
    yield from write(address, (value & (1 << 8 * size) - 1).to_bytes(size, "little"))


def words(data: bytes, size: int = 8) -> list[int]:
    """The elements of an array of numbers of that many bytes."""
    return [int.from_bytes(data[start : start + size], "little") for start in range(0, len(data), size)]


def read_words(address: int, count: int, size: int = 8) -> Steps[list[int]]:
    """An array of numbers in the program's memory."""
    return words((yield from read(address, count * size)), size)


def tell(process: ClientProcess, text: str) -> Steps[None]:
    """One line for the user on the program's stderr; once."""
    if text not in process.said:
        process.said.add(text)
        yield Command(Op.MESSAGE, (Text.USER,), text.encode())


def path_of(call: Invocation, parameter: str) -> Path:
    """The file that the program means by the name that the parameter points to. BadAddress if that is NULL."""
    return Path(f"/proc/{call.process.pid}/cwd") / call.text(parameter).decode("utf-8", "surrogateescape")


class Invocation(msgspec.Struct, eq=False):
    """``outputs`` are the words to write through the parameters of these positions when the call succeeds, ``handed_out`` the handles in
    arrays that it wrote, as ``Outcome`` has them. Of a launch ``arguments``
    are the kernel's, and ``fault`` is the error that its work ends with."""

    call: Call
    thread: Thread
    outputs: dict[int, int] = {}
    handed_out: dict[int, tuple[tuple[int, int], ...]] = {}
    arguments: tuple[bytes, ...] = ()
    fault: int = 0

    @property
    def entry_point(self) -> EntryPoint:
        return self.call.entry_point

    @property
    def process(self) -> ClientProcess:
        return self.thread.process

    @property
    def model(self) -> Model:
        return self.thread.process.model

    def __getitem__(self, parameter: str) -> int:
        call = self.call
        return call.args[call.entry_point.index[parameter]]

    def signed(self, parameter: str) -> int:
        """The word as a C int."""
        word = self[parameter] & 0xFFFFFFFF
        return word - (1 << 32) if word >> 31 else word

    def member(self, parameter: str, path: str) -> int:
        """Unsigned member of the struct that the parameter points to (or that was passed by value). BadAddress if it is NULL."""
        described = self.entry_point.parameters[self.entry_point.index[parameter]]
        try:
            return driver().member(described.pointee or described.type, self.given(parameter), path)
        except IndexError:
            raise BadAddress(parameter) from None

    def given(self, parameter: str) -> bytes:
        """What the pointer parameter points to, as far as it was read; nothing if it is NULL."""
        return self.call.inputs.get(self.entry_point.index[parameter], b"")

    def known(self, things: Mapping[int, _Thing], parameter: str, unknown: int = status.INVALID_HANDLE) -> _Thing:
        """What the handle stands for. Refused with ``unknown`` if it stands for none of them."""
        found = things.get(self[parameter])
        if found is None:
            raise Refused(unknown)
        return found

    def get(self, noun: str, handle: int = 0, attribute: int = 0, usual: int = 0) -> int:
        """What the program set, or the device remembers, of a noun's handle."""
        return self.process.attributes.get((noun, handle, attribute), usual)

    def set(self, noun: str, handle: int, value: int, attribute: int = 0) -> None:
        """Remember it for ``get``."""
        self.process.attributes[noun, handle, attribute] = value

    def handle_of(self, noun: str, owner: int, kind: Kind) -> int:
        """The one handle that belongs to the owner: a device's primary context. It is issued when it is asked for first."""
        key = (noun, owner, 0)
        if key not in self.process.attributes:
            self.process.attributes[key] = self.process.handles.issue(kind)
        return self.process.attributes[key]

    def text(self, parameter: str) -> bytes:
        """The string that the parameter points to. BadAddress if it is NULL."""
        data = self.call.inputs.get(self.entry_point.index[parameter])
        if data is None:
            raise BadAddress(parameter)
        return data

    def give(self, parameter: str, value: int) -> None:
        """Write the value through the parameter when the call succeeds; a NULL pointer takes nothing."""
        if self[parameter]:
            self.outputs[self.entry_point.index[parameter]] = value

    def hand_out(self, parameter: str, handles: Iterable[int]) -> None:
        """Tell the model what stands in the array that the call wrote for the parameter."""
        self.handed_out[self.entry_point.index[parameter]] = tuple((handle, 0) for handle in handles)

    def issue(self, parameter: str, kind: Kind) -> int:
        """Give a new handle through the parameter."""
        handle = self.process.handles.issue(kind)
        self.give(parameter, handle)
        return handle

    def queue(self, stream: int) -> int:
        """Key of the stream's host functions and work: the handle; 1 for the legacy stream, one per thread for the per-thread one."""
        if stream <= _LEGACY:
            return _LEGACY
        return _PER_THREAD << 32 | self.thread.number if stream == _PER_THREAD else stream

    def current_device(self) -> int:
        """Device of the current context; 0 if there is none."""
        context = self.model.current_context(self.call)
        return context.device or 0 if context else 0

    def constant(self, text: bytes) -> Steps[int]:
        """Address of a NUL-terminated string that stays for the life of the process."""
        known = self.process.texts.get(text)
        if known is None:
            known = yield from self.process.host_memory.allocate(len(text) + 1)
            yield from write(known, text + b"\0")
            self.process.texts[text] = known
        return known

    def not_emulated(self, what: str) -> Steps[None]:
        """Tell the user so, and refuse the call."""
        yield from tell(self.process, f"{what} is not emulated")
        raise Refused(status.NOT_SUPPORTED)

    def wait(self, queue: int = 0) -> Steps[None]:
        """The host waits for the work and the host functions of a queue (0: of all queues)."""
        self.process.timeline.finish()
        command = Command(Op.DRAIN, (queue, 1))
        if post(self.thread, command) is None:
            yield command


Handler = Callable[[Invocation], Steps[None] | None]
"""Answers a call; Refused with its status if it fails."""


def do_nothing(call: Invocation) -> None:
    """Answer a call after which only the model is different."""


def do_if(*needed: str) -> Handler:
    """What answers a call after which only the model is different, and that fails if one of these parameters is 0."""
    return lambda call: require(all(call[parameter] for parameter in needed))


def gives(**outputs: Callable[[Invocation], int]) -> Handler:
    """What answers a call that writes these values through its parameters."""

    def answer(call: Invocation) -> None:
        for parameter, value in outputs.items():
            call.give(parameter, value(call))

    return answer


def waits(call: Invocation) -> Steps[None]:
    """Answer a call that waits for everything."""
    return call.wait()
