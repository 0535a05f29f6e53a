"""What the device process knows without asking the shim: commands that need no answer, and answers."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cache
from operator import and_
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from cuvet.catalog import EntryPoint, Kind, Verb, driver
from cuvet.catalog.results import INVALID_VALUE, SUCCESS
from cuvet.device.protocol import FORESEEN, UNANSWERED, Answer, Command, Op, Request

if TYPE_CHECKING:
    from cuvet.device.invocation import Invocation
    from cuvet.device.process import ClientProcess, Thread

_NUMBER = Struct("<I")
_NUMBER_AT = 8
"""Where the number of its call stands in a command, with its length."""
_MOST_REPEATED = 256
_PAGE_BITS = 12
_WORD = (1 << 64) - 1
_MOST_PAGES = 1 << 16
_LONGEST = 64 << 10
"""Bytes of a command whose pages are remembered."""
_WRITTEN, _FILLED, _COPIED = range(3)
Use = tuple[int, int, int]
"""A way in which a command uses memory, the address and how many bytes."""
_READ, _WRITE, _COPY, _SET, _CALL_HOST, _DRAIN = Op.READ, Op.WRITE, Op.COPY, Op.SET, Op.CALL_HOST, Op.DRAIN
"""A member costs more when it is looked up in its class: each command does so."""
DONE = Answer(0)
_NONE_OUTSTANDING = Answer(0, bytes(8))


def answer_to(thread: Thread, command: Command) -> Answer | None:
    """What the shim would answer, if that is known; then the command need not be sent. If not, it is sent."""
    op = command.op
    if op is _READ:
        data = thread.scratch.read(*command.operands)
        return None if data is None else Answer(0, data)
    if op is _CALL_HOST:
        thread.process.calls_host = True
    if op is _DRAIN and not thread.process.calls_host:
        return _NONE_OUTSTANDING
    return None


def is_certain(thread: Thread, command: Command) -> bool:
    """Whether the shim will carry the command out, so that nothing has to wait for its answer."""
    process, op, operands = thread.process, command.op, command.operands
    if op is _WRITE:
        return process.touched.hold(_WRITTEN, operands[0], len(command.data))
    if op is _SET:
        to, _, _, row_bytes, rows, pitch = operands
        return _can_be_used(process, _FILLED, to, _span(row_bytes, rows, pitch))
    if op is _COPY:
        to, source, row_bytes, rows, to_pitch, source_pitch = operands
        return _can_be_copied(process, _FILLED, to, _span(row_bytes, rows, to_pitch)) and _can_be_copied(
            process, _COPIED, source, _span(row_bytes, rows, source_pitch)
        )
    return False


def _can_be_copied(process: ClientProcess, way: int, address: int, size: int) -> bool:
    """As ``_can_be_used`` of one end of a copy. The device keeps the program's memory that is registered if the program unmaps it: whether
    it did so is to be seen."""
    if process.device_memory.keeps(address, size):
        return True
    return process.touched.hold(way, address, size) and not _is_registered(process, address)


def _can_be_used(process: ClientProcess, way: int, address: int, size: int) -> bool:
    """Whether a copy or set can use memory that way: the shim's own, of the device, which the program has no way to unmap; or it could
    before."""
    return process.device_memory.keeps(address, size) or process.touched.hold(way, address, size)


def request_of(thread: Thread, called: tuple[int, ...]) -> Request | None:
    """What the shim will ask for when it obeys CALL_DRIVER with these operands, if that is known and the call is the same whether it is
    answered before the shim's wrapper is entered, or inside of it. It is if the function only asks; and as long as no other thread's calls
    can come between, if it changes no context and ends at most an event, a stream or memory for the device alone: of memory that the host
    reaches too, the shim may want whole pages."""
    entry_point, *words = called
    foreseen = None if thread.process.careful else _foreseen(entry_point)
    if foreseen is None:
        return None
    asks, masks, signs, freed = foreseen
    process = thread.process
    if len(words) != len(masks) or (not asks and len(process.threads) > 1):
        return None
    if freed is not None and words[freed] and not process.device_memory.has(words[freed]):
        return None
    passed = tuple(map(and_, words, masks))
    if signs:
        passed = tuple((word ^ sign) - sign & _WORD for word, sign in zip(passed, signs, strict=True))
    return Request(False, entry_point, passed)


class Foreseen(NamedTuple):
    """What is the same in all calls of an entry point whose requests can be foreseen. ``asks``: it only asks. ``masks``: what of each word
    a C function passes on that has it as that parameter; ``signs``: the bit of each that is extended, 0 if none is; empty if that is so of
    all. ``freed``: the position of the memory that it frees."""

    asks: bool
    masks: tuple[int, ...]
    signs: tuple[int, ...]
    freed: int | None


@cache
def _foreseen(entry_point: int) -> Foreseen | None:
    """None if they cannot be foreseen."""
    if _wrapper_may_answer():
        return None
    called, asks = driver().entry_points[entry_point], only_asks(entry_point)
    if not (asks or _is_quiet(called)):
        return None
    masks = tuple((1 << 8 * parameter.bytes) - 1 for parameter in called.parameters)
    signs = tuple(1 << 8 * each.bytes - 1 if each.signed and each.bytes < 8 else 0 for each in called.parameters)
    return Foreseen(asks, masks, signs if any(signs) else (), _freed(called))


def _wrapper_may_answer() -> bool:
    """Whether the shim's wrapper may refuse a call, so that none comes from it."""
    return bool(os.environ.get("CUVET_PROTECT"))


_KINDS = frozenset({Kind.EVENT, Kind.STREAM, Kind.MEMORY})
_LIVES = frozenset({Verb.CREATES, Verb.ALLOCATES, Verb.DESTROYS, Verb.FREES})


def _is_quiet(entry_point: EntryPoint) -> bool:
    words = all(parameter.abi == "word" for parameter in entry_point.parameters)
    return words and (entry_point.hot or _only_makes_or_ends(entry_point)) and leaves_contexts(entry_point)


def _only_makes_or_ends(entry_point: EntryPoint) -> bool:
    """Whether all that a call does is to make an object, or to end one that it names, with the words that the program gave."""
    roles = [role for role in entry_point.roles if role.verb is not Verb.ON]
    return bool(roles) and all(
        role.kind in _KINDS and role.verb in _LIVES and role.variant != "managed" for role in roles
    )


def _freed(entry_point: EntryPoint) -> int | None:
    """The position of the parameter that names the memory which a call frees."""
    frees = (role for role in entry_point.roles if role.verb is Verb.FREES and role.kind is Kind.MEMORY)
    return next((entry_point.index[role.parameter] for role in frees), None)


@cache
def only_asks(entry_point: int) -> bool:
    """Whether calls of the driver's entry point of that number only ask."""
    called = driver().entry_points[entry_point]
    returns = bool(called.roles) and all(role.verb is Verb.RETURNS for role in called.roles)
    return called.hot and returns and all(parameter.out for parameter in called.parameters)


_CONTEXTS = frozenset({Kind.CONTEXT, Kind.GREEN_CONTEXT, Kind.DEVICE})


@cache
def leaves_contexts(entry_point: EntryPoint) -> bool:
    """Whether a call that succeeds surely leaves it as it is which contexts live and which are current: it only asks, or has no role
    that is about one, other than to need the current one, or to wait for it."""
    if only_asks(entry_point.id):
        return True
    return bool(entry_point.roles) and all(
        role.kind not in _CONTEXTS or role.verb is Verb.BLOCKS or (role.verb is Verb.USES and not role.parameter)
        for role in entry_point.roles
    )


class Repeated(NamedTuple):
    """A question that was asked before with the same words, and was answered with ``word``. The commands that ask and answer it are sent as
    ``begin``, the number of the call that asks, and ``parts`` with the question's own number between them. ``pages`` are those of
    ``writes``, what is written where."""

    writes: tuple[tuple[int, bytes], ...]
    word: int
    pages: frozenset[int]
    begin: bytes
    parts: tuple[bytes, ...]

    @classmethod
    def of(cls, question: Command, writes: tuple[Command, ...]) -> Repeated:
        answers = [write.encode(flags=UNANSWERED) for write in writes]
        sent = [question.encode(flags=FORESEEN), *answers, Command(Op.RETURN, (SUCCESS, INVALID_VALUE)).encode()]
        heads = [message[:_NUMBER_AT] for message in sent]
        tails = [message[_NUMBER_AT + _NUMBER.size :] for message in sent]
        parts = [tail + head for tail, head in zip(tails, [*heads[1:], b""], strict=True)]
        pages = frozenset(page for write in writes for page in _pages_of(write) or ())
        written = tuple((write.operands[0], write.data) for write in writes)
        return cls(written, int.from_bytes(writes[0].data, "little") if writes else 0, pages, heads[0], tuple(parts))

    def encode(self, call: int, number: int) -> bytes:
        return self.begin + _NUMBER.pack(call) + _NUMBER.pack(number).join(self.parts)


@dataclass(slots=True)
class Told:
    """What questions about contexts were answered last, as long as nothing has changed that they ask for: by thread and entry point, the
    bytes that go where the parameters point, by position. ``_repeated``: what is sent for them, by thread and words."""

    _answers: dict[tuple[int, int], tuple[tuple[int, bytes], ...]] = field(default_factory=dict)
    _repeated: dict[tuple[int, tuple[int, ...]], Repeated] = field(default_factory=dict)

    def learn(self, call: Invocation, status: int) -> None:
        """The model has observed that the call returns the status."""
        entry_point = call.call.entry_point
        if status or not leaves_contexts(entry_point):
            self.forget()
        elif only_asks(entry_point.id):
            context = call.model.current_context(call.call)
            if context is None or context.alive:
                self._answers[call.thread.number, entry_point.id] = tuple(
                    (position, written(entry_point, position, value)) for position, value in call.outputs.items()
                )

    def forget(self) -> None:
        """Something else has changed the model."""
        self._answers.clear()
        self._repeated.clear()

    def repeated(self, thread: Thread, question: tuple[int, ...]) -> Repeated | None:
        """What is sent to ask and to answer a question, the operands of CALL_DRIVER, which then returns success; None if that is not known.
        What it writes is in scratch memory then."""
        found = self._repeated.get((thread.number, question)) or self._repeat(thread, question)
        if found is None or not thread.process.touched.hold_all(found.pages):
            return None
        for address, data in found.writes:
            thread.scratch.write(address, data)
        return found

    def _repeat(self, thread: Thread, question: tuple[int, ...]) -> Repeated | None:
        command = Command(Op.CALL_DRIVER, question)
        request = request_of(thread, question) if only_asks(question[0]) else None
        writes = None if request is None else self.answer(thread, request)
        if writes is None:
            return None
        if len(self._repeated) == _MOST_REPEATED:
            self._repeated.clear()
        found = self._repeated[thread.number, question] = Repeated.of(command, writes)
        return found

    def answer(self, thread: Thread, question: Request) -> tuple[Command, ...] | None:
        """What the shim is to write in answer to the question, which then returns success; None if that is not known."""
        told = self._answers.get((thread.number, question.entry_point))
        if told is None or not all(question.words):
            return None
        return tuple(Command(Op.WRITE, (question.words[position],), data) for position, data in told)


def written(entry_point: EntryPoint, position: int, value: int) -> bytes:
    """What is written for that value where the parameter points."""
    size = entry_point.parameters[position].pointee_bytes or 8
    return (value & (1 << 8 * size) - 1).to_bytes(size, "little")


def _is_registered(process: ClientProcess, address: int) -> bool:
    """Whether it is the program's memory that CUDA was told of."""
    memory = process.model.host_memory.living_at(address)
    return memory is not None and memory.registered


def expect(thread: Thread, command: Command) -> None:
    """The command certainly will be carried out."""
    if command.op is _WRITE:
        thread.scratch.write(command.operands[0], command.data)


def follow(thread: Thread, command: Command) -> None:
    """The command was carried out."""
    expect(thread, command)
    if command.op in (_WRITE, _COPY, _SET):
        thread.process.touched.learn(command)
    elif command.op is Op.RELEASE:
        thread.process.touched.forget(*command.operands[:2])


@dataclass(slots=True)
class TouchedPages:
    """Pages of a process that a command could use before, so that another of the same sort will not fail. The program may take a page
    away in the meantime: then the command fails after all, and the call with it (the second operand of RETURN)."""

    _pages: set[int] = field(default_factory=set)

    def hold(self, way: int, address: int, size: int) -> bool:
        """Whether it is of these pages only that memory is used in that way."""
        pages = _pages(way, address, size)
        return pages is not None and self._pages.issuperset(pages)

    def hold_all(self, pages: frozenset[int]) -> bool:
        """Whether these are such pages."""
        return self._pages.issuperset(pages)

    def learn(self, command: Command) -> None:
        """The command was carried out."""
        pages = _pages_of(command)
        if pages is not None:
            if len(self._pages) > _MOST_PAGES:
                self._pages.clear()
            self._pages.update(pages)

    def forget(self, start: int, size: int) -> None:
        """The memory there was released."""
        released = range(start >> _PAGE_BITS << 2, start + size >> _PAGE_BITS << 2)
        if len(released) > len(self._pages):
            self._pages = {page for page in self._pages if page not in released}
        else:
            self._pages.difference_update(released)


def _uses(command: Command) -> tuple[Use, ...]:
    op, operands = command.op, command.operands
    if op is _WRITE:
        return ((_WRITTEN, operands[0], len(command.data)),)
    if op is _SET:
        _, _, _, row_bytes, rows, pitch = operands
        return ((_FILLED, operands[0], _span(row_bytes, rows, pitch)),)
    if op is _COPY:
        to, source, row_bytes, rows, to_pitch, source_pitch = operands
        filled = (_FILLED, to, _span(row_bytes, rows, to_pitch))
        return filled, (_COPIED, source, _span(row_bytes, rows, source_pitch))
    return ()


def _pages_of(command: Command) -> list[int] | None:
    """What stands for the pages that the command uses, each with the way in which; None if it is too long, or another sort of command."""
    pages = [_pages(*use) for use in _uses(command)]
    return [page for each in pages for page in each or ()] if pages and None not in pages else None


def _span(row_bytes: int, rows: int, pitch: int) -> int:
    return (rows - 1) * pitch + row_bytes if rows else 0


def _pages(way: int, address: int, size: int) -> list[int] | None:
    if not 0 < size <= _LONGEST:
        return None
    first, last = address >> _PAGE_BITS, (address + size - 1) >> _PAGE_BITS
    if first == last:
        return [first << 2 | way]
    return [page << 2 | way for page in range(first, last + 1)]


@dataclass(slots=True)
class Scratch:
    """A thread's scratch memory, and what commands wrote there."""

    address: int = 0
    _bytes: bytearray = field(default_factory=bytearray)
    _written: bytearray = field(default_factory=bytearray)

    def begin(self, address: int, size: int) -> None:
        self.address, self._bytes, self._written = address, bytearray(size), bytearray(size)

    def write(self, address: int, data: bytes) -> None:
        """``data`` is written at that address, which may be anywhere."""
        start, size = address - self.address, len(data)
        if start >= 0 and (end := start + size) <= len(self._bytes):
            self._bytes[start:end] = data
            self._written[start:end] = b"\1" * size

    def read(self, address: int, size: int) -> bytes | None:
        """What is there; None if that is not known."""
        start = address - self.address
        end = start + size
        if start < 0 or end > len(self._bytes) or self._written.find(0, start, end) >= 0:
            return None
        return bytes(self._bytes[start:end])
