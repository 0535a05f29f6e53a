"""The device process's event loop: one thread, one connection per client thread, no call ever waits for another."""

import errno
import os
import secrets
import selectors
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from cuvet.device.listening import listening
from cuvet.device.process import Machine, Thread
from cuvet.device.protocol import (
    MOST_BYTES,
    Answer,
    Bring,
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

MOST_BROUGHT = 16
MOST_LOCKED = 64
_LONGEST_KEY = 64
_PARENT_CHECK_S = 2.0
_NO_MORE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""Errors of accept: the limit of descriptors is reached."""

Answerer = Callable[[Thread, Request], Steps[int]]


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
    outgoing: bytearray = field(default_factory=bytearray)
    calls: list[Steps[int]] = field(default_factory=list)


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
        self._selector = selectors.DefaultSelector()
        self._listener = self._listen(str(path))
        name, _, self._key = key.partition(":")
        self._abstract = self._listen(f"\0{name}") if self._key else None
        self._locked = 0
        self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._parent = os.getppid()

    def _listen(self, address: str) -> socket.socket:
        inherited = next(self._inherited, None)
        listener = listening(address) if inherited is None else socket.socket(fileno=inherited)
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, None)
        return listener

    def serve(self) -> None:
        """Returns when the process that started this one is gone, and so are the clients."""
        listeners = len(self._selector.get_map())
        while os.getppid() == self._parent or len(self._selector.get_map()) > listeners:
            for key, events in self._selector.select(_PARENT_CHECK_S):
                if key.fileobj is self._abstract:
                    self._accept(self._abstract, locked=True)
                elif key.data is None:
                    self._accept(self._listener, locked=False)
                else:
                    self._serve(key.data, events)

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
        self._selector.register(client, selectors.EVENT_READ, Connection(client, locked))

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
            if events & selectors.EVENT_READ:
                self._receive(connection)
            if events & selectors.EVENT_WRITE:
                self._send(connection)
        except ProtocolError as error:
            if not connection.locked:  # of those anybody can make
                print(f"cuvet.device: {error}; the connection is closed", file=sys.stderr, flush=True)
            self._close(connection)
        except (ConnectionError, EOFError):
            self._close(connection)

    def _receive(self, connection: Connection) -> None:
        received, brought, _, _ = socket.recv_fds(connection.socket, 1 << 20, 1, socket.MSG_CMSG_CLOEXEC)
        connection.brought += brought
        if len(connection.brought) > MOST_BROUGHT:
            raise ProtocolError("more sockets come than are announced")
        if not received:
            raise EOFError
        incoming = connection.incoming
        incoming += received
        while len(incoming) >= 4:
            length = int.from_bytes(incoming[:4], "little")
            if length > (_LONGEST_KEY if connection.locked else MOST_BYTES + 64):
                raise ProtocolError(f"a message of {length} bytes is too long")
            if len(incoming) < 4 + length:
                return
            message = bytes(incoming[4 : 4 + length])
            del incoming[: 4 + length]
            self._take(connection, decode(message))

    def _take(self, connection: Connection, message: Hello | Request | Answer | Key | Bring | Goodbye) -> None:
        if connection.locked:
            self._unlock(connection, message)
        elif isinstance(message, Key):
            raise ProtocolError("a key that is not asked for")
        elif isinstance(message, Hello):
            if connection.thread is not None:
                raise ProtocolError("a second HELLO")
            connection.thread = self._machine.thread(message)
        elif isinstance(message, Request):
            if connection.thread is None:
                raise ProtocolError("a call before HELLO")
            connection.calls.append(self._answer(connection.thread, message))
            self._advance(connection, None)
        elif isinstance(message, Goodbye):
            if connection.thread is None:
                raise ProtocolError("GOODBYE before HELLO")
            connection.thread.process.model.shutdown()
        elif isinstance(message, Bring):
            self._add_brought(connection)
        else:
            if not connection.calls:
                raise ProtocolError("an answer that nobody waits for")
            self._advance(connection, message)

    def _advance(self, connection: Connection, answer: Answer | None) -> None:
        steps = connection.calls[-1]
        try:
            command = next(steps) if answer is None else steps.send(answer)
        except StopIteration as finished:
            connection.calls.pop()
            command = Command(Op.RETURN, (finished.value,))
        connection.outgoing += command.encode()
        self._send(connection)

    def _send(self, connection: Connection) -> None:
        try:
            sent = connection.socket.send(connection.outgoing)
        except BlockingIOError:
            sent = 0
        del connection.outgoing[:sent]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.outgoing else 0)
        if self._selector.get_key(connection.socket).events != wanted:
            self._selector.modify(connection.socket, wanted, connection)

    def _close(self, connection: Connection) -> None:
        self._selector.unregister(connection.socket)
        connection.socket.close()
        self._locked -= connection.locked
        for descriptor in connection.brought:
            os.close(descriptor)
        for steps in connection.calls:
            steps.close()
        if connection.thread is not None:
            self._machine.ended(connection.thread)
