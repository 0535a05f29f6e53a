"""What is sent to the shim of a client's thread, and which of it needs no answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cuvet.catalog.results import INVALID_VALUE
from cuvet.device.defects import defect
from cuvet.device.foreknown import DONE, answer_to, expect, is_certain
from cuvet.device.protocol import FORESEEN, FORESEEN_CALL, UNANSWERED, Answer, Command, Op, encode, encode_return

if TYPE_CHECKING:
    from cuvet.device.process import Thread

_CALL_DRIVER = Op.CALL_DRIVER
_WORD, _NUMBERS = (1 << 64) - 1, (1 << 32) - 1


@dataclass(slots=True, eq=False)
class Link:
    """``outgoing``: messages that the socket has not taken yet. ``number``: of the call that commands are for now; ``foreseen``: of the
    next that the shim will not ask for. ``flags``: of RETURN. ``trusts``: a command that is not answered was sent for the outermost call in
    progress. ``unfinished`` tells the model what the call did that has returned last."""

    outgoing: bytearray = field(default_factory=bytearray)
    number: int = 0
    foreseen: int = FORESEEN_CALL
    flags: int = 0
    trusts: bool = False
    unfinished: Callable[[], None] | None = None

    def send(self, command: Command) -> None:
        """The shim shall obey, and answer."""
        self.outgoing += command.encode(self.number)

    def begin(self, called: tuple[int, ...]) -> int:
        """The shim shall make a call, the operands of CALL_DRIVER, that it will not ask for: what follows is for that call. The number of
        the one that makes it."""
        if self.unfinished is not None:
            self.finish()
        outer, self.number = self.number, self.foreseen
        self.outgoing += encode(_CALL_DRIVER, called, b"", outer, FORESEEN)
        self.foreseen = self.foreseen + 1 & _NUMBERS | FORESEEN_CALL
        return outer

    def end(self, outer: int, status: int, failed: int = INVALID_VALUE) -> None:
        """The call returns the status; or ``failed``, if a command failed that is not answered. What follows is for the call with the
        number ``outer``."""
        self.outgoing += encode_return(self.number, self.flags, status & _WORD, failed if self.trusts else None)
        self.number = outer

    def repeat(self, thread: Thread, question: tuple[int, ...]) -> int | None:
        """Send the question, the operands of CALL_DRIVER, with its answer: the word that it writes first. None if that is not known."""
        if self.unfinished is not None:
            self.finish()
        found = thread.process.told.repeated(thread, question)
        if found is None:
            return None
        number = self.foreseen
        self.outgoing += found.encode(self.number, number)
        self.foreseen = number + 1 & _NUMBERS | FORESEEN_CALL
        self.trusts = True
        return found.word

    def finish(self) -> None:
        """Let the model know all."""
        unfinished, self.unfinished = self.unfinished, None
        if unfinished is not None:
            try:
                unfinished()
            except Exception as error:
                defect(error)


def post(thread: Thread, command: Command) -> Answer | None:
    """The answer to a command, if it is known: the command is sent, unless it changes nothing. None if the shim has to answer."""
    link = thread.link
    if link is None:
        return None
    answer = answer_to(thread, command)
    if answer is None and is_certain(thread, command):
        link.outgoing += command.encode(link.number, UNANSWERED)
        link.trusts = True
        expect(thread, command)
        return DONE
    return answer
