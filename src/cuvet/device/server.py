"""The device process's event loop: one thread, one connection per client thread, no call ever waits for another."""

from __future__ import annotations

import os
import selectors
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from cuvet.device.process import Machine, Thread
from cuvet.device.protocol import (
    MOST_BYTES,
    Answer,
    Bring,
    Command,
    Goodbye,
    Hello,
    Op,
    ProtocolError,
    Request,
    Steps,
    decode,
)

MOST_BROUGHT = 16
_PARENT_CHECK_S = 2.0

Answerer = Callable[[Thread, Request], Steps[int]]


@dataclass(slots=True, eq=False)
class Connection:
    """A client thread's connection, or one that brings them. ``calls`` are those not answered yet: a runtime call, and the driver
    call it is making."""

    socket: socket.socket
    thread: Thread | None = None
    incoming: bytearray = field(default_factory=bytearray)
    brought: list[int] = field(default_factory=list)
    """Descriptors that came with bytes of ``incoming``."""
    outgoing: bytearray = field(default_factory=bytearray)
    calls: list[Steps[int]] = field(default_factory=list)


class Server:
    """Answers the clients that connect to the Unix socket ``path``."""

    def __init__(self, path: Path, machine: Machine, answer: Answerer) -> None:
        self._machine = machine
        self._answer = answer
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(128)
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._parent = os.getppid()

    def serve(self) -> None:
        """Returns when the process that started this one is gone, and so are the clients."""
        while os.getppid() == self._parent or len(self._selector.get_map()) > 1:
            for key, events in self._selector.select(_PARENT_CHECK_S):
                if key.data is None:
                    self._accept()
                else:
                    self._serve(key.data, events)

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return  # whoever it was has gone again
        self._add(client)

    def _add(self, client: socket.socket) -> None:
        client.setblocking(False)
        self._selector.register(client, selectors.EVENT_READ, Connection(client))

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
            if length > MOST_BYTES + 64:
                raise ProtocolError(f"a message of {length} bytes is too long")
            if len(incoming) < 4 + length:
                return
            message = bytes(incoming[4 : 4 + length])
            del incoming[: 4 + length]
            self._take(connection, decode(message))

    def _take(self, connection: Connection, message: Hello | Request | Answer | Bring | Goodbye) -> None:
        if isinstance(message, Hello):
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
        for descriptor in connection.brought:
            os.close(descriptor)
        for steps in connection.calls:
            steps.close()
        if connection.thread is not None:
            self._machine.ended(connection.thread)
