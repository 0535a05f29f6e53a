"""The device process's event loop: one thread, one connection per client thread, no call ever waits for another."""

from __future__ import annotations

import errno
import os
import secrets
import select
import socket
import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from cuvet.catalog.results import INVALID_VALUE, SUCCESS
from cuvet.device.defects import defect
from cuvet.device.foreknown import follow
from cuvet.device.link import Link, post
from cuvet.device.listening import listening
from cuvet.device.process import Machine, Thread
from cuvet.device.protocol import (
    AWAKE,
    MOST_BYTES,
    Answer,
    Bring,
    Careful,
    Command,
    Goodbye,
    Hello,
    Key,
    Op,
    ProtocolError,
    Request,
    Steps,
    decode,
)
from cuvet.device.waiting import MESSAGES, Waiting, processors

MOST_BROUGHT = 16
MOST_LOCKED = 64
_LONGEST_KEY = 64
_PARENT_CHECK_S = 2.0
_RECEIVED_AT_ONCE = 64 << 10
_LENGTH = struct.Struct("<I")
_CONTROL_BYTES = socket.CMSG_SPACE(4)
"""Of a message with one descriptor."""
_NO_MORE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""Errors of accept: the limit of descriptors is reached."""

_WORD, _NUMBERS = (1 << 64) - 1, (1 << 32) - 1
_SUCCEEDED = Answer(0, SUCCESS.to_bytes(8, "little"))

Answerer = Callable[[Thread, Request], Steps[int]]


class CallInProgress(msgspec.Struct, eq=False):
    """``outer``: the number of the call that it is inside of. ``command``: the one that it waits for."""

    steps: Steps[int]
    request: Request
    outer: int
    command: Command | None = None


@dataclass(slots=True, eq=False)
class Connection:
    """A client thread's connection, or one that brings them. ``calls`` are those not answered yet: a runtime call, and the driver
    call it is making."""

    socket: socket.socket
    locked: bool = False
    """It was made by the abstract name, and has not shown the key."""
    thread: Thread | None = None
    incoming: bytearray = field(default_factory=bytearray)
    brought: list[int] = field(default_factory=list)
    """Descriptors that came with bytes of ``incoming``."""
    link: Link = field(default_factory=Link)
    waits_to_send: bool = False
    """The socket did not take all that was to be sent."""
    calls: list[CallInProgress] = field(default_factory=list)
    number: int = 0
    """Of the next call that the shim asks for, from 0."""
    messages: int = 0
    """That have come."""


class Server:
    """Answers the clients that connect to the Unix socket ``path``. ``key``, NAME:KEY: also those that connect to the abstract
    socket NAME, from where no path leads to the other, and show the KEY. ``inherited``: descriptors of these sockets, if the process that
    started this one has made them already."""

    def __init__(
        self, path: Path, machine: Machine, answer: Answerer, key: str = "", inherited: Sequence[int] = ()
    ) -> None:
        self._inherited = iter(inherited)
        self._machine = machine
        self._answer = answer
        self._epoll = select.epoll()
        self._waiting = Waiting(self._epoll.poll, processors())
        self._connections: dict[int, Connection] = {}
        self._received = memoryview(bytearray(_RECEIVED_AT_ONCE))
        name, _, self._key = key.partition(":")
        listeners = [self._listen(str(path))] + ([self._listen(f"\0{name}")] if self._key else [])
        self._listeners = {listener.fileno(): listener for listener in listeners}
        self._open = listeners[0].fileno()
        self._locked = 0
        self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._parent = os.getppid()

    def _listen(self, address: str) -> socket.socket:
        inherited = next(self._inherited, None)
        listener = listening(address) if inherited is None else socket.socket(fileno=inherited)
        listener.setblocking(False)
        self._epoll.register(listener, select.EPOLLIN)
        return listener

    def serve(self) -> None:
        """Returns when the process that started this one is gone, and so are the clients."""
        while self._connections or os.getppid() == self._parent:
            for descriptor, events in self._waiting.events(_PARENT_CHECK_S):
                connection = self._connections.get(descriptor)
                if connection is not None:
                    self._serve(connection, events)
                elif descriptor in self._listeners:
                    self._accept(self._listeners[descriptor], locked=descriptor != self._open)

    def _accept(self, listener: socket.socket, *, locked: bool) -> None:
        try:
            client, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return  # whoever it was has gone again
        except OSError as error:
            if error.errno not in _NO_MORE:
                raise
            self._turn_away(listener)
            return
        if locked and self._locked == MOST_LOCKED:
            client.close()
            return
        self._locked += locked
        self._add(client, locked=locked)

    def _turn_away(self, listener: socket.socket) -> None:
        """Close the connection of a client for which there is no descriptor left: by the spare one, since it would wait for ever."""
        spare, self._spare = self._spare, -1
        with suppress(OSError):
            os.close(spare)
        with suppress(OSError):
            listener.accept()[0].close()
        with suppress(OSError):
            self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _add(self, client: socket.socket, *, locked: bool = False) -> None:
        client.setblocking(False)
        self._connections[client.fileno()] = Connection(client, locked)
        self._epoll.register(client, select.EPOLLIN)

    def _unlock(self, connection: Connection, message: object) -> None:
        if not isinstance(message, Key) or not secrets.compare_digest(message.key, self._key.encode()):
            raise ProtocolError("it does not begin with the key")
        connection.locked = False
        self._locked -= 1

    def _add_brought(self, connection: Connection) -> None:
        if not connection.brought:
            raise ProtocolError("no socket comes with BRING")
        try:
            client = socket.socket(fileno=connection.brought[0])
        except OSError:
            raise ProtocolError("what comes with BRING is no socket") from None
        connection.brought.pop(0)
        if (client.family, client.type) != (socket.AF_UNIX, socket.SOCK_STREAM):
            client.close()
            raise ProtocolError("what comes with BRING is no Unix stream socket")
        self._add(client)

    def _serve(self, connection: Connection, events: int) -> None:
        try:
            if events & ~select.EPOLLOUT:
                self._receive(connection)
            if events & select.EPOLLOUT:
                self._send(connection)
        except ProtocolError as error:
            if not connection.locked:  # of those anybody can make
                print(f"cuvet.device: {error}; the connection is closed", file=sys.stderr, flush=True)
            self._close(connection)
        except (ConnectionError, EOFError):
            self._close(connection)

    def _receive(self, connection: Connection) -> None:
        received = self._read(connection)
        if not received:
            raise EOFError
        connection.messages += 1
        incoming = connection.incoming
        thread = connection.thread
        if thread is not None and not incoming and _LENGTH.unpack_from(self._received)[0] + 4 == received:
            self._take(connection, decode(self._received[4:received].tobytes()))
            return
        incoming += self._received[:received]
        while len(incoming) >= 4:
            length = _LENGTH.unpack_from(incoming)[0]
            if length > (_LONGEST_KEY if connection.locked else MOST_BYTES + 64):
                raise ProtocolError(f"a message of {length} bytes is too long")
            if len(incoming) < 4 + length:
                return
            message = bytes(incoming[4 : 4 + length])
            del incoming[: 4 + length]
            self._take(connection, decode(message))

    def _read(self, connection: Connection) -> int:
        """How many bytes came. No descriptors come with those of a thread."""
        if connection.thread is not None:
            return connection.socket.recv_into(self._received)
        received, control, _, _ = connection.socket.recvmsg_into(
            [self._received], _CONTROL_BYTES, socket.MSG_CMSG_CLOEXEC
        )
        if control:
            self._keep_brought(connection, control)
        return received

    @staticmethod
    def _keep_brought(connection: Connection, control: list[tuple[int, int, bytes]]) -> None:
        for level, kind, data in control:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                connection.brought += array("i", data[: len(data) // 4 * 4])
        if len(connection.brought) > MOST_BROUGHT:
            raise ProtocolError("more sockets come than are announced")

    def _take(
        self, connection: Connection, message: Hello | Request | Answer | Key | Bring | Careful | Goodbye
    ) -> None:
        if isinstance(message, Request) and connection.thread is not None:
            self._begin(connection, connection.thread, message)
        elif connection.locked:
            self._unlock(connection, message)
        elif isinstance(message, Key):
            raise ProtocolError("a key that is not asked for")
        elif isinstance(message, Hello):
            if connection.thread is not None:
                raise ProtocolError("a second HELLO")
            connection.thread = self._machine.thread(message)
            connection.thread.link = connection.link
        elif isinstance(message, Request):
            raise ProtocolError("a call before HELLO")
        elif isinstance(message, Goodbye):
            if connection.thread is None:
                raise ProtocolError("GOODBYE before HELLO")
            connection.thread.process.model.shutdown()
            connection.thread.process.told.forget()
        elif isinstance(message, Careful):
            if connection.thread is None:
                raise ProtocolError("CAREFUL before HELLO")
            connection.thread.process.careful = True
            connection.thread.process.told.forget()
        elif isinstance(message, Bring):
            self._add_brought(connection)
        else:
            command = connection.calls[-1].command if connection.calls else None
            if command is None or connection.thread is None:
                raise ProtocolError("an answer that nobody waits for")
            if not message.error:
                follow(connection.thread, command)
            self._advance(connection, connection.thread, message)

    def _begin(self, connection: Connection, thread: Thread, request: Request) -> None:
        link, calls = connection.link, connection.calls
        if not calls:
            link.trusts = False
        calls.append(CallInProgress(self._answer(thread, request), request, link.number))
        link.number = connection.number
        connection.number = link.number + 1 & _NUMBERS
        self._advance(connection, thread, None)

    def _advance(self, connection: Connection, thread: Thread, answer: Answer | None) -> None:
        """Take the calls in progress as far as they go without an answer of the shim, and send what it shall do."""
        link = connection.link
        link.flags = AWAKE if self._waiting.awake and connection.messages > MESSAGES else 0
        try:
            self._obey(connection, thread, answer)
            self._send(connection)
        finally:
            link.finish()

    def _obey(self, connection: Connection, thread: Thread, answer: Answer | None) -> None:
        calls, link = connection.calls, connection.link
        while calls:
            call = calls[-1]
            try:
                command = call.steps.send(answer)  # type: ignore[arg-type]  # None begins it
            except StopIteration as finished:
                answer = self._return(connection, finished.value)
            except ProtocolError:
                raise
            except Exception as error:
                answer = self._return(connection, defect(error))
            else:
                answer = post(thread, command)
                if answer is None:
                    link.send(command)
                    call.command = command
                    return
            if answer is None:
                return

    def _return(self, connection: Connection, status: int) -> Answer | None:
        """End the newest call. The answer for the call that it is inside of, if that one's CALL_DRIVER made it: the status is known."""
        calls, link = connection.calls, connection.link
        done = calls.pop()
        link.end(done.outer, status, status & _WORD if done.request.library else INVALID_VALUE)
        if not calls or done.request.own_question:
            return None
        outer = calls[-1].command
        if outer is None or outer.op is not Op.CALL_DRIVER:
            return None
        return _SUCCEEDED if status == SUCCESS else Answer(0, (status & _WORD).to_bytes(8, "little"))

    def _send(self, connection: Connection) -> None:
        outgoing, waited = connection.link.outgoing, connection.waits_to_send
        try:
            sent = connection.socket.send(outgoing)
        except BlockingIOError:
            sent = 0
        del outgoing[:sent]
        if bool(outgoing) != waited:
            connection.waits_to_send = not waited
            wanted = select.EPOLLIN | (select.EPOLLOUT if connection.waits_to_send else 0)
            self._epoll.modify(connection.socket, wanted)

    def _close(self, connection: Connection) -> None:
        self._epoll.unregister(connection.socket)
        del self._connections[connection.socket.fileno()]
        connection.socket.close()
        self._locked -= connection.locked
        for descriptor in connection.brought:
            os.close(descriptor)
        for call in connection.calls:
            call.steps.close()
        if connection.thread is not None:
            self._machine.ended(connection.thread)
