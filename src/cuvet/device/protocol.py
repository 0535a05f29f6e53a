"""Messages between the shim and the device process, as ``docs/architecture.md`` ("Device protocol") describes them.

The numbers stand here alone: ``tools/generate_native.py`` writes them for the shim.
"""

import struct
from collections.abc import Generator, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import msgspec

VERSION = 3
MOST_BYTES = 64 << 20
"""Longest message of either side, in bytes."""
MOST_OPERANDS = 32
"""Of a command."""
UNANSWERED, FORESEEN, AWAKE = 1, 2, 4
"""Flags of a command."""
FORESEEN_CALL = 1 << 31
"""Of the number of a call that is foreseen, which counts such calls of the connection from 0."""
PER_THREAD_SYMBOL, OWN_QUESTION, AWAITED_CALL, FAULTY_CALL, FAULTY_WORK = 1, 2, 4, 8, 16
"""Flags of a driver call."""
FAULT_SHIFT = 6
"""Bits of the flags below the status with which a faulty call, or its work, ends."""

_COMMANDS = tuple(struct.Struct(f"<IBBHI{count}Q") for count in range(MOST_OPERANDS + 1))
"""Length and header of a command, and its operands, by their number."""
_WORDS = tuple(struct.Struct(f"<{count}Q") for count in range(256))
"""Words of a call, by their number."""
_NO_STRUCTS: Mapping[int, bytes] = MappingProxyType({})

Result = TypeVar("Result")


class ProtocolError(Exception):
    """The peer sent something that is no message of this protocol. The text says what, in one line."""


class MessageKind(IntEnum):
    """What the shim sends."""

    DRIVER_CALL = 0
    RUNTIME_CALL = 1
    LIBRARY_CALL = 2
    CAREFUL = 250
    KEY = 251
    BRING = 252
    GOODBYE = 253
    ANSWER = 254
    HELLO = 255


class Op(IntEnum):
    """What the device process commands."""

    RETURN = 1
    READ = 2
    WRITE = 3
    READ_STRING = 4
    COPY = 5
    SET = 6
    RESERVE = 7
    RELEASE = 8
    CALL_DRIVER = 9
    CALL_HOST = 10
    DRAIN = 11
    SCRATCH = 12
    RAISE = 13
    LOOKUP = 14
    MESSAGE = 15


_RETURN = Op.RETURN


class Access(IntEnum):
    """Who may touch the memory of RESERVE."""

    DEVICE = 0
    HOST = 1


class Callback(IntEnum):
    """The types of function that CALL_HOST calls."""

    HOST_FUNCTION = 0
    STREAM_CALLBACK = 1


class Text(IntEnum):
    """What the text of MESSAGE is for."""

    USER = 0
    UNSUPPORTED = 1
    SUPPORTED = 2


class Registration(IntEnum):
    """What static constructors register: in place of the id of a runtime's entry point."""

    BINARY = 0xFFFF0001
    FUNCTION = 0xFFFF0002
    VARIABLE = 0xFFFF0003
    MANAGED_VARIABLE = 0xFFFF0004


class Command(msgspec.Struct, frozen=True):
    """What the shim shall do. ``operands`` are words, taken modulo 2**64."""

    op: Op
    operands: tuple[int, ...] = ()
    data: bytes = b""

    def encode(self, call: int = 0, flags: int = 0) -> bytes:
        """The message. ``call``: which of the connection's calls it belongs to, from 0. ``flags``: UNANSWERED: the shim does not answer,
        and goes on to the next command; FORESEEN, of CALL_DRIVER: what answers the driver call follows, without its being asked; AWAKE, of
        RETURN: this process does not sleep, and the shim may do likewise."""
        return encode(self.op, self.operands, self.data, call, flags)


def encode(op: Op, operands: tuple[int, ...], data: bytes = b"", call: int = 0, flags: int = 0) -> bytes:
    """The message of a command of these (``Command.encode``)."""
    count = len(operands)
    length = 8 + 8 * count + len(data)
    try:
        head = _COMMANDS[count].pack(length, op, count, flags, call, *operands)
    except struct.error:  # a word is negative, or the number has more than 32 bits
        words = [word & 0xFFFFFFFFFFFFFFFF for word in operands]
        head = _COMMANDS[count].pack(length, op, count, flags, call & 0xFFFFFFFF, *words)
    return head + data if data else head


def encode_return(call: int, flags: int, status: int, failed: int | None = None) -> bytes:
    """The message of the command RETURN, with the status, and the one if a command failed that was not answered."""
    if failed is None:
        return _COMMANDS[1].pack(16, _RETURN, 1, flags, call, status)
    return _COMMANDS[2].pack(24, _RETURN, 2, flags, call, status, failed)


class Answer(NamedTuple):
    """``error`` is 0 or an errno."""

    error: int
    data: bytes = b""

    @property
    def word(self) -> int:
        return int.from_bytes(self.data[:8], "little")


class Hello(NamedTuple):
    """First message of a connection. ``parent`` is the process that this one was forked from after it had called CUDA, or 0.
    ``image`` tells programs apart that one process executes one after the other; a forked child has its parent's.
    ``host_functions``: the thread runs the host functions of streams. ``again``: it had a connection, which the program closed."""

    parent: int
    process: int
    thread: int
    image: int
    host_functions: bool = False
    again: bool = False


class Key(NamedTuple):
    """First message of a connection by the socket's abstract name, which everybody can see."""

    key: bytes


class Bring(NamedTuple):
    """The socket that comes with this message is the connection of another thread."""


class Careful(NamedTuple):
    """From now on the shim's wrappers may answer calls of the process without asking."""


class Goodbye(NamedTuple):
    """The process is exiting: from here on its driver has shut down."""


class Request(msgspec.Struct, frozen=True):
    """A call. ``words`` has one word per parameter, ``structs`` the bytes of those passed by value, by parameter.

    ``per_thread``: made through a ``_ptsz`` or ``_ptds`` symbol. Runtime calls also say which signature of the entry point
    was called and by which major version of the runtime library. ``library``: it is a call of cuDNN, cuBLAS or another library, by its id
    in recordings. ``own_question``: the shim asks the driver for itself. ``awaited``: the shim waits for the work of the call, as if the
    call did so itself. ``fault``: the status with which the call fails (cuvet inject), or if ``later`` the work that it enqueues.
    """

    runtime: bool
    entry_point: int
    words: tuple[int, ...]
    per_thread: bool = False
    signature: int = 0
    major: int = 0
    structs: Mapping[int, bytes] = _NO_STRUCTS
    library: bool = False
    own_question: bool = False
    awaited: bool = False
    fault: int = 0
    later: bool = False


Steps = Generator[Command, Answer, Result]
"""Work in progress: yields commands for the shim, is sent their answers, returns a result."""

_HEADER = struct.Struct("<BBHI")
_BLOB = struct.Struct("<HHI")
_HEADER_BYTES = _HEADER.size
_DRIVER_CALL, _LIBRARY_CALL = MessageKind.DRIVER_CALL, MessageKind.LIBRARY_CALL


def decode(message: bytes) -> Hello | Request | Answer | Key | Bring | Careful | Goodbye:
    """Decode what follows a message's length. ProtocolError if it is none."""
    if len(message) < _HEADER_BYTES:
        raise ProtocolError(f"a message of {len(message)} bytes is too short")
    kind, words, flags, number = _HEADER.unpack_from(message)
    if kind <= _LIBRARY_CALL:
        return _decode_request(message, kind, words, flags, number)
    if kind == MessageKind.ANSWER:
        return Answer(number, message[_HEADER_BYTES:])
    if kind == MessageKind.KEY:
        return Key(message[_HEADER_BYTES:])
    if kind == MessageKind.BRING:
        return Bring()
    if kind == MessageKind.CAREFUL:
        return Careful()
    if kind == MessageKind.GOODBYE:
        return Goodbye()
    if kind == MessageKind.HELLO:
        return _decode_hello(message, words, flags, number)
    raise ProtocolError(f"there is no message of kind {kind}")


def _decode_hello(message: bytes, words: int, version: int, parent: int) -> Hello:
    if version != VERSION:
        raise ProtocolError(f"the peer speaks version {version} of the protocol, this is version {VERSION}")
    if len(message) != _HEADER_BYTES + 16:
        raise ProtocolError("HELLO has a wrong length")
    process, thread, image = struct.unpack_from("<IIQ", message, _HEADER_BYTES)
    return Hello(parent, process, thread, image, bool(words & 1), bool(words & 2))


def _decode_request(message: bytes, kind: int, words: int, flags: int, number: int) -> Request:
    position = _HEADER_BYTES + 8 * words
    left = len(message) - position
    if left < 0:
        raise ProtocolError(f"a call announces {words} words and has fewer")
    values = _WORDS[words].unpack_from(message, _HEADER_BYTES)
    structs = _decode_structs(message, position) if left else _NO_STRUCTS
    per_thread = flags & PER_THREAD_SYMBOL != 0
    if kind == _DRIVER_CALL:
        asks, awaited = flags & OWN_QUESTION != 0, flags & AWAITED_CALL != 0
        fault = flags >> FAULT_SHIFT if flags & (FAULTY_CALL | FAULTY_WORK) else 0
        later = flags & FAULTY_WORK != 0
        return Request(False, number, values, per_thread, 0, 0, structs, False, asks, awaited, fault, later)
    library = kind == _LIBRARY_CALL
    return Request(not library, number, values, per_thread, flags >> 1 & 0x7F, flags >> 8, structs, library)


def _decode_structs(message: bytes, position: int) -> dict[int, bytes]:
    structs = {}
    while position < len(message):
        if position + _BLOB.size > len(message):
            raise ProtocolError("a call ends within a struct")
        parameter, _, length = _BLOB.unpack_from(message, position)
        position += _BLOB.size
        if position + length > len(message):
            raise ProtocolError("a struct is longer than its call")
        structs[parameter] = message[position : position + length]
        position += length
    return structs
